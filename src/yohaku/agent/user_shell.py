"""Commands that the user runs with `!`: their output is shown, and goes to the model with the next prompt.

Law: only a line that the user typed is run, never a text of a file or of a model; what is kept holds no secrets and is
bounded; stopping ends the whole process group, and what was printed until then is kept.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from yohaku.messages import say

MIN_KEPT_BYTES, MAX_KEPT_BYTES = 2 * 1024, 30 * 1024
"""Bytes of an output that are kept, by the window."""
BACKGROUND_SECONDS = 1.0
"""Seconds for which the output of a command that has ended is read on, where something in the background holds it."""


def user_command_in(typed: str) -> str:
    """Return the command of a line like `!git status`; empty for everything else.

    Several lines are a prompt, as are `![picture](x.png)` and `!= is wrong`: nobody meant to run those.
    """
    command = typed.strip().removeprefix("!").strip()
    if not typed.startswith("!") or typed[1:2] in ("!", "[", "=") or "\n" in command or "\0" in command:
        return ""
    return command


def kept_bytes(window: int) -> int:
    """Return how much of an output is kept: about an eighth of a small window."""
    return min(MAX_KEPT_BYTES, max(MIN_KEPT_BYTES, window // 2))


class UserCommand:
    def __init__(self, command: str, root: Path, lang: str, window: int) -> None:
        self.command, self.root, self.lang = command, root, lang
        self.code: int | None = None
        """Exit code; None until it has ended, and when it was stopped."""
        self._end_bytes = kept_bytes(window) // 2
        self._head, self._tail, self._left_out = b"", b"", 0

    async def run(self, show: Callable[[str], None] = lambda text: None) -> None:
        """Run it in the project's folder, without a keyboard; `show` is given the output as it comes."""
        from yohaku.agent.tools.bash import can_run_commands

        if not can_run_commands():
            self.code = 127
            self._keep(say("shell_impossible", self.lang).encode())
            return
        try:
            process, output, transport = await self._start()
        except OSError as wrong:
            self.code = 127
            self._keep(str(wrong.strerror or wrong).encode())
            return
        reading = asyncio.create_task(self._read(output, show))
        try:
            code = await process.wait()
            await asyncio.wait({reading}, timeout=BACKGROUND_SECONDS)
            self.code = code if code >= 0 else 128 - code
        finally:
            reading.cancel()
            transport.close()
            if process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()

    @property
    def text(self) -> str:
        """The output as it is shown to user and model, and how it ended."""
        from yohaku.agent.toolkit.output_budget import format_size
        from yohaku.agent.tools.bash import clean_output

        ends = [clean_output(end.decode("utf-8", "replace")) for end in self._ends()]
        if self._left_out:
            ends.insert(1, say("shell_cut", self.lang, size=format_size(self._left_out)))
        lines = [text for end in ends if (text := end.strip("\n"))]
        if self.code is None:
            lines.append(say("shell_stopped", self.lang))
        elif self.code:
            lines.append(f"[exit {self.code}]")
        return "\n".join(lines) or say("shell_silent", self.lang)

    @property
    def for_model(self) -> str:
        return say("shell_ran", self.lang, command=self.command, output=self.text)

    def _ends(self) -> list[bytes]:
        """Return what is kept; of a cut output whole lines, as far as there are some."""
        if not self._left_out:
            return [self._head + self._tail]
        head = self._head[: self._head.rfind(b"\n") + 1] or self._head
        tail = self._tail[self._tail.find(b"\n") + 1 :] or self._tail
        self._left_out += len(self._head) - len(head) + len(self._tail) - len(tail)
        self._head, self._tail = head, tail
        return [head, tail]

    async def _start(self) -> tuple[Process, asyncio.StreamReader, asyncio.ReadTransport]:
        from yohaku.agent.tools.bash import PLAIN_ENVIRONMENT

        ours, theirs = os.pipe()  # our own: waiting for a process with a pipe of asyncio waits for the background too
        try:
            process = await asyncio.create_subprocess_exec(
                shutil.which("bash") or "sh", "-c", self.command,
                stdin=DEVNULL, stdout=theirs, stderr=theirs, cwd=self.root, env={**os.environ, **PLAIN_ENVIRONMENT},
                start_new_session=True,
            )  # fmt: skip
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        output = asyncio.StreamReader()
        pipe = os.fdopen(ours, "rb", 0)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(output), pipe
        )
        return process, output, transport

    async def _read(self, output: asyncio.StreamReader, show: Callable[[str], None]) -> None:
        from yohaku.agent.toolkit.secrets import StreamRedactor

        redacting = StreamRedactor()
        try:
            while data := await output.read(1 << 16):
                seen = redacting.feed(data)
                self._keep(seen)
                if seen:
                    show(seen.decode("utf-8", "replace"))
        finally:
            self._keep(redacting.end())

    def _keep(self, data: bytes) -> None:
        room = self._end_bytes - len(self._head)
        self._head, self._tail = self._head + data[:room], self._tail + data[room:]
        self._left_out += max(0, len(self._tail) - self._end_bytes)
        self._tail = self._tail[-self._end_bytes :]
