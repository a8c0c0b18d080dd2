"""Identifiers: the names, paths, ids and numbers in a text, and the search for them in others.

Independent of `analysis.entities` on purpose: the lab judges what folding keeps, and must not share its blind spots.

Laws: an identifier is found at word boundaries only (words are of ASCII letters, digits and `_`, so that a name is
found beside Japanese, too); every pattern is linear, whatever the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

WORD = re.compile(r"[A-Za-z0-9_]+")
RUN = re.compile(r"[A-Za-z0-9_.~@+/-]+")
URL = re.compile(r"https?://[^\s\"'`<>\\()\[\]{}，。、）」]+")
QUOTED = re.compile(
    r"\"([^\"\n]*)\"|`([^`\n]*)`|(?<![A-Za-z0-9_])'([^'\n]*)'(?![A-Za-z0-9_])|「([^「」\n]*)」|『([^『』\n]*)』"
)
PARTS = re.compile(r"[.@+~-]")
MEASURE = re.compile(r"\d+(?:st|nd|rd|th|ms|px|em|rem|kb|mb|gb|tb|k|m|s|x|h|d|min|sec|am|pm)", re.IGNORECASE)
HUMP = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
MAX_IDENTIFIER_CHARS = 240
"""Anything longer is data, not a name."""

ENDINGS = frozenset(
    "bash bat c cc cfg cjs conf cpp cs css csv cts diff env go gz h hpp htm html ini ipynb java jpg js json jsonl jsx "
    "kt lock lua md mdx mjs mod mts out patch php pl png proto py pyi r rb rs rst scss sh sql sum svelte svg swift tex "
    "tf toml ts tsv tsx txt vue xml yaml yml zsh".split()
)
"""Endings that tell a file name from a dotted name in code."""


def identifiers(texts: Iterable[str]) -> set[str]:
    """Find paths, file names, code names, ids, hashes, URLs, numbers of four digits or more, and quoted strings."""
    found: set[str] = set()
    for text in texts:
        for url in URL.findall(text):
            found.add(url.rstrip(".,;:!?*"))
        plain = URL.sub(" ", text)
        for run in set(RUN.findall(plain)):
            found.update(_of_run(run))
        for groups in QUOTED.findall(plain):
            found.update(quoted for quoted in map(str.strip, groups) if _is_quotation(quoted))
    return found


def _of_run(run: str) -> Iterator[str]:
    run = trim(run)
    if not run or len(run) > MAX_IDENTIFIER_CHARS:
        return
    if "/" in run:
        if is_path(run):
            yield run
            name = run.rstrip("/").rsplit("/", 1)[-1]
            if "." in name.strip(".") or is_name(name):
                yield name
            return
        for part in run.split("/"):
            yield from _of_run(part)
        return
    if is_dotted(run) or is_hyphened(run):
        yield run
    yield from filter(is_name, PARTS.split(run))


def trim(run: str) -> str:
    """Strip the punctuation of a sentence from the end and that of a list from the beginning."""
    return run.rstrip(".-+~@").lstrip("-+@")


def is_name(word: str) -> bool:
    """Test for snake_case, camelCase, letters with digits, or four digits and more; not a plain word."""
    if word.isdigit():
        return len(word) >= 4
    bare = word.strip("_")
    if len(bare) < 3:
        return False
    if "_" in bare or HUMP.search(bare):
        return True
    return len(bare) >= 4 and any(letter.isdigit() for letter in bare) and not MEASURE.fullmatch(bare)


def is_dotted(run: str) -> bool:
    """Test for `config.toml`, `os.path.join`, `1.26.4`; not `e.g`, nor a decimal number."""
    parts = run.strip(".").split(".")
    if len(parts) < 2 or not all(parts):
        return False
    if all(part.isdigit() for part in parts):
        return len(parts) >= 3 or sum(map(len, parts)) >= 5
    return len(run) >= 4 and (sum(map(len, parts)) > len(parts) + 1)


def is_hyphened(run: str) -> bool:
    """Test for `fix-1024`, `2024-05-25`, a UUID; not `well-known`, which is language."""
    return "-" in run and len(run) >= 6 and any(letter.isdigit() for letter in run)


def is_path(run: str) -> bool:
    """Tell a path from `and/or` or a date, given a run with a slash."""
    if run.startswith("//") or not any(letter.isalpha() for letter in run):
        return False
    inside = run.strip("/")
    if inside.count("/") == 0:
        return "." in inside.strip(".") and run[0] in "/~."
    if run[0].isdigit():
        return False  # a fraction, a date, a command of an editor
    return run[0] in "/~." or inside.count("/") >= 2 or any(c in "._" or c.isdigit() for c in inside)


def paths(text: str) -> set[str]:
    """Find the files a text names: runs with a slash or a file ending."""
    found: set[str] = set()
    for run in set(RUN.findall(text)):
        path = trim(run)
        if len(path) <= MAX_IDENTIFIER_CHARS and (is_path(path) if "/" in path else is_file_name(path)):
            found.add(bare(path))
    return found


def is_file_name(name: str) -> bool:
    stem, dot, ending = name.rpartition(".")
    return bool(dot and stem.strip(".")) and ending.lower() in ENDINGS


def bare(path: str) -> str:
    """Return one spelling of a path."""
    while path.startswith("./"):
        path = path[2:]
    return path.rstrip("/") or "/"


def _is_quotation(text: str) -> bool:
    """Tell a quotation from punctuation in quotes or one plain word."""
    if not 4 <= len(text) <= 80 or sum(letter.isalnum() for letter in text) < 3:
        return False
    return not (text.isascii() and text.isalpha() and text[1:].islower())


def argument_texts(arguments: str) -> list[str]:
    """Return the values in the arguments of a call as texts; if they are not JSON, the text itself."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return [arguments]
    return list(_leaves(value))


def argument_identifiers(arguments: str) -> set[str]:
    """Find identifiers in arguments, where a short string counts as a quoted one."""
    texts = argument_texts(arguments)
    return identifiers(texts) | {text for text in map(str.strip, texts) if "\n" not in text and _is_quotation(text)}


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def occurs(name: str, text: str) -> bool:
    """Test for `name` in `text` between word boundaries."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not (at and _joins(text[at - 1], name[0])) and not (end < len(text) and _joins(text[end], name[-1])):
            return True
        at = text.find(name, at + 1)
    return False


def _joins(beside: str, edge: str) -> bool:
    return _is_word(beside) and _is_word(edge)


def _is_word(letter: str) -> bool:
    return letter == "_" or (letter.isascii() and letter.isalnum())


class Vocabulary:
    """Finds many identifiers in many texts: each text is split into words once, and few names are searched for."""

    def __init__(self, names: Iterable[str]) -> None:
        self._words: set[str] = set()
        self._by_word: dict[str, list[str]] = {}
        self._wordless: list[str] = []
        for name in sorted(names):
            words = WORD.findall(name)
            if words == [name]:
                self._words.add(name)
            elif words:
                self._by_word.setdefault(max(words, key=len), []).append(name)
            else:
                self._wordless.append(name)

    def found(self, text: str) -> frozenset[str]:
        words = set(WORD.findall(text))
        found = words & self._words
        for word in words & self._by_word.keys():
            found.update(name for name in self._by_word[word] if occurs(name, text))
        found.update(name for name in self._wordless if name in text)
        return frozenset(found)
