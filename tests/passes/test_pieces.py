from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.budget import Budget
from yohaku.core.folds import Gist, Stub, Subject
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Opaque, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import Slot, ref_of
from yohaku.core.recipe import PassContext
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.pieces import MAX_LINE_CHARS, SMALL, Piece, clip, fold_part, fold_whole, pieces
from yohaku.testing import PNG, ByteMeter

METER = ByteMeter()
IMAGE = Opaque("image", PNG, "base64", "image/png")
LONG = "x" * 100


def context(view: View, limit: int = 10_000) -> PassContext:
    weigher = Weigher(METER)
    return PassContext(Budget(limit, 0), weigher, weigher.ledger(view.shown), limit // 2)


def use(call_id: str, text: str = LONG, arguments: str = "{}") -> ToolUse:
    return ToolUse(Call(call_id, "bash", arguments), Result((Text(text),)))


BASH_RESULT = Subject("result", "bash")


def piece(original: str | bytes, what: Subject = BASH_RESULT) -> Piece:
    return Piece("key", Slot("result", 0, 0), original, what, "bash", len(original), 0, 1)


def numbered(lines: int) -> str:
    return "\n".join(f"line {number}" for number in range(1, lines + 1))


def an_empty_view() -> View:
    return View(history_of([Turn((Text("go"),))]))


# What there is


def test_pieces_are_everything_worth_a_stub_oldest_first_with_their_age() -> None:
    arguments = json.dumps({"path": "a.py", "content": LONG, "edits": [LONG]})
    steps = (Step((Opaque("thought", LONG), Text(LONG), use("1", arguments=arguments))), Step((use("2"), Text("ok"))))
    h = history_of([Turn((Text(LONG), IMAGE), steps), Turn((Text(LONG),), (Step((use("3"), IMAGE)),))])
    view = View(h)
    (first, second), (third,) = (turn.steps for turn in h.turns)
    picture = base64.b64decode(PNG)
    edits = json.dumps([LONG])
    content, edited = (Subject("argument", "bash", name) for name in ("content", "edits"))
    assert list(pieces(view, context(view))) == [
        Piece(h.turns[0].key, Slot("prompt", 0), LONG, Subject("prompt"), "", 100, turn=1, step=3),
        Piece(h.turns[0].key, Slot("prompt", 1), picture, Subject("image"), "", 100, turn=1, step=3, media=True),
        Piece(first.key, Slot("item", 0), LONG, Subject("reply"), "", 100, turn=1, step=2),
        Piece(first.key, Slot("argument", 1, "content"), LONG, content, "bash", 100, turn=1, step=2),
        Piece(first.key, Slot("argument", 1, "edits"), edits, edited, "bash", 104, turn=1, step=2),
        Piece(first.key, Slot("result", 1, 0), LONG, BASH_RESULT, "bash", 100, turn=1, step=2),
        Piece(second.key, Slot("result", 0, 0), LONG, BASH_RESULT, "bash", 100, turn=1, step=1),
        Piece(h.turns[1].key, Slot("prompt", 0), LONG, Subject("prompt"), "", 100, turn=0, step=0),
        Piece(third.key, Slot("result", 0, 0), LONG, BASH_RESULT, "bash", 100, turn=0, step=0),
        Piece(third.key, Slot("item", 1), picture, Subject("image"), "", 100, turn=0, step=0, media=True),
    ]


@pytest.mark.parametrize("where", ["prompt", "item", "argument", "result"])
def test_pieces_of_one_kind_are_those_of_all_that_have_it(where: str) -> None:
    arguments = json.dumps({"content": LONG})
    h = history_of([Turn((Text(LONG),), (Step((Text(LONG), use("1", arguments=arguments))),))])
    view = View(h)
    everything = list(pieces(view, context(view)))
    assert list(pieces(view, context(view), where)) == [piece for piece in everything if piece.slot.where == where]
    assert len(everything) == 4


def test_what_is_small_what_is_sealed_and_what_is_no_json_is_no_piece() -> None:
    items = (Text("x" * SMALL), Opaque("web_search", LONG), use("1", "x" * SMALL, LONG), use("2", "", f'["{LONG}"]'))
    infinite = use("3", "", f'{{"n":1e400,"content":"{LONG}"}}')
    view = View(history_of([Turn((Text("x" * SMALL),), (Step((*items, infinite)),))]))
    assert list(pieces(view, context(view))) == []
    one_more = View(history_of([Turn((Text("x" * (SMALL + 1)),))]))
    assert [piece.weight for piece in pieces(one_more, context(one_more))] == [SMALL + 1]


def test_a_folded_piece_weighs_what_it_shows_and_opens_to_its_original() -> None:
    h = history_of([Turn((Text("go"),), (Step((use("1"),)), Step((use("2"),))))])
    stubs = [
        Stub(h.steps[0].key, Slot("result", 0, 0), "y" * 60, "r", "bash result", "why", 100, 60),
        Stub(h.steps[1].key, Slot("result", 0, 0), "y" * 20, "r", "bash result", "why", 100, 20),
    ]
    view = View(h).with_(stubs)
    found = list(pieces(view, context(view)))
    assert [(piece.key, piece.weight, piece.original) for piece in found] == [(h.steps[0].key, 60, LONG)]


def test_what_a_gist_hides_is_no_piece() -> None:
    h = history_of([Turn((Text(LONG),), (Step((use("1"),)), Step((use("2"),))))])
    view = View(h).with_([Gist(h.steps[0].key, "[gist]" * 20, "r", "before", "why", 100, 10)])
    assert [(piece.key, piece.step) for piece in pieces(view, context(view))] == [
        (h.turns[0].key, 0),
        (h.steps[1].key, 0),
    ]


# One line instead


def test_a_piece_folded_whole_says_what_it_was_how_much_and_what_opens_it() -> None:
    text = numbered(1_200)
    ref = ref_of(text)
    shown = f"[bash result folded: 1,200 lines, 10,892 characters; ref={ref}]"
    assert fold_whole(piece(text), context(an_empty_view()), "old_and_big") == Stub(
        "key", Slot("result", 0, 0), shown, ref, BASH_RESULT, "old_and_big", 10_892, len(shown)
    )


def test_a_text_that_ends_with_a_break_has_as_many_lines_as_it_has_breaks() -> None:
    stub = fold_whole(piece("a line\n" * 100), context(an_empty_view()), "why")
    assert stub.text == f"[bash result folded: 100 lines, 700 characters; ref={stub.ref}]"


def test_an_image_folded_whole_says_its_bytes() -> None:
    picture = base64.b64decode(PNG)
    stub = fold_whole(piece(picture, Subject("image")), context(an_empty_view()), "why")
    assert stub.text == f"[image folded: {len(picture)} bytes; ref={ref_of(picture)}]"


def link(data: str = "https://example.com/" + "picture/" * 60) -> Opaque:
    return Opaque("image", data, "url")


def test_an_image_by_url_is_folded_whole_and_opens_to_its_url() -> None:
    view = View(history_of([Turn((Text("look"), link()))]))
    (found,) = pieces(view, context(view))
    assert (found.original, str(found.what), found.weight, found.media) == (link().data, "image", 100, True)
    stub = fold_part(found, context(view), "why", 400)
    assert stub == fold_whole(found, context(view), "why")
    assert stub.text == f"[image folded: a link; ref={ref_of(link().data)}]"
    assert dict(view.with_([stub]).originals(stub)) == {stub.ref: link().data}


def test_an_argument_that_is_not_text_opens_to_its_json() -> None:
    view = View(history_of([Turn((Text("go"),), (Step((use("1", arguments=json.dumps({"edits": [LONG]})),)),))]))
    (found,) = pieces(view, context(view), "argument")
    stub = fold_whole(found, context(view), "why")
    assert (
        dict(view.with_([stub]).originals(stub))
        == {stub.ref: json.dumps([LONG])}
        == {ref_of(found.original): found.original}
    )


# Beginning and end


def test_a_clipped_piece_shows_whole_lines_of_both_ends_and_what_is_between() -> None:
    text = numbered(1_000)
    stub = fold_part(piece(text), context(an_empty_view()), "outsized_result", 200)
    lines = stub.text.split("\n")
    at = next(index for index, line in enumerate(lines) if line.startswith("[…"))
    first, note, last = lines[:at], lines[at], lines[at + 1 :]
    assert first == numbered(1_000).split("\n")[: len(first)] and len(first) >= 5
    assert last == numbered(1_000).split("\n")[-len(last) :] and len(last) >= 3
    assert note.endswith(f"characters folded; ref={ref_of(text)}]")
    assert stub.after == len(stub.text.encode()) <= 200


def test_a_read_is_clipped_to_its_beginning() -> None:
    stub = fold_part(piece(numbered(1_000)), context(an_empty_view()), "why", 200, head=1)
    assert stub.text.startswith("line 1\nline 2\n") and stub.text.endswith(f"; ref={stub.ref}]")


def test_the_note_says_how_many_lines_are_hidden() -> None:
    stub = fold_part(piece(numbered(1_000)), context(an_empty_view()), "why", 200)
    lines = stub.text.split("\n")
    note = next(line for line in lines if line.startswith("[…"))
    assert note.startswith(f"[… {1_000 - (len(lines) - 1)} lines, ")


@pytest.mark.parametrize("tokens", [0, 10, SMALL])
def test_where_there_is_no_room_for_a_beginning_one_line_stands_for_all(tokens: int) -> None:
    given = piece(numbered(100))
    assert fold_part(given, context(an_empty_view()), "why", tokens) == fold_whole(
        given, context(an_empty_view()), "why"
    )


def test_bytes_are_never_shown_in_part() -> None:
    given = piece(b"\0" * 1_000, Subject("image"))
    assert fold_part(given, context(an_empty_view()), "why", 500) == fold_whole(given, context(an_empty_view()), "why")


def test_one_long_line_takes_the_room_there_is() -> None:
    text = "".join(f"{number} " for number in range(20_000))
    shown = clip(text, 20_000, METER.count, "r" * 12, 0.6)
    assert shown is not None and 0.9 * 20_000 < METER.count(shown) <= 20_000
    first, note, last = shown.split("\n")
    assert text.startswith(first) and text.endswith(last)
    assert note == f"[… 1 line, {len(text) - len(first) - len(last):,} characters folded; ref={'r' * 12}]"


def test_long_lines_among_others_are_cut_and_say_so() -> None:
    text = "\n".join(["y" * 9_000, *["z" * 90] * 240])
    shown = clip(text, 25_000, METER.count, "r" * 12, 0.6)
    assert shown is not None and "y" * MAX_LINE_CHARS + "… [+7,000 characters]" in shown


@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=80), min_size=1, max_size=80).map("\n".join),
    st.integers(SMALL + 1, 2_000),
    st.sampled_from((0.6, 1.0)),
)
def test_what_is_clipped_stays_within_its_tokens_and_shows_only_what_was_said(
    text: str, tokens: int, head: float
) -> None:
    if METER.count(text) <= tokens:
        return
    shown = clip(text, tokens, METER.count, "r" * 12, head)
    if shown is None:
        return
    assert METER.count(shown) <= tokens
    first, _, rest = shown.partition("[… ")
    assert text.startswith(first.rstrip("\n")) or text.strip("\n").startswith(first.rstrip("\n"))
    assert text.rstrip("\n").endswith(rest.partition(f"ref={'r' * 12}]")[2].lstrip("\n"))


def test_text_of_many_bytes_a_character_is_clipped_as_well() -> None:
    shown = clip("日本語の長い文章です。\n" * 500, 300, METER.count, "r" * 12, 0.6)
    assert shown is not None and 200 < METER.count(shown) <= 300
