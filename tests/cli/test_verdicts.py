"""What `yohaku fit` did, told apart for the user and in the report: folded, used again, nothing, bigger, too big."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.test_main import session_of

from yohaku import plugins
from yohaku.cli.main import main
from yohaku.testing import ByteMeter

pytestmark = pytest.mark.usefixtures("project")


class Told(NamedTuple):
    code: int
    said: str
    report: dict[str, Any]


@pytest.fixture
def fit(project: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    def run(body: object, *flags: str) -> Told:
        (project / "in.json").write_text(json.dumps(body))
        report = project / "report.json"
        report.unlink(missing_ok=True)
        code = main(
            [
                "fit",
                "in.json",
                "--out",
                "out.json",
                "--report",
                "report.json",
                "--store",
                f"sqlite:///{project}/s.db",
                *flags,
            ]
        )
        return Told(code, capfd.readouterr().err, json.loads(report.read_text()) if report.exists() else {})

    return run


def chat_of(turns: int) -> dict[str, Any]:
    said = [(role, f"{word} {n}") for n in range(turns) for role, word in (("user", "hi"), ("assistant", "ho"))]
    return {"model": "gpt-4o", "messages": [{"role": role, "content": text} for role, text in said]}


def test_folds_of_an_earlier_run_are_told_as_used_again(fit: Any) -> None:  # S8
    first = fit(session_of(40), "--window", "4096")
    again = fit(session_of(40), "--window", "4096")
    assert "folded: " in first.said and "reused" not in first.report and first.report["verdict"] == "folded"
    assert again.said.startswith("yohaku: folded earlier, used again: ") and again.said.count("\n") == 1
    reused, shown = again.report["reused"], {fold["ref"] for fold in again.report["folds"]}
    assert again.report["verdict"] == "fits" and set(reused["refs"]) == shown
    assert reused["unfolded"] == first.report["before"] > again.report["before"] == again.report["after"]


def test_in_a_window_that_holds_all_of_it_nothing_is_used_again(fit: Any) -> None:  # A1
    fit(session_of(40), "--window", "4096")
    told = fit(session_of(40), "--window", "128000")
    assert told.report["folds"] == [] and "reused" not in told.report and told.said.startswith("yohaku: fits: ")
    assert Path("out.json").read_text() == Path("in.json").read_text()


def test_what_is_folded_on_top_of_earlier_folds_is_told_beside_them(fit: Any) -> None:
    fit(session_of(40), "--window", "4096")
    told = fit(session_of(80), "--window", "4096")
    assert told.report["verdict"] == "folded" and "yohaku: folded: " in told.said


@pytest.mark.parametrize(
    ("turns", "verdict", "said"), [(1, "fits", "yohaku: fits: "), (2, "inflated", "would have made it bigger")]
)
def test_nothing_to_do_and_bigger_are_two_verdicts(fit: Any, turns: int, verdict: str, said: str) -> None:  # S5
    told = fit(chat_of(turns), "--window", "8192", "--fold")
    assert (told.code, told.report["verdict"]) == (0, verdict) and said in told.said
    assert "bigger" not in told.said or verdict == "inflated"
    assert json.loads(Path("out.json").read_text()) == chat_of(turns)


def test_show_tells_them_apart_too(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for turns, said in ((1, "nothing folded\n"), (2, "nothing folded: it would have become bigger\n")):
        (project / "in.json").write_text(json.dumps(chat_of(turns)))
        assert main(["show", "in.json", "--window", "8192", "--fold"]) == 0
        assert capfd.readouterr().out.endswith(said)


class BrokenMeter(ByteMeter):
    def __init__(self, model: str) -> None:
        self.model = model

    def count(self, text: str) -> int:
        raise RuntimeError("the vocabulary is gone")


def test_what_cannot_be_counted_is_one_line_and_nothing_is_written(fit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_registered", {("meters", "broken"): BrokenMeter})
    told = fit(chat_of(2), "--window", "8192", "--model", "broken")
    assert (told.code, told.report) == (2, {}) and told.said.count("\n") == 1
    assert "cannot count this: the vocabulary is gone" in told.said and not Path("out.json").exists()


def test_why_says_that_the_user_asked_whatever_else_is_the_reason(
    fit: Any, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    refs = [fold["ref"] for fold in fit(session_of(40), "--window", "128000", "--fold").report["folds"]]
    assert refs
    for ref in refs:
        assert main(["why", ref, "--store", f"sqlite:///{project}/s.db"]) == 0
    assert capfd.readouterr().out.count("you asked for it") == len(refs)
