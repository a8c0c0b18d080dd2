"""Definitions of a project whose names share words with a prompt, for prompts that name no file and no function.

Law: the project's own rules of what is ignored hold, tests and secrets are left out, and files and bytes read are
bounded.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from yohaku.agent.toolkit.file_lines import read_lines
from yohaku.agent.toolkit.found_hits import file_rank
from yohaku.agent.toolkit.project_files import walk_files
from yohaku.agent.toolkit.secrets import holds_secrets

MAX_FILES, MAX_BYTES, MAX_FILE_BYTES = 400, 4 << 20, 200_000
"""Source files that are searched, their bytes in all, and those of one."""
MAX_NAMES = 4
"""Definitions that are returned."""
MIN_SHARED_WORDS = 2
"""Words that prompt and definition share; the name of its file counts, but not alone."""
MIN_STEM_CHARS, MAX_ENDING_CHARS = 4, 3
"""Letters at the beginning by which `return` and `returnable` are one word, and letters in which `returned` and
`returnable` may differ."""

TEST_FILE = re.compile(r"(?:^|[/_.-])tests?(?:[/_.-]|$)|conftest", re.IGNORECASE)
_BEFORE_NAME = (
    r"^[ \t]*(?:(?:export|default|pub|public|private|static|final|async)[ \t]+)*"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|const)[ \t]+"
)
_DEFINED = re.compile(_BEFORE_NAME + r"(\w+)|^([A-Z][A-Z0-9_]{2,})[ \t]*=", re.MULTILINE)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", re.ASCII)
_WORD = re.compile(r"[A-Za-z]{3,}", re.ASCII)
_COMMON = frozenset(
    "about add after all also and any are before but can change could does each every explain file find fix for from "
    "function get give given gives has have her here his how into its just let look make many more most much must new "
    "not now old one only our out please read run said set shall she should show some tell test than that the their "
    "them then there these they this use used want was what when where which while who why will with within work "
    "would write you your".split()
)


class Definition(NamedTuple):
    name: str
    path: Path
    shared: int
    """Words it shares with the prompt."""


def find_definitions(root: Path, prompt: str) -> list[Definition]:
    """Return the definitions that share most words with a prompt, the best first."""
    words = {word for word in (found.lower() for found in _WORD.findall(prompt)) if word not in _COMMON}
    if len(words) < MIN_SHARED_WORDS:
        return []
    found: dict[str, Definition] = {}
    for path, text in _source_files(root):
        beside = _shared(words, path.stem)
        for match in _DEFINED.finditer(text):
            name = match[1] or match[2]
            own = _shared(words, name)
            if own and len(own | beside) >= MIN_SHARED_WORDS:
                found.setdefault(name, Definition(name, path, len(own | beside)))
    best = max((each.shared for each in found.values()), default=0)
    return [each for each in found.values() if each.shared == best][:MAX_NAMES]


def count_definitions(root: Path) -> int:
    return sum(len(_DEFINED.findall(text)) for _, text in _source_files(root))


def _source_files(root: Path) -> Iterator[tuple[Path, str]]:
    count = size = 0
    for each in walk_files(root, root):
        if file_rank(each.name) or TEST_FILE.search(each.name) or holds_secrets(each.name):
            continue
        path = root.joinpath(*each.parts)
        found = read_lines(path, 1, 1, MAX_FILE_BYTES) if path.is_file() else None
        if found is None or not PurePosixPath(each.name).suffix:
            continue
        count, size = count + 1, size + len(found.text)
        if count > MAX_FILES or size > MAX_BYTES:
            return
        yield path, found.text


def _shared(words: set[str], name: str) -> set[str]:
    """Return the words of the prompt that stand in a name."""
    parts = [part.lower() for part in _PART.findall(name)]
    return {word for word in words if any(_same_word(word, part) for part in parts)}


def _same_word(word: str, part: str) -> bool:
    shorter = min(len(word), len(part))
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(word, part, strict=False)))
    if same == shorter and shorter >= MIN_STEM_CHARS:
        return True
    return word.rstrip("s") == part.rstrip("s") or same >= max(MIN_STEM_CHARS + 1, shorter - MAX_ENDING_CHARS)
