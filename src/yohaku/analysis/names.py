"""What a text names: paths, code names, ids, numbers."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

MAX_NAME_CHARS = 200
"""Characters of a name."""

_CANDIDATE = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9_./-]*|[ァ-ヶー]{3,40}|第?[0-9０-９]{1,8}[一-龥々]{1,8}|[一-龥々]{4,12}"
)
"""What may be a name, in Japanese too: words in katakana, numbered things, long compounds."""
_ASCII_CANDIDATE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{2,}")
"""The same where there is no other letter, and half of the time."""


def extract_names(text: str) -> frozenset[str]:
    """What a text names: paths, code names, ids, numbers; no plain words. What is in a longer name is named, too."""
    return frozenset(chain.from_iterable(map(names_in_word, find_candidates(text))))


def find_candidates(text: str) -> list[str]:
    """What may be a name, as it stands there."""
    return (_ASCII_CANDIDATE if text.isascii() else _CANDIDATE).findall(text)


@lru_cache(maxsize=1 << 16)
def names_in_word(word: str) -> tuple[str, ...]:
    """The name a word is, with the file a path ends in, or the names it is joined of; nothing where it is none."""
    if word[-1] > "\u3000":
        return (word,)
    if word.isidentifier():
        return (word,) if 3 <= len(word) <= MAX_NAME_CHARS and _NAME.search(word) else ()
    bare = word.strip("./-")
    if len(bare) < 3 or len(word) > MAX_NAME_CHARS:
        return ()
    if not _NAME.search(bare):
        return (bare,) if _HYPHENATED.fullmatch(bare) else ()
    name = word.rstrip(".-/")
    parts = name.rsplit("/", 1)[1:] if "/" in name else _JOINTS.split(name)
    return (name, *[part for part in parts if len(part) >= 3 and part != name and _NAME.search(part)])


def is_hyphenated(name: str) -> bool:
    """Whether it is only words that hyphens join: `react-dom` is a name, `well-known` is not."""
    return "-" in name and _HYPHENATED.fullmatch(name) is not None


_HYPHENATED = re.compile(r"[A-Za-z]{2,}(?:-[A-Za-z]{2,})+")
_JOINTS = re.compile(r"[.-]")
_NAME = re.compile(r"[A-Za-z]_|_[A-Za-z]|[a-z][A-Z]|[A-Z]{2}[a-z]{2}|[A-Za-z]\d|\d[A-Za-z]|\d{4}|[\w-]\.[\w-]|/")


def split_words(text: str) -> frozenset[str]:
    """The words a name is made of, or a text, in small letters: `getJobId` is made of get and job."""
    return frozenset([word.lower() for word in _LETTERS.findall(text)])


words_in_name = lru_cache(maxsize=1 << 16)(split_words)
"""For names: whole texts would never leave so large a cache."""

_LETTERS = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}")
