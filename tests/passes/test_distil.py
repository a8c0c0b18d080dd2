from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.budget import Budget
from yohaku.core.engine import PassContext
from yohaku.core.folds import Slot, Stub, View, ref_of
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Opaque, Result, Step, Text, ToolUse, Turn
from yohaku.core.weigh import Weigher
from yohaku.digest.select_lines import Source, Span
from yohaku.passes.distil import by_lines, distil, source_of
from yohaku.passes.pieces import Piece, fold_whole, pieces
from yohaku.testing import ByteMeter, histories

METER = ByteMeter()


def room(v: View, limit: int, goal: int) -> PassContext:
    weigher = Weigher(METER)
    return PassContext(Budget(limit, 0), weigher, weigher.ledger(v.shown), goal)


def use(result: str, tool: str = "bash", **arguments: str) -> ToolUse:
    return ToolUse(Call("", tool, json.dumps(arguments)), Result((Text(result),)))


def view(*uses: ToolUse) -> View:
    """One step for each use, and a last one without any."""
    steps = [Step((ToolUse(Call(str(n), u.call.name, u.call.arguments), u.result),)) for n, u in enumerate(uses)]
    return View(history_of([Turn((Text("go"),), (*steps, Step((Text("done"),))))]))


def proposed(v: View, limit: int, goal: int, **how: float) -> list[Stub]:
    found = distil(**how)(v, room(v, limit, goal))
    assert isinstance(found, list)
    return [fold for fold in found if isinstance(fold, Stub)]


def total(v: View) -> int:
    return room(v, 1, 0).ledger.total


def log(lines: int, name: str = "row") -> str:
    """Every tenth line names something."""
    return "\n".join(f"{name}_{n} is late" if n % 10 == 0 else "all is well here" for n in range(lines))


def test_an_outsized_result_is_shown_by_the_lines_that_name_something() -> None:
    text = log(40)
    v = view(use(text), use("ok"))
    (stub,) = proposed(v, 4_000, total(v) - 400)
    ref = ref_of(text)
    shown = "\n".join(
        [
            f"[bash result folded: 4 of 40 lines; ref={ref}]",
            *("1: row_0 is late", "11: row_10 is late", "21: row_20 is late", "31: row_30 is late"),
        ]
    )
    key, why = v.history.steps[0].key, "old_lines"
    assert stub == Stub(key, Slot("result", 0, 0), shown, ref, "bash result", why, len(text), len(shown))


def test_what_is_not_outsized_stays() -> None:
    v = view(use(log(40)), use("x" * 384), use("x" * 385))
    assert [stub.key for stub in proposed(v, 4_000, total(v) - 400)] == [v.history.steps[0].key, v.history.steps[2].key]
    assert proposed(v, 4_000, total(v) - 400, over=0.2) == []


def test_the_newest_step_is_left_alone() -> None:
    text = log(40)
    h = history_of(
        [
            Turn(
                (Text("go"),),
                tuple(Step((ToolUse(Call(str(n), "bash", "{}"), Result((Text(text),))),)) for n in (0, 1)),
            )
        ]
    )
    assert [stub.key for stub in proposed(View(h), 4_000, 1_200)] == [h.steps[0].key]


def test_an_outsized_argument_is_shown_by_its_lines_too() -> None:
    v = view(use("ok", "write", path="a.py", new_text=log(40)))
    (stub,) = proposed(v, 4_000, total(v) - 400)
    assert stub.slot == Slot("argument", 0, "new_text")
    assert stub.text.split("\n")[1:] == [
        "1: row_0 is late",
        "11: row_10 is late",
        "21: row_20 is late",
        "31: row_30 is late",
    ]


def test_nothing_is_done_where_it_would_not_meet_the_goal_or_need_not() -> None:
    v = view(use(log(40)), use(log(40, "cell")))
    most = total(v) - 2 * len(log(40))
    least = 2 * 2 * 48  # each keeps so much, whatever the limit
    assert len(proposed(v, 4_000, most + least + 40)) == 2
    assert proposed(v, 4_000, most + least - 60) == []
    assert proposed(v, 4_000, total(v)) == proposed(v, 4_000, total(v) + 1_000) == []


