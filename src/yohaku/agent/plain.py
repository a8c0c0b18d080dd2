"""The agent without a screen: one task for a script, or a dialogue in lines.

Law: replies go to standard output and everything else to standard error, so that a pipe gets the answer. In a script
nobody can be asked, so nothing is written or run unless all of it was allowed beforehand.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from yohaku.agent.commands import slash_commands
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
    to_json,
)
from yohaku.agent.format import (
    clip,
    describe_folding,
    describe_reading,
    describe_search,
    draw_progress,
    format_gauge,
    strip_controls,
)
from yohaku.agent.model_texts import failure_for_people
from yohaku.agent.protocols import AgentStarter, Allowed, WorkingAgent
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.agent.typed_ahead import TypedAhead
from yohaku.agent.user_shell import UserCommand, user_command_in
from yohaku.messages import say

EXIT_CODES = {"done": 0, "steps": 1, "too_big": 3, "failed": 4, "stopped": 130}
"""Exit codes by the end of the turn."""
NOT_DONE = 1
"""Exit code of a turn that went well, but left something undone or broken."""
NO_MODEL = 4


class PlainInterface:
    """A user interface of lines. `read_line` returns a line of the user; None where nobody is there."""

    def __init__(
        self,
        begin: AgentStarter,
        out: TextIO | None = None,
        err: TextIO | None = None,
        *,
        json: bool = False,
        read_line: Callable[[str], str] | None = None,
    ) -> None:
        self.begin = begin
        self.lang = begin.settings.lang
        self.agent: WorkingAgent | None = None
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self.json = json
        self.read_line = read_line
        self._at_line_start = True
        self._reading = False
        """True while a line about the model's reading stands."""
        self._ahead = TypedAhead()
        self._outputs: list[str] = []
        """Outputs of the user's own commands, for the next prompt."""
        self._held: list[str] = []
        """The current reply, where a pipe reads: it may have to be asked for again."""
        self._held_notices: list[str] = []
        """Notices that came after it."""

    @property
    def attended(self) -> bool:
        """True when a person reads and answers: nobody sits at a pipe."""
        return self.read_line is not None and (self.read_line is not _read_line or sys.stdin.isatty())

    async def allow(self, ask: PermissionRequest) -> Allowed:
        if self.read_line is None:
            self.show_notice(UserNotice(say("allow_refused", self.lang, title=ask.title), "warning"))
            return "no"
        if ask.detail:
            self._write_aside(ask.detail)
        if ask.danger:
            self._write_aside(say("allow_danger", self.lang, why=ask.danger))
        if ask.lost:
            self._write_aside(ask.lost)
        surely = self._wait_for_quiet()
        asked = "_danger" if ask.danger or not surely else "_always" if ask.remember else ""
        kind = f"allow_plain{asked}"
        answer = self._ask(say(kind, self.lang, title=strip_controls(ask.title), what=ask.remember)).strip().lower()
        if answer in ("yes", "はい") or (answer == "y" and kind != "allow_plain_danger"):
            return "once"
        return "always" if answer in ("always", "常に") and kind == "allow_plain_always" else "no"

    async def question(self, text: str, choices: tuple[str, ...] = (), *, own_words: bool = True) -> str:
        if self.read_line is None:
            return ""
        self._write_aside("\n".join([text, *(f"  {number}. {choice}" for number, choice in enumerate(choices, 1))]))
        self._wait_for_quiet()
        answer = self._ask(say("plain_prompt", self.lang)).strip()
        return choices[int(answer) - 1] if answer.isdecimal() and 0 < int(answer) <= len(choices) else answer

    async def secret(self, text: str) -> str:
        if self.read_line is None or not sys.stdin.isatty():
            return ""
        from getpass import getpass

        self._wait_for_quiet()
        try:
            with _interrupt_input():
                return getpass(f"{text} ", self.err)
        except (EOFError, KeyboardInterrupt):
            return ""

    def show_notice(self, notice: UserNotice) -> None:
        self.show(notice)

    def progress(self, what: str, done: int, total: int) -> None:
        if not self.json and self.err.isatty():
            self.err.write(f"\r{draw_progress(what, done, total)}" if total else "\n")
            self.err.flush()

    async def renew(self, *, resume: str = "") -> WorkingAgent | None:
        if self.agent is None:
            return None
        new = await self.begin(self, endpoint=self.agent.endpoint, window=self.agent.window, resume=resume)
        if new is not None:
            new.set_mode(self.agent.mode)
            await self.agent.close()
            self.agent = new
        return new

    def show(self, event: Event) -> None:
        if self.json:
            self.out.write(to_json(event) + "\n")
            self.out.flush()
            return
        if isinstance(event, ReadingProgress):
            self._show_progress(describe_reading(event, 0, self.lang))
            return
        if isinstance(event, SearchProgress):
            self._show_progress(describe_search(event, self.lang))
            return
        self._clear_reading()
        if not isinstance(event, TextDelta | ThoughtDelta | ReplyFinished | ReplyDiscarded | Gauge | UserNotice):
            self._release()
        match event:
            case TextDelta(text) if self.read_line is None and not self.out.isatty():
                self._held.append(strip_controls(text))
            case TextDelta(text):
                self._write(strip_controls(text))
            case ReplyDiscarded():
                self._held.clear()
                self._release()
            case ReplyFinished(_, _, reading, writing) if reading and writing and self.err.isatty():
                self._write_aside(say("model_speed", self.lang, reading=reading, writing=writing))
            case ToolStarted(_, title):
                self._write_aside(f"• {clip(title, 200)}")
            case ToolOutput(_, text) if self.read_line is not None:
                self._write_aside(text.rstrip("\n"), "  ")
            case ToolFinished(call, result, title, diff):
                if diff:
                    self._write_aside(diff.rstrip("\n"), "  ")
                if result.error:
                    self._write_aside(f"✗ {self._describe_failure(call.name, title, result.text)}")
            case ConversationFolded() | FoldsReused():
                self._write_aside(describe_folding(event, self.lang))
            case Gauge() if self.begin.settings.debug:
                self._write_aside(format_gauge(event, self.lang, 100))
            case UserNotice(text) if self._held:
                self._held_notices.append(text)
            case UserNotice(text):
                self._write_aside(text)
            case TurnEnded(why):
                self._write("" if self._at_line_start else "\n")
                if why == "stopped":
                    self._write_aside(say("screen_stopped", self.lang))

    def _describe_failure(self, tool: str, title: str, text: str) -> str:
        why = failure_for_people(tool, text, self.lang)
        return clip(why or say("tool_failed", self.lang, title=title), 300)

    async def work(self, prompt: str) -> int:
        """Work on a prompt, and then on those that were queued meanwhile; return the exit code."""
        assert self.agent is not None
        code, text = 0, "\n\n".join([*self._outputs, prompt])
        self._outputs.clear()
        while text:
            with _interrupt_turn(self.agent.stop):
                async for event in self.agent.work(text):
                    self.show(event)
                    if isinstance(event, TurnEnded):
                        code = EXIT_CODES[event.why] or (NOT_DONE if event.problems else 0)
            text = self.agent.unqueue() or "" if code == 0 else ""
        return code

    async def run_user_command(self, typed: str) -> None:
        """Run `!command`, and show its output; the model is given it with the next prompt."""
        root, window = (self.agent.root, self.agent.window) if self.agent else (Path.cwd(), 0)
        command = UserCommand(typed, root, self.lang, window)
        running = asyncio.ensure_future(command.run())

        def stop() -> None:
            running.cancel()

        with _interrupt_turn(stop), suppress(asyncio.CancelledError):
            await running
        self._write_aside(command.text)
        self._outputs.append(command.for_model)

    def _show_progress(self, told: str) -> None:
        """Show how far something is, in one line of a terminal that is written over."""
        if self.err.isatty() and self._at_line_start:
            self.err.write(f"\r\x1b[K{told}")
            self.err.flush()
            self._reading = True

    def _clear_reading(self) -> None:
        if self._reading:
            self.err.write("\r\x1b[K")
            self.err.flush()
            self._reading = False

    def _release(self) -> None:
        text = "".join(self._held)
        notices = self._held_notices[:]
        self._held.clear()
        self._held_notices.clear()
        self._write(text)
        for notice in notices:
            self._write_aside(notice)

    def _write(self, text: str) -> None:
        if text:
            self.out.write(text)
            self.out.flush()
            self._at_line_start = text.endswith("\n")

    def _write_aside(self, text: str, indent: str = "") -> None:
        if not self._at_line_start:
            self._write("\n")
        for each in strip_controls(text).split("\n"):
            self.err.write(f"{indent}{each}\n")
        self.err.flush()

    def read_prompt(self) -> str:
        """Return the next line of the user, one that was typed before a question first."""
        assert self.read_line is not None
        if self._ahead.lines:
            line = self._ahead.lines.pop(0)
            self._write_aside(say("plain_prompt", self.lang) + line)
            return line
        prompt = say("plain_prompt", self.lang)
        begun = self._ahead.take_begun()
        return _read_line(prompt, begun) if begun else self.read_line(prompt)

    def _wait_for_quiet(self) -> bool:
        """Keep what was typed ahead for the prompt; False where it cannot be told from an answer."""
        if self.read_line is not _read_line or not sys.stdin.isatty():
            return True
        try:
            with _interrupt_input():
                return self._ahead.collect()
        except KeyboardInterrupt:  # Ctrl-C has stopped the turn too
            return False

    def _ask(self, prompt: str) -> str:
        assert self.read_line is not None
        try:
            with _interrupt_input():
                return self.read_line(prompt)
        except (EOFError, KeyboardInterrupt):  # Ctrl-C has stopped the turn too
            return ""


