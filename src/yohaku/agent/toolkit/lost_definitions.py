"""Definitions that an edit takes out of a file: functions, classes, and values that the rest of the file still uses.

Law: what the user has named is not lost but meant; where the language is not known, only an empty file is a loss.
"""

from __future__ import annotations

import re

from yohaku.agent.toolkit.source_outline import declarations

MAX_NAMED = 4
_WORD = re.compile(r"[^\W\d]\w*")
_VALUE = re.compile(
    r"^(?:export[ \t]+)?(?:(?:const|let|var)[ \t]+)?([^\W\d]\w*)(?:[ \t]*:[^=\n]{1,60})?[ \t]*=(?!=)", re.M
)
"""A value that is given a name at the beginning of a line."""


def describe_loss(before: str, after: str, name: str, prompt: str) -> str:
    """Return a sentence about what a file of this name would lose; empty where it loses nothing."""
    if not before.strip():
        return ""
    if not after.strip():
        return f"{name} would be empty."
    meant = set(_WORD.findall(prompt))
    lost = [each for each in find_lost(before, after, name) if each not in meant]
    shown = ", ".join(lost[:MAX_NAMED]) + " …" * (len(lost) > MAX_NAMED)
    return f"{name} would lose {shown}, which was not to be removed." if lost else ""


def find_lost(before: str, after: str, name: str) -> list[str]:
    """Return the names that are defined before and not after."""
    old, new = declarations(before, name), declarations(after, name)
    if not old:
        return []
    left = {each.name for each in new}
    lost = [each.name for each in old if each.name and each.name not in left]
    values, words = {*_VALUE.findall(after)}, {*_WORD.findall(after)}
    lost += [each for each in _VALUE.findall(before) if each not in values | left and each in words]
    return list(dict.fromkeys(lost))
