from __future__ import annotations

import json

import pytest

from yohaku.core.budget import Budget
from yohaku.core.folds import Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.core.recipe import PassContext
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.trim_new_results import ARRIVED, reads_whole_file, trim_new_results
from yohaku.testing import ByteMeter

METER = ByteMeter()
CODE = "\n".join(
    f"def function_{n}(x):\n{f'    x = x * {n}' + chr(10)}{('    x += 2' + chr(10)) * 8}" for n in range(90)
)
LOG = "\n".join(f"line {n} of the build" for n in range(2_000))


def use(tool: str, result: str, **arguments: object) -> ToolUse:
    return ToolUse(Call(f"c{len(result)}{tool}", tool, json.dumps(arguments)), Result((Text(result),)))


def view(*uses: ToolUse, before: int = 0) -> View:
    old = [Step((use("bash", "x" * before, command="ls"),))] if before else []
    return View(history_of([Turn((Text("go"),), (*old, Step(uses)))]))


def arrived(v: View, window: int) -> list[Stub]:
    weigher = Weigher(METER)
    found = trim_new_results()(v, PassContext(Budget.of(window), weigher, weigher.ledger(v.shown), 0))
    assert isinstance(found, list)
    return [fold for fold in found if isinstance(fold, Stub)]


def test_what_there_is_room_for_is_left_as_it_is() -> None:
    assert arrived(view(use("bash", "x" * 2_000, command="ls")), 8_192) == []


@pytest.mark.parametrize("window", [2_048, 4_096, 8_192, 65_536, 1_000_000])
def test_a_result_is_cut_to_six_tenths_of_what_remains(window: int) -> None:  # L2, L3
    v = view(use("bash", LOG * (window // 20_000 + 1), command="make"))
    (stub,) = arrived(v, window)
    ledger = Weigher(METER).ledger(v.shown)
    remaining = window - window // 8 - window // 10 - (ledger.total - ledger.last)
    assert 0.5 * remaining < stub.after <= 0.6 * remaining
    assert stub.why == ARRIVED


def test_several_results_share_what_remains_one_after_the_other() -> None:
    first, second = arrived(view(use("bash", LOG, command="make"), use("bash", LOG[1:], command="make b")), 16_384)
    assert first.after * 0.3 < second.after < first.after * 0.6
    assert first.after + second.after < Budget.of(16_384).limit


def test_a_full_window_does_not_make_a_tool_speechless() -> None:
    (stub,) = arrived(view(use("bash", LOG, command="make"), before=14_000), 16_384)
    assert Budget.of(16_384).limit / 20 < stub.after <= Budget.of(16_384).limit / 16


def test_a_command_keeps_both_ends() -> None:  # L5
    (stub,) = arrived(view(use("bash", LOG, command="make")), 16_384)
    assert stub.text.startswith("line 0 of") and stub.text.endswith("line 1999 of the build")


def test_a_file_keeps_its_beginning() -> None:  # L5
    (stub,) = arrived(view(use("read_file", LOG, path="build.log")), 16_384)
    assert stub.text.startswith("line 0 of") and stub.text.endswith(f"folded; ref={stub.ref}]")


@pytest.mark.parametrize("call", [("read_file", {"path": "a.py"}), ("bash", {"command": "cat a.py"})])
def test_a_big_source_file_is_shown_by_its_structure(call: tuple[str, dict[str, str]]) -> None:  # L5, L7
    (stub,) = arrived(view(use(call[0], CODE, **call[1])), 12_000)
    lines = stub.text.split("\n")
    assert lines[:50] == CODE.split("\n")[:50] and lines[-50:] == CODE.splitlines()[-50:]
    assert "Structure:" in lines and "Give offset and limit for details." in lines
    assert "def function_44(x)" in stub.text


def test_structure_is_shown_where_the_window_asks_for_it() -> None:  # L7: always below 8K, off from 32K
    small = CODE[:3_000]
    v = view(use("read", small, file_path="a.py"))
    assert "Structure:" in arrived(v, 8_000)[0].text
    assert arrived(v, 16_384) == []
    (big,) = arrived(view(use("read", CODE * 9, file_path="a.py")), 32_768)
    assert "Structure:" not in big.text


def test_who_asks_for_some_lines_gets_them() -> None:
    assert not reads_whole_file(use("read", CODE, file_path="a.py", offset=10, limit=50))
    assert not reads_whole_file(use("bash", CODE, command="sed -n 1,20p a.py"))
    assert not reads_whole_file(use("bash", CODE, command="cat a.py && make"))
    assert reads_whole_file(use("read", CODE, file_path="a.py"))
    (stub,) = arrived(view(use("read", CODE, file_path="a.py", offset=1, limit=800)), 8_000)
    assert "Structure:" not in stub.text


def test_only_the_newest_step_is_looked_at_and_only_once() -> None:
    v = view(use("bash", LOG, command="make"))
    again = v.with_(arrived(v, 8_192))
    assert again.live and arrived(again, 8_192) == []
    later = View(history_of([Turn((Text("go"),), (v.history.steps[0], Step((Text("done"),))))]))
    assert arrived(later, 8_192) == []
