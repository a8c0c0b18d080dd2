from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.digest.read_gist import read_file_paths

from yohaku.analysis.file_log import read_file_log
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.dialects.load import load
from yohaku.dialects.recordings import Recording
from yohaku.digest.gist import write_gist
from yohaku.digest.gist_text import ENGLISH, JAPANESE, choose_titles, cut_to_tokens
from yohaku.testing import conversation

REF = "abcdefabcdef"


def count(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass")) // 4 + 1


def use(name: str, arguments: dict[str, Any], result: str = "", error: bool = False) -> ToolUse:
    return ToolUse(Call("1", name, json.dumps(arguments)), Result((Text(result),), error))


def turns() -> list[Turn]:
    return [
        Turn(
            (Text("Fix the parser in src/parse.py."),),
            (
                Step(
                    (
                        Text("I'll read it first, because I do not know it."),
                        use("Read", {"file_path": "/x/src/parse.py"}, "def parse_args(): ..."),
                    )
                ),
                Step(
                    (
                        use(
                            "bash",
                            {"command": "pytest -q"},
                            "Exit code 1\nKeyError: 'name'\n1 failed in 0.10s",
                            error=True,
                        ),
                    )
                ),
                Step((use("Edit", {"file_path": "/x/src/parse.py", "old_string": "a", "new_string": "b"}, "updated"),)),
                Step((use("bash", {"command": "pytest -q"}, "12 passed in 0.20s"),)),
            ),
        ),
        Turn(
            (Text("Now the lexer."),),
            (
                Step((use("TodoWrite", {"todos": [{"content": "lexer", "status": "in_progress"}]}, "ok"),)),
                Step((use("bash", {"command": "make lex"}, "Exit code 2\nerror: no rule for lex", error=True),)),
            ),
        ),
    ]


WHOLE = """\
[Earlier conversation folded: 2 prompts, 6 steps; ref=abcdefabcdef]
The user's rules, still in force:
- Never touch the database.
What happened, in order (what tools gave stands behind |):
User: Fix the parser in src/parse.py.
- looked at /x/src/parse.py
  | def parse_args(): ...
- `pytest -q`: exit 1: KeyError: 'name' | 1 failed in 0.10s
- modified parse.py
  - a
  + b
- `pytest -q`: works now, 12 passed in 0.20s
User: Now the lexer.
- `make lex`: exit 2: error: no rule for lex
Files:
modified /x/src/parse.py
The plan at this point:
[>] lexer
Failing when this was folded:
- `make lex`: exit 2"""


def test_a_gist_tells_what_was_asked_done_decided_and_found() -> None:
    rules = ("Never touch the database.",)
    assert write_gist(turns(), ref=REF, tokens=2_000, count=count, rules=rules) == WHOLE


def test_a_small_gist_is_the_header_and_what_fits_of_the_rules() -> None:
    rules = ("Never touch the database.", "Only use the standard library. " * 20, "Answer in English.")
    text = write_gist(turns(), ref=REF, tokens=50, count=count, rules=rules)
    assert text.splitlines() == [*WHOLE.splitlines()[:3], "- Answer in English."]


def test_with_no_room_for_the_header_the_ref_stays_and_then_nothing() -> None:
    assert write_gist(turns(), ref=REF, tokens=8, count=count) == "[folded; ref=abcdefabcdef]"
    assert write_gist(turns(), ref=REF, tokens=2, count=count) == ""


def test_a_japanese_conversation_has_japanese_titles() -> None:
    japanese = [Turn((Text("パーサーを直してください。"),), turns()[0].steps)]
    text = write_gist(japanese, ref=REF, tokens=1_000, count=count)
    assert text.startswith(
        f"[これまでの会話を折りたたみました: 指示 1 件、4 ステップ; ref={REF}]\n"
        "経緯(順に。| の後はツールの出力):\nユーザー: "
    )
    assert read_file_paths(text) == {"/x/src/parse.py"}
    assert choose_titles(japanese) is JAPANESE
    assert choose_titles(turns()) is ENGLISH


def test_what_the_system_put_between_is_not_the_users() -> None:
    hidden = [Turn((Text("Be kind.", by="system"), Text("Go.")), (Step((Text("ok"),)),))]
    text = write_gist(hidden, ref=REF, tokens=500, count=count)
    assert "Be kind." not in text
    assert "1 prompt, 1 step;" in text


def test_where_paths_take_too_much_room_their_folder_is_told_once() -> None:
    reads = [use("Read", {"file_path": f"/home/someone/projects/thing/src/module_{n}.py"}, "x") for n in range(30)]
    many = [Turn((Text("Go."),), tuple(Step((read,)) for read in reads))]
    text = write_gist(many, ref=REF, tokens=2_200, count=count)
    assert "Files, under /home/someone/projects/thing/src/:" in text
    assert read_file_paths(text) == {f"/home/someone/projects/thing/src/module_{n}.py" for n in range(30)}


def test_the_newest_prompts_are_kept_and_the_first() -> None:
    many = [Turn((Text(f"Task number {n}: " + "do the thing " * 8),), (Step((Text("ok"),)),)) for n in range(100)]
    text = write_gist(many, ref=REF, tokens=400, count=count)
    assert "Task number 0:" in text
    assert "Task number 99:" in text
    assert "Task number 50:" not in text


@given(st.randoms(use_true_random=False), st.integers(0, 800))
def test_a_gist_never_weighs_more_than_it_may_and_is_the_same_again(chance: Random, tokens: int) -> None:
    hidden = conversation(chance).turns
    text = write_gist(hidden, ref=REF, tokens=tokens, count=count, rules=("必ず日本語で。",))
    assert count(text) <= tokens or text == ""
    assert text == write_gist(hidden, ref=REF, tokens=tokens, count=count, rules=("必ず日本語で。",))


@given(st.text(), st.integers(0, 60))
def test_a_cut_text_is_the_beginning_of_the_text(text: str, tokens: int) -> None:
    shown = cut_to_tokens(text, tokens, count)
    assert shown == text.strip() or shown == "" or text.strip().startswith(shown.removesuffix(" […]"))
    assert count(shown) <= max(tokens, 1)


@pytest.mark.shared
@pytest.mark.corpus
def test_the_files_of_recorded_sessions_are_told(shared: Path) -> None:
    scores = []
    for path in sorted((shared / "data").rglob("*.gz"))[::5]:
        recording = load(path.read_bytes(), path.name)
        assert isinstance(recording, Recording)
        hidden = recording.history.turns
        told, true = (
            read_file_paths(write_gist(hidden, ref=REF, tokens=30_000, count=count)),
            set(read_file_log(hidden)),
        )
        scores.append(2 * len(told & true) / (len(told) + len(true)) if told or true else 1.0)
    assert sum(scores) / len(scores) >= 0.95
