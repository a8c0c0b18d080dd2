"""Reader of the file log in a gist, to compare it with the conversation."""

from __future__ import annotations

import re

from yohaku.digest.gist_text import ENGLISH, JAPANESE

_STATES = "|".join(state for titles in (ENGLISH, JAPANESE) for state in titles.states.values())
_FILE_LINE = re.compile(rf"^(?:{_STATES}) (.+?)(?: \[[\d, -]+\])?$")
_UNDER = [re.compile(re.escape(titles.under).replace(r"\{root\}", "(.+)")) for titles in (ENGLISH, JAPANESE)]


def read_file_paths(text: str) -> set[str]:
    paths: set[str] = set()
    root: str | None = None
    inside = False
    for line in text.splitlines():
        under = next((found[1] for pattern in _UNDER if (found := pattern.fullmatch(line))), None)
        if under or line in (ENGLISH.files, JAPANESE.files):
            inside, root = True, under
        elif inside and (found := _FILE_LINE.match(line)):
            paths.add(_absolute_path(found[1], root))
        else:
            inside = False
    return paths


def _absolute_path(path: str, root: str | None) -> str:
    if root is None or path.startswith(("/", "~")):
        return path
    return path[2:] if path.startswith("./") else root + path
