"""The user's own commands, run before and after a folding.

Law: a hook may add words or say no (exit 2), and only that: one that fails, hangs or cannot be found is passed over
and said. It is given what happens as JSON on its input.
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

from yohaku.core.engine import FoldStarting
from yohaku.core.receipt import Receipt

HOOK_TIMEOUT = 30.0
MAX_OUTPUT_CHARS = 8_000
"""Characters of what a hook may add."""
REFUSED = 2
"""The exit code by which a hook refuses a folding."""


@dataclass(frozen=True)
class Hooks:
    before: str = ""
    """A shell command; what it prints is added to what the folding is to keep."""
    after: str = ""
    root: Path = Path()
    seconds: float = HOOK_TIMEOUT
    tell: Callable[[str], None] | None = None
    """Told why a hook was passed over."""

    async def folding(self, about: FoldStarting) -> str | bool | None:
        """For `Session(before=…)`: words, or False where the hook refuses."""
        if not self.before:
            return None
        said = {"event": "before_folding", "trigger": "manual" if about.manual else "auto"}
        code, out = await self._run(self.before, {**said, "tokens": about.weight, "limit": about.limit})
        return False if code == REFUSED else out if code == 0 else None

    async def folded(self, receipt: Receipt, manual: bool = False) -> None:
        if self.after:
            said = {"event": "after_folding", "trigger": "manual" if manual else "auto", **receipt.report()}
            await self._run(self.after, said)

    async def _run(self, command: str, about: dict[str, object]) -> tuple[int, str]:
        """By files, not by pipes: what a hook leaves running in the background is not waited for."""
        with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
            given.write(json.dumps(about, ensure_ascii=False).encode())
            given.seek(0)
            try:
                process = await asyncio.create_subprocess_shell(
                    command, cwd=self.root, stdin=given, stdout=out, stderr=err, start_new_session=True
                )
            except OSError as wrong:
                return self._failed(command, str(wrong))
            try:
                code = await asyncio.wait_for(process.wait(), self.seconds)
            except TimeoutError:
                return self._failed(command, f"no end after {self.seconds:g} s")
            finally:
                await _end(process)
            if code not in (0, REFUSED):
                return self._failed(command, _beginning(err, 200) or f"exit {code}", code)
            return code, _beginning(out, MAX_OUTPUT_CHARS)

    def _failed(self, command: str, why: str, code: int = 1) -> tuple[int, str]:
        if self.tell:
            self.tell(f"{command[:80]}: {why}")
        return code, ""


def _beginning(file: IO[bytes], most: int) -> str:
    file.seek(0)
    return file.read(4 * most).decode("utf-8", "replace").strip()[:most]


async def _end(process: asyncio.subprocess.Process) -> None:
    """With all that it started."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        await process.wait()
