"""What a command prints, held within bounds: its beginning, its end, and in a file on disk all of it.

Law: memory stays flat, whether it prints ten bytes or five gigabytes.
"""

from __future__ import annotations

import tempfile
import threading
from typing import IO

MAX_SPILLED_BYTES = 64 * 1024 * 1024
"""Bytes that are kept on disk at most."""


class OutputBuffer:
    def __init__(self, size: int) -> None:
        """`size`: bytes that may be shown."""
        self.total = 0
        self.lines = 0
        self._half = max(1, size // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._spill: IO[bytes] | None = None
        self._closed = False
        self._feeding = threading.Lock()

    def __enter__(self) -> OutputBuffer:
        return self

    def __exit__(self, *_: object) -> None:
        """The end of what is kept on disk."""
        self.close()
        if self._spill:
            self._spill.close()

    @property
    def full(self) -> bool:
        return self.total > 2 * self._half

    def feed(self, data: bytes) -> None:
        with self._feeding:
            if data and not self._closed:
                self._feed(data)

    def close(self) -> None:
        """What comes later is not wanted."""
        with self._feeding:
            self._closed = True

    def _feed(self, data: bytes) -> None:
        before = self.total
        self.total += len(data)
        self.lines += data.count(b"\n")
        if self.full:
            self._keep(data, before)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._half :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def ends(self) -> tuple[bytes, bytes]:
        """The beginning and the end; all of it, where that is not too much."""
        return bytes(self._head), bytes(self._tail[-self._half :])

    def whole(self) -> bytes:
        """Where it is not too much."""
        return bytes(self._head + self._tail)

    def spilled(self) -> IO[bytes] | None:
        """All of it, or its first `MAX_SPILLED_BYTES` bytes; None where it was never too much."""
        if self._spill:
            self._spill.seek(0)
        return self._spill

    def _keep(self, data: bytes, before: int) -> None:
        if self._spill is None:
            self._spill = tempfile.TemporaryFile()  # noqa: SIM115
            self._spill.write(self._head + self._tail)
        if before < MAX_SPILLED_BYTES:
            self._spill.write(data[: MAX_SPILLED_BYTES - before])
