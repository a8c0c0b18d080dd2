"""Outline of a view: one line per item, for people and for golden files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from unicodedata import east_asian_width

from yohaku.core.folds import Stub
from yohaku.core.meter import Meter
from yohaku.core.model import Call, Part, Result, Step, Text, ToolUse
from yohaku.core.originals import Slot, replace_arguments
from yohaku.core.view import View
from yohaku.core.weigh import Weigher

WIDTH = 60


def shape(view: View, meter: Meter | None = None) -> Iterator[str]:
    """Yield one line per item of a view; with a meter, each with its tokens."""
    for part in view.history.system:
        yield _line("system", part, meter)
    for tool in view.history.tools:
        yield f"tool       {tool.name}"
    for gist in view.chapters:
        yield _line("gist", Text(gist.text), meter, gist.ref)
        if gist.ack:
            yield _line("assistant", Text(gist.ack), meter)
    for turn in view.visible():
        stubs = view.stubs.get(turn.key, _NONE)
        for index, part in enumerate(turn.prompt):
            role = part.by if isinstance(part, Text) and part.by else "user"
            yield _part_line(role, part, stubs.get(Slot("prompt", index)), meter)
        if view.stand_in and turn.key == view.history.turns[view.cut.turn].key:
            yield _line("assistant", Text(view.stand_in), meter)
        for step in turn.steps:
            yield from _step_lines(view, step, meter)
    if view.history.pending:
        names = ", ".join(call.name for call in view.history.pending.calls)
        yield f"open       {names}"


def _step_lines(view: View, step: Step, meter: Meter | None) -> Iterator[str]:
    stubs = view.stubs.get(step.key, _NONE)
    order = {id(item): index for index, item in enumerate(step.solid)} if stubs else {}
    arguments: dict[int, list[Stub]] = {}
    for slot, folded in stubs.items():
        if slot.where == "argument":
            arguments.setdefault(slot.item, []).append(folded)
    dropped = {id(step.thoughts[slot.item]): stub for slot, stub in view.dropped.get(step.key, _NONE).items()}
    for item in step.items:
        index = order.get(id(item), -1)
        if isinstance(item, ToolUse):
            yield _call_line(item.call, arguments.get(index, ()), meter)
            yield from _result_lines(item.result, index, stubs, meter)
        elif stub := dropped.get(id(item)):
            yield f"{'assistant':10} {_format_weight(stub.after, meter)}(thought, not sent) | ref={stub.ref}"
        else:
            yield _part_line("assistant", item, stubs.get(Slot("item", index)) if stubs else None, meter)


def _call_line(call: Call, stubs: Iterable[Stub], meter: Meter | None) -> str:
    """`stubs`: those of its arguments."""
    texts = {str(stub.slot.part): stub.text for stub in stubs}
    arguments = replace_arguments(call.arguments, texts) if texts else call.arguments
    return _line("  call", Text(f"{call.name} {arguments}"), meter, " ".join(stub.ref for stub in stubs))


def _result_lines(result: Result, index: int, stubs: Mapping[Slot, Stub], meter: Meter | None) -> Iterator[str]:
    name = "error" if result.error else "result"
    if not result.parts:
        yield f"  {name:8} (empty)"
    for number, part in enumerate(result.parts):
        yield _part_line(f"  {name}", part, stubs.get(Slot("result", index, number)) if stubs else None, meter)


def _part_line(role: str, part: Part, stub: Stub | None, meter: Meter | None) -> str:
    return _line(role, Text(stub.text), meter, stub.ref) if stub else _line(role, part, meter)


_NONE: Mapping[Slot, Stub] = {}


def _line(role: str, part: Part, meter: Meter | None, ref: str = "") -> str:
    text = part.text if isinstance(part, Text) else f"({part.kind} {part.mime})"
    text = text.replace(f"; ref={ref}", "") if ref else text
    weight = _format_weight(Weigher(meter).part(part), meter) if meter else ""
    return f"{role:10} {weight}{_shorten(text)}{' | ref=' + ref if ref else ''}"


def _format_weight(tokens: int, meter: Meter | None) -> str:
    return f"{tokens:>8,}  " if meter else ""


def _shorten(text: str) -> str:
    """Shorten to one line of WIDTH columns; Chinese characters and kana take two each."""
    line = " ".join(text[: WIDTH + 20].split())
    if len(line) <= WIDTH < len(text):
        line = " ".join(text[: WIDTH * 4].split())
    if not line.isprintable():
        line = "".join(letter if letter.isprintable() else "·" for letter in line)
    if line.isascii():
        return line[: WIDTH - 1] + "…" if len(line) > WIDTH else line if len(text) <= WIDTH * 4 else line + "…"
    width = 0
    for index, letter in enumerate(line[: WIDTH + 1]):
        width += 2 if east_asian_width(letter) in "WF" else 1
        if width > WIDTH:
            return line[: index - 1] + "…"
    return line if len(text) <= WIDTH * 4 else line + "…"
