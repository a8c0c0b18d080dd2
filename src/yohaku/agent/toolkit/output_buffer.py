"""Output of a command within bounds: its beginning and end in memory, all of it in a temporary file.

Law: memory stays flat, whether a command prints ten bytes or five gigabytes.
"""

from __future__ import annotations

import tempfile
import threading
from typing import IO

MAX_SPILLED_BYTES = 256 * 1024 * 1024
"""Bytes kept on disk, and then in the store."""


class OutputBuffer:
    def __init__(self, size: int) -> None:
        """`size`: bytes that may be shown."""
        self.total = 0
        self.lines = 0
        self._half = max(1, size // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._spill: IO[bytes] | None = None
        self._kept = 0
        """Bytes in that file."""
        self._closed = False
        self._feeding = threading.Lock()

    def __enter__(self) -> OutputBuffer:
        return self

    def __exit__(self, *_: object) -> None:
        """Delete what is kept on disk."""
        self.close()
        if self._spill:
            self._spill.close()

    @property
    def complete(self) -> bool:
        """True if the file of all output lacks nothing."""
        return self._spill is None or self._kept == self.total

    @property
    def full(self) -> bool:
        return self.total > 2 * self._half

    def feed(self, data: bytes) -> None:
        with self._feeding:
            if data and not self._closed:
                self._feed(data)

    def skip(self, data: bytes) -> None:
        """Count what is neither kept nor shown."""
        with self._feeding:
            self.total += len(data)
            self.lines += data.count(b"\n")

    def close(self) -> None:
        """Ignore what is fed from now on."""
        with self._feeding:
            self._closed = True

    def _feed(self, data: bytes) -> None:
        before = self.total
        self.total += len(data)
        self.lines += data.count(b"\n")
        if self.full:
            self._keep(data, before)
        free = self._half - len(self._head)
        if free > 0:
            self._head += data[:free]
            data = data[free:]
        self._tail += data[-self._half :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def ends(self) -> tuple[bytes, bytes]:
        """Return the beginning and the end."""
        return bytes(self._head), bytes(self._tail[-self._half :])

    def whole(self) -> bytes:
        """Return everything, unless the buffer is full."""
        return bytes(self._head + self._tail)

    def spilled(self) -> IO[bytes] | None:
        """Return the file of all output, up to `MAX_SPILLED_BYTES`; None if the buffer was never full."""
        if self._spill:
            self._spill.seek(0)
        return self._spill

    def _keep(self, data: bytes, before: int) -> None:
        """Write to the file, unless it is long enough, or the disk is full."""
        if self._kept < before and self._spill is not None:
            return
        try:
            if self._spill is None:
                self._spill = tempfile.TemporaryFile()  # noqa: SIM115
                self._kept = self._spill.write(self._head + self._tail)
            if before < MAX_SPILLED_BYTES:
                self._kept += self._spill.write(data[: MAX_SPILLED_BYTES - before])
        except OSError:
            pass
