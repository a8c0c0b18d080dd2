"""The agent: prompt → fit → send → tools → step, until a reply makes no calls.

Law: the conversation is well formed at every moment, whatever is stopped, refused or lost, and no prompt of the user is
lost. Events reach the user interface as values, and only as values.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from yohaku.agent.context import Context, Mark
from yohaku.agent.conversation import Conversation
from yohaku.agent.equipment import MIN_FULL_BILLIONS, Tier, TierChoice
from yohaku.agent.event_queue import EndlessReply, EventQueue, Stopped
from yohaku.agent.events import ConversationFolded, Event, FoldsReused, Gauge, ReplyDiscarded, TurnEnded, UserNotice
from yohaku.agent.file_history.file_history import FileHistory
from yohaku.agent.file_keeper import FileKeeper
from yohaku.agent.hooks import Hooks
from yohaku.agent.model_requests import ModelRequests
from yohaku.agent.model_texts import PLAN_NOTE, PLAN_OVER_NOTE, STOPPED, prompt_for_people
from yohaku.agent.reminders import Reminders
from yohaku.agent.reply import Nudge, text_of
from yohaku.agent.small_models.assistance import Assistance, Finish, GiveUp, Retry, RunCalls, assist, follow_tier
from yohaku.agent.small_models.repetition import cut_repetition
from yohaku.agent.tool_calls import (
    AgentToolContext,
    Allow,
    Question,
    ToolRuntime,
    add_note,
    run_tool_calls,
)
from yohaku.agent.toolkit.permissions import Mode, Permissions
from yohaku.agent.toolkit.seen_files import SeenFiles
from yohaku.agent.toolkit.tool import AgentTool, PermissionRequest
from yohaku.agent.turn_report import TurnReport
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import RequestFailed, TooLong, Truncated
from yohaku.config import settings as setting
from yohaku.config.settings import Settings
from yohaku.core.errors import BadSetting, DoesNotFit, YohakuError
from yohaku.core.meter import Meter
from yohaku.core.model import Reply, Result, Text, ToolUse
from yohaku.messages import explain, say
from yohaku.session.fold_log import FoldingRecord
from yohaku.session.session import Session

if TYPE_CHECKING:
    from yohaku.client.model_client import ModelClient

MAX_STEPS = 200
"""Replies that one prompt may take."""


async def refuse(ask: PermissionRequest) -> Literal["once", "always", "no"]:
    return "no"


async def leave_unanswered(text: str, choices: tuple[str, ...]) -> str:
    return ""


class Agent:
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
        allow: Allow = refuse,
        question: Question = leave_unanswered,
        client: ModelClient | None = None,
        hooks: Hooks | None = None,
        max_steps: int = MAX_STEPS,
        settings: Settings | None = None,
        file_history: FileHistory | None = None,
    ) -> None:
        """`tools`: None for those that suit the window. `session`: None for one that is kept in the data folder.
        `file_history`: that of the agent it works for; None for one of its own."""
        self.root, self.lang = root.resolve(), lang
        self.allow, self.question = allow, question
        self.permissions = permissions or Permissions()
        self.files = SeenFiles(self.root)
        self.todo: list[tuple[str, str]] = []
        self.max_steps = max_steps
        self.busy = False
        self._prompts: list[str] = []
        """Typed while a turn runs, and not yet added."""
        self._assistance: Assistance | None = None
        self._report: TurnReport | None = None
        """None for a sub-agent: the agent it works for tells the user."""
        self._told_mode: Mode = "ask"
        self._events = EventQueue(lang)
        settings = settings or (Settings() if session else setting.read())
        self._own_history = file_history is None
        self.file_history = file_history or FileHistory(settings.data, self.root)
        self.keeper = FileKeeper(self.file_history, lang)
        self.context = Context(
            endpoint,
            window,
            self._events,
            root=self.root,
            tools=tools,
            lang=lang,
            hooks=hooks or Hooks(root=self.root),
            settings=settings,
            client=client,
            session=session,
            reminders=Reminders(self.todo, self.files),
        )
        self._requests = ModelRequests(self.context, self._events, self._follow_tier)

    # -- The loop

    async def _run_turn(self, prompt: str) -> TurnEnded:
        read_in_parts = await self._take_in(prompt)
        self._assistance = assist(self, prompt)
        if not read_in_parts:
            await self._assistance.before_first_request(self._run_tools)
        nudge: Nudge | None = None
        text = ""
        for _ in range(self.max_steps):
            foldings = self.context.foldings
            reply = await self._request(nudge or self._remind())
            nudge, text = None, text_of(reply)
            match self._assistance.after_reply(reply, folded=self.context.foldings > foldings):
                case Finish(final):
                    return self._finish(final)
                case GiveUp():
                    self._events.notify("loop_hopeless", "error")
                    return TurnEnded("failed", text)
                case Retry(nudge, circling):
                    if circling:
                        self._events.notify("loop_circling", "warning")
                case RunCalls(reply):
                    uses = await self._run_tools(reply)
                    await self._assistance.after_tools(uses, text, self._run_tools)
                    self._tell_notices(self._assistance)
                    await self._take_in_queued()
        self._events.notify("loop_steps", "warning", steps=self.max_steps)
        return TurnEnded("steps", text)

    async def _request(self, nudge: Nudge | None) -> Reply:
        """Request a reply; once more, at another temperature, where a small model repeats itself without end."""
        try:
            return await self._requests.request(nudge)
        except EndlessReply:
            again = self._assistance.after_endless_reply(nudge) if self._assistance else None
            if again is None:
                raise
            self._events.emit(ReplyDiscarded())
            return await self._requests.request(again)

    async def _run_tools(self, reply: Reply) -> tuple[ToolUse, ...]:
        """Run the calls of a reply and add both to the conversation, also when the user stops them."""
        context, reply = self.context, self._requests.number(reply)
        runtime = ToolRuntime(
            tools=self.tools,
            context=self._tool_context,
            events=self._events,
            session=context.session,
            meter=context.meter,
            ledger=context.ledger,
            images=self.conversation.dialect.images_in_results,
            keeper=self.keeper,
        )
        run = await run_tool_calls(reply.calls, runtime)
        context.cuts += run.cuts
        self._settle(reply, add_note(run.results, self.context.reminders.note_changes()))
        uses = tuple(ToolUse(call, run.results[call.id]) for call in reply.calls)
        if self._report:
            await self._report.add(uses)
        if run.stopped:
            raise Stopped
        self._events.emit(self.gauge)  # it says whether the next request will fold
        return uses

    # -- For user interfaces

    @property
    def endpoint(self) -> Endpoint:
        return self.context.endpoint

    @property
    def session(self) -> Session:
        return self.context.session

    @property
    def conversation(self) -> Conversation:
        return self.context.conversation

    @property
    def window(self) -> int:
        return self.context.budget.window

    @property
    def tier_choice(self) -> TierChoice:
        return self.context.equipment.choice

    @property
    def gauge(self) -> Gauge:
        return self.context.gauge

    @property
    def mode(self) -> Mode:
        return self.permissions.mode

    def set_mode(self, mode: Mode) -> None:
        """Ask before changes, allow none, or allow all; it counts from the next call on."""
        self.permissions.mode = mode

    @property
    def queued(self) -> tuple[str, ...]:
        return tuple(self._prompts)

    async def work(self, prompt: str) -> AsyncGenerator[Event, None]:
        """Yield the events of one turn, the last of them `TurnEnded`. Closing the generator stops the turn."""
        if self.busy:
            raise BadSetting("it is at work: queue what you want to say")
        self.busy = True
        try:
            async with aclosing(self._events.run(self._work(prompt))) as events:
                async for event in events:
                    yield event
        finally:
            self.busy = False

    def stop(self) -> None:
        """End the turn: what runs is killed; replies and results so far stay."""
        self._events.stop()

    def queue(self, text: str) -> None:
        """Keep a prompt that was typed while a turn runs; it is added at the next step."""
        self._prompts.append(text)

    def unqueue(self) -> str | None:
        return self._prompts.pop(0) if self._prompts else None

    async def compact(self, words: str = "") -> ConversationFolded | None:
        """Fold now. `words`: what the user wants kept."""
        return await self.context.fit(fold=True, words=words) if self.conversation.began else None

    def take_reused(self) -> FoldsReused | None:
        """Return what the user has not been told yet of folds that are used again."""
        return self.context.take_reused()

    async def undo(self, count: int = 1) -> tuple[tuple[FoldingRecord, ...], ConversationFolded | None]:
        """Return the foldings taken back, and the folding that was needed for the rest to fit."""
        done = self.session.undo(count)
        return done, await self.context.fit() if done and self.conversation.began else None

    async def redo(self, count: int = 1) -> tuple[FoldingRecord, ...]:
        done = self.session.redo(count)
        if done and self.conversation.began:
            await self.context.fit()
        return done

    async def switch(self, endpoint: Endpoint, window: int) -> ConversationFolded | None:
        """Go on with another model; what does not fit its window is folded at once."""
        return await self.context.switch(endpoint, window)

    def resume(self, path: Path | str) -> None:
        """Go on from a transcript of ours, or from the session of another tool."""
        history = self.context.resume(path)
        self._requests.add_call_ids(use.call.id for step in history.steps for use in step.uses)
        facts = {"turns": len(history.turns), "steps": len(history.steps)}
        self._events.notify("loop_gone_on", name=Path(path).name, **facts)

    async def close(self) -> None:
        """End what runs, and close what was opened here."""
        self._events.stop()
        await self.context.close()
        if self._own_history:
            self.file_history.close()
        if bash := sys.modules.get("yohaku.agent.tools.bash"):
            bash.stop_background()

    # -- For help with small models (`small_models.Workspace`)

    @property
    def tier(self) -> Tier:
        return self.context.equipment.tier

    @property
    def has_small_model(self) -> bool:
        billions = self.tier_choice.model.billions
        return billions is not None and billions < MIN_FULL_BILLIONS

    @property
    def tools(self) -> tuple[AgentTool, ...]:
        return self.context.equipment.tools

    @property
    def meter(self) -> Meter:
        return self.context.meter

    @property
    def can_begin_replies(self) -> bool:
        return self.context.client.begins

    def tool(self, name: str) -> AgentTool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    # -- The ends of a turn

    async def _work(self, prompt: str) -> None:
        mark = self.context.mark()
        if self._own_history:
            self._report = await TurnReport.begin(self, prompt)
        try:
            ended = await self._run_turn(prompt)
        except Stopped:
            ended = TurnEnded("stopped", self._keep_interrupted(self._events.reply_text, STOPPED))
        except EndlessReply:
            self._events.notify("loop_endless", "error")
            ended = TurnEnded("failed", self._keep_interrupted(cut_repetition(self._events.reply_text)))
        except DoesNotFit as error:
            ended = self._take_back(error, mark)
        except (TooLong, Truncated):
            self._events.notify("loop_too_long", "error")
            ended = TurnEnded("too_big")
        except RequestFailed as error:
            self._events.emit(UserNotice(error.said(self.lang), "error"))
            ended = TurnEnded("failed", self._keep_interrupted(self._events.reply_text))
        except YohakuError as error:
            self._events.emit(UserNotice(explain(error, self.lang), "error"))
            ended = TurnEnded("failed")
        await self._save(ended)
        if self._report:
            notice, problems = await self._report.finish(ended)
            ended = replace(ended, problems=problems)
            if notice:
                self._events.emit(notice)
        self._events.emit(self.gauge)
        self._events.emit(ended)

    def _finish(self, reply: Reply) -> TurnEnded:
        text = text_of(reply)
        if not text.strip():
            self._events.notify("loop_said_nothing", "warning")
        self._settle(reply, {})
        return TurnEnded("done", text)

    def _keep_interrupted(self, text: str, note: str = "") -> str:
        """Add the part of a reply that came before it was interrupted."""
        if text.strip():
            self._settle(Reply((Text(f"{text}\n{note}".rstrip()),)), {})
        return text

    def _take_back(self, error: DoesNotFit, mark: Mark) -> TurnEnded:
        """Remove a prompt that cannot be sent, so that the conversation can go on without it."""
        self.context.take_back_prompt(mark)
        verdict = error.verdict
        if verdict.what in ("system_prompt", "system_prompt_and_tools"):  # ours: the user cannot shorten it
            code = "loop_window_small" if self.tools else "loop_window_small_chat"
            self._events.notify(code, "error", needs=verdict.needs, limit=verdict.limit)
        elif verdict.what == "unfolded_conversation":
            self._events.notify("loop_refused_too_big", "error", needs=verdict.needs, limit=verdict.limit)
        else:
            code = "loop_pins_do_not_fit" if verdict.pin else "loop_does_not_fit"
            what = say(f"too_big.{verdict.what}", self.lang, origin=verdict.origin)
            self._events.notify(code, "error", what=what, needs=verdict.needs, limit=verdict.limit, pin=verdict.pin)
        return TurnEnded("too_big")

    async def _save(self, ended: TurnEnded) -> None:
        """Fit the last reply too: it is then in the transcript, and folded now, while nobody waits.

        After a stop nothing that takes time is started. What does not fit is reported when it is to be sent.
        """
        self.context.remember_speed()
        if self.conversation.began and (ended.why == "done" or not self.context.will_fold):
            with suppress(YohakuError, Stopped):
                await (self.context.fit_to_send() if ended.why == "done" else self.context.fit())

    # -- Steps of the loop

    async def _take_in(self, prompt: str) -> bool:
        """Add a prompt; return whether it, or the big file it is about, was read part by part."""
        from yohaku.agent.big_input import take_in  # loads the outlines of source files

        notes = (self._note_mode(), self.context.reminders.note_changes())
        return await take_in(self, prompt, "\n\n".join(filter(None, notes)), self._events)

    def _note_mode(self) -> str:
        """Return a note for the model in plan mode, and once when it is over."""
        before, self._told_mode = self._told_mode, self.mode
        return PLAN_NOTE if self.mode == "plan" else PLAN_OVER_NOTE if before == "plan" else ""

    async def _take_in_queued(self) -> None:
        while (text := self.unqueue()) is not None:
            await self._take_in(text)

    def _settle(self, reply: Reply, results: dict[str, Result]) -> None:
        self.context.settle(reply, results)
        self._events.start_reply()

    def _remind(self) -> Nudge | None:
        worked = self.conversation.history.turns[-1].steps
        return self._assistance.remind(self._newest_prompt()) if self._assistance and worked else None

    def _newest_prompt(self) -> str:
        turns = self.conversation.history.turns
        asked = "".join(part.text for part in turns[-1].prompt if isinstance(part, Text)) if turns else ""
        return prompt_for_people(asked)

    def _tell_notices(self, assistance: Assistance) -> None:
        while assistance.notices:
            name, facts = assistance.notices.pop(0)
            self._events.notify(name, "warning", **facts)

    def _follow_tier(self) -> None:
        self._assistance = self._assistance and follow_tier(self._assistance)

    def _tool_context(self, call: str) -> AgentToolContext:
        return AgentToolContext(
            call=call,
            root=self.root,
            files=self.files,
            session=self.session,
            lang=self.lang,
            todo=self.todo,
            permissions=self.permissions,
            ask_permission=self.allow,
            ask_user=self.question,
            run_sub_agent=self._delegate,
            events=self._events,
            keeper=self.keeper,
            careful=self.tier == "small",
            prompt=self._newest_prompt(),
        )

    async def _delegate(self, task: str, show: Callable[[str], None]) -> str:
        from yohaku.agent.sub_agent import delegate  # which makes an agent of its own

        with self.context.open_sibling() as session:
            answer, foldings = await delegate(self, session, task, show)
        self.context.foldings += foldings
        return answer
