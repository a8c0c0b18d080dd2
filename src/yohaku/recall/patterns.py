"""Regular expressions that a model wrote, over bytes.

Law: an answer or an error within a second, whatever the pattern and the text. RE2 where it is installed and can say
it, as its time is linear; else an engine that can be stopped, and is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from yohaku.core.errors import BadSetting

try:
    import re2
except ImportError:  # there is none for every platform
    re2 = None

Seek: TypeAlias = Callable[[bytes, int], int | None]
"""(text, from) -> where the next match begins, if there is one. A match lies within one line."""

PATIENCE = 0.3
"""Seconds an engine that is not linear may take, beside one for every `PACE` bytes."""
PACE = 20_000_000
LONGEST = 1000
"""Characters of a pattern."""


def seek(pattern: str) -> Seek:
    if len(pattern) > LONGEST:
        raise bad(pattern[:40] + "…", f"it is longer than {LONGEST:,} characters")
    if not pattern:
        raise bad(pattern, "it is empty")
    return (_linear(pattern) if re2 else None) or _stoppable(pattern)


def literal(word: str) -> Seek:
    """The word itself, in whatever case."""
    import regex

    escaped = regex.escape(word, literal_spaces=True)
    whole = word.isascii() or word.encode("utf-8", "replace").decode() == word  # RE2 takes no half of a surrogate pair
    linear = _linear(f"(?i){re2.escape(word)}") if re2 and whole else None
    return linear or _stoppable(f"(?i){escaped}", patience=60.0)


def bad(pattern: str, why: str) -> BadSetting:
    return BadSetting(f"the pattern {pattern!r} cannot be used: {why}", code="bad_pattern", pattern=pattern, why=why)


def _linear(pattern: str) -> Seek | None:
    """None for what RE2 does not know: look-around, back-references, large repetitions."""
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    try:
        compiled = re2.compile(f"(?m){pattern}".encode(), options)
    except (re2.error, UnicodeEncodeError):
        return None

    def find(text: bytes, start: int) -> int | None:
        match = compiled.search(text, start)
        return None if match is None else int(match.start())

    return find


def _stoppable(pattern: str, patience: float = PATIENCE) -> Seek:
    import regex

    try:
        compiled = regex.compile(pattern, regex.MULTILINE)
    except regex.error as why:
        raise bad(pattern, str(why)) from None
    except (RecursionError, OverflowError, MemoryError):
        raise bad(pattern, "it is nested too deep") from None
    left, last = patience, b""

    def search(text: str, start: int, stop: int | None = None) -> Any:
        nonlocal left
        began = time.monotonic()
        try:
            return compiled.search(text, start, stop, timeout=max(0.001, left))
        except TimeoutError:
            raise bad(pattern, "it takes too long here; write a simpler one") from None
        finally:
            left -= time.monotonic() - began

    def find(text: bytes, start: int) -> int | None:
        """Where the match is, in bytes; a match that leaves its line is looked for again within it."""
        nonlocal left, last
        if text is not last:
            left, last = left + len(text) / PACE, text
        said = _decoded(text)
        at = len(_decoded(text[:start]))
        while (match := search(said, at)) is not None:
            begin = match.start()
            stop = said.find("\n", begin)
            if stop < 0 or match.end() <= stop or search(said[said.rfind("\n", 0, begin) + 1 : stop], 0):
                return len(said[:begin].encode("utf-8", "surrogateescape"))
            at = stop + 1
        return None

    return find


@lru_cache(maxsize=2)
def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")
