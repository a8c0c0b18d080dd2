"""Tool that runs a shell command: without a keyboard, ended with its call, its output bounded as it arrives."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import select
import shutil
import signal
import threading
import time
from asyncio.subprocess import DEVNULL, Process

from yohaku.agent.model_texts import REFUSED, TIMED_OUT
from yohaku.agent.toolkit import output_budget, text_files
from yohaku.agent.toolkit.arguments import BadArguments, integer, object_schema, string
from yohaku.agent.toolkit.output_budget import format_size, ref_note, save_output
from yohaku.agent.toolkit.output_buffer import MAX_SPILLED_BYTES, OutputBuffer
from yohaku.agent.toolkit.permissions import run_request
from yohaku.agent.toolkit.secrets import StreamRedactor
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult

MAX_OUTPUT_BYTES = 30 * 1024
"""Bytes of output for the model."""
DEFAULT_TIMEOUT = 120
MAX_TIMEOUT = 3600
"""Seconds."""
QUIET_SECONDS = 0.1
"""Seconds without output after which a partial line is shown, and a background process no longer waited for."""
MAX_LATE_BYTES = 512 * 1024
"""Bytes before the end of a huge output that are looked at."""
MAX_SHOWN_BYTES = 64 * 1024
"""Bytes sent to the screen at once; nobody reads faster."""
PLAIN_ENVIRONMENT = {
    "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat", "NO_COLOR": "1", "CLICOLOR": "0",
    "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "EDITOR": "true", "VISUAL": "true", "SYSTEMD_PAGER": "",
    "DEBIAN_FRONTEND": "noninteractive", "PIP_NO_INPUT": "1",
}  # fmt: skip
"""No colours, no pagers, no editors, no questions."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)|[()][AB0]|[=>])")
_BACKGROUND_GROUPS: set[int] = set()
"""Process groups that still hold the output of a finished command."""


NO_COMMANDS = (
    "Commands cannot be run on this system: it cannot stop one with all that it started. On Windows, start yohaku "
    "inside WSL. Reading and editing files works here."
)


def can_run_commands() -> bool:
    """Return whether a command can be stopped with all that it started: not on Windows itself."""
    return hasattr(os, "killpg")


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    command = arguments["command"]
    if not command.strip() or "\0" in command:
        raise BadArguments("The command is empty.")
    if not can_run_commands():
        return ToolResult(NO_COMMANDS, error=True)
    timeout = min(MAX_TIMEOUT, max(1, arguments.get("timeout", DEFAULT_TIMEOUT)))
    if not await context.allow(run_request(context, command)):
        return ToolResult(REFUSED, error=True)
    buffer = OutputBuffer(output_budget.max_bytes(MAX_OUTPUT_BYTES))
    process, reader = await _start(context, command, buffer)
    with buffer:
        timed_out = await _wait(process, timeout)
        await reader.wait_until_quiet()
        return await _make_result(context, buffer, process.returncode or 0, timed_out, reader.held)


async def _wait(process: Process, timeout: int) -> int:
    """Wait for the process, and stop it at the timeout. Return the timeout if it was reached, else 0."""
    try:
        await asyncio.wait_for(process.wait(), timeout)
        return 0
    except TimeoutError:
        return timeout
    finally:
        if process.returncode is None:
            await _stop(process)


async def _start(context: ToolContext, command: str, buffer: OutputBuffer) -> tuple[Process, _OutputReader]:
    ours, theirs = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            shutil.which("bash") or "sh", "-c", command,
            stdin=DEVNULL, stdout=theirs, stderr=theirs, cwd=context.root, env={**os.environ, **PLAIN_ENVIRONMENT},
            start_new_session=True,
        )  # fmt: skip
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return process, _OutputReader(ours, process.pid, buffer, context)


async def _stop(process: Process) -> None:
    """Terminate the whole process group, then kill it."""
    _signal(process.pid, signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), 0.5)
    except TimeoutError:
        pass
    finally:
        _signal(process.pid, signal.SIGKILL)
    await process.wait()


