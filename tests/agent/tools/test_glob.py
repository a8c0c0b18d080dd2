from __future__ import annotations

import os
from pathlib import Path

from tests.agent.benches import ABench
from yohaku import meters
from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.tool import ToolResult


def make(root: Path, *names: str) -> None:
    for age, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
        os.utime(root / name, (1_000 - age, 1_000 - age))


def test_files_come_the_newest_first(tmp_path: Path) -> None:
    make(tmp_path, "src/new.py", "old.py", "src/deep/older.py", "a.txt")
    bench = ABench(tmp_path)
    assert bench.use("glob", pattern="**/*.py").text == "src/new.py\nold.py\nsrc/deep/older.py"
    assert bench.use("glob", pattern="*.py", path="src").text == "src/new.py\nsrc/deep/older.py"
    assert bench.use("glob", pattern="src/*.py").text == "src/new.py"
    assert bench.use("glob", pattern="*.go") == ToolResult("No file matches *.go.")


def test_there_is_a_cap_and_it_is_said(tmp_path: Path) -> None:
    make(tmp_path, *(f"f{number}" for number in range(350)))
    bench = ABench(tmp_path)
    given = bench.use("glob", pattern="*")
    assert given.cut and given.text.startswith("f0\nf1\n") and given.output and bench.session
    note = f"[the newest of 350 files; all of them; ref={given.output.id}; or use a narrower pattern]"
    assert given.text.endswith(f"\nf299\n{note}")
    assert given.output.line_count == 350
    assert set(str(bench.session.recall(given.output.id)).split()) == {f"f{number}" for number in range(350)}


def test_the_room_is_kept_to(tmp_path: Path) -> None:
    meter = meters.for_model("gpt-4o")
    make(tmp_path, *(f"資料{number}.txt" for number in range(200)))
    with output_budget.limit_output(200, meter):
        given = ABench(tmp_path).use("glob", pattern="*.txt")
    assert meter.count(given.text) <= 200
    assert given.text.startswith("資料0.txt\n")


def test_a_pattern_that_leads_outside_is_asked_for(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    make(tmp_path, "outside.txt")
    bench = ABench(root, "no")
    for pattern in ("../*.txt", str(tmp_path / "*.txt"), "~/*.txt", "a/../../*.txt"):
        assert bench.use("glob", pattern=pattern).error
    assert len(bench.asked) == 4
    bench.answer = "once"
    assert bench.use("glob", pattern="../out*").text == f"{tmp_path}/outside.txt"


def test_an_absolute_pattern_inside_the_project_is_not(tmp_path: Path) -> None:
    make(tmp_path, "src/a.py")
    bench = ABench(tmp_path, "no")
    assert bench.use("glob", pattern=f"{tmp_path}/src/*.py").text == "src/a.py"


def test_an_empty_pattern_is_refused_and_nothing_is_asked(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    assert bench.use("glob", pattern=" ").text == "The pattern is empty."
    assert bench.asked == []