async def run_once(
    begin: AgentStarter, prompt: str, *, json: bool = False, resume: str = "", plain: PlainInterface | None = None
) -> int:
    """Work on one task without questions: `yohaku -p`."""
    plain = plain or PlainInterface(begin, json=json)
    plain.agent = await begin(plain, resume=resume)
    if plain.agent is None:
        return NO_MODEL
    try:
        return await plain.work(prompt)
    finally:
        await plain.agent.close()


async def run_interactive(
    begin: AgentStarter, *, resume: str = "", first: str = "", plain: PlainInterface | None = None
) -> int:
    """Read and answer lines until the end of input: `yohaku --plain`."""
    plain = plain or PlainInterface(begin, read_line=_read_line)
    plain.agent = await begin(plain, resume=resume)
    while True:
        try:
            text = (first or plain.read_prompt()).strip()
        except (EOFError, KeyboardInterrupt):
            break
        first = ""
        if command := user_command_in(text):
            await plain.run_user_command(command)
        elif slash_commands.is_command(text):
            done = await slash_commands.run_command(plain, text)
            if done.do == "prompt":
                await plain.work(done.text)
            elif done.text:
                plain._write_aside(done.text)
            if done.do == "quit":
                break
        elif text and plain.agent is None:
            plain.agent = await begin(plain, resume=resume)
            first = text if plain.agent else ""
        elif text:
            await plain.work(text)
    if plain.agent:
        await plain.agent.close()
    return 0


def _read_line(prompt: str, begun: str = "") -> str:
    """Read a line, with the keys of readline where it is installed. `begun`: what was typed of it before."""
    try:
        import readline  # works by being imported
    except ImportError:
        return begun + input(prompt + begun)
    readline.set_startup_hook((lambda: readline.insert_text(begun)) if begun else None)
    try:
        return input(prompt)
    finally:
        readline.set_startup_hook(None)


@contextmanager
def _interrupt_input() -> Iterator[None]:
    """Let Ctrl-C end the typing at once: while a line is read the event loop stands still and cannot handle it."""
    try:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _interrupt_turn(stop: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C stop the turn, and a second one the program."""
    loop = asyncio.get_running_loop()
    pressed = False

    def press() -> None:
        nonlocal pressed
        stop()
        if pressed:
            loop.remove_signal_handler(signal.SIGINT)
        pressed = True

    try:
        loop.add_signal_handler(signal.SIGINT, press)
    except (NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