def _signal(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def stop_background() -> None:
    """Terminate what commands have left running in the background."""
    for group in list(_BACKGROUND_GROUPS):
        _signal(group, signal.SIGTERM)


class _OutputReader:
    """Thread that reads a pipe until nobody holds it, also after the call is over: else a background process would
    block on a full pipe."""

    def __init__(self, pipe: int, group: int, buffer: OutputBuffer, context: ToolContext) -> None:
        self._pipe, self._group, self._buffer, self._context = pipe, group, buffer, context
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._redacting = StreamRedactor()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._late = b""
        self._next = 0.0
        self._silent = False
        """Whether nothing has arrived for a while."""
        self.held = False
        _BACKGROUND_GROUPS.add(group)
        threading.Thread(target=self._read, daemon=True, name="yohaku-output").start()

    async def wait_until_quiet(self) -> None:
        """Wait until the pipe is closed, or whoever holds it is silent."""
        quiet = 0
        for _ in range(40):
            try:
                await asyncio.wait_for(self._ended.wait(), QUIET_SECONDS / 2)
                return
            except TimeoutError:
                quiet = quiet + 1 if self._silent else 0
                if quiet == 2:
                    break
        self.held = True
        self._buffer.close()

    def _read(self) -> None:
        try:
            while True:
                if not select.select([self._pipe], [], [], QUIET_SECONDS)[0]:
                    self._take(self._feed_late() + self._redacting.idle())
                    self._silent = True
                    select.select([self._pipe], [], [])
                    self._silent = False
                data = os.read(self._pipe, 1 << 16)
                if not data:
                    break
                if self._buffer.total <= MAX_SPILLED_BYTES:
                    self._take(self._redacting.feed(data))
                else:
                    self._defer(data)
            self._take(self._feed_late() + self._redacting.end())
        finally:
            os.close(self._pipe)
            _BACKGROUND_GROUPS.discard(self._group)
            self._call(self._ended.set)

    def _defer(self, data: bytes) -> None:
        """Keep the end of what is too much to keep whole: only that is shown, hence searched for secrets."""
        self._late += data
        if len(self._late) > 2 * MAX_LATE_BYTES:
            self._buffer.skip(self._late[:-MAX_LATE_BYTES])
            self._late = self._late[-MAX_LATE_BYTES:]

    def _feed_late(self) -> bytes:
        late, self._late = self._late, b""
        return self._redacting.feed(late) if late else b""

    def _take(self, data: bytes) -> None:
        self._buffer.feed(data)
        now = time.monotonic()
        if data and not self.held and now >= self._next:
            self._next = now + (QUIET_SECONDS if len(data) >= MAX_SHOWN_BYTES // 2 else 0)
            text = self._decoder.decode(data[-MAX_SHOWN_BYTES:])
            self._call(lambda: self._context.show(_ESCAPES.sub("", text)))

    def _call(self, what: object) -> None:
        try:
            self._loop.call_soon_threadsafe(what)  # type: ignore[arg-type]
        except RuntimeError:  # the program has ended meanwhile
            pass


async def _make_result(context: ToolContext, buffer: OutputBuffer, code: int, timed_out: int, held: bool) -> ToolResult:
    notes = [_describe_exit(code, timed_out)] if code or timed_out else []
    notes += ["[something still runs in the background; its later output is not read]"] if held else []
    head, tail = (
        map(clean_output, map(text_files.decode_output, buffer.ends()))
        if buffer.full
        else (clean_output(text_files.decode_output(buffer.whole())), "")
    )
    text = "\n".join(filter(None, [head.rstrip("\n"), *notes]))
    if not buffer.full and output_budget.fits(text):
        return ToolResult(text or "(no output)", error=bool(code or timed_out))
    spill = buffer.spilled()
    saved = await save_output(context, head if spill is None else spill)
    kept = f" (the first {format_size(saved.byte_size)} kept)" if saved and not buffer.complete else ""
    note = f"[… the middle of {buffer.lines:,} lines, {format_size(buffer.total)}, is left out{kept}{ref_note(saved)}]"
    if buffer.full:
        first = head[: head.rindex("\n")] if "\n" in head else head
        last = tail[tail.index("\n") + 1 :] if "\n" in tail[:-1] else tail
        text = "\n".join([first, note, last.rstrip("\n"), *notes])
    shown, _ = output_budget.keep_ends(text, note)
    return ToolResult(shown, error=bool(code or timed_out), cut=True, output=saved)


def _describe_exit(code: int, timed_out: int) -> str:
    if timed_out:
        return TIMED_OUT.format(seconds=timed_out)
    if code < 0:
        return f"[exit {128 - code}] (killed by {signal.Signals(-code).name})"
    return f"[exit {code}]"


def clean_output(text: str) -> str:
    """Remove colours, and keep the last state of lines that were overwritten, as by progress bars."""
    text = _ESCAPES.sub("", text) if "\x1b" in text else text
    if "\r" in text:
        text = "\n".join([line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")])
    return text.replace("\0", "")


def _title(arguments: Arguments) -> str:
    text = " ".join(str(arguments.get("command", "")).split())
    return f"$ {text if len(text) <= 100 else text[:99] + '…'}"


TOOL = AgentTool(
    "bash",
    "Run a shell command in the project folder and get its output and exit code. Each call starts anew in the project "
    "folder: `cd` is not kept, chain with &&. There is no keyboard: pass flags such as -y. Prefer read, grep and glob "
    "to cat, grep and find. Start servers with & and their output in a file.",
    object_schema("command", command=string(), timeout=integer(f"Seconds; default {DEFAULT_TIMEOUT}")),
    "run",
    run,
    _title,
    brief="Run a shell command in the project folder. cd is not kept; no keyboard; timeout in seconds.",
)
