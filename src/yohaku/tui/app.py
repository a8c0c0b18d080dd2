"""The terminal application: conversation, panel and prompt, driven by the agent's events.

Law: nothing typed is lost; Ctrl-C stops everything and gives back what waits, twice it ends the program; every failure
is a sentence on the screen.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from contextlib import aclosing, suppress
from dataclasses import replace
from time import monotonic
from typing import Any, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.driver import Driver
from textual.widgets import Static

from yohaku.agent.commands import slash_commands
from yohaku.agent.commands.own_commands import list_own_commands
from yohaku.agent.events import (
    ConversationFolded,
    Event,
    FoldsReused,
    Gauge,
    ReadingProgress,
    ReplyDiscarded,
    ReplyFinished,
    SearchProgress,
    TextDelta,
    ThoughtDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnEnded,
    UserNotice,
)
from yohaku.agent.format import describe_folding, describe_folding_briefly, describe_reading, draw_progress
from yohaku.agent.protocols import AgentStarter, WorkingAgent
from yohaku.agent.user_shell import user_command_in
from yohaku.messages import say, search_first
from yohaku.tui.conversation import ConversationView
from yohaku.tui.dialogs import QUIET_SECONDS
from yohaku.tui.input_history import InputHistory
from yohaku.tui.panel import GaugeLine, Panel
from yohaku.tui.panel_facts import PanelFacts, read_files_state
from yohaku.tui.prompt import CompletionList, PromptInput, QueuedPrompts
from yohaku.tui.tool_line import ToolLine
from yohaku.tui.user_shell_host import UserShellHost

DOUBLE_PRESS_SECONDS = 2.0
"""Seconds in which a second Ctrl-C quits."""
CLOSE_TIMEOUT = 3.0
"""Seconds the agent has to end."""
NARROW_COLUMNS = 90
"""Columns below which the panel is one line."""
STYLE_SHEETS = "app panel conversation reply tool_line prompt dialogs".split()


class YohakuApp(UserShellHost):
    CSS_PATH = [f"{part}.tcss" for part in STYLE_SHEETS]  # noqa: RUF012
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (NARROW_COLUMNS, "-wide")]  # noqa: RUF012
    BINDINGS = [  # noqa: RUF012
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+d", "leave", show=False),
        Binding("escape", "halt", show=False),
        Binding("ctrl+o", "open_output", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
    ]

    def __init__(self, begin: AgentStarter, *, resume: str = "", first: str = "", quiet: float = QUIET_SECONDS) -> None:
        search_first("screen")
        super().__init__(quiet)
        self.begin = begin
        self.lang = begin.settings.lang
        self.agent: WorkingAgent | None = None
        self._resume = resume
        self._lines: list[str] = [first] if first else []
        """Typed before there was an agent, and commands (`/`, `!`) typed while it works."""
        self._working = False
        self._commands = 0
        """Running commands: what is typed meanwhile waits, because a command may exchange the agent."""
        self._shell_running = False
        self._progressing = False
        """Whether the status tells how far a download or a model's loading is."""
        self._awaited = ("", say("screen_looking", self.lang), monotonic())
        """A download, a model's loading or the search for one: what, what is told of it, and since when."""
        self._halting = False
        self._began = 0.0
        self._reading: tuple[ReadingProgress, float] | None = None
        """How far the model has read, and when that was told."""
        self._seen: tuple[str, ...] = ()
        self._facts = PanelFacts()
        self._interrupted = -DOUBLE_PRESS_SECONDS
        if begin.settings.theme in self.available_themes:
            self.theme = begin.settings.theme

    def get_driver_class(self) -> type[Driver]:
        driver = super().get_driver_class()
        home = sys.modules[driver.__module__]
        if hasattr(home, "XTermParser"):  # the driver can be given no parser of ours
            with suppress(ImportError):  # nor is there a public one to build on: without, a big paste is only slow
                from yohaku.tui.fast_paste import FastPaste

                setattr(home, "XTermParser", FastPaste)  # noqa: B010
        return driver

    def compose(self) -> ComposeResult:
        settings = self.begin.settings
        yield Panel(self.lang, debug=settings.debug)
        with Vertical(id="main"):
            yield ConversationView(self.lang)
            yield QueuedPrompts(self.lang)
            yield GaugeLine(self.lang)
            yield CompletionList(self.lang)
            yield PromptInput(self.lang, InputHistory(settings.data / "typed.jsonl"))
            yield Static(say("screen_looking", self.lang), id="status", markup=False)

    def on_mount(self) -> None:
        self.query_one(PromptInput).focus()
        self.set_interval(1, self._tick)
        self.call_after_refresh(self._look_first)

    # what the user does

    async def on_prompt_input_sent(self, sent: PromptInput.Sent) -> None:
        await self._take(sent.text)

    def on_prompt_input_lost(self, lost: PromptInput.Lost) -> None:
        told = say("prompt_pasted_gone", self.lang, label=lost.label)
        self.call_later(self.query_one(ConversationView).note, told, "warning")

    async def on_prompt_input_mode_switched(self) -> None:
        """Shift-Tab: from asking to planning and back. To yolo leads only /mode, which nobody types by accident."""
        if self.agent:
            self.agent.set_mode("plan" if self.agent.mode == "ask" else "ask")
            await self.query_one(ConversationView).note(say(f"mode_now_{self.agent.mode}", self.lang))
            self._named()

    async def action_interrupt(self) -> None:
        """Copy the selection; without one stop everything; twice, the program."""
        if selected := self.screen.get_selected_text():
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
            return
        now, before = monotonic(), self._interrupted
        self._interrupted = now
        if now - before < DOUBLE_PRESS_SECONDS:
            await self.action_leave()
        elif not self._stop_everything():
            self._status(say("screen_again", self.lang))
            self.set_timer(DOUBLE_PRESS_SECONDS, self._rest)

    def _stop_everything(self) -> bool:
        """Stop the step, commands and the search for a model, and give back what waits; False if there was nothing."""
        waiting = [*iter(self.agent.unqueue, None)] if self.agent else []
        waiting += self._lines
        self._lines.clear()
        self.query_one(PromptInput).put_back([text for text in waiting if text])
        self._waits()
        busy = [group for group in ("command", "begin") if self.workers_busy(group)]
        for group in busy:
            self.workers.cancel_group(self, group)
        if self._working:
            self._halt()
        elif busy:
            self._status(say("screen_stopped" if self.agent else "screen_no_model", self.lang))
        return bool(waiting or busy or self._working)

    def action_halt(self) -> None:
        if self._working:
            self._halt()
        elif self._shell_running:
            self.workers.cancel_group(self, "command")

    async def action_leave(self) -> None:
        self._status(say("screen_stopping", self.lang))
        if self.agent:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.agent.close(), CLOSE_TIMEOUT)
        self.exit(0)

    async def action_quit(self) -> None:
        await self.action_leave()

    def action_open_output(self) -> None:
        """Open or close the output of the newest call."""
        for line in list(self.query(ToolLine))[-1:]:
            line.action_turn()
            line.scroll_visible(animate=False)

    async def on_key(self, event: events.Key) -> None:
        """Give the prompt a key that nothing took."""
        prompt = self.query_one(PromptInput)
        if self.focused is not prompt and (event.is_printable or event.key == "enter"):
            prompt.focus()
            await prompt._on_key(event)

    def action_page(self, pages: int) -> None:
        flow = self.screen.query(ConversationView)
        if flow and not (self.dialog and self.dialog.scroll_page(pages)):
            flow.first().scroll_page_up() if pages < 0 else flow.first().scroll_page_down()

    # what the agent asks and tells: the Surface

    def show_notice(self, notice: UserNotice) -> None:
        self.call_later(self.query_one(ConversationView).note, notice.text, notice.kind)

    def progress(self, what: str, done: int, total: int) -> None:
        self._progressing = bool(total)
        if total or self._looks_for_model:  # where it was stopped, that is said
            self._await(draw_progress(what, done, total) if total else say("screen_looking", self.lang), what)

    def _await(self, text: str, what: str) -> None:
        """Show what is waited for; the seconds count on while it is the same."""
        before, _, since = self._awaited
        self._awaited = (what, text, since if what == before else monotonic())
        self._tell_awaited()

    def _tell_awaited(self) -> None:
        _, text, since = self._awaited
        seconds = int(monotonic() - since)
        self._status(say("screen_awaited", self.lang, what=text, seconds=seconds) if seconds else text)

    async def renew(self, *, resume: str = "") -> WorkingAgent | None:
        old = self.agent
        if old is None:
            return None
        new = await self.begin(self, endpoint=old.endpoint, window=old.window, resume=resume)
        if new is not None:
            new.set_mode(old.mode)
            self.agent = new
            await old.close()
        return new

    # the work

    def _look_first(self) -> None:
        """Look for a model once the screen is drawn; until then garbage may wait."""
        gc.enable()
        self._look()

    def _look(self) -> None:
        self._awaited = ("", say("screen_looking", self.lang), monotonic())
        self.run_worker(self._found(), group="begin", exit_on_error=False)

    async def _found(self) -> None:
        agent = None
        try:
            agent = await self.begin(self, resume=self._resume)
            if agent and self._resume:
                await self.query_one(ConversationView).show(agent.conversation.history)
        except Exception as wrong:  # the edge of the program: it must be said on the screen, not after it
            await self._bug(wrong)
        if agent is None:
            self._status(say("screen_no_model", self.lang))
            return
        if not self._resume:
            await self.query_one(ConversationView).note(self._hello(agent))
        self.agent = agent  # only now: what is typed meanwhile comes after what was said before
        self._named()
        self._gauge(agent.gauge)
        self._rest()
        self._go_on()

    def _hello(self, agent: WorkingAgent) -> str:
        settings = self.begin.settings
        kind = "chat" if settings.chat else settings.permissions.replace("-", "_")
        return say(f"screen_hello_{kind}", self.lang, root=agent.root)

    async def _take(self, text: str) -> None:
        slash, shell = slash_commands.is_command(text), user_command_in(text)
        name = text.split(maxsplit=1)[0].removeprefix("/").lower()
        command = slash_commands.COMMANDS.get(name) if slash else None
        alone = command is not None and (command.without_agent or (command.while_working and self.agent is not None))
        unknown = command is None and name not in list_own_commands(self.project)
        if slash and (unknown or alone or (self.agent and not self._busy)):
            self.run_worker(self._command(text), group="command", exit_on_error=False)
        elif shell and not self._busy:
            self.run_worker(self._shell(shell), group="command", exit_on_error=False)
        elif self.agent is None and not self.workers_busy("begin"):
            self._lines += [] if text == "/model" else [text]
            self._look()  # nothing was found the last time: perhaps now
        elif self.agent is None or slash or shell or (self._commands and not self._working):
            self._lines.append(text)
        elif self._working:
            self.agent.queue(text)
        else:
            self._begin_work(text)
        self._waits()

    @property
    def _busy(self) -> bool:
        return self._working or self._commands > 0

    def workers_busy(self, group: str) -> bool:
        return any(worker.group == group and worker.is_running for worker in self.workers)

    @property
    def _looks_for_model(self) -> bool:
        return any(each.group == "begin" and each.is_running and not each.is_cancelled for each in self.workers)

    async def _shell(self, command: str) -> None:
        self._commands += 1
        self._shell_running, self._began = True, monotonic()
        self._tick()
        try:
            await self.run_user_command(command)
        except Exception as wrong:  # the edge, as above
            await self._bug(wrong)
        finally:
            self._commands -= 1
            self._shell_running = False
            self._rest()
        self._go_on()

    def _begin_work(self, text: str, *, shown: bool = True) -> None:
        """Let the agent work on a prompt; `shown`: it is to be shown, as no command stands for it."""
        self._working = True
        self._began = monotonic()
        self._tick()
        self.run_worker(self._work(text, shown), group="work", exit_on_error=False)

    async def _work(self, text: str, shown: bool) -> None:
        agent, flow = self.agent, self.query_one(ConversationView)
        assert agent is not None
        if shown:
            await flow.prompted(text)
        try:
            async with aclosing(cast(Any, agent.work(self.add_outputs(text)))) as events:
                async for event in events:
                    await self._show(event)
                    await self._taken_in()
        except Exception as wrong:  # the edge, as above
            await self._bug(wrong)
        finally:
            self._working = self._halting = False
        await flow.ended()
        self._gauge(agent.gauge)
        self._named()
        self._rest()
        self._go_on()

    def _go_on(self) -> None:
        """Continue with what waits: queued prompts before other lines."""
        if self._busy or self.agent is None:
            return
        queued = self.agent.unqueue()
        line = self._lines.pop(0) if queued is None and self._lines else ""
        self._waits()
        if shell := user_command_in(line):
            self.run_worker(self._shell(shell), group="command", exit_on_error=False)
        elif slash_commands.is_command(line):
            self.run_worker(self._command(line), group="command", exit_on_error=False)
        elif text := queued or line:
            self._begin_work(text)

    async def _command(self, text: str) -> None:
        self._commands += 1
        if not self._working:
            self._began = monotonic()
        prompt = ""
        try:
            prompt = await self._commanded(text)
        except Exception as wrong:  # the edge, as above
            await self._bug(wrong)
        finally:
            self._commands -= 1
        self._rest()
        if prompt and self.agent and not self._working:
            self._begin_work(prompt, shown=False)
        else:
            self._go_on()

    async def _commanded(self, text: str) -> str:
        """Run a slash command; return the prompt that it stands for, if it does."""
        flow = self.query_one(ConversationView)
        await flow.prompted(text)
        done = await slash_commands.run_command(self, text)
        if done.do == "quit":
            await self.action_leave()
            return ""
        if done.do == "prompt":
            return done.text
        if done.do == "redraw" and self.agent:
            self._outputs.clear()
            await flow.show(self.agent.conversation.history)
        if done.text:
            await flow.note(done.text, done.kind)
        if self.agent:
            self._named()
            self._gauge(self.agent.gauge)
        return ""

    async def _show(self, event: Event) -> None:
        flow = self.query_one(ConversationView)
        match event:
            case TextDelta(text):
                self._reading = None
                await flow.said(text)
            case ThoughtDelta(text):
                await flow.thought(text)
            case ToolStarted():
                await flow.calling(event)
            case ToolOutput():
                flow.output(event)
            case SearchProgress():
                flow.searched(event)
            case ToolFinished():
                await flow.called(event)
                if self.agent:
                    self._tell_panel(plan=tuple(self.agent.todo))
            case Gauge():
                self._reading = None
                self._gauge(event)
            case ConversationFolded() | FoldsReused():
                await flow.note(describe_folding(event, self.lang))
                if isinstance(event, ConversationFolded):
                    self._tell_panel(folding=describe_folding_briefly(event.receipt, self.lang))
            case UserNotice(text, kind):
                await flow.note(text, kind)
            case ReadingProgress():
                self._reading = (event, monotonic())
                self._tick()
            case ReplyFinished(_, _, reading, writing):
                self._reading = None
                if reading or writing:
                    self._tell_panel(reading=reading, writing=writing)
            case ReplyDiscarded():
                await flow.take_back()
            case TurnEnded(why):
                if why == "stopped":  # the rest was told by whoever knows more of it
                    await flow.note(say("screen_stopped", self.lang))

    async def _taken_in(self) -> None:
        """Show queued prompts that the agent has taken."""
        assert self.agent is not None
        now = self.agent.queued
        if now == self._seen:
            return
        for text in self._seen[: max(0, len(self._seen) - len(now))]:
            await self.query_one(ConversationView).prompted(text)
        self._waits()

    def _waits(self) -> None:
        self._seen = self.agent.queued if self.agent else ()
        self.query_one(QueuedPrompts).show((*self._seen, *self._lines))

    def _halt(self) -> None:
        assert self.agent is not None
        self._halting = True
        self.agent.stop()
        self._status(say("screen_stopping", self.lang))

    async def _bug(self, wrong: Exception) -> None:
        self.log.error(wrong)
        await self.query_one(ConversationView).note(say("screen_bug", self.lang, why=type(wrong).__name__), "error")

    def _gauge(self, gauge: Gauge) -> None:
        self.query_one(Panel).show(gauge)
        self.query_one(GaugeLine).show(gauge)

    def _named(self) -> None:
        assert self.agent is not None
        endpoint = self.agent.endpoint
        self.query_one(Panel).name_model(f"{endpoint.model}\n{endpoint.name}")
        self._tell_panel(mode="" if self.begin.settings.chat else self.agent.mode, plan=tuple(self.agent.todo))
        self.run_worker(self._look_at_files(), group="git", exclusive=True, exit_on_error=False)

    async def _look_at_files(self) -> None:
        if self.agent:
            self._tell_panel(files=await asyncio.to_thread(read_files_state, self.agent))

    def _tell_panel(self, **facts: Any) -> None:
        """Show facts about the session beside the gauge; the others stay."""
        self._facts = replace(self._facts, **facts)
        self.query_one(Panel).tell(self._facts)
        self.query_one(GaugeLine).tell(self._facts)

    def _tick(self) -> None:
        commanded = self._commands > 0 and self.dialog is None and not self._progressing
        if (self._working and not self._halting) or self._shell_running or (commanded and not self._working):
            working = say("screen_working", self.lang, seconds=int(monotonic() - self._began))
            if self._reading:
                working = f"{describe_reading(self._reading[0], monotonic() - self._reading[1], self.lang)} · {working}"
            self._status(working)
        elif self.dialog is None and (self._progressing or self._looks_for_model):
            self._tell_awaited()

    def _rest(self) -> None:
        if self.agent and not self._working:
            self._status(say("screen_status", self.lang))

    def _status(self, text: str) -> None:
        for status in self.query("#status").results(Static):  # gone while the screen is closed
            status.update(text)
