"""The part of a reply that may be a call written as text, held back from the screen until that is known.

Law: what is given out and what is held are the reply, in its order. Text is held only from where a call may begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_BEGINS = re.compile(
    r"<\|?(?:tool|function|python_tag|invoke|call)|\[TOOL_CALL"
    r"|(?<=\n)[ \t]*(?:`{3,}|~{3,})[ \t]*(?:json5?|jsonc|xml|tool\w*)?[ \t\r\n]*[\[{<]"
    r"|(?<=\n)[ \t]*`?[\[{][ \t\r\n]*[\"'{\[]",
    re.IGNORECASE,
)
"""The beginning of a call, as small models write it."""
_MAY_BEGIN = re.compile(
    r"(?:<\|?\w{0,12}|\[\w{0,10}|(?<=\n)[ \t]*(?:[`~]{1,4}[ \t]*\w{0,10}[ \t\r\n]*)?|(?<=\n)[ \t]*`?[\[{][ \t\r\n]*)\Z"
)


class HeldText:
    def __init__(self, tools: Iterable[str] = ()) -> None:
        self._tools = tuple(tools)
        names = "|".join(map(re.escape, self._tools))
        self._python = re.compile(rf"\s*\[?(?:{names})\(") if names else None
        self._pending = ""
        self._before = "\n"
        """The last character given out."""
        self._nothing_shown = True
        self._holding = False

    def feed(self, piece: str) -> str:
        """Take in a piece of the reply; return what can be shown now."""
        self._pending += piece
        if self._holding:
            return ""
        if self._nothing_shown and self._python and self._python.match(self._pending):
            self._holding = True
            return ""
        text = self._before + self._pending
        found = _BEGINS.search(text)
        self._holding = found is not None
        found = found or _MAY_BEGIN.search(text)
        if self._nothing_shown and self._may_be_name():
            return ""
        return self._give(max(0, found.start() - 1) if found else len(self._pending))

    def take(self) -> str:
        """Return what is held, and begin anew."""
        held, self._pending, self._holding = self._pending, "", False
        return held

    def _may_be_name(self) -> bool:
        """Return whether all so far is the beginning of a tool's name: a call in Python begins with it."""
        begun = self._pending.strip().removeprefix("[")
        return any(name.startswith(begun) for name in self._tools)

    def _give(self, count: int) -> str:
        given, self._pending = self._pending[:count], self._pending[count:]
        if given:
            self._before, self._nothing_shown = given[-1], False
        return given
