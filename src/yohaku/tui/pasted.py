"""Labels for big pastes in the prompt; the whole text is sent.

Law: a label keeps its text as long as the program runs, so that an undo brings both back; inserted text is never
searched for labels again.
"""

from __future__ import annotations

import re

from yohaku.messages import say

MIN_LABELLED_CHARS = 50_000
"""Longer texts make the prompt too slow."""


class PastedTexts:
    def __init__(self, lang: str) -> None:
        self.lang = lang
        self._held: dict[str, str] = {}
        self._labels: re.Pattern[str] | None = None

    def label(self, text: str) -> str:
        """Return the label of a big text; a small one is returned as it is."""
        return self._hold(text.replace("\r\n", "\n").replace("\r", "\n")) if len(text) >= MIN_LABELLED_CHARS else text

    def whole(self, typed: str) -> str:
        """Replace every label by its text."""
        return self._labels.sub(lambda found: self._held[found[0]], typed) if self._labels else typed

    def shown(self, text: str) -> str:
        """Replace big texts by labels, for a line from the history."""
        if len(text) < MIN_LABELLED_CHARS:
            return text
        short = text
        for label, content in self._held.items():
            short = short.replace(content, label)
        return short if len(short) < MIN_LABELLED_CHARS and self.whole(short) == text else self._hold(text)

    def standing(self, typed: str) -> frozenset[str]:
        """Return the labels in a text."""
        return frozenset(self._labels.findall(typed)) if self._labels else frozenset()

    def ending(self, typed: str) -> str:
        """Return the label a text ends with, or an empty string."""
        return next((label for label in self._held if typed.endswith(label)), "")

    def beginning(self, typed: str) -> str:
        return next((label for label in self._held if typed.startswith(label)), "")

    def _hold(self, text: str) -> str:
        known = next((label for label, content in self._held.items() if content == text), "")
        if known:
            return known
        from yohaku.agent.toolkit.output_budget import format_size

        lines = text.count("\n") + (not text.endswith("\n"))
        facts = {"size": format_size(len(text.encode("utf-8", "surrogatepass"))), "lines": lines}
        number = 1
        while (label := self._named(number, facts)) in self._held:
            number += 1
        self._held[label] = text
        self._labels = re.compile("|".join(map(re.escape, self._held)))  # none begins another: each ends by a bracket
        return label

    def _named(self, number: int, facts: dict[str, object]) -> str:
        name = "prompt_pasted_line" if facts["lines"] == 1 else "prompt_pasted"
        return f"[{say(name, self.lang, **facts)}{f' #{number}' if number > 1 else ''}]"
