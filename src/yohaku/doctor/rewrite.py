"""Entries of a repaired conversation.

Law: an entry that needs nothing stays the object it was. The others are composed by their dialect from what they say;
where one of the old entries says the same as a composed one, it takes its place, with all the fields it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import Call, Opaque, Part, Result, Step, Text, ToolUse
from yohaku.dialects import anthropic, gemini
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import Json
from yohaku.doctor.lawful import is_lawful
from yohaku.doctor.notes import Notes
from yohaku.doctor.pairing import RULES, OrderedItem, Pairing, Rules, is_thought, replace_unserved
from yohaku.doctor.reading import LenientReader, ReadItem, text_of

Placed = tuple[Json, int | None]
"""An entry with the index it had, or took over; None for one that is new."""

OPENINGS = {"anthropic": anthropic.OPENING, "gemini": gemini.OPENING}


def repair_entries(
    dialect: Dialect, entries: list[Json], places: list[str], notes: Notes, elsewhere: bool = False
) -> list[Placed]:
    """The entries in order, each lawful; `places` are their names for the notes."""
    reader = LenientReader(dialect, notes)
    for index, entry in enumerate(entries):
        notes.where = places[index]
        reader.read(index, entry)
    rules = RULES.get(dialect.name, Rules())
    elsewhere = elsewhere or reader.collector.elsewhere
    rules = replace(rules, unique_ids=rules.unique_ids or notes.unique, elsewhere=elsewhere)
    unserved = replace_unserved(reader.items)
    for index in sorted(unserved):
        notes.where = places[index]
        notes.add("orphan", "tool_result")
    pairing = Pairing(reader.items, entries, places, notes, rules)
    pairing.touched |= reader.damaged | unserved
    stretches = list(_stretches(pairing.run()))
    found = Counter(home for stretch in stretches for home in {home for item in stretch for home in item.homes})
    whole = {home for home in found if found[home] == 1} - pairing.touched
    written = [placed for stretch in stretches for placed in _write(dialect, stretch, entries, whole)]
    notes.where = ""
    return _with_opening(dialect, _with_notes_in_place(dialect, written, notes), notes)


def _stretches(ordered: list[OrderedItem]) -> Iterator[list[OrderedItem]]:
    """Neighbours that share an entry are written together."""
    stretch: list[OrderedItem] = []
    homes: set[int] = set()
    for item in ordered:
        if stretch and homes.isdisjoint(item.homes):
            yield stretch
            stretch, homes = [], set()
        stretch.append(item)
        homes.update(item.homes)
    if stretch:
        yield stretch


def _write(dialect: Dialect, stretch: list[OrderedItem], entries: list[Json], whole: set[int]) -> Iterator[Placed]:
    """The old entries where all of them are whole, and else new ones."""
    homes = sorted({home for item in stretch for home in item.homes})
    if whole.issuperset(homes) and not any(item.changed for item in stretch):
        yield from ((entries[home], home) for home in homes)
        return
    old = {home: _read_alone(dialect, entries[home], -1) for home in homes if home in whole}
    free = [home for home in homes if home not in whole]
    custom = {entries[home].get("call_id") for home in old if entries[home].get("type") == "custom_tool_call"}
    for entry in compose(dialect, stretch):
        if "call_id" in entry and entry["call_id"] in custom:  # composed as the call of a function
            entry = {**entry, "type": entry["type"].replace("function_call", "custom_tool_call")}
        items = _read_alone(dialect, entry, 1)
        same = next((home for home in old if old[home] == items and _alike(entry, entries[home])), None)
        if same is not None:
            del old[same]
            yield entries[same], same
        else:
            yield entry, free.pop(0) if free else None


def _read_alone(dialect: Dialect, entry: Json, index: int) -> list[Any]:
    """The items of an entry. Calls without ids are named by the index, so two indices keep them apart."""
    reader = LenientReader(dialect, Notes())
    reader.read(index, entry)
    return [(item.kind, item.value, item.id) for item in reader.items if not is_thought(item)]


def _alike(composed: Json, old: Json) -> bool:
    """True for entries of one form: an older kind of call does not go with results of the newer."""
    form = (composed.get("type") or "message") == (old.get("type") or "message")
    return form and not old.get("function_call")


def compose(dialect: Dialect, stretch: Iterable[OrderedItem]) -> list[Json]:
    builder = HistoryBuilder()
    for item in stretch:
        match item.value:
            case Step(items=items):
                builder.reply()
                for each in items:
                    builder.say(each.call if isinstance(each, ToolUse) else each)
                for use in item.value.uses:
                    parts = tuple(_legible(dialect, part) for part in use.result.parts)
                    builder.answer(use.call.id, replace(use.result, parts=parts))
            case Text(text) if item.system:
                builder.prompt(Text(text, "system"))
            case Text() | Opaque() as part:
                builder.prompt(_legible(dialect, part))
    entries: list[Json] = dialect.compose(builder.history())[dialect.entries]
    return [entry for entry in entries if not _is_opening(dialect, entry)]


def _legible(dialect: Dialect, part: Part) -> Part:
    """A block that the dialect would only name, as the text it is."""
    if isinstance(part, Text) or part.form != "json" or part.kind == "thought":
        return part
    builder = HistoryBuilder()
    builder.prompt(part)
    return Text(part.data) if f"[{part.kind}]" in str(dialect.compose(builder.history())) else part


def repair_block(dialect: Dialect, role: str, block: Json, notes: Notes) -> list[Json]:
    """One block alone, for files whose entries are not put in order."""
    entry = {"role": role, "parts" if dialect.name == "gemini" else "content": [block]}
    if is_lawful(dialect.name, entry):
        return [block]
    reader = LenientReader(dialect, notes)
    reader.read(1, entry)
    return compose_blocks(dialect, reader.items)


def compose_blocks(dialect: Dialect, items: Iterable[ReadItem]) -> list[Json]:
    blocks: list[Json] = []
    for item in items:
        match item.value:
            case Call() as call:
                blocks += _blocks(dialect, Step((ToolUse(call, Result()),)))[:1]
            case Result() as result:
                blocks += _blocks(dialect, Step((ToolUse(Call(item.id, item.name or "tool", "{}"), result),)))[1:]
            case Text() | Opaque() as part:
                blocks += _blocks(dialect, Step((part,)) if item.kind == "said" else part)
    return blocks


def _blocks(dialect: Dialect, value: Step | Part) -> list[Json]:
    entries = compose(dialect, [OrderedItem(value, ())])
    contents = [entry.get("parts", entry.get("content")) for entry in entries]
    found = [[{"type": "text", "text": each}] if isinstance(each, str) else each for each in contents]
    return [block for content in found for block in content]


def _is_opening(dialect: Dialect, entry: Json) -> bool:
    return dialect.name in OPENINGS and entry in (
        dialect.user_entry(OPENINGS[dialect.name]),
        {"role": "user", "content": OPENINGS[dialect.name]},
    )


def _with_opening(dialect: Dialect, written: list[Placed], notes: Notes) -> list[Placed]:
    if dialect.name not in OPENINGS or not written or written[0][0].get("role") in (None, "user"):
        return written
    notes.add("opening")
    return [(dialect.user_entry(OPENINGS[dialect.name]), None), *written]


def _with_notes_in_place(dialect: Dialect, written: list[Placed], notes: Notes) -> list[Placed]:
    """In Anthropic's format the system speaks between the user and a reply; elsewhere its words are the user's."""
    if dialect.name != "anthropic":
        return written
    made: list[Placed] = []
    for place, (entry, home) in enumerate(written):
        if entry["role"] == "system":
            before = made[-1][0]["role"] if made else ""
            after = written[place + 1][0]["role"] if place + 1 < len(written) else "assistant"
            if before != "user" or after != "assistant":
                notes.add("note")
                entry = {**entry, "role": "user", "content": _plain(entry["content"])}
        made.append((entry, home))
    return made


def _plain(content: Json) -> Json:
    if isinstance(content, str):
        return content
    return [block if block["type"] == "text" else {"type": "text", "text": text_of(block)} for block in content]
