from __future__ import annotations

import json

import pytest

from yohaku.core.budget import Budget
from yohaku.core.folds import Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Opaque, Part, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import ref_of
from yohaku.core.recipe import PassContext
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.one_line_results import one_line_results, summarise_use
from yohaku.testing import PNG, ByteMeter

METER = ByteMeter()


def use(number: int, tool: str, result: str | Part, *, error: bool = False, **arguments: object) -> ToolUse:
    part = Text(result) if isinstance(result, str) else result
    return ToolUse(Call(str(number), tool, json.dumps(arguments)), Result((part,), error))


def view(*uses: ToolUse) -> View:
    return View(history_of([Turn((Text("go"),), tuple(Step((one,)) for one in uses))]))


def proposed(v: View, window: int, keep: int = 1) -> list[Stub]:
    weigher = Weigher(METER)
    found = one_line_results(keep)(v, PassContext(Budget.of(window), weigher, weigher.ledger(v.shown), 0))
    assert isinstance(found, list)
    return [fold for fold in found if isinstance(fold, Stub)]


MAIN = "package main\n" * 500


def test_a_result_is_shown_whole_once_and_then_becomes_one_line() -> None:  # L8
    v = view(use(1, "read", MAIN, path="main.go"), use(2, "edit", "done " * 20, path="main.go"))
    (stub,) = proposed(v, 8_192)
    assert stub.text == f"Read: main.go (500 lines, Go) [folded; ref={ref_of(MAIN)}]"
    assert (stub.key, str(stub.what), stub.why) == (v.history.steps[0].key, "read result", "read_once")


def test_only_windows_below_16k_do_so() -> None:  # L7, L8
    v = view(use(1, "read", MAIN, path="main.go"), use(2, "bash", "ok", command="make"))
    assert [len(proposed(v, window)) for window in (2_048, 8_192, 16_383, 16_384, 1_000_000)] == [1, 1, 1, 0, 0]


def test_the_smallest_windows_fold_what_was_written_too() -> None:  # L7: full below 8K
    v = view(use(1, "write", "ok", path="a.go", content=MAIN), use(2, "bash", "ok", command="make"))
    assert [str(stub.what) for stub in proposed(v, 8_191)] == ["write argument content"]
    assert proposed(v, 8_192) == []


def test_more_steps_may_be_kept() -> None:
    v = view(*(use(n, "read", MAIN, path=f"{n}.go") for n in range(5)))
    assert [len(proposed(v, 8_192, keep)) for keep in (1, 2, 5)] == [4, 3, 0]


def test_an_image_is_one_line_as_well() -> None:
    v = view(use(1, "shot", Opaque("image", PNG, "base64", "image/png")), use(2, "bash", "ok", command="make"))
    (stub,) = proposed(v, 8_192)
    assert stub.text.startswith("[shot result folded: ")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (use(1, "Read", "a\nb\n", file_path="src/a.py"), "Read: src/a.py (2 lines, Python)"),
        (use(1, "bash", "a\nb", command="make  all"), "Ran: make all (2 lines)"),
        (
            use(1, "bash", "x\nValueError: no table\n[exit code: 1]", command="pytest"),
            "Ran: pytest (3 lines, exit 1: ValueError: no table)",
        ),
        (use(1, "grep", "a\n", pattern="def f", path="src"), "Searched: def f (1 line)"),
        (use(1, "glob", "a\n", pattern="*.py"), "Listed: *.py (1 line)"),
        (use(1, "write_file", "ok", path="b.ts", content="x"), "Wrote: b.ts (1 line)"),
        (use(1, "edit", "ok", path="b.ts"), "Edited: b.ts (1 line)"),
        (use(1, "fetch_page", "text", url="u", n=1), "fetch_page: u (1 line)"),
        (use(1, "now", "text"), "now: … (1 line)"),
        (use(1, "read", "no such file", error=True, path="c.go"), "Read: c.go (1 line, Go, failed)"),
        (
            use(1, "read", "x", path="/home/" + "folder/" * 20 + "main.go"),
            "Read: …/folder/folder/folder/folder/folder/folder/folder/folder/folder/folder/main.go (1 line, Go)",
        ),
    ],
)
def test_the_line_says_what_was_done_to_what_and_how_it_ended(call: ToolUse, said: str) -> None:
    assert summarise_use(call, call.result.text) == said
