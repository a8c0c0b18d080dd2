"""A search through many files, run in a thread, that tells how far it is.

Law: where the call is stopped, the thread ends at its next file.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from yohaku.agent.toolkit.tool import ToolContext

T = TypeVar("T")

TELL_SECONDS = 1.0
"""Seconds between two reports of how far a search is."""


class LongSearch:
    def __init__(self) -> None:
        self.files = 0
        """Files it came to so far."""
        self.total = 0
        """Files there are; 0 while they are listed."""
        self._stop = threading.Event()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    def count(self, files: Iterable[T], total: int = 0) -> Iterator[T]:
        """Yield the files, and count them; `total`: how many they are, where that is known."""
        self.files, self.total = 0, total
        for file in files:
            self.files += 1
            yield file

    async def run(self, context: ToolContext, find: Callable[[], T]) -> T:
        """Return what is found; the user is told how many files were looked at."""
        working = asyncio.ensure_future(asyncio.to_thread(find))
        try:
            while not (await asyncio.wait({working}, timeout=TELL_SECONDS))[0]:
                if self.files:
                    context.tell_searched(self.files, self.total)
            return working.result()
        finally:
            self._stop.set()
            working.cancel()