def test_where_there_is_nothing_to_fold_nothing_is_proposed() -> None:
    assert proposed(View(History()), 4_000, 2_000) == proposed(View(History()), 4_000, 0) == []
    assert proposed(view(use("ok")), 4_000, 10) == []


def test_a_name_that_stands_elsewhere_does_not_bring_its_line_back() -> None:
    v = view(use(log(40)), use("row_0 and row_10 and row_20"))
    (stub,) = proposed(v, 4_000, total(v) - 400)
    assert stub.text.split("\n")[1:] == ["31: row_30 is late"]


def test_with_no_line_worth_showing_one_line_says_what_it_was() -> None:
    text = "all is well here\n" * 40
    v = view(use(text))
    (stub,) = proposed(v, 4_000, total(v) - 400)
    assert stub.text == f"[bash result folded: 40 lines, 680 characters; ref={ref_of(text)}]"


class FourMeter(ByteMeter):
    """A token for each four bytes, as in most texts."""

    def count(self, text: str) -> int:
        return -(-super().count(text) // 4)


def test_the_goal_is_met() -> None:
    v = view(*(use("\n".join(f"name_{k}_{n} = compute({n})" for n in range(200)), "read_file") for k in range(4)))
    weigher = Weigher(FourMeter())
    before = weigher.ledger(v.shown)
    for goal in range(1_000, before.total, 200):
        folds = distil()(v, PassContext(Budget(6_000, 0), weigher, before, goal))
        assert isinstance(folds, list) and len(folds) == 4
        assert goal * 0.7 < weigher.ledger(v.with_(folds).shown).total <= goal


@given(histories(), st.integers(1_000, 20_000), st.floats(0, 1))
def test_only_what_is_old_and_outsized_is_folded_and_each_stub_opens_to_its_original(
    h: History, limit: int, share: float
) -> None:
    v = View(h)
    r = room(v, limit, int(total(v) * share))
    by_place = {(piece.key, piece.slot): piece for piece in pieces(v, r, "result", "argument")}
    for stub in proposed(v, limit, r.goal):
        piece = by_place[stub.key, stub.slot]
        assert piece.step > 0 and piece.weight == stub.before > limit / 16 - 1
        assert dict(v.originals(stub)) == {stub.ref: piece.original}
        assert stub.after == METER.count(stub.text) and f"ref={stub.ref}]" in stub.text.split("\n")[0]


# One piece


def piece(original: str | bytes, *, media: bool = False, where: str = "result", age: int = 3) -> Piece:
    slot = Slot("argument", 0, "a") if where == "argument" else Slot("result", 0, 0)
    return Piece("key", slot, original, "cat result", "cat", 500, 0, age, media)


def test_a_piece_is_a_source_with_its_age_its_rate_and_who_said_it() -> None:
    r = room(View(History()), 100, 10)
    assert source_of(piece("get_rows"), r) == Source("get_rows", 3, 1.0, title=0)
    assert source_of(piece("設定", where="argument"), r) == Source("設定", 3, 3.0, own=True, title=0)
    assert source_of(piece("", age=0), r) == Source("", 1, 0.0, title=0)
    assert source_of(piece(b"\x89PNG", media=True), r) == Source("", 3, 0.0, title=0)


def test_a_picture_or_a_piece_without_lines_is_folded_whole() -> None:
    r = room(View(History()), 100, 10)
    for one in (piece("get_rows"), piece(b"\x89PNG", media=True)):
        assert by_lines(one, r, []) == fold_whole(one, r, "old")
    link = piece("http://a.b/c", media=True)
    assert by_lines(link, r, [Span(1, 0, 4)]) == fold_whole(link, r, "old")


def test_a_picture_is_never_shown_by_lines() -> None:
    look = ToolUse(Call("0", "look", "{}"), Result((Opaque("image", "aaaa", "base64"), Text(log(40)))))
    v = View(history_of([Turn((Text("go"),), (Step((look,)), Step((Text("done"),))))]))
    assert [stub.slot for stub in proposed(v, 1_000, total(v) - 400, over=0.01)] == [Slot("result", 0, 1)]
