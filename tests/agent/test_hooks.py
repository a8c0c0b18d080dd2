from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent.scripted import agent, play, says
from yohaku.agent.hooks import MAX_OUTPUT_CHARS, Hooks
from yohaku.core.recipe import FoldStarting
from yohaku.session.session import Session
from yohaku.testing import ByteMeter

ABOUT = FoldStarting(manual=False, weight=7_000, limit=7_168)


def python(tmp_path: Path, code: str) -> str:
    path = tmp_path / "hook.py"
    path.write_text(code)
    return f'"{sys.executable}" "{path}"'


def said(hooks: Hooks) -> Any:
    return asyncio.run(hooks.run_before(ABOUT))


def test_a_hook_is_told_what_happens_and_may_add_words(tmp_path: Path) -> None:
    code = "import json, sys\ntold = json.load(sys.stdin)\nprint('keep', told['trigger'], told['tokens'], '予算')"
    assert said(Hooks(python(tmp_path, code), root=tmp_path)) == "keep auto 7000 予算"


def test_it_may_say_no(tmp_path: Path) -> None:
    assert said(Hooks(python(tmp_path, "raise SystemExit(2)"), root=tmp_path)) is False


@pytest.mark.parametrize("code", ["raise SystemExit(1)", "import sys; sys.exit('broken')"])
def test_one_that_fails_is_passed_over_and_said(tmp_path: Path, code: str) -> None:
    told: list[str] = []
    assert said(Hooks(python(tmp_path, code), root=tmp_path, report=told.append)) is None
    assert len(told) == 1


def test_one_that_hangs_is_ended(tmp_path: Path) -> None:
    told: list[str] = []
    hooks = Hooks(python(tmp_path, "import time; time.sleep(600)"), root=tmp_path, seconds=0.2, report=told.append)
    assert said(hooks) is None and "0.2 s" in told[0]


def test_what_it_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    told: list[str] = []
    hooks = Hooks("echo kept; sleep 60 &", root=tmp_path, seconds=20, report=told.append)
    assert (said(hooks), told) == ("kept", [])


def test_of_much_that_it_prints_the_beginning_is_taken(tmp_path: Path) -> None:
    words = said(Hooks(python(tmp_path, "print('あ' * 20_000_000)"), root=tmp_path))
    assert words == "あ" * MAX_OUTPUT_CHARS


def test_without_a_hook_nothing_is_run() -> None:
    assert said(Hooks()) is None


def test_a_folding_is_told_after_it_was_made(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    code = f"import sys, pathlib\npathlib.Path({str(out)!r}).write_text(sys.stdin.read())"
    hooks = Hooks(after=python(tmp_path, code), root=tmp_path)
    one = agent(tmp_path, *(says(f"The answer {number}.\n" * 60) for number in range(4)), hooks=hooks)
    play(one, *(f"Question {number}.\n" * 60 for number in range(4)))
    asyncio.run(one.compact())
    told = json.loads(out.read_text())
    assert told["event"] == "after_folding" and told["trigger"] == "manual" and told["after"] < told["before"]


def test_before_a_folding_the_hook_learns_of_what_and_how_much(tmp_path: Path) -> None:  # S6, S10
    hooks: Any = Hooks("cat > told.json", root=tmp_path)
    transcript = tmp_path / "talk.jsonl"
    session = Session(20_000, dialect="openai_chat", meter=ByteMeter(), before=hooks.run_before, transcript=transcript)
    one = agent(tmp_path, *(says(f"The answer {number}.\n" * 60, prompt=9_000) for number in range(4)), session=session)
    play(one, *(f"Question {number}.\n" * 60 for number in range(4)))
    folded = asyncio.run(one.compact("the numbers"))
    told = json.loads((tmp_path / "told.json").read_text())
    assert folded and told == {
        "event": "before_folding",
        "trigger": "manual",
        "session_id": session.key,
        "transcript_path": str(transcript),
        "tokens": folded.receipt.before,
        "limit": folded.receipt.limit,
        "words": "the numbers",
    }
    assert session.key and folded.receipt.before > folded.receipt.outcome.before.total, "as the provider counts"


def test_a_session_asks_before_it_folds(tmp_path: Path) -> None:
    hooks: Any = Hooks(python(tmp_path, "raise SystemExit(2)"), root=tmp_path)
    session = Session(20_000, dialect="openai_chat", meter=ByteMeter(), before=hooks.run_before)
    one = agent(tmp_path, *(says(f"The answer {number}.\n" * 60) for number in range(4)), session=session)
    play(one, *(f"Question {number}.\n" * 60 for number in range(4)))
    assert asyncio.run(one.compact()) is None


def test_the_example_in_the_docs_does_what_it_says(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "hooks.md").read_text("utf-8")
    code = page.rpartition("```python\n")[2].partition("```")[0]
    hooks = Hooks(python(tmp_path, code), root=tmp_path)
    assert said(hooks) == "Keep the numbers of the last measurement."
    assert asyncio.run(hooks.run_before(FoldStarting(manual=False, weight=100, limit=7_168))) is False
