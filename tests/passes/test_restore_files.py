from __future__ import annotations

import json
from collections.abc import Mapping

from yohaku.core.budget import Budget
from yohaku.core.folds import Fold, Gist
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.core.recipe import AskingPass, PassContext, ReadFile
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.drop_oldest import drop_oldest
from yohaku.passes.restore_files import find_recent, restore_files
from yohaku.testing import ByteMeter

METER = ByteMeter()


def read(number: int, path: str, size: int = 400, **arguments: int) -> Step:
    call = Call(str(number), "read_file", json.dumps({"path": path, **arguments}))
    return Step((ToolUse(call, Result((Text("x" * size),))),))


def remove(number: int, path: str) -> Step:
    return Step((ToolUse(Call(str(number), "bash", json.dumps({"command": f"rm {path}"})), Result((Text("ok"),))),))


def view(*steps: Step) -> View:
    return View(history_of([Turn((Text("go"),), steps), Turn((Text("on"),), (Step((Text("yes"),)),))]))


def restoring(v: View, disk: Mapping[str, str], *, limit: int, goal: int, **options: int) -> tuple[Gist, list[str]]:
    """The gist with what came back, and what was looked at."""
    weigher = Weigher(METER)
    context = PassContext(Budget(limit, 0), weigher, weigher.ledger(v.shown), goal)
    asking = restore_files(drop_oldest(by="turns", asked=0, least=0), **options)(v, context)
    assert not isinstance(asking, list)
    folds, looked = drive(asking, disk)
    (gist,) = folds
    assert isinstance(gist, Gist)
    assert gist.after == weigher.turn(gist.turn)
    return gist, looked


def drive(asking: AskingPass, disk: Mapping[str, str]) -> tuple[list[Fold], list[str]]:
    looked: list[str] = []
    try:
        effect = next(asking)
        while True:
            assert isinstance(effect, ReadFile)
            looked.append(effect.path)
            effect = asking.send(disk.get(effect.path, ""))
    except StopIteration as stop:
        return stop.value, looked


def test_the_files_read_last_come_back_as_they_are_now() -> None:  # P4
    v = view(*(read(n, f"f{n}.py") for n in range(7)))
    gist, looked = restoring(v, {f"f{n}.py": f"now {n}\n" for n in range(7)}, limit=100_000, goal=3_000)
    assert looked == ["f6.py", "f5.py", "f4.py", "f3.py", "f2.py"]
    assert gist.text.split("\n")[1:] == [
        "", "Files as they are now:", "", "### f6.py", "now 6", "", "### f5.py", "now 5", "", "### f4.py", "now 4", "",
        "### f3.py", "now 3", "", "### f2.py", "now 2",
    ]  # fmt: skip


def test_where_only_some_lines_were_read_only_those_come_back() -> None:  # P4
    v = view(read(1, "a.py", offset=3, limit=2), read(2, "b.py", 2_000))
    disk = {"a.py": "\n".join(f"line {n}" for n in range(1, 11))}
    gist, _ = restoring(v, disk, limit=100_000, goal=2_000)
    assert gist.text.endswith("### a.py (lines 3-4 of 10)\nline 3\nline 4")


def test_no_file_takes_more_than_its_share() -> None:  # P4
    v = view(read(1, "a.py", 30_000))
    disk = {"a.py": "a line of text\n" * 2_000}
    big, _ = restoring(v, disk, limit=1_000_000, goal=29_000)
    assert 4_700 < len(big.text) < 5_200 and "more lines: read the file]" in big.text
    small, _ = restoring(v, disk, limit=32_000, goal=29_000)
    assert 1_800 < len(small.text) < 2_200  # a sixteenth of the limit


def test_together_they_take_only_what_is_free_below_the_goal() -> None:  # P4
    v = view(*(read(n, f"f{n}.py", 6_000) for n in range(5)))
    disk = {f"f{n}.py": "a line of text\n" * 300 for n in range(5)}
    gist, looked = restoring(v, disk, limit=1_000_000, goal=6_000)
    total = Weigher(METER).ledger(v.with_([gist]).shown).total
    assert 5_000 < total <= 6_000 and len(looked) == 2


def test_what_is_gone_deleted_or_no_text_is_left_out() -> None:
    v = view(read(1, "gone.py"), read(2, "old.py"), remove(3, "old.py"), read(4, "pic.png"), read(5, "a.py", 3_000))
    gist, looked = restoring(v, {"pic.png": "\0\1", "a.py": "now", "old.py": "?"}, limit=100_000, goal=2_000)
    assert looked == ["a.py", "pic.png", "gone.py"]
    assert gist.text.endswith("Files as they are now:\n\n### a.py\nnow")


def test_where_nobody_can_look_the_gist_stays_as_it_was() -> None:
    v = view(read(1, "a.py", 3_000))
    gist, _ = restoring(v, {}, limit=100_000, goal=2_000)
    assert "Files" not in gist.text


def test_what_can_still_be_seen_does_not_come_back() -> None:
    turns = [Turn((Text("go"),), (read(1, "a.py"), read(2, "b.py"))), Turn((Text("on"),), (read(3, "a.py"),))]
    v = View(history_of(turns))
    (gist,) = drop_oldest(by="turns")(
        v, PassContext(Budget(900, 0), Weigher(METER), Weigher(METER).ledger(v.shown), 600)
    )
    assert [file.path for file in find_recent(v.with_([gist]), 5)] == ["b.py"]


def test_nothing_comes_back_where_nothing_was_folded() -> None:
    v = view(read(1, "a.py"))
    weigher = Weigher(METER)
    asking = restore_files(lambda view, context: [])(
        v, PassContext(Budget(9_000, 0), weigher, weigher.ledger(v.shown), 8_000)
    )
    assert not isinstance(asking, list) and drive(asking, {}) == ([], [])
