"""A recorded session prepared for replay: its entries, their weights, and the identifiers each next reply needs.

Everything that does not depend on a window or a recipe is computed here, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from yohaku import dialects
from yohaku.core.meter import Meter
from yohaku.core.weigh import Weigher
from yohaku.dialects.load import Request, load
from yohaku.lab.entries import Entry, content_texts, has_text, texts_of, weigh
from yohaku.lab.identifiers import Vocabulary, argument_identifiers, identifiers
from yohaku.lab.rules_and_files import files_of, rules_in

FAR_STEPS, FAR_TOKENS = 3, 2_048
"""An identifier last seen longer ago than both is far."""


class Target(NamedTuple):
    """A recorded reply, and the identifiers it uses that occur before it."""

    at: int
    """Its place among the entries: those before it are the history to fit."""
    step: int
    scored: bool
    all: frozenset[str] = frozenset()
    tool: frozenset[str] = frozenset()
    """Those that occur in results only."""
    far: frozenset[str] = frozenset()
    """Those last seen more than FAR_STEPS and FAR_TOKENS ago."""


@dataclass(frozen=True)
class RecordedSession:
    name: str
    source: str
    entries: list[Entry]
    beside: dict[str, Any]
    """Other fields of the request body: tool definitions."""
    targets: list[Target]
    vocabulary: Vocabulary
    seen: list[frozenset[str]]
    """By entry: the identifiers in it that any target needs."""
    weights: list[int]
    fixed: int
    """Tokens of the request itself, and of the tool definitions."""
    rules: list[frozenset[str]]
    """By entry: the sentences with a rule, with blanks normalised."""
    files: list[frozenset[str]]
    """By entry: the files its calls name."""
    tools: frozenset[str]
    begins: str
    empty: frozenset[str]
    """Calls whose result was empty."""

    @property
    def system(self) -> int:
        """Tokens of the system entries at the beginning."""
        begun = next((at for at, entry in enumerate(self.entries) if entry["role"] != "system"), len(self.entries))
        return sum(self.weights[:begun])

    def body(self, entries: list[Entry]) -> Any:
        return {**self.beside, "messages": entries} if self.beside else entries


def read(data: bytes, name: str, source: str, meter: Meter, sample: int | None = None) -> RecordedSession:
    """Load a recording. `sample`: number of replies to score; all are replayed."""
    loaded = load(data, name)
    if isinstance(loaded, Request):
        history = dialects.dialect_named(loaded.dialect).read(loaded.value).history()
    else:
        history = loaded.history
    body = dialects.dialect_named("openai_chat").compose(history)
    entries: list[Entry] = body.pop("messages")
    places = [at for at, entry in enumerate(entries) if at and entry["role"] == "assistant"]
    wanted = {at: needed_identifiers(entries[at]) for at in evenly(places, sample)}
    vocabulary = Vocabulary(union(wanted.values()))
    texts = [texts_of(entry) for entry in entries]
    seen = [union(map(vocabulary.found, spoken)) for spoken in texts]
    weights = [weigh(entry, meter) for entry in entries]
    return RecordedSession(
        name=name,
        source=source,
        entries=entries,
        beside=body,
        targets=list(_targets(entries, wanted, seen, weights)),
        vocabulary=vocabulary,
        seen=seen,
        weights=weights,
        fixed=meter.frame.request + Weigher(meter).tools(history.tools, history.forced),
        rules=[union(map(rules_in, content_texts(entry))) if entry["role"] == "user" else NONE for entry in entries],
        files=[files_of(entry) for entry in entries],
        tools=frozenset(call["function"]["name"] for entry in entries for call in entry.get("tool_calls") or ()),
        begins=next((entry["role"] for entry in entries if entry["role"] != "system"), "user"),
        empty=frozenset(e["tool_call_id"] for e in entries if e["role"] == "tool" and not has_text(e["content"])),
    )


NONE: frozenset[str] = frozenset()


def union(sets: Iterable[Iterable[str]]) -> frozenset[str]:
    return NONE.union(*sets)


def _targets(
    entries: list[Entry], wanted: dict[int, set[str]], seen: list[frozenset[str]], weights: list[int]
) -> Iterator[Target]:
    last: dict[str, tuple[int, int]] = {}
    elsewhere: set[str] = set()
    step = tokens = 0
    for at, entry in enumerate(entries):
        if entry["role"] == "assistant":
            step += 1
            if at:
                needed = frozenset(wanted[at] & last.keys()) if at in wanted else frozenset()
                far = (n for n in needed if step - last[n][0] > FAR_STEPS and tokens - last[n][1] > FAR_TOKENS)
                yield Target(at, step, at in wanted, needed, needed - elsewhere, frozenset(far))
        tokens += weights[at]
        last.update(dict.fromkeys(seen[at], (step, tokens)))
        if entry["role"] != "tool":
            elsewhere |= seen[at]


def evenly(places: list[int], count: int | None) -> list[int]:
    """Pick `count` places at even distances, from the first to the last."""
    if count is None or len(places) <= count:
        return places
    if count == 1:
        return places[-1:]
    return [places[round(n * (len(places) - 1) / (count - 1))] for n in range(count)]


def needed_identifiers(entry: Entry) -> set[str]:
    """Find the identifiers in the text of a reply and in the arguments of its calls."""
    found = identifiers(content_texts(entry))
    for call in entry.get("tool_calls") or ():
        found |= argument_identifiers(call["function"]["arguments"])
    return found
