"""What an agent holds: an endpoint and its window, a session, a conversation, tools; and how these change together.

Law: prompt, tools and window always suit each other. When the window turns out to be another, they are chosen anew.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from yohaku.agent import factory
from yohaku.agent.conversation import Conversation, recorded
from yohaku.agent.event_queue import EventQueue
from yohaku.agent.events import ConversationFolded, Event, Gauge, UserNotice
from yohaku.agent.gauge import first_rung, gauge
from yohaku.agent.hooks import Hooks
from yohaku.agent.prompts import SystemPrompt, prompt_for
from yohaku.agent.strategy import Tier, strategy_for
from yohaku.agent.tool_context import Allow, Question, nobody_allows, nobody_answers
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.agent.toolkit.secrets import know
from yohaku.agent.toolkit.seen_files import SeenFiles
from yohaku.agent.toolkit.tool import AgentTool
from yohaku.client.endpoint import Endpoint
from yohaku.client.server_count import counted
from yohaku.config import settings as setting
from yohaku.config.settings import Settings
from yohaku.core.budget import Budget
from yohaku.core.errors import YohakuError
from yohaku.core.model import Reply, Result, Step
from yohaku.core.receipt import Receipt
from yohaku.core.weigh import Ledger, Weigher, weigh
from yohaku.dialects.dialect import Json
from yohaku.messages import notice
from yohaku.messages.agent import say
from yohaku.session.fold_log import FoldingRecord
from yohaku.session.session import Session

if TYPE_CHECKING:
    from yohaku.client.model_client import ModelClient

T = TypeVar("T")

LOOKS = 3
"""How often one request is folded on when the server counts more than we do."""

STEPS = 200
"""Replies that one prompt may take."""


class Equipment(NamedTuple):
    tools: tuple[AgentTool, ...]
    prompt: SystemPrompt
    defined: list[Json]
    """The tools, as the dialect has them."""


class Mark(NamedTuple):
    """Where a conversation stood, and what it weighed there."""

    entries: int
    ledger: Ledger
    added: int
    window: int


class Standing:
    def __init__(
        self,
        endpoint: Endpoint,
        *,
        window: int,
        root: Path,
        tools: tuple[AgentTool, ...] | None = None,
        session: Session | None = None,
        permissions: Permissions | None = None,
        lang: str = "en",
        allow: Allow = nobody_allows,
        question: Question = nobody_answers,
        talk: ModelClient | None = None,
        hooks: Hooks | None = None,
        steps: int = STEPS,
        settings: Settings | None = None,
    ) -> None:
        """`tools`: None for those that suit the window. `session`: None for one that is kept in the data folder."""
        self.endpoint, self.root, self.lang = endpoint, root.resolve(), lang
        self.allow, self.question = allow, question
        self.hooks = hooks or Hooks(root=self.root)
        self.permissions = permissions or Permissions()
        self.files = SeenFiles(self.root)
        self.todo: list[tuple[str, str]] = []
        self.foldings = self.cuts = self.replies = 0
        self.ids: set[str] = set()
        """Of the calls in the conversation."""
        self.ledger: Ledger
        """Of what was fitted last."""
        self.steps = steps
        self.busy = False
        self._queue: list[str] = []
        self._settings = settings or (Settings() if session else setting.read())
        self._chosen = tools
        self._ear = EventQueue()
        self.talk = talk or self._talk(window)
        self._opened: list[Session] = []
        self._warned = 0
        self._counts = True
        self.session = session or self._session(window)
        self.conversation = Conversation(endpoint.dialect, endpoint.model)
        know("key", endpoint.key)
        self._settle_in()

    @property
    def window(self) -> int:
        return self.session.budget.window

    @property
    def gauge(self) -> Gauge:
        return gauge(
            self.session,
            self.ledger,
            self.meter,
            self.lang,
            added=self._added,
            messages=self.conversation.length,
            foldings=self.foldings,
            cuts=self.cuts,
        )

    @property
    def folds_at(self) -> int:
        """The weight at which it folds."""
        return first_rung(self.session.recipe, self.session.budget)

    async def compact(self, words: str = "") -> ConversationFolded | None:
        """Folds now, and keeps what `words` say."""
        return await self._fit(fold=True, words=words) if self.conversation.began else None

    async def undo(self, count: int = 1) -> tuple[tuple[FoldingRecord, ...], ConversationFolded | None]:
        """The foldings taken back, and what had to be folded all the same for the rest to fit."""
        done = self.session.undo(count)
        return done, await self._fit() if done and self.conversation.began else None

    async def redo(self, count: int = 1) -> tuple[FoldingRecord, ...]:
        done = self.session.redo(count)
        if done and self.conversation.began:
            await self._fit()
        return done

    async def switch(self, endpoint: Endpoint, window: int) -> ConversationFolded | None:
        """Goes on with another model. What does not fit its window is folded at once."""
        before = self.endpoint, self.talk, self.session
        self.endpoint, self._counts = endpoint, True
        know("key", endpoint.key)
        self.talk = self._talk(window)
        try:
            self.session, self._warned = self._session(window, self.session), 0
            self._settle_in()
            folded = await self._fit() if self.conversation.began else None
        except YohakuError:  # it cannot go on there, so it stays where it is
            failed, (self.endpoint, self.talk, self.session) = self.talk, before
            self._warned = len(self.session.warnings)
            self._settle_in()
            await failed.close()
            raise
        await before[1].close()
        return folded

    def resume(self, path: Path | str) -> None:
        """Goes on from a transcript of ours, or from the session of another tool."""
        history = recorded(path)
        self.conversation.resume(history)
        self.ids |= {use.call.id for step in history.steps for use in step.uses}
        self._weigh()
        name = Path(path).name
        self.tell("loop_gone_on", name=name, turns=len(history.turns), steps=len(history.steps))

    def resize(self, budget: Budget, sure: bool = True) -> None:
        """The window turned out to be another; `sure` when the provider itself named it."""
        if sure:
            factory.remember(self.endpoint, budget.window, self._settings)
        self.session.budget = budget
        self.talk.window, self.talk.reserve = budget.window, budget.reserve
        self._settle_in()

    async def close(self) -> None:
        """Ends what runs, and closes what was opened here."""
        self._ear.stop()
        await self.talk.close()
        while self._opened:  # the last first: the first may hold the store of all
            self._opened.pop().close()
        if bash := sys.modules.get("yohaku.agent.tools.bash"):
            bash.stop_left()

    async def fitted(self, fold: bool = False) -> Json:
        """The body to send: folded where it must be, which is said."""
        if folded := await self.doing(self._fit(fold)):
            self.hear(folded)
        self.hear(self.gauge)
        return self._body

    def settle(self, reply: Reply, results: dict[str, Result]) -> Step:
        step = self.conversation.settle(reply, results)
        self._added += self.weigher.step(step)
        self._ear.forget()
        return step

    def said(self, text: str) -> None:
        """By the user."""
        self.conversation.say(text)
        self._added += self.meter.count(text)

    def mark(self) -> Mark:
        return Mark(self.conversation.mark(), self.ledger, self._added, self.window)

    def back(self, mark: Mark) -> None:
        """As it was at `mark`, by weight too: what was taken back is not shown as if it were still to be folded."""
        self.conversation.back(mark.entries)
        self.ledger, self._added = mark.ledger, mark.added
        if self.window != mark.window:
            self._weigh()

    def tool(self, name: str) -> AgentTool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    def tell(self, name: str, kind: Literal["note", "warning", "error"] = "note", /, **facts: object) -> None:
        self.hear(UserNotice(say(name, self.lang, **facts), kind))

    def hear(self, event: Event) -> None:
        self._ear.hear(event)

    async def doing(self, work: Coroutine[Any, Any, T]) -> T:
        return await self._ear.doing(work)

    @property
    def heard(self) -> str:
        """What the model has said of its reply so far."""
        return self._ear.said

    def listen(self, enough: Callable[[str], bool] | None) -> None:
        """A new reply begins, which may end as soon as it is `enough`."""
        self._ear.forget()
        self._ear.enough = enough

    @property
    def behind(self) -> int:
        return self._ear.behind

    def beside(self) -> Session:
        """Another session by the same rules, for a conversation of its own."""
        return factory.session_for(
            self.endpoint, self.window, self.root, self.talk, self.hooks, self._settings, self.session, self.meter
        )

    async def _fit(self, fold: bool = False, words: str = "") -> ConversationFolded | None:
        manual, folded = fold, None
        for _ in range(LOOKS):
            self._body: Json = await self.session.afit(self.conversation.body, fold=fold, words=words)
            receipt = self.session.receipt
            assert receipt
            self.ledger, self._added = receipt.outcome.after, 0
            folded = receipt if receipt.outcome.folds else folded
            if await self._surely_fits(receipt):
                break
            fold, words = False, ""
        self._warn()
        if not folded:
            return None
        self.foldings += 1
        await self.hooks.folded(folded, manual)
        return ConversationFolded(folded, manual)

    def _warn(self) -> None:
        """What the session has to say, once."""
        for said in self.session.warnings[self._warned :]:
            self.hear(UserNotice(notice(said.code, said.text, said.facts, self.lang), "warning"))
        self._warned = len(self.session.warnings)

    async def _surely_fits(self, receipt: Receipt) -> bool:
        """A server that counts for nothing is asked: then the number that is shown is its own."""
        exactly = await counted(self.endpoint, self._body) if self._counts else None
        self._counts = exactly is not None
        if exactly is None:
            return True
        self.session.learn(exactly)
        return exactly <= self.session.budget.limit or not receipt.outcome.folds

    def _talk(self, window: int) -> ModelClient:
        return factory.talk_for(self.endpoint, window, self.lang, self._ear.hear, self._settings)

    def _session(self, window: int, old: Session | None = None) -> Session:
        made = factory.session_for(self.endpoint, window, self.root, self.talk, self.hooks, self._settings, old)
        self._opened.append(made)
        return made

    def _settle_in(self) -> None:
        """Prompt and tools as they suit the window, and the conversation with them."""
        self.meter = self.session.meter_for(self.endpoint.dialect)
        self.weigher = Weigher(self.meter)
        self.strategy = strategy_for(self.window, lambda tier: self._weight(self._equipment(tier)))
        equipment = self._equipment(self.strategy.tier)
        self.tools = equipment.tools
        self.conversation.switch(self.endpoint.dialect, self.endpoint.model, equipment.prompt.text, equipment.defined)
        if equipment.prompt.cut:
            self.tell("loop_instructions_cut", name=equipment.prompt.cut)
        self._weigh()

    def _weigh(self) -> None:
        self.ledger = weigh(self.conversation.history, self.meter)
        self._added = 0

    def _equipment(self, tier: Tier) -> Equipment:
        tools = factory.tools_of(tier) if self._chosen is None else self._chosen
        prompt = prompt_for(tier, self.root, self.window, self.meter.count, bool(tools), self.lang)
        return Equipment(tools, prompt, factory.definitions(tools, self.endpoint.dialect, tier == "small"))

    def _weight(self, equipment: Equipment) -> int:
        alone = Conversation(self.endpoint.dialect, "", equipment.prompt.text, equipment.defined)
        return weigh(alone.history, self.meter).fixed
