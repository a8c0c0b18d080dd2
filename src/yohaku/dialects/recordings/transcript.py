"""Our own transcripts: a header, then a line for each entry of the conversation and for each folding.

Laws: a line is a whole JSON object or was never acknowledged. A line that broke off is passed over where a writer was
stopped: at the end of the file, and before the line by which the next writer says that it found one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO

import msgspec

from yohaku.core.errors import Malformed, Unreadable
from yohaku.core.folds import Fold, FoldId, Gist, Stub, id_of
from yohaku.core.originals import OutputRef
from yohaku.dialects import DIALECTS
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import Json, kind_of
from yohaku.dialects.recordings import Recording, Retelling
from yohaku.dialects.recordings.lines import decode

NAME = "yohaku-transcript-1"


@dataclass(frozen=True, slots=True)
class Transcribed:
    """The current state of a transcript, without what was taken back or undone later in the file."""

    dialect: Dialect
    model: str
    beside: dict[str, Json] = field(default_factory=dict)
    """The fields of the body that stand beside the conversation."""
    entries: tuple[Json, ...] = ()
    lines: tuple[int, ...] = ()
    """The line of each entry."""
    folds: tuple[Fold, ...] = ()
    outputs: dict[str, OutputRef] = field(default_factory=dict)
    """Refs of tool outputs, by the ids of their calls."""

    @property
    def body(self) -> dict[str, Json]:
        named = {"model": self.model} if self.model and self.dialect.names_model else {}
        return {**named, **self.beside, self.dialect.entries: list(self.entries)}


def recognise(first: list[Json]) -> bool:
    return bool(first) and isinstance(first[0], dict) and first[0].get("format") == NAME


def read(data: bytes) -> Recording:
    told = transcribed(data)
    retelling = Retelling(told.dialect, unique_ids=False)
    told.dialect.read_beside(retelling.builder, told.beside)
    for number, entry in zip(told.lines, told.entries, strict=True):
        retelling.at(f"line {number}")
        retelling.entry(entry)
    return retelling.ended(NAME, told.model)


def transcribed(data: bytes) -> Transcribed:
    rows = whole_rows(data)
    _, header = next(rows, (0, {}))
    if not recognise([header]):
        raise Unreadable(f"this is not a {NAME} file: its first line is no header")
    if header.get("dialect") not in DIALECTS:
        raise Malformed(f"unknown dialect {header.get('dialect')!r}", "line 1")
    model = header.get("model")
    beside: dict[str, Json] = {}
    entries: list[tuple[int, Json]] = []
    folds: dict[FoldId, Fold] = {}
    outputs: dict[str, OutputRef] = {}
    for number, row in rows:
        match row:
            case {"entry": dict(entry)}:
                entries.append((number, entry))
            case {"beside": dict(beside)}:
                pass
            case {"back": int(count)} if 0 <= count <= len(entries):
                del entries[count:]
            case {"folds": list(made)}:
                folds.update((id_of(fold), fold) for fold in (_fold(each, number) for each in made))
            case {"undone": list(made)}:
                for fold in (_fold(each, number) for each in made):
                    folds.pop(id_of(fold), None)
            case {"outputs": dict(made)}:
                outputs.update((call, _output_ref(ref, number)) for call, ref in made.items())
            case {"entry": _} | {"beside": _} | {"back": _} | {"folds": _} | {"undone": _} | {"outputs": _}:
                raise Malformed("this is no line of a transcript", f"line {number}")
    lines, said = tuple(number for number, _ in entries), tuple(entry for _, entry in entries)
    model = model if isinstance(model, str) else ""
    return Transcribed(DIALECTS[header["dialect"]], model, beside, said, lines, tuple(folds.values()), outputs)


def whole_rows(data: bytes) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yield the rows, each with its line number; a broken one raises only where something was written after it."""
    broken: Malformed | None = None
    for number, line in enumerate(BytesIO(data), 1):
        if line.isspace():
            continue
        try:
            row = decode(line, number)
        except Malformed as wrong:
            broken = broken or wrong
            continue
        if not isinstance(row, dict):
            raise Malformed(f"this must be an object, not {kind_of(row)}", f"line {number}")
        if broken and "torn" not in row:
            raise broken
        broken = None
        yield number, row


def fold_row(fold: Fold) -> dict[str, Json]:
    row: dict[str, Json] = msgspec.to_builtins(fold)
    return row


def _output_ref(row: Json, number: int) -> OutputRef:
    match row:
        case {"id": str(ref), "byte_size": int(size), "line_count": int(lines)}:
            return OutputRef(ref, size, lines)
    raise Malformed("this is no ref of an output", f"line {number}")


def _fold(row: Json, number: int) -> Fold:
    try:
        if isinstance(row, dict) and "slot" in row:
            return msgspec.convert(row, Stub)
        return msgspec.convert(row, Gist)
    except msgspec.ValidationError as wrong:
        raise Malformed(f"this is no fold: {wrong}", f"line {number}") from None
