"""Counts cached by content, so that a turn costs only what is new in it.

Law: a remembered count is the count. The memory is bounded by the characters it holds on to.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from yohaku.core.meter import Meter, Overhead
from yohaku.core.model import Opaque

MAX_CACHED_CHARS = 24_000_000
"""Beyond this the older half is forgotten."""
ENTRY_CHARS = 64
"""Characters added to each cached text, for the memory it takes in the table."""


@dataclass(slots=True)
class CountCache:
    """Cached counts; the only mutable state of a meter."""

    room: int = MAX_CACHED_CHARS
    counts: dict[str | Opaque, int] = field(default_factory=dict)
    held: int = 0

    def keep(self, key: str | Opaque, tokens: int) -> int:
        self.counts[key] = tokens
        self.held += charge(key)
        if self.held > self.room:
            for old in list(self.counts)[: (len(self.counts) + 1) // 2]:  # a dict keeps the order of arrival
                self.counts.pop(old, None)  # another thread may have been here
            self.held = sum(map(charge, list(self.counts)))
        return tokens


def charge(key: str | Opaque) -> int:
    return ENTRY_CHARS + len(key if isinstance(key, str) else key.data)


@dataclass(frozen=True, slots=True)
class CachedMeter:
    meter: Meter
    memory: CountCache = field(default_factory=CountCache, compare=False, repr=False)

    @property
    def name(self) -> str:
        return self.meter.name

    @property
    def exact(self) -> bool:
        return self.meter.exact

    @property
    def frame(self) -> Overhead:
        return self.meter.frame

    def count(self, text: str) -> int:
        tokens = self.memory.counts.get(text)
        return self.memory.keep(text, self.meter.count(text)) if tokens is None else tokens

    def weigh(self, part: Opaque) -> int:
        tokens = self.memory.counts.get(part)
        return self.memory.keep(part, self.meter.weigh(part)) if tokens is None else tokens
