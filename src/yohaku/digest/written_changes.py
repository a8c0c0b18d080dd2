"""Text that calls wrote to files, and the lines that they changed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any

from yohaku.analysis.tool_calls import read_arguments
from yohaku.core.model import ToolUse

MAX_DETAIL_CHARS = 24_000
"""Characters of a text that are looked at; of a longer one the beginning and the end."""


def bound_text(text: str) -> str:
    """Return a text, or of a long one the beginning and the end."""
    if len(text) <= MAX_DETAIL_CHARS:
        return text
    return f"{text[: MAX_DETAIL_CHARS * 3 // 4]}\n[…]\n{text[-MAX_DETAIL_CHARS // 4 :]}"


_OLD_NAMES = ("oldstring", "oldstr", "oldtext", "search", "old")
_NEW_NAMES = ("newstring", "newstr", "newtext", "replace", "new", "newsource")
_TEXT_NAMES = ("content", "contents", "filetext", "text", "newsource")
_PATCH_MARK = "*** Begin Patch"
_CHANGED_LINE = re.compile(r"^(?:[+-](?![+-]{2} )|\*\*\* (?:Add|Update|Delete) File).*", re.MULTILINE)


def find_changes(use: ToolUse) -> Iterator[str]:
    """Yield the text that a call wrote, or the lines that it changed."""
    arguments = read_arguments(use)
    patch = next((value for value in arguments.values() if isinstance(value, str) and _PATCH_MARK in value), None)
    if patch is not None:
        yield "\n".join(_CHANGED_LINE.findall(bound_text(patch)))
        return
    edits = arguments.get("edits")
    for edit in (arguments, *(edits if isinstance(edits, list) else ())):
        if isinstance(edit, dict):
            yield from _change_of(edit)


def _change_of(edit: dict[str, Any]) -> Iterator[str]:
    named = {name.replace("_", "").lower(): value for name, value in edit.items() if isinstance(value, str)}
    old = next((named[name] for name in _OLD_NAMES if name in named), None)
    new = next((named[name] for name in _NEW_NAMES if name in named), None)
    if old is not None and new is not None:
        yield diff_lines(bound_text(old), bound_text(new))
    elif text := next((named[name] for name in _TEXT_NAMES if named.get(name)), new):
        yield bound_text(text)


_TEST_NAME = re.compile(
    r"^[ \t+-]*(?:(?:async )?def test_\w+|class Test\w+|func (?:\([^)\n]*\) )?Test\w+"
    r"|(?:describe|it|test)(?:\.\w+)?\s*\(\s*[\"'`][^\"'`\n]{1,160}[\"'`]|(?:#\[test\]\s*)?fn test_\w+)",
    re.MULTILINE,
)


def list_tests(text: str) -> str:
    """Return the lines that name tests, then the others; a text without any as it is."""
    names = [match[0] for match in _TEST_NAME.finditer(text)]
    if not names:
        return text
    marked = [name.strip() for name in names]
    rest = [line for line in text.split("\n") if not _TEST_NAME.match(line)]
    return "\n".join([*marked, *rest])


def diff_lines(old: str, new: str) -> str:
    """Return the lines that differ, marked - and +."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) * len(after) > 250_000:
        return "\n".join(f"+ {line}" for line in after)
    lines: list[str] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            lines += [f"- {line.strip()}" for line in before[a:b] if line.strip()]
            lines += [f"+ {line.strip()}" for line in after[c:d] if line.strip()]
    return "\n".join(lines)
