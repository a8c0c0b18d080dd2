"""Extractors for two things a view should keep: rules the user stated, and files that calls worked on.

A rule is a sentence with a rule word in it. A file is what a call names under a key for paths, among the words of a
command, or in the headers of a patch.
"""

from __future__ import annotations

import json
import re

from yohaku.lab.entries import Entry
from yohaku.lab.identifiers import bare, paths

RULE = re.compile(r"\b(?:must|never|only|always|don['’]t|do not)\b|必ず|禁止|しないで|だけ|絶対|以外", re.IGNORECASE)
END = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+|\n")
"""End of a sentence. A dot inside a name is not one."""
MIN_RULE_CHARS, MAX_RULE_CHARS = 8, 400

KEYS = ("path", "file", "dir", "notebook")
COMMANDS = ("command", "cmd", "script", "patch", "input", "diff")
PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^(?:\+\+\+|---) [ab]/(\S+)", re.MULTILINE)
HEREDOC = re.compile(r"<<-?\s*['\"]?\w+")


def rules_in(text: str) -> frozenset[str]:
    """Find the sentences with a rule word, with blanks normalised."""
    if not RULE.search(text):
        return frozenset()
    sentences = (normalize_blanks(sentence) for sentence in END.split(text) if RULE.search(sentence))
    return frozenset(sentence for sentence in sentences if MIN_RULE_CHARS <= len(sentence) <= MAX_RULE_CHARS)


def normalize_blanks(text: str) -> str:
    return " ".join(text.split())


def files_of(entry: Entry) -> frozenset[str]:
    """Find the files named in the arguments of an entry's calls."""
    found: set[str] = set()
    for call in entry.get("tool_calls") or ():
        try:
            values = json.loads(call["function"]["arguments"])
        except (ValueError, RecursionError):
            continue
        for key, value in values.items() if isinstance(values, dict) else ():
            if isinstance(value, str):
                found |= _files_in(key.lower(), value)
    return frozenset(found)


def _files_in(key: str, value: str) -> set[str]:
    if any(word in key for word in KEYS) and value.strip() and len(value) < 300 and "\n" not in value:
        return {bare(value.strip())}
    if key not in COMMANDS:
        return set()
    patched = {bare((listed or marked).strip()) for listed, marked in PATCHED.findall(value)}
    return patched or paths(_without_heredoc(value))


def _without_heredoc(value: str) -> str:
    """Return a command without its here-document."""
    document = HEREDOC.search(value)
    end = value.find("\n", document.end()) if document else -1
    return value[:end] if end >= 0 else value


def f1(true: set[str], named: set[str]) -> float:
    """Return the F1 score of the files named. The end of a path counts for the one path that ends with it."""
    ends: dict[str, set[str]] = {}
    for path in true:
        parts = path.split("/")
        for start in range(1, len(parts)):
            ends.setdefault("/".join(parts[start:]), set()).add(path)
    whole = {path for path in true if path not in ends}
    meant = {_resolve(path, ends.get(path, set()) & whole) for path in named}
    return 2 * len(meant & whole) / (len(meant) + len(whole)) if meant and whole else 0.0


def _resolve(path: str, longer: set[str]) -> str:
    return next(iter(longer)) if len(longer) == 1 else path
