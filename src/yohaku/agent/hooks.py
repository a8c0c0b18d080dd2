"""Commands of the user, run before and after a folding with the facts as JSON on their input.

Law: a hook can add text to keep or refuse the folding (exit 2), and only that. One that fails, hangs or cannot be found
is skipped and reported.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from yohaku.core.recipe import FoldStarting
from yohaku.session.receipt import Receipt
from yohaku.session.session import Session

HOOK_TIMEOUT = 30.0
MAX_OUTPUT_CHARS = 8_000
"""Characters that a hook may add."""
REFUSED = 2
"""The exit code by which a hook refuses a folding."""


@dataclass(frozen=True)
class Hooks:
    before: str = ""
    """A shell command; its output is added to what the folding is to keep."""
    after: str = ""
    root: Path = Path()
    seconds: float = HOOK_TIMEOUT
    report: Callable[[str], None] | None = None
    """Called with the reason why a hook was skipped."""

    async def run_before(self, about: FoldStarting) -> str | bool | None:
        """Return text to keep, or False where the hook refuses; for `Session(before=…)`."""
        if not self.before:
            return None
        facts = _name_conversation("before_folding", about.manual, about.session, about.transcript)
        facts |= {"tokens": about.weight, "limit": about.limit, "words": about.words}
        code, out = await self._run(self.before, facts)
        return False if code == REFUSED else out if code == 0 else None

    async def run_after(self, session: Session, receipt: Receipt, manual: bool = False) -> None:
        if self.after:
            path = str(session.transcript_path or "")
            facts = _name_conversation("after_folding", manual, session.key, path)
            await self._run(self.after, {**facts, **receipt.report()})

    async def _run(self, command: str, about: dict[str, object]) -> tuple[int, str]:
        """Run with files, not pipes: a process that the hook leaves in the background is not waited for."""
        with TemporaryFile() as stdin, TemporaryFile() as out, TemporaryFile() as err:
            stdin.write(json.dumps(about, ensure_ascii=False).encode())
            stdin.seek(0)
            try:
                process = await asyncio.create_subprocess_shell(
                    command, cwd=self.root, stdin=stdin, stdout=out, stderr=err, start_new_session=True
                )
            except OSError as error:
                return self._skip(command, str(error))
            try:
                code = await asyncio.wait_for(process.wait(), self.seconds)
            except TimeoutError:
                return self._skip(command, f"no end after {self.seconds:g} s")
            finally:
                await _kill(process)
            if code not in (0, REFUSED):
                return self._skip(command, _read_head(err, 200) or f"exit {code}", code)
            return code, _read_head(out, MAX_OUTPUT_CHARS)

    def _skip(self, command: str, why: str, code: int = 1) -> tuple[int, str]:
        if self.report:
            self.report(f"{command[:80]}: {why}")
        return code, ""


def _name_conversation(event: str, manual: bool, key: str, transcript: str) -> dict[str, object]:
    trigger = "manual" if manual else "auto"
    return {"event": event, "trigger": trigger, "session_id": key, "transcript_path": transcript or None}


def _read_head(file: IO[bytes], max_chars: int) -> str:
    file.seek(0)
    return file.read(4 * max_chars).decode("utf-8", "replace").strip()[:max_chars]


async def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill the process with all that it started."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        await process.wait()
