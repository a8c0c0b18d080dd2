from __future__ import annotations

from yohaku.tui.conversation import NoteEntry, PromptEntry, ThinkingEntry


def test_what_the_user_said_keeps_its_lines() -> None:
    assert str(PromptEntry("one\ntwo").content) == "❯ one\n  two"


def test_a_note_says_its_kind_without_colours() -> None:
    assert [str(NoteEntry("x", kind).content) for kind in ("note", "warning", "error")] == ["x", "! x", "✗ x"]


def test_nothing_from_outside_reaches_the_terminal_as_more_than_letters() -> None:
    assert str(NoteEntry("a\x1b]0;title\x07b\x1b[2Jc\u202ed").content) == "abcd"


def test_a_thought_is_shown_by_its_end() -> None:
    thinking = ThinkingEntry("thinking")
    thinking.update = lambda text: setattr(thinking, "told", text)  # type: ignore[method-assign, assignment]
    thinking.hear("x" * 500 + "\nthe end")
    assert thinking.told.startswith("thinking: …xxx") and thinking.told.endswith("x the end")  # type: ignore[attr-defined]
    assert len(thinking.told) < 200  # type: ignore[attr-defined]
