"""A reply that is cut off, small windows and reasons, as somebody reads them who uses the program without a screen."""

from __future__ import annotations

from pathlib import Path

from tests.agent.fakes import Played, spoken
from tests.agent.lines import once, typed
from yohaku.recipes.options import DEFAULT_OPTIONS

LS = ("bash", {"command": "ls"})


def test_a_pipe_gets_the_whole_answer_and_not_the_torn_one_before_it(tmp_path: Path) -> None:
    script = [spoken("openai_chat", "This is ", "torn", stop="length"), spoken("openai_chat", "This is whole.")]
    done = once(script, "tell me", tmp_path)
    assert (done.code, done.out) == (0, "This is whole.\n")
    assert "cut off" in done.err and "fold" not in done.err.lower(), "nothing was folded, so nothing says so"


def test_a_stream_that_breaks_is_called_that(tmp_path: Path) -> None:
    whole = spoken("openai_chat", "Half", " and half.")
    done = once([Played(whole.chunks[:1], ending="cut"), whole], "tell me", tmp_path)
    assert (done.code, done.out) == (0, "Half and half.\n")
    assert "connection ended" in done.err and "fold" not in done.err.lower()


def test_the_second_torn_answer_is_all_there_is_and_is_given(tmp_path: Path) -> None:
    done = once(spoken("openai_chat", "Only half", stop="length"), "tell me", tmp_path)
    assert (done.code, done.out) == (0, "Only half\n")
    assert "go on" in done.err


def test_chat_is_not_told_to_try_chat(tmp_path: Path) -> None:
    script = spoken("openai_chat", "Hi.")
    talking, working = (once(script, "hi", tmp_path, window=64, chat=chat) for chat in (True, False))
    assert talking.code == working.code == 3 and not talking.asked
    assert "--chat" in working.err and "--chat" not in talking.err and "--window" in talking.err


def test_after_compact_the_reason_is_that_the_user_asked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a line of the file\n" * 200)
    script = [spoken("openai_chat", calls=[("read", {"path": "a.txt"})]), spoken("openai_chat", "Done.")]
    options = DEFAULT_OPTIONS.with_values({"compaction.ask": "never"})
    lines = ["read a.txt", "read it again", "/compact", "/why"]
    done = typed([*script, *script], lines, tmp_path, options=options)
    told = done.err.partition("Folded by hand")[2] or done.err
    assert "you asked for it" in told and "the window is full" not in done.err
