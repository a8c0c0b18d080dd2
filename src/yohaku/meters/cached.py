"""Counts cached by content, so that a turn costs only what is new in it.

Law: a remembered count is the count. The memory is bounded by the bytes it takes; no text that is longer than a line is
held in it, only its hash: in a process that runs for long, texts of all sizes leave holes that nothing else fits into.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TypeAlias

from yohaku.core.meter import Meter, Overhead
from yohaku.core.model import Opaque

MAX_CACHED_BYTES = 8_000_000
"""Beyond this the older half is forgotten."""
MAX_KEY_CHARS = 80
"""Characters of a text that is its own key; a longer one is known by its hash."""
ENTRY_BYTES = 100
"""Bytes added to each key, for the memory it takes in the table."""

Key: TypeAlias = str | bytes


@dataclass(slots=True)
class CountCache:
    """Cached counts; the only mutable state of a meter."""

    room: int = MAX_CACHED_BYTES
    counts: dict[Key, int] = field(default_factory=dict)
    held: int = 0

    def keep(self, key: Key, tokens: int) -> int:
        self.counts[key] = tokens
        self.held += charge(key)
        if self.held > self.room:
            for old in list(self.counts)[: (len(self.counts) + 1) // 2]:  # a dict keeps the order of arrival
                self.counts.pop(old, None)  # another thread may have been here
            self.held = sum(map(charge, list(self.counts)))
        return tokens


def charge(key: Key) -> int:
    return ENTRY_BYTES + sys.getsizeof(key)


def key_of_text(text: str) -> Key:
    if len(text) <= MAX_KEY_CHARS:
        return text
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def key_of_part(part: Opaque) -> Key:
    facts = "\0".join((part.kind, part.form, part.mime, part.hint, part.data))
    return blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=16, person=b"part").digest()


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
        tokens = self.memory.counts.get(key := key_of_text(text))
        return self.memory.keep(key, self.meter.count(text)) if tokens is None else tokens

    def weigh(self, part: Opaque) -> int:
        tokens = self.memory.counts.get(key := key_of_part(part))
        return self.memory.keep(key, self.meter.weigh(part)) if tokens is None else tokens
