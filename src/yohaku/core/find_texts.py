"""Search for many strings in a text at once.

Law: the result is that of `in` for each string; the time does not grow with the number of strings times the text.
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_ONE_BY_ONE = 64
"""Strings up to which a search for each is quicker."""
PREFIX_CHARS = (16, 4, 1)
"""A string is looked for by its first characters, as many of them as it has."""


class TextFinder:
    def __init__(self, wanted: Iterable[str]) -> None:
        self._wanted = frozenset(wanted)
        self._lengths: dict[int, dict[str, set[int]]] = {}
        """Lengths of the strings that begin with a prefix, by the length of the prefix."""
        for each in self._wanted if len(self._wanted) > MAX_ONE_BY_ONE else ():
            size = next((size for size in PREFIX_CHARS if len(each) >= size), 0)
            self._lengths.setdefault(size, {}).setdefault(each[:size], set()).add(len(each))

    def find_in(self, text: str) -> set[str]:
        """Return those of the strings that are in the text."""
        if not self._lengths:
            return {each for each in self._wanted if each in text}
        found: set[str] = set()
        for size, lengths in self._lengths.items():
            for start in range(len(text) - size + 1):
                if (prefix := text[start : start + size]) in lengths:
                    found |= self._wanted & {text[start : start + length] for length in lengths[prefix]}
        return found
