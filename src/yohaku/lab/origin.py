"""Which lines of a text that a fold put in tell where the names in them come from.

Law: a name counts as seen when the reader can tell its origin: a file, a call or a speaker is named on its line, within
the ten lines above it, or in the title of its section. A bare list of names is no origin, and has none of itself.
"""

from __future__ import annotations

import re

from yohaku.lab.identifiers import RUN, is_name, is_path, paths, trimmed

NEAR = 10
"""Lines."""

SAID = re.compile(
    r"\b(?:user|assistant|asked|said|told|answered|replied|called|ran|read|wrote|edited|created|modified|changed|"
    r"deleted|removed|moved)\b|利用者|ユーザ|依頼|指示|発言|質問|実行|読[みん]|書[きい]|編集|作成|変更|削除",
    re.IGNORECASE,
)
"""Words for a speaker, or for what was done by a call."""
HEADING = re.compile(r"#{1,6} |\[[^\]]|<[A-Za-z]|==|\*\*")
LABEL = re.compile(r"([^:：]{1,60})[:：]\s+(\S.*)")
BULLET = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+")
SEPARATORS = re.compile(r"[\s,;|、，・`\"'()\[\]{}=→…]+")


def with_origin(text: str, tools: frozenset[str]) -> str:
    """The lines of `text` from which the origin of what they name can be told; `tools` are the names of the calls."""
    kept: list[str] = []
    titled = False
    named = -NEAR - 1
    for number, line in enumerate(text.split("\n")):
        label, rest = _labelled(line)
        bare = _is_bare(rest, tools)
        own = names_origin(label, tools) if bare else names_origin(line, tools)
        if _is_title(line) and not bare:
            titled = own
        if own:
            named = number
        if titled or number - named <= NEAR:
            kept.append(line)
    return "\n".join(kept)


def names_origin(line: str, tools: frozenset[str]) -> bool:
    """Whether a line names a file, a call or a speaker."""
    return _names_call(line, tools) or bool(paths(line))


def _names_call(line: str, tools: frozenset[str]) -> bool:
    return bool(SAID.search(line)) or not tools.isdisjoint(RUN.findall(line))


def _is_title(line: str) -> bool:
    return bool(HEADING.match(line)) or (line[:1].isalpha() and line.rstrip().endswith((":", "：")))


def _labelled(line: str) -> tuple[str, str]:
    found = LABEL.fullmatch(line)
    return (found[1], found[2]) if found else ("", line)


def _is_bare(line: str, tools: frozenset[str]) -> bool:
    """Whether a line is nothing but separated identifiers, two or more of them, and no call or speaker among them."""
    words = [word for word in SEPARATORS.split(BULLET.sub("", line, count=1)) if word]
    return len(words) >= 2 and all(map(_is_identifier, words)) and not _names_call(line, tools)


def _is_identifier(word: str) -> bool:
    word = trimmed(word)
    return is_name(word) or "." in word or ("/" in word and is_path(word)) or word.startswith("http")
