"""Words of `find`: where it starts, and whether it takes everything there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from yohaku.agent.toolkit.dry_run.values import show_value

NAME_FILTERS = frozenset(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -inum -samefile -xtype".split()
)
"""Tests that choose some files by their name."""
ACTIONS = frozenset("-exec -execdir -ok -okdir".split())
_EVERYTHING = re.compile(r"[*?.+/^$]*$")


def find_roots(words: Sequence[str]) -> list[str]:
    """Return the places where `find` starts."""
    roots: list[str] = []
    for word in words[1:]:
        if re.match(r"-[HLPOD]", word) and not roots:
            continue
        if word.startswith(("-", "(", "!", ",")):
            break
        roots.append(word)
    return roots or ["."]


def has_filter(words: Sequence[str]) -> bool:
    """Return whether every alternative of the expression chooses files by name, or empty ones."""
    clause = False
    at = 1
    while at < len(words):
        word = words[at]
        if word in ("-o", "-or", ","):
            if not clause:
                return False
            clause = False
        elif word in ACTIONS:
            at = find_action_end(words, at)
        elif word == "-empty" or (word in NAME_FILTERS and at + 1 < len(words)):
            all_files = word != "-empty" and _EVERYTHING.match(show_value(words[at + 1]))
            clause = clause or not (all_files or words[at - 1] in ("!", "-not"))
        at += 1
    return clause


def find_action_end(words: Sequence[str], start: int) -> int:
    """Return the place of the `;` or `+` that ends the command of `-exec`."""
    for at in range(start + 1, len(words)):
        if words[at] == ";" or (words[at] == "+" and words[at - 1] == "{}"):
            return at
    return len(words)
