"""What can be seen in the entries shown: identifiers with their origin, rules, files, and what refs would open.

Law: an entry as it was recorded shows all that is in it. One that a fold changed in its place shows what its original
said; whatever else a fold put in needs an origin. All that is found in a text is remembered by that text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from yohaku.lab.entries import Entry, call_texts, content_texts, texts_of
from yohaku.lab.identifiers import occurs, paths
from yohaku.lab.kept_facts import evened, f1, files_of
from yohaku.lab.origin import with_origin
from yohaku.lab.recorded_session import NONE, RecordedSession, Target, union

REF = re.compile(r"\bref=([A-Za-z0-9_-]+)")
BEGINNING = 40
"""Characters by which a prompt that was cut short is known again."""

NOWHERE, SOMEWHERE = -1, -2
"""Places of the original: there is none, or which one does not matter."""

Recall: TypeAlias = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class VisibilityScore:
    """What one look found; `missing` are the needed identifiers that it did not see."""

    missing: frozenset[str]
    openable: int
    """Of those missing, how many a visible ref opens."""
    rules: int
    """Of those stated so far."""
    of_rules: int
    f1: float | None
    """None where no call has named a file yet."""
    fabricated: frozenset[str]
    """Paths in folds that nobody said."""


@dataclass
class VisibilityScorer:
    recorded: RecordedSession
    recall: Recall
    _texts: dict[tuple[str, int], _Text] = field(default_factory=dict)
    _opened: dict[str, str] = field(default_factory=dict)
    _true: dict[str, bool] = field(default_factory=dict)
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
        self._prompts = {text[:BEGINNING] for e in recorded.entries if e["role"] == "user" for text in content_texts(e)}
        self._rules = sorted(union(recorded.rules))
        self._raw = "\n".join(map(_raw, recorded.entries))

    def look(self, target: Target, shown: list[Entry]) -> VisibilityScore:
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
            for text in self._read(entry):
                missing = missing - text.names
                rules |= text.rules
                files |= text.told
                folds.append(text)
        self._hear(target.at)
        refs = {ref for text in folds for ref in text.refs}
        return VisibilityScore(
            missing,
            sum(any(occurs(name, self._open(ref)) for ref in refs) for name in missing),
            len(rules & self._stated),
            len(self._stated),
            f1(self._files, files) if self._files else None,
            frozenset(path for text in folds for path in text.paths if not self._is_true(path)),
        )

    def _hear(self, at: int) -> None:
        """What was stated and which files were named before a place."""
        self._stated.update(*self.recorded.rules[self._until : at])
        self._files.update(*self.recorded.files[self._until : at])
        self._until = at

    def _read(self, entry: Entry) -> Iterator[_Text]:
        """The texts of an entry that a fold changed or put in."""
        for text in content_texts(entry):
            yield self._text(text, self._original(entry, text), entry["role"] != "tool")
        for call, text in zip(entry.get("tool_calls") or (), call_texts(entry), strict=True):
            yield self._text(text, self._replies.get(call["id"], NOWHERE), False)

    def _original(self, entry: Entry, text: str) -> int:
        """Where what it stands for was said: a result under its own call, a reply, a prompt cut short."""
        match entry["role"]:
            case "tool":
                return self._results.get(entry.get("tool_call_id", ""), NOWHERE)
            case "assistant":
                return SOMEWHERE
        return SOMEWHERE if len(text) >= BEGINNING and text[:BEGINNING] in self._prompts else NOWHERE

    def _text(self, text: str, at: int, spoken: bool) -> _Text:
        if (text, at) not in self._texts:
            named = frozenset(paths(text))
            even = evened(text) if spoken and self._rules else ""
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
        """What a ref opens; arguments are JSON there, so its line breaks are made such."""
        if ref not in self._opened:
            text = self.recall(ref)
            self._opened[ref] = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        return self._opened[ref]

    def _is_true(self, path: str) -> bool:
        if path not in self._true:
            self._true[path] = path in self._raw
        return self._true[path]


@dataclass(frozen=True, slots=True)
class _Text:
    """What is in one text of a fold."""

    names: frozenset[str]
    rules: frozenset[str]
    paths: frozenset[str]
    told: frozenset[str]
    """The paths it tells of by itself, not in the place of something that was said."""
    refs: tuple[str, ...]


def _raw(entry: Entry) -> str:
    return "\n".join([*texts_of(entry), *(call["function"]["arguments"] for call in entry.get("tool_calls") or ())])
