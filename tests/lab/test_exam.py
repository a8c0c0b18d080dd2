"""The exam: folded step by step, read in rotation, graded without names, taken up where the files stand."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from yohaku.core.errors import Unanswered, Unreadable
from yohaku.core.recipe import Question
from yohaku.lab.exam import FileSummariser, draft, fold, hold
from yohaku.lab.exam_report import table
from yohaku.lab.exam_sheets import ExamSession, assign, letters, read_exam, view_text

METHODS = ("auto", "cap", "sliding")


def history(steps: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the slow test. Never touch the database."}]
    for number in range(steps):
        call = {"name": "bash", "arguments": json.dumps({"command": f"pytest part_{number}"})}
        messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"part {number}: " + "passed in 0.1 s; " * 60},
        ]
    return [
        *messages,
        {"role": "assistant", "content": "part_7 is the slow one."},
        {"role": "user", "content": "Go on."},
    ]


def question(text: str, kind: str = "done") -> dict[str, str]:
    return {"q": text, "kind": kind, "a": "part_7", "rubric": "1: part_7"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "exam"
    home.mkdir()
    for number in (1, 2, 3):
        (home / f"{number}.json.gz").write_bytes(gzip.compress(json.dumps(history(20 + number)).encode()))
    sessions = [{"n": number, "history": f"{number}.json.gz", "window": 2048} for number in (1, 2, 3)]
    questions = {str(number): [question("Which test is slow?"), question("The goal?", "goal")] for number in (1, 2, 3)}
    (home / "exam.json").write_text(json.dumps({"sessions": sessions, "questions": questions}))
    return home


def answer(right: bool) -> str:
    return json.dumps(
        {"answers": [{"a": "part_7" if right else "NOT IN VIEW", "ref": ""}] * 2, "ready": 5 if right else 2}
    )


def test_every_reader_sees_a_session_once_and_every_method_equally_often() -> None:
    sessions = [ExamSession(number, "h.json") for number in range(6)]
    papers = assign(sessions, METHODS)
    assert Counter((paper.reader, paper.session.name) for paper in papers).most_common(1)[0][1] == 1
    assert {(paper.method, paper.session.name) for paper in papers} == {(m, s.name) for m in METHODS for s in sessions}
    assert set(Counter((paper.reader, paper.method) for paper in papers).values()) == {2}


@pytest.mark.parametrize("method", METHODS)
def test_a_view_is_folded_and_ends_with_the_newest_prompt(method: str) -> None:
    messages = history(40)
    view = fold(messages, 2048, method)
    assert view[-1] == messages[-1] and len(view_text(view)) < len(view_text(messages))


def test_the_exam_goes_on_from_what_has_arrived(folder: Path, tmp_path: Path) -> None:
    out, lines = tmp_path / "held", list[str]()
    assert hold(folder, out, METHODS, show=lines.append) is None
    assert "9 sheets" in lines[-1]
    papers = assign(read_exam(folder).sessions, METHODS)
    for paper in papers:
        text = paper.sheet(out).read_text()
        assert (
            "Which test is slow?" in text
            and "part_7\n\nRubric" not in text
            and paper.method not in text.split("# The view")[0]
        )
        paper.answers(out).write_text("```json\n" + answer(paper.method == "auto") + "\n```")
    assert hold(folder, out, METHODS, show=lines.append) is None
    assert "3 sheets" in lines[-1] and "grades" in lines[-1]
    for session in read_exam(folder).sessions:
        sheet = (out / "grader" / f"{session.name}.md").read_text()
        assert "Reference: part_7" in sheet and not any(method in sheet for method in METHODS)
        right = {letter: method == "auto" for letter, method in letters(session, METHODS).items()}
        grades = {letter: [{"score": int(yes), "false": False}] * 2 for letter, yes in right.items()}
        (out / "grader" / f"{session.name}.grades.json").write_text(json.dumps(grades))
    found = hold(folder, out, METHODS, show=lines.append)
    assert found and found["sessions"] == 3
    assert [found["methods"][method]["mean"]["mean"] for method in METHODS] == [1.0, 0.0, 0.0]
    assert found["differences"]["auto - cap"]["low"] == 1.0 and found["methods"]["auto"]["ready"] == 5
    assert "auto - sliding: +1.000 [+1.000, +1.000]" in table(found)


def test_readers_and_graders_may_be_endpoints(folder: Path, tmp_path: Path) -> None:
    def grade(text: str) -> str:
        return json.dumps({letter: [{"score": 0.5}] * 2 for letter in "ABC"})

    found = hold(
        folder, tmp_path / "held", METHODS, reader=lambda text: answer(True), grader=grade, show=lambda _: None
    )
    assert found and found["methods"]["cap"]["mean"]["mean"] == 0.5


def test_questions_of_a_recipe_wait_in_files_and_are_answered_by_content(tmp_path: Path) -> None:
    ask = FileSummariser(tmp_path / "q")
    with pytest.raises(Unanswered):
        ask(Question("summary", "Sum up.", 300))
    (name,) = ask.open
    assert "Sum up." in (tmp_path / "q" / f"{name}.question.md").read_text()
    (tmp_path / "q" / f"{name}.answer.md").write_text("<summary>Done.</summary>")
    assert FileSummariser(tmp_path / "q")(Question("summary", "Sum up.", 300)) == "<summary>Done.</summary>"


def test_open_questions_are_counted_before_anybody_reads(folder: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    out = hold(folder, tmp_path / "held", ("chat-summary",), summariser=tmp_path / "q", show=lines.append)
    assert out is None and "wait for answers" in lines[-1] and list((tmp_path / "q").glob("*.question.md"))


def test_questions_can_be_drafted_for_sessions_that_have_none(folder: Path) -> None:
    whole = json.loads((folder / "exam.json").read_text())
    del whole["questions"]["2"]
    (folder / "exam.json").write_text(json.dumps(whole))
    seen: list[str] = []

    def write(prompt: str) -> str:
        seen.append(prompt)
        return "Here they are:\n" + json.dumps([question("What was run?")])

    assert draft(folder, write) == 1
    assert len(seen) == 1 and "pytest part_7" in seen[0]
    assert [each.q for each in read_exam(folder).questions["2"]] == ["What was run?"]


@pytest.mark.parametrize(
    "content", ["{", '{"sessions": 3}', '{"sessions": [{"n": 1, "history": "gone.json"}], "questions": {"1": []}}']
)
def test_a_broken_exam_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "exam.json").write_text(content)
    with pytest.raises(Unreadable) as raised:
        hold(tmp_path, tmp_path / "held", METHODS, show=lambda _: None)
    assert "\n" not in str(raised.value)


def test_answers_that_do_not_match_the_questions_are_refused(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "held"
    hold(folder, out, METHODS, show=lambda _: None)
    for paper in assign(read_exam(folder).sessions, METHODS):
        paper.answers(out).write_text('{"answers": [{"a": "x"}]}')
    with pytest.raises(Unreadable, match="1 answers to 2 questions"):
        hold(folder, out, METHODS, show=lambda _: None)


def test_the_command_prints_what_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from yohaku.lab.run import main

    assert main(["exam", str(folder)]) == 1
    assert "wait for answers" in capsys.readouterr().err
    assert (folder / "held" / "reader-1" / "1.md").exists()
