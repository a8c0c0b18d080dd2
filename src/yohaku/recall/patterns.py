"""Regular expressions written by a model, searched in bytes.

Law: a result or an error within a second, for any pattern and text. RE2, which is linear, where it is installed and
knows the pattern; else an engine with a timeout.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from yohaku.core.errors import BadSetting

try:
    import re2
except ImportError:  # not built for every platform
    re2 = None

Finder: TypeAlias = Callable[[bytes, int], int | None]
"""(text, start) -> the byte at which the next match begins, or None. A match lies within one line."""

BASE_TIMEOUT = 0.3
"""Seconds an engine that is not linear may take, plus one for every `BYTES_PER_SECOND` bytes."""
BYTES_PER_SECOND = 20_000_000
MAX_PATTERN_CHARS = 1000


def compile_pattern(pattern: str) -> Finder:
    if len(pattern) > MAX_PATTERN_CHARS:
        raise bad_pattern(pattern[:40] + "…", f"it is longer than {MAX_PATTERN_CHARS:,} characters")
    if not pattern:
        raise bad_pattern(pattern, "it is empty")
    return (_compile_re2(pattern) if re2 else None) or _compile_with_timeout(pattern)


def compile_literal(word: str) -> Finder:
    """Find the word itself, ignoring case."""
    import regex

    escaped = regex.escape(word, literal_spaces=True)
    whole = word.isascii() or word.encode("utf-8", "replace").decode() == word  # RE2 takes no half of a surrogate pair
    linear = _compile_re2(f"(?i){re2.escape(word)}") if re2 and whole else None
    return linear or _compile_with_timeout(f"(?i){escaped}", timeout=60.0)


def bad_pattern(pattern: str, why: str) -> BadSetting:
    return BadSetting(f"the pattern {pattern!r} cannot be used: {why}", code="bad_pattern", pattern=pattern, why=why)


def _compile_re2(pattern: str) -> Finder | None:
    """Return None for what RE2 does not support: look-around, back-references, large repetitions."""
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


def _compile_with_timeout(pattern: str, timeout: float = BASE_TIMEOUT) -> Finder:
    import regex

    try:
        compiled = regex.compile(pattern, regex.MULTILINE)
    except regex.error as why:
        raise bad_pattern(pattern, str(why)) from None
    except (RecursionError, OverflowError, MemoryError):
        raise bad_pattern(pattern, "it is nested too deep") from None
    left, last = timeout, b""

    def search(text: str, start: int, stop: int | None = None) -> Any:
        nonlocal left
        began = time.monotonic()
        try:
            return compiled.search(text, start, stop, timeout=max(0.001, left))
        except TimeoutError:
            raise bad_pattern(pattern, "it takes too long here; write a simpler one") from None
        finally:
            left -= time.monotonic() - began

    def find(text: bytes, start: int) -> int | None:
        """Return the offset in bytes. A match that leaves its line is searched for again within it."""
        nonlocal left, last
        if text is not last:
            left, last = left + len(text) / BYTES_PER_SECOND, text
        decoded = _decode(text)
        at = len(_decode(text[:start]))
        while (match := search(decoded, at)) is not None:
            begin = match.start()
            stop = decoded.find("\n", begin)
            if stop < 0 or match.end() <= stop or search(decoded[decoded.rfind("\n", 0, begin) + 1 : stop], 0):
                return len(decoded[:begin].encode("utf-8", "surrogateescape"))
            at = stop + 1
        return None

    return find


@lru_cache(maxsize=2)
def _decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")
