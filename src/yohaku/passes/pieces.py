"""Pieces of a view that can be folded, and the two ways to show a piece shorter.

Law: a stub says what it hides, how much of it, and the ref that opens it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from yohaku.analysis.retention import find_binding_in
from yohaku.core.folds import Stub, Subject
from yohaku.core.model import Part, Step, Text, ToolUse
from yohaku.core.originals import Slot, argument_text, arguments_of, is_media, original_of, ref_of
from yohaku.core.recipe import PassContext
from yohaku.core.view import View

SMALL = 48
"""Tokens. Smaller pieces are not worth a stub, which takes about half of that."""

MAX_LINE_CHARS = 2_000
"""Characters of a line that are shown at most, where other lines need the room."""

MIN_FILLED_SHARE = 0.7
"""Share of its tokens that a clipped text uses at least, or its long lines are shown longer."""


@dataclass(frozen=True, slots=True)
class Piece:
    key: str
    slot: Slot
    original: str | bytes
    what: Subject
    tool: str
    weight: int
    """Tokens as shown now."""
    turn: int
    """Age in turns: 0 is the newest."""
    step: int
    """Age in steps: 0 is the newest, and a prompt of the newest turn."""
    media: bool = False
    """Not a text, so there is no part of it to show."""


def pieces(view: View, context: PassContext, *where: str) -> Iterator[Piece]:
    """Yield the visible pieces of the given kinds (all by default), oldest first."""
    turns = list(view.visible())
    steps = sum(len(turn.steps) for turn in turns)
    for number, turn in enumerate(turns):
        age = len(turns) - 1 - number
        if not where or "prompt" in where:
            for index, part in enumerate(turn.prompt):
                slot = Slot("prompt", index)
                what = Subject("prompt" if isinstance(part, Text) else part.kind)
                yield from _part_piece(view, context, turn.key, slot, part, what, "", age, steps if age else 0)
        for step in turn.steps:
            steps -= 1
            yield from _step_pieces(view, context, step, where, age, steps)


def _step_pieces(
    view: View, context: PassContext, step: Step, where: tuple[str, ...], turn: int, age: int
) -> Iterator[Piece]:
    """Yield the pieces of one step. `turn` and `age`: its distance from the newest turn and step."""
    for index, item in enumerate(step.solid):
        if not isinstance(item, ToolUse):
            if not where or "item" in where:
                what = Subject("reply" if isinstance(item, Text) else item.kind)
                yield from _part_piece(view, context, step.key, Slot("item", index), item, what, "", turn, age)
            continue
        name = item.call.name
        if not where or "argument" in where:
            yield from _argument_pieces(view, context, step.key, index, item, turn, age)
        if not where or "result" in where:
            for number, part in enumerate(item.result.parts):
                slot = Slot("result", index, number)
                yield from _part_piece(view, context, step.key, slot, part, Subject("result", name), name, turn, age)


def _part_piece(
    view: View, context: PassContext, key: str, slot: Slot, part: Part, what: Subject, tool: str, turn: int, age: int
) -> Iterator[Piece]:
    if not isinstance(part, Text) and not is_media(part):
        return
    stub = view.stubs.get(key, {}).get(slot)
    weight = stub.after if stub else context.weigher.part(part)
    if weight > SMALL:
        yield Piece(key, slot, original_of(part), what, tool, weight, turn, age, media=not isinstance(part, Text))


def _argument_pieces(
    view: View, context: PassContext, key: str, index: int, use: ToolUse, turn: int, age: int
) -> Iterator[Piece]:
    if context.meter.count(use.call.arguments) <= SMALL:
        return
    for name in arguments_of(use.call.arguments):
        slot = Slot("argument", index, name)
        stub = view.stubs.get(key, {}).get(slot)
        original = argument_text(use.call, name)
        weight = stub.after if stub else context.meter.count(original)
        if weight > SMALL:
            yield Piece(key, slot, original, Subject("argument", use.call.name, name), use.call.name, weight, turn, age)


def fold_whole(piece: Piece, context: PassContext, why: str, rules: Collection[str] = ()) -> Stub:
    """Replace a piece by one line, and those of the rules that it states."""
    if isinstance(piece.original, str) and not piece.media:
        size = size_of(piece.original)
    else:
        size = many(len(piece.original), "byte") if isinstance(piece.original, bytes) else _link_size(piece.original)
    ref = ref_of(piece.original)
    stated = _find_stated(piece, rules)
    return _stub(piece, f"[{piece.what} folded: {size}; ref={ref}]{_list_rules(stated)}", ref, context, why)


def fold_part(
    piece: Piece, context: PassContext, why: str, tokens: int, head: float = 0.6, rules: Collection[str] = ()
) -> Stub:
    """Replace a piece by its beginning and end within `tokens`, or by one line if that is too little.

    `head` is the share of the beginning. Those of the rules that the piece states stay in it, as far as they fit.
    """
    count = context.meter.count
    stated = _keep_first(_find_stated(piece, rules), tokens - SMALL // 2, count)
    if isinstance(piece.original, str) and not piece.media and tokens > SMALL:
        ref = ref_of(piece.original)
        text = clip(piece.original, tokens - (count(_list_rules(stated)) if stated else 0), count, ref, head)
        if text is not None:
            return _stub(piece, text + _list_rules([rule for rule in stated if rule not in text]), ref, context, why)
    return fold_whole(piece, context, why, stated)


def fold_as(piece: Piece, context: PassContext, why: str, text: str, rules: Collection[str] = ()) -> Stub:
    """Replace a piece by a text that names its ref, and those of the rules that it states and the text does not."""
    stated = [rule for rule in _find_stated(piece, rules) if rule not in text]
    kept = _keep_first(stated, context.budget.limit // 10, context.meter.count)
    return _stub(piece, text + _list_rules(kept), ref_of(piece.original), context, why)


def floor(piece: Piece, context: PassContext, rules: Collection[str]) -> int:
    """Return the tokens that a part of the piece needs to show all rules that it states; 0 if it states none."""
    stated = _find_stated(piece, rules)
    return SMALL // 2 + context.meter.count(_list_rules(stated)) if stated else 0


def _find_stated(piece: Piece, rules: Collection[str]) -> list[str]:
    if piece.slot.where != "prompt" or not isinstance(piece.original, str) or not rules:
        return []
    return find_binding_in(piece.original, rules)


def _list_rules(rules: Sequence[str]) -> str:
    return "".join([f"\n{STATED}", *(f"\n- {rule}" for rule in rules)]) if rules else ""


def _keep_first(rules: list[str], tokens: int, count: Callable[[str], int]) -> list[str]:
    most = bisect_right(range(1, len(rules) + 1), tokens, key=lambda n: count(_list_rules(rules[:n])))
    return rules[:most]


STATED = "In it the user said:"
"""Title of the rules that a folded prompt states; they are shown word for word."""


def _stub(piece: Piece, text: str, ref: str, context: PassContext, why: str) -> Stub:
    return Stub(piece.key, piece.slot, text, ref, piece.what, why, piece.weight, context.meter.count(text))


def clip(text: str, tokens: int, count: Callable[[str], int], ref: str, head: float) -> str | None:
    """Cut the middle (with `head=1` the end) out of a text; None if `tokens` leave nothing worth showing.

    Long lines are shortened, unless that would leave most of the tokens unused.
    """
    keep = int(len(text) * (tokens - SMALL // 2) / max(1, count(text)))
    shown = _clip_to_tokens(text, keep, tokens, count, ref, head)
    if shown is None or not LONG_LINE.search(text) or count(shown) >= tokens * MIN_FILLED_SHARE:
        return shown
    whole = _clip_to_tokens(text, keep, tokens, count, ref, head, max_line_chars=len(text))
    return whole if whole and count(whole) > count(shown) else shown


def _clip_to_tokens(
    text: str,
    keep: int,
    tokens: int,
    count: Callable[[str], int],
    ref: str,
    head: float,
    max_line_chars: int = MAX_LINE_CHARS,
) -> str | None:
    """Keep about `keep` characters, or fewer if they weigh more than `tokens`."""
    for _ in range(8):
        if keep < SMALL:
            return None
        shown = _clip_to_chars(text, min(keep, len(text)), ref, head, max_line_chars)
        weight = count(shown)
        if weight <= tokens:
            return shown
        keep = int(keep * min(0.9, 0.95 * tokens / weight))
    return None


def _clip_to_chars(text: str, keep: int, ref: str, head: float, max_line_chars: int) -> str:
    if keep >= len(text):
        return f"{_shorten_lines(text, max_line_chars)}\n[long lines folded; ref={ref}]"
    first = text[: int(keep * head)]
    last = text[len(text) - (keep - len(first)) :] if head < 1 else ""
    if "\n" in first[len(first) // 2 :]:
        first = first[: first.rindex("\n")]
    if "\n" in last[: len(last) // 2]:
        last = last[last.index("\n") + 1 :]
    hidden = text[len(first) : len(text) - len(last)].removeprefix("\n").removesuffix("\n")
    note = f"[… {size_of(hidden)} folded; ref={ref}]"
    return "\n".join(_shorten_lines(side, max_line_chars) for side in (first, note, last)).strip("\n")


def _shorten_lines(text: str, max_chars: int) -> str:
    return LONG_LINE.sub(_shorten, text) if max_chars == MAX_LINE_CHARS else text


def _link_size(data: str) -> str:
    return "a link" if "://" in data[:16] else many(len(data), "character")


def size_of(text: str) -> str:
    return f"{many(text.count(chr(10)) + (not text.endswith(chr(10))), 'line')}, {many(len(text), 'character')}"


def many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


LONG_LINE = re.compile(rf"[^\n]{{{MAX_LINE_CHARS + 200},}}")


def _shorten(line: re.Match[str]) -> str:
    return f"{line[0][:MAX_LINE_CHARS]}… [+{len(line[0]) - MAX_LINE_CHARS:,} characters]"
