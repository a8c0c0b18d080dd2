from __future__ import annotations

import re

import pytest

from yohaku.core.budget import Budget
from yohaku.core.folds import Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import ref_of
from yohaku.core.recipe import PassContext
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.cap_results import cap, cap_results
from yohaku.testing import ByteMeter

METER = ByteMeter()


def view(*results: str) -> View:
    steps = (Step((ToolUse(Call(str(n), "bash", "{}"), Result((Text(text),))),)) for n, text in enumerate(results))
    return View(history_of([Turn((Text("go"),), tuple(steps))]))


def proposed(v: View, window: int = 1_000_000, **options: int) -> list[Stub]:
    weigher = Weigher(METER)
    found = cap_results(**options)(v, PassContext(Budget.of(window), weigher, weigher.ledger(v.shown), 0))
    assert isinstance(found, list)
    return [fold for fold in found if isinstance(fold, Stub)]


def test_what_is_within_both_limits_is_left_alone() -> None:
    assert proposed(view("x" * 2_000, "y\n" * 25_000)) == []


def test_a_line_is_cut_at_two_thousand_characters_and_a_note_ends_the_view() -> None:  # O2
    text = "head\n" + "x" * 2_001 + "\ntail"
    (stub,) = proposed(view(text))
    assert (
        stub.text == f"head\n{'x' * 2_000}…\ntail\n[the ends of long lines folded; ref={ref_of(text)} opens the rest]"
    )


@pytest.mark.parametrize("line", ["a short line\n", "日本語の行\n", "\ud800 odd\n", "z" * 3_000 + "\n"])
def test_the_whole_is_cut_at_fifty_kilobytes_its_note_included(line: str) -> None:  # O2
    text = line * 30_000
    (stub,) = proposed(view(text))
    size = len(stub.text.encode("utf-8", "surrogatepass"))
    assert 46 * 1024 < size <= 50 * 1024
    lines = stub.text.split("\n")
    assert re.fullmatch(r"\[[\d,]+ more lines.* folded; ref=[a-z2-7]{12} opens the rest\]", lines[-1])
    hidden = int(lines[-1][1:].split()[0].replace(",", ""))
    assert len(lines) - 2 + hidden == text.count("\n")


def test_the_limits_are_settings() -> None:  # O7
    (stub,) = proposed(view("abcdefgh\n" * 100), most=400, line=5)
    assert stub.text.startswith("abcde…\nabcde…\n") and len(stub.text.encode()) <= 400


def test_it_is_the_same_in_every_window_and_done_once() -> None:
    v = view("x" * 90_000)
    stubs = [proposed(v, window) for window in (2_048, 1_000_000)]
    assert stubs[0] == stubs[1]
    assert proposed(v.with_(stubs[0])) == []


def test_one_endless_line_is_cut_by_its_length() -> None:
    long = re.compile(r"([^\n]{2000})[^\n]+")
    assert len(cap("x" * 10_000_000, "r", 50 * 1024, long) or "") < 2_100
