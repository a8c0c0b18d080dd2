from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.sessions import long_session
from yohaku.cli.main import main
from yohaku.core.errors import Unreadable
from yohaku.lab import run
from yohaku.lab.report import ReportRow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(3):
        session = long_session(steps=6 + number, size=800)
        (tmp_path / f"s{number}.json").write_text(json.dumps(session.entries))
    return tmp_path


def without_cpu(path: Path) -> Any:
    report = json.loads(path.read_text("utf-8"))
    for window in report["windows"].values():
        for recipe in window["recipes"].values():
            del recipe["cpu_ms"]
    for row in report["sessions"]:
        del row["scores"]["cpu_ms"]
    return report


def test_a_run_prints_a_table_and_writes_every_score(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "report.out"
    code = main(["lab", "run", str(folder), "--windows", "2048,4096", "--recipes", "auto,cap", "--out", str(out)])
    told = capsys.readouterr()
    assert code == 0
    assert [line.split(",")[0] for line in told.out.splitlines() if line.startswith("window")] == [
        "window 2",
        "window 4",
    ]
    assert "lab: 3/3 sessions" in told.err
    report = json.loads(out.read_text("utf-8"))
    assert [(row["window"], row["session"][-2:], row["recipe"]) for row in report["sessions"]] == [
        (window, name, recipe) for window in (2048, 4096) for name in ("s0", "s1", "s2") for recipe in ("auto", "cap")
    ]


@pytest.mark.slow
def test_a_report_does_not_depend_on_how_many_work_on_it(folder: Path) -> None:
    reports = []
    for processes in ("1", "2"):
        out = folder / f"{processes}.out"
        options = ["--windows", "2048", "--recipes", "auto,random,oracle", "--jobs", processes, "--out", str(out)]
        assert main(["lab", "run", str(folder), *options]) == 0
        reports.append(without_cpu(out))
    assert reports[0] == reports[1]


def test_what_is_no_session_is_left_out_and_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "other.json").write_text('{"a": 1}')
    assert main(["lab", "run", str(folder), "--windows", "2048", "--recipes", "sliding"]) == 0
    told = capsys.readouterr()
    assert "left out" in told.err and "other.json" in told.err and "window 2,048, 3 sessions" in told.out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--recipes", "magic"], "unknown recipe 'magic'"),
        (["--windows", "big"], "give numbers of tokens"),
        (["--sources", "elsewhere"], "no recorded session of the sources"),
        (["--out", "no/such/folder/x.json"], "there is no such folder"),
    ],
)
def test_misuse_is_told_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    assert main(["lab", "run", str(folder), *options]) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1


def test_a_run_over_no_session_at_all_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(Unreadable, match="none of these files"):
        run.main(["run", str(tmp_path)])


def test_a_run_that_is_stopped_says_how_far_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    def stopped() -> Iterator[list[ReportRow]]:
        yield []
        raise KeyboardInterrupt

    assert run.gather(stopped(), 3) is None
    told = capsys.readouterr().err.splitlines()
    assert told == ["lab: 1/3 sessions, 0 s", "", "lab: stopped after 1 of 3 sessions; nothing was written"]
