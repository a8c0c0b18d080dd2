"""The conversation of an agent with the model it is held with, the session that folds it, and its size in tokens.

Law: prompt and tools always suit the window, and the size shown includes what came after the last fitting.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from yohaku.agent import factory
from yohaku.agent.conversation import Conversation, load_history, load_outputs
from yohaku.agent.equipment import Equipment, ModelStrength, choose_equipment
from yohaku.agent.event_queue import EventQueue
from yohaku.agent.events import ConversationFolded, FoldsReused, Gauge, UserNotice
from yohaku.agent.gauge import make_gauge
from yohaku.agent.hooks import Hooks
from yohaku.agent.host.model_size import billions_of
from yohaku.agent.overflow import enlarge_reserve, shrink_budget
from yohaku.agent.reminders import Reminders
from yohaku.agent.summary_writer import SummaryWriter
from yohaku.agent.toolkit.secrets import register_secret, set_hiding
from yohaku.agent.toolkit.tool import AgentTool
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import TooLong, Truncated
from yohaku.client.http_json import can_count, count_on_server
from yohaku.config.settings import Settings
from yohaku.core.budget import Budget
from yohaku.core.errors import YohakuError
from yohaku.core.folds import QUIET
from yohaku.core.model import History, Reply, Result
from yohaku.core.weigh import Ledger, Weigher, weigh
from yohaku.dialects.answer import Usage
from yohaku.dialects.json_values import Json
from yohaku.messages import notice
from yohaku.session.receipt import Receipt
from yohaku.session.session import Session

if TYPE_CHECKING:
    from yohaku.client.model_client import ModelClient

OVER_LIMIT = "over_limit"
"""Reason of folds that cut what is visible by force."""
MAX_FITS = 3
"""Foldings of one request when the server counts more tokens than we do."""
MIN_REPORTED_SHARE = 0.9
"""Share of what was sent: servers that leave out what is in their cache report less, and that teaches nothing."""


class Mark(NamedTuple):
    """A point of the conversation to which it can be taken back."""

    entries: int
    ledger: Ledger
    added: int
    window: int


class Context:
    conversation: Conversation
    session: Session
    endpoint: Endpoint
    equipment: Equipment
    ledger: Ledger
    """Of the conversation as it was fitted last."""
    body: Json
    """The request as it was fitted last."""
    _added: int
    """Tokens that were added after that."""

    def __init__(
        self,
        endpoint: Endpoint,
        window: int,
        events: EventQueue,
        *,
        root: Path,
        tools: tuple[AgentTool, ...] | None,
        lang: str,
        hooks: Hooks,
        settings: Settings,
        client: ModelClient | None,
        session: Session | None,
        reminders: Reminders,
    ) -> None:
        """`tools`: None for those that suit the window. `client`, `session`: None for new ones."""
        self.conversation = Conversation(endpoint.dialect, endpoint.model)
        self.foldings = self.cuts = 0
        self._reused: FoldsReused | None = None
        self._told_verdict = ""
        self._events, self._root, self._tools, self._lang = events, root, tools, lang
        self._hooks, self.settings = hooks, settings
        self.reminders = reminders
        self._opened: list[Session] = []
        set_hiding(settings.secrets == "hide")
        register_secret("key", endpoint.key)
        self.client = client or self._open_client(endpoint, window)
        self.writer = self._open_writer(endpoint)
        self._attach(endpoint, session or self._open_session(endpoint, window))

    # -- The model

    async def switch(self, endpoint: Endpoint, window: int) -> ConversationFolded | None:
        """Go on with another model; what does not fit its window is folded at once."""
        before, client, session, writer = self.endpoint, self.client, self.session, self.writer
        register_secret("key", endpoint.key)
        self.client = self._open_client(endpoint, window)
        self.writer = self._open_writer(endpoint)
        try:
            await self.writer.prepare()
            self._attach(endpoint, self._open_session(endpoint, window, session))
            folded = await self.fit() if self.conversation.began else None
        except YohakuError:  # it cannot go on there, so it stays where it is
            failed, self.client = self.client, client
            self.writer = writer
            self._attach(before, session, len(session.warnings))
            await failed.close()
            raise
        await writer.close()
        await client.close()
        return folded

    def shrink(self, error: TooLong | Truncated, sent: int) -> None:
        """Make the next request smaller by what the provider reports, and every one after it."""
        if isinstance(error, TooLong):
            named = error.overflow.limit
            budget = shrink_budget(self.budget, sent, named, error.overflow.needs)
            self._events.notify("loop_window_learned", "warning", window=budget.window)
        else:
            named = error.window or error.told
            budget = shrink_budget(self.budget, sent, named)
            self._events.notify("loop_truncated", "warning", told=error.told, sent=error.sent)
        if budget.window == named:  # not a guess
            factory.remember(self.endpoint, budget.window, self.settings)
        self.session.budget = budget
        self.client.window = budget.window
        self.reset_reserve()
        self._equip()

    async def make_room(self) -> None:
        """Give a longer reply room: by folding, unless there is enough that was only not requested."""
        if enlarge_reserve(self.budget, self.gauge.used) < 2 * self.budget.reserve:
            await self.fit_to_send(fold=True)
        self.client.reserve = enlarge_reserve(self.budget, self.gauge.used)

    def reset_reserve(self) -> None:
        """Request replies of the usual length again."""
        self.client.reserve = self.budget.reserve

    def open_sibling(self) -> Session:
        """Open another session by the same rules, for a conversation of its own."""
        return factory.open_session(
            self.endpoint,
            self.budget.window,
            self._root,
            self.writer,
            self._hooks,
            self.settings,
            self.session,
            self.meter,
            beside=True,
        )

    def reason_not_to_ask(self, manual: bool) -> str:
        """Return the code of the reason not to ask a model for a summary now; empty: it is asked."""
        answer = min(self.budget.reserve, self.budget.limit // 10)
        return self.writer.reason_not_to_ask(manual, min(self.gauge.used, self.budget.window), answer)

    async def prepare_summaries(self) -> None:
        """Find the model that writes summaries, so that its window is known before the first one."""
        self.session.summary_model = await self.writer.prepare()

    async def close(self) -> None:
        await self.writer.close()
        await self.client.close()
        while self._opened:  # the last first: the first may hold the store of all
            self._opened.pop().close()

    def _open_client(self, endpoint: Endpoint, window: int) -> ModelClient:
        return factory.open_client(endpoint, window, self._lang, self._events.emit, self.settings)

    def _open_writer(self, endpoint: Endpoint) -> SummaryWriter:
        return SummaryWriter(
            self.client, endpoint, self.settings, self._open_client, self._events.emit, self._count_text
        )

    def _count_text(self, text: str) -> int:
        return self.meter.count(text)

    def _open_session(self, endpoint: Endpoint, window: int, old: Session | None = None) -> Session:
        session = factory.open_session(endpoint, window, self._root, self.writer, self._hooks, self.settings, old)
        self._opened.append(session)
        return session

    def _attach(self, endpoint: Endpoint, session: Session, warnings_shown: int = 0) -> None:
        self.endpoint, self.session = endpoint, session
        session.remind = self._write_reminder
        self._warnings_shown = warnings_shown
        session.server_counts = can_count(endpoint)
        self._equip()

    def _equip(self) -> None:
        endpoint = self.endpoint
        self.meter = self.session.meter_for(endpoint.dialect)
        self.weigher = Weigher(self.meter)
        self.equipment = choose_equipment(
            endpoint.dialect,
            self.budget.window,
            self._root,
            self.meter,
            self._lang,
            self._tools,
            ModelStrength(billions_of(endpoint), self._reading_speed()),
            self.settings.tier,
        )
        prompt = self.equipment.prompt
        self.conversation.switch(endpoint.dialect, endpoint.model, prompt.text, self.equipment.definitions)
        if prompt.cut:
            self._events.notify("loop_instructions_cut", name=prompt.cut)
        if prompt.refused:
            self._events.notify("loop_instructions_refused", "warning", name=prompt.refused)
        self._weigh()

    def remember_speed(self) -> None:
        """Keep what was measured of a model on this machine for the next start."""
        factory.remember_speed(self.endpoint, self.client.speed.reading, self.settings)

    def _reading_speed(self) -> float:
        """Return the tokens that a model on this machine reads in a second; 0: never measured."""
        if not self.endpoint.local:
            return 0.0
        return self.client.speed.reading or factory.known_speed(self.endpoint, self.settings)

    # -- The conversation and its size

    @property
    def budget(self) -> Budget:
        return self.session.budget

    @property
    def gauge(self) -> Gauge:
        return make_gauge(
            self.session,
            self.ledger,
            self.meter,
            self._lang,
            added=self._added,
            messages=self.conversation.length,
            foldings=self.foldings,
            cuts=self.cuts,
        )

    @property
    def will_fold(self) -> bool:
        """True when the next fitting folds something."""
        return self.gauge.used >= self.session.recipe.starts_at(self.budget)

    async def fit_to_send(self, *, fold: bool = False) -> Json:
        """Return the body to send, folded where it must be, and show that; the user can stop it."""
        folded = await self._events.run_cancellable(self.fit(fold=fold))
        if reused := self.take_reused():
            self._events.emit(reused)
        self._tell_unfolded()
        if folded:
            self._events.emit(folded)
            if any(each.why == OVER_LIMIT for each in folded.receipt.outcome.folds):
                self._events.notify("loop_cut_by_force", "warning")
        self._events.emit(self.gauge)
        return self.body

    async def fit(self, *, fold: bool = False, words: str = "") -> ConversationFolded | None:
        """Fold what does not fit, or with `fold` all that can be; `words`: what the user wants kept."""
        manual, folded = fold, None
        self.session.kept_lines = self.reminders.kept_lines
        for _ in range(MAX_FITS):
            self.session.unasked = self.reason_not_to_ask(fold)
            with self.writer.limit_wait(fold):
                self.body = await self.session.afit(self.conversation.body, fold=fold, words=words)
            receipt = self.session.receipt
            assert receipt
            self.ledger, self._added = receipt.outcome.after, 0
            folded = receipt if receipt.outcome.announced else folded
            if any(fold.made_for.how != QUIET for fold in receipt.reused):
                self._reused = FoldsReused(receipt)
            if await self._fits_server(receipt):
                break
            fold, words = False, ""
        self._show_warnings()
        if not folded:
            return None
        self.foldings += 1
        await self._hooks.run_after(self.session, folded, manual)
        return ConversationFolded(folded, manual)

    def take_reused(self) -> FoldsReused | None:
        """Return what the user has not been told yet of folds that are used again."""
        reused, self._reused = self._reused, None
        return reused

    def resume(self, path: Path | str) -> History:
        """Go on from a transcript of ours, or from the session of another tool."""
        history = load_history(path)
        self.session.note_in_transcript(continues=Path(path).stem)
        self.conversation.resume(history)
        self.reminders.resume(history.steps)
        self._weigh()
        for call, ref in load_outputs(path).items():
            self.session.keep_output(call, ref)
        return history

    def add_prompt(self, prompt: str, note: str = "") -> None:
        """Add what the user wrote, with a note of ours."""
        text = "\n\n".join(filter(None, (prompt, note)))
        self.conversation.add_prompt(text)
        self._added += self.meter.count(text)

    def settle(self, reply: Reply, results: Mapping[str, Result]) -> None:
        """Add a reply with the result of each of its calls."""
        step = self.conversation.settle(reply, results)
        self._added += self.weigher.step(step)

    def calibrate(self, usage: Usage | None, sent: int) -> None:
        """Learn from the tokens that the provider reports for a request of `sent` tokens by our count."""
        if (
            usage
            and usage.prompt
            and (self.conversation.dialect.reports_cached_tokens or usage.prompt >= MIN_REPORTED_SHARE * sent)
        ):
            self.session.learn(usage)

    def mark(self) -> Mark:
        return Mark(self.conversation.length, self.ledger, self._added, self.budget.window)

    def take_back_prompt(self, mark: Mark) -> None:
        """Remove a prompt that came after `mark`, if nothing else did."""
        if self.conversation.length != mark.entries + 1:
            return
        self.conversation.truncate(mark.entries)
        self.ledger, self._added = mark.ledger, mark.added
        if self.budget.window != mark.window:
            self._weigh()

    def _write_reminder(self) -> str:
        return self.reminders.write(self.budget.limit, self.meter.count)

    def _weigh(self) -> None:
        self.ledger = weigh(self.conversation.history, self.meter)
        self._added = 0

    async def _fits_server(self, receipt: Receipt) -> bool:
        """Ask a server that counts tokens without charge; the numbers shown are then its own."""
        session = self.session
        tokens = await count_on_server(self.endpoint, self.body) if session.server_counts else None
        if tokens is None:
            session.server_counts = False
            session.warn_if_estimated(self.endpoint.dialect)
            return True
        session.learn(tokens, billed=False)
        return tokens <= self.budget.limit or not receipt.outcome.folds

    def _tell_unfolded(self) -> None:
        """Tell the user why a folding that was due was not made; once, until there is another verdict."""
        verdict = self.session.receipt.verdict.name if self.session.receipt else ""
        if verdict in ("refused", "inflated") and verdict != self._told_verdict:
            self._events.notify(f"loop_{verdict}", "warning")
        self._told_verdict = verdict

    def _show_warnings(self) -> None:
        for warning in self.session.warnings[self._warnings_shown :]:
            text = notice(warning.code, warning.text, warning.facts, self._lang)
            self._events.emit(UserNotice(text, "warning"))
        self._warnings_shown = len(self.session.warnings)


def is_too_big(weight: int, budget: Budget, ledger: Ledger) -> bool:
    """Return whether a prompt cannot be sent whole, even with everything before it folded away."""
    return ledger.fixed < budget.limit < ledger.fixed + weight
