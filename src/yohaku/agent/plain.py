"""The agent without a screen: one task for a script, or lines typed and answered.

Law: the model's words go to standard output and everything else to standard error, so that a pipe gets the answer; in
a script nobody is there to be asked, so nothing is written or run unless all of it was allowed beforehand.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from yohaku.agent import json_events
from yohaku.agent.commands import slash_commands
from yohaku.agent.events import (
    ConversationFolded,
    Event,
    Gauge,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnEnded,
    UserNotice,
)
from yohaku.agent.format import clip, draw_progress, format_gauge, strip_controls
from yohaku.agent.protocols import AgentStarter, Allowed, WorkingAgent
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.messages import say

EXIT_CODES = {"done": 0, "steps": 1, "too_big": 3, "failed": 4, "stopped": 130}
"""Exit codes by how the work ended."""
NO_MODEL = 4


class PlainInterface:
    """A surface of lines. `typed` gives a line of the user's; None where nobody is there."""

    def __init__(
        self,
        begin: AgentStarter,
        out: TextIO | None = None,
        err: TextIO | None = None,
        *,
        json: bool = False,
        typed: Callable[[str], str] | None = None,
    ) -> None:
        self.begin = begin
        self.lang = begin.settings.lang
        self.agent: WorkingAgent | None = None
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self.json = json
        self.typed = typed
        self._bare = True
        """Whether standard output stands at the beginning of a line."""

    @property
    def attended(self) -> bool:
        """A pipe can type lines too, but nobody sits at it."""
        return self.typed is not None and (self.typed is not _typed or sys.stdin.isatty())

    async def allow(self, ask: PermissionRequest) -> Allowed:
        if self.typed is None:
            self.tell(UserNotice(say("allow_refused", self.lang, title=ask.title), "warning"))
            return "no"
        if ask.detail:
            self._aside(ask.detail)
        if ask.danger:
            self._aside(say("allow_danger", self.lang, why=ask.danger))
        answer = self._read(say("allow_plain", self.lang, title=strip_controls(ask.title)))[:1].lower()
        return "once" if answer == "y" else "always" if answer == "a" and ask.remember else "no"

    async def question(self, text: str, choices: tuple[str, ...] = ()) -> str:
        if self.typed is None:
            return ""
        self._aside("\n".join([text, *(f"  {number}. {choice}" for number, choice in enumerate(choices, 1))]))
        answer = self._read(say("plain_prompt", self.lang)).strip()
        return choices[int(answer) - 1] if answer.isdecimal() and 0 < int(answer) <= len(choices) else answer

    def tell(self, told: UserNotice) -> None:
        self.show(told)

    def progress(self, what: str, done: int, total: int) -> None:
        if not self.json and self.err.isatty():
            self.err.write(f"\r{draw_progress(what, done, total)}" if total else "\n")
            self.err.flush()

    async def renew(self, *, resume: str = "") -> WorkingAgent | None:
        if self.agent is None:
            return None
        new = await self.begin(self, endpoint=self.agent.endpoint, window=self.agent.window, resume=resume)
        if new is not None:
            await self.agent.close()
            self.agent = new
        return new

    def show(self, event: Event) -> None:
        if self.json:
            self.out.write(json_events.to_json(event) + "\n")
            self.out.flush()
            return
        match event:
            case TextDelta(text):
                self._say(strip_controls(text))
            case ToolStarted(_, title):
                self._aside(f"• {clip(title, 200)}")
            case ToolOutput(_, text) if self.typed is not None:
                self._aside(text.rstrip("\n"), "  ")
            case ToolFinished(_, result, _, diff):
                if diff:
                    self._aside(diff.rstrip("\n"), "  ")
                if result.error:
                    self._aside(f"✗ {clip(result.text, 300)}")
            case ConversationFolded(receipt):
                self._aside(say("screen_folded", self.lang, before=receipt.before, after=receipt.after))
            case Gauge() if self.begin.settings.debug:
                self._aside(format_gauge(event, self.lang, 100))
            case UserNotice(text):
                self._aside(text)
            case TurnEnded(why):
                self._say("" if self._bare else "\n")
                if why == "stopped":
                    self._aside(say("screen_stopped", self.lang))

    async def work(self, prompt: str) -> int:
        """One prompt; what was typed meanwhile is worked on too."""
        assert self.agent is not None
        code, text = 0, prompt
        while text:
            with _interrupts(self.agent.stop):
                async for event in self.agent.work(text):
                    self.show(event)
                    if isinstance(event, TurnEnded):
                        code = EXIT_CODES[event.why]
            text = self.agent.unqueue() or "" if code == 0 else ""
        return code

    def _say(self, text: str) -> None:
        if text:
            self.out.write(text)
            self.out.flush()
            self._bare = text.endswith("\n")

    def _aside(self, text: str, before: str = "") -> None:
        if not self._bare:
            self._say("\n")
        for each in strip_controls(text).split("\n"):
            self.err.write(f"{before}{each}\n")
        self.err.flush()

    def _read(self, prompt: str) -> str:
        assert self.typed is not None
        try:
            with _interruptible():
                return self.typed(prompt)
        except (EOFError, KeyboardInterrupt):  # Ctrl-C has stopped the step too
            return ""


async def run_once(
    begin: AgentStarter, prompt: str, *, json: bool = False, resume: str = "", plain: PlainInterface | None = None
) -> int:
    """One task, no questions: `yohaku -p`."""
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
    """Lines typed and answered, until the end of input: `yohaku --plain`."""
    plain = plain or PlainInterface(begin, typed=_typed)
    plain.agent = await begin(plain, resume=resume)
    typed = plain.typed
    assert typed is not None
    while True:
        try:
            text = (first or typed(say("plain_prompt", plain.lang))).strip()
        except (EOFError, KeyboardInterrupt):
            break
        first = ""
        if text.startswith("/"):
            done = await slash_commands.run(plain, text)
            if done.text:
                plain._aside(done.text)
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


def _typed(prompt: str) -> str:
    """A line of the user's, with the keys of readline where there is one."""
    try:
        import readline  # noqa: F401  # by being there
    except ImportError:
        pass
    return input(prompt)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends the typing at once: while a line is waited for, the loop that would hear of it stands still."""
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
def _interrupts(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C stops the step; a second one the program."""
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
