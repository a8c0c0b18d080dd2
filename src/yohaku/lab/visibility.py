"""Scorer for what a model can see in the entries sent: identifiers with their origin, rules, files, openable refs.

Law: an entry as recorded shows everything in it. One that a fold changed in place shows what its original holds. A name
in any other text of a fold counts only if the reader can tell its origin: a file, a call or a speaker is named on its
line, within the ten lines above it, or in the title of its section. A bare list of names has no origin.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from yohaku.lab.entries import Entry, call_texts, content_texts, texts_of
from yohaku.lab.identifiers import RUN, is_name, is_path, occurs, paths, trim
from yohaku.lab.recorded_session import NONE, RecordedSession, Target, union
from yohaku.lab.rules_and_files import f1, files_of, normalize_blanks

REF = re.compile(r"\bref=([A-Za-z0-9_-]+)")
PROMPT_PREFIX_CHARS = 40
"""By which a prompt that was cut short is recognised."""

ORIGIN_REACH_LINES = 10

SPEAKER_OR_ACTION = re.compile(
    r"\b(?:user|assistant|asked|said|told|answered|replied|called|ran|read|wrote|edited|created|modified|changed|"
    r"deleted|removed|moved)\b|利用者|ユーザ|依頼|指示|発言|質問|実行|読[みん]|書[きい]|編集|作成|変更|削除",
    re.IGNORECASE,
)

HEADING = re.compile(r"#{1,6} |\[[^\]]|<[A-Za-z]|==|\*\*")
LABEL = re.compile(r"([^:：]{1,60})[:：]\s+(\S.*)")
BULLET = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+")
SEPARATORS = re.compile(r"[\s,;|、，・`\"'()\[\]{}=→…]+")

NOWHERE, SOMEWHERE = -1, -2
"""Places of an original: it has none, or any will do."""

Recall: TypeAlias = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class VisibilityScore:
    """Score of one request. `missing`: identifiers the reply needs that are not visible."""

    missing: frozenset[str]
    openable: int
    """Missing ones that stand in the original behind a visible ref."""
    rules: int
    """Visible rules, among those stated so far."""
    of_rules: int
    f1: float | None
    """How well the files of the calls are named; None before a call named one."""
    fabricated: frozenset[str]
    """Paths in folds that stand nowhere in the recording."""


@dataclass
class VisibilityScorer:
    recorded: RecordedSession
    recall: Recall
    _texts: dict[tuple[str, int], _Text] = field(default_factory=dict)
    _opened: dict[str, str] = field(default_factory=dict)
    _recorded_paths: dict[str, bool] = field(default_factory=dict)
    _behind: dict[str, int] = field(default_factory=dict)
    _until: int = 0
    _stated: set[str] = field(default_factory=set)
    _files: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        recorded = self.recorded
        self._place = {id(entry): at for at, entry in enumerate(recorded.entries)}
        self._replies = {
            call["id"]: at for at, entry in enumerate(recorded.entries) for call in entry.get("tool_calls") or ()
        }
        self._results = {e["tool_call_id"]: at for at, e in enumerate(recorded.entries) if e["role"] == "tool"}
        self._prompts = {
            text[:PROMPT_PREFIX_CHARS] for e in recorded.entries if e["role"] == "user" for text in content_texts(e)
        }
        spoken = (("\n".join(content_texts(e)), at) for at, e in enumerate(recorded.entries) if e["role"] == "user")
        self._said = {text: at for text, at in spoken if text}
        self._rules = sorted(union(recorded.rules))
        self._raw = "\n".join(map(_raw, recorded.entries))

    def score(self, target: Target, shown: list[Entry]) -> VisibilityScore:
        recorded = self.recorded
        missing, rules, files = target.all, set[str](), set[str]()
        folds: list[_Text] = []
        for entry in shown:
            at = self._place.get(id(entry))
            if at is not None:
                missing = missing - recorded.seen[at]
                rules |= recorded.rules[at]
                files |= recorded.files[at]
                continue
            files |= files_of(entry)
            behind = self._prompt_behind(entry)
            if behind != NOWHERE:
                missing = missing - recorded.seen[behind]
                rules |= recorded.rules[behind]
            for text in self._read(entry):
                missing = missing - text.names
                rules |= text.rules
                files |= text.own_paths
                folds.append(text)
        self._advance(target.at)
        refs = {ref for text in folds for ref in text.refs}
        return VisibilityScore(
            missing,
            sum(any(occurs(name, self._open(ref)) for ref in refs) for name in missing),
            len(rules & self._stated),
            len(self._stated),
            f1(self._files, files) if self._files else None,
            frozenset(path for text in folds for path in text.paths if not self._is_recorded(path)),
        )

    def _advance(self, at: int) -> None:
        """Add the rules stated and the files named before a place."""
        self._stated.update(*self.recorded.rules[self._until : at])
        self._files.update(*self.recorded.files[self._until : at])
        self._until = at

    def _read(self, entry: Entry) -> Iterator[_Text]:
        """Read the texts of an entry that a fold changed or added."""
        for text in content_texts(entry):
            yield self._text(text, self._original(entry, text), entry["role"] != "tool")
        for call, text in zip(entry.get("tool_calls") or (), call_texts(entry), strict=True):
            yield self._text(text, self._replies.get(call["id"], NOWHERE), False)

    def _original(self, entry: Entry, text: str) -> int:
        """Return the place of the entry it stands for: a result of the same call, a reply, a prompt cut short."""
        match entry["role"]:
            case "tool":
                return self._results.get(entry.get("tool_call_id", ""), NOWHERE)
            case "assistant":
                return SOMEWHERE
        return (
            SOMEWHERE if len(text) >= PROMPT_PREFIX_CHARS and text[:PROMPT_PREFIX_CHARS] in self._prompts else NOWHERE
        )

    def _prompt_behind(self, entry: Entry) -> int:
        """Return the place of the prompt that stands, as recorded, at the end of an entry with a fold in front."""
        if entry["role"] != "user":
            return NOWHERE
        text = "\n".join(content_texts(entry))
        if text not in self._behind:
            longest = max((said for said in self._said if text.endswith(said)), key=len, default="")
            self._behind[text] = self._said.get(longest, NOWHERE)
        return self._behind[text]

    def _text(self, text: str, at: int, spoken: bool) -> _Text:
        if (text, at) not in self._texts:
            named = frozenset(paths(text))
            even = normalize_blanks(text) if spoken and self._rules else ""
            self._texts[text, at] = _Text(
                self._names(text, at),
                frozenset(rule for rule in self._rules if rule in even) if even else NONE,
                named,
                named if at == NOWHERE else NONE,
                tuple(REF.findall(text)),
            )
        return self._texts[text, at]

    def _names(self, text: str, at: int) -> frozenset[str]:
        find = self.recorded.vocabulary.found
        found = find(text)
        own = found if at == SOMEWHERE else NONE if at == NOWHERE else found & self.recorded.seen[at]
        if own == found:
            return found
        return own | find(with_origin(text, self.recorded.tools))

    def _open(self, ref: str) -> str:
        """Open a ref, with JSON escapes undone: arguments are stored as JSON."""
        if ref not in self._opened:
            text = self.recall(ref)
            self._opened[ref] = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        return self._opened[ref]

    def _is_recorded(self, path: str) -> bool:
        if path not in self._recorded_paths:
            self._recorded_paths[path] = path in self._raw
        return self._recorded_paths[path]


@dataclass(frozen=True, slots=True)
class _Text:
    """Findings in one text of a fold."""

    names: frozenset[str]
    rules: frozenset[str]
    paths: frozenset[str]
    own_paths: frozenset[str]
    """Paths in a text that stands for no original."""
    refs: tuple[str, ...]


def _raw(entry: Entry) -> str:
    return "\n".join([*texts_of(entry), *(call["function"]["arguments"] for call in entry.get("tool_calls") or ())])


def with_origin(text: str, tools: frozenset[str]) -> str:
    """Return the lines of `text` whose names have an origin. `tools`: names of the session's tools."""
    kept: list[str] = []
    titled = False
    named = -ORIGIN_REACH_LINES - 1
    for number, line in enumerate(text.split("\n")):
        label, rest = _labelled(line)
        bare = _is_bare(rest, tools)
        own = names_origin(label, tools) if bare else names_origin(line, tools)
        if _is_title(line) and not bare:
            titled = own
        if own:
            named = number
        if titled or number - named <= ORIGIN_REACH_LINES:
            kept.append(line)
    return "\n".join(kept)


def names_origin(line: str, tools: frozenset[str]) -> bool:
    """Test for a file, a call or a speaker."""
    return _names_call(line, tools) or bool(paths(line))


def _names_call(line: str, tools: frozenset[str]) -> bool:
    return bool(SPEAKER_OR_ACTION.search(line)) or not tools.isdisjoint(RUN.findall(line))


def _is_title(line: str) -> bool:
    return bool(HEADING.match(line)) or (line[:1].isalpha() and line.rstrip().endswith((":", "：")))


def _labelled(line: str) -> tuple[str, str]:
    found = LABEL.fullmatch(line)
    return (found[1], found[2]) if found else ("", line)


def _is_bare(line: str, tools: frozenset[str]) -> bool:
    """Test for two or more separated identifiers and nothing else, none of them a call or a speaker."""
    words = [word for word in SEPARATORS.split(BULLET.sub("", line, count=1)) if word]
    return len(words) >= 2 and all(map(_is_identifier, words)) and not _names_call(line, tools)


def _is_identifier(word: str) -> bool:
    word = trim(word)
    return is_name(word) or "." in word or ("/" in word and is_path(word)) or word.startswith("http")
