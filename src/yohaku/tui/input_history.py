"""History of typed lines for the arrow keys, stored in a private file.

Law: without a readable and writable file the history lasts for this run only, with no error.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

MAX_LINES = 500


class InputHistory:
    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.lines = _read_lines(path) if path else []
        self._at = len(self.lines)
        self._draft = ""

    def add(self, text: str) -> None:
        if not self.lines or self.lines[-1] != text:
            self.lines.append(text)
            self._write(text)
        self._at = len(self.lines)
        self._draft = ""

    def back(self, now: str) -> str | None:
        """Return the line before; `now`, the line being typed, comes back after the newest."""
        if self._at == 0:
            return None
        if self._at == len(self.lines):
            self._draft = now
        self._at -= 1
        return self.lines[self._at]

    def on(self) -> str | None:
        """Return the line after."""
        if self._at >= len(self.lines):
            return None
        self._at += 1
        return self.lines[self._at] if self._at < len(self.lines) else self._draft

    def _write(self, text: str) -> None:
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            line = json.dumps(text).encode() + b"\n"
            if len(self.lines) > 2 * MAX_LINES:
                del self.lines[:-MAX_LINES]
                beside = self.path.with_suffix(f".{os.getpid()}")
                with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                    file.writelines(json.dumps(each).encode() + b"\n" for each in self.lines)
                beside.replace(self.path)
            else:
                with os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as file:
                    file.write(line)
        except OSError:
            self.path = None


def _read_lines(path: Path) -> list[str]:
    try:
        rows = path.read_bytes().split(b"\n")
    except OSError:
        return []
    lines = []
    for row in rows[-2 * MAX_LINES :]:
        try:
            line = json.loads(row)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, str):
            lines.append(line)
    return lines
