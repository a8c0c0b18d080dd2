from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.toolkit.arguments import BadArguments
from yohaku.agent.toolkit.edits import EditableFile, replace_text
from yohaku.agent.toolkit.text_files import TextFormat

LINES = st.lists(st.sampled_from(["a", "b", "  c", "日本", ""]), min_size=1, max_size=12)


def draft(text: str, newline: str = "\n") -> EditableFile:
    return EditableFile(Path("/a"), "a", text.encode(), text, TextFormat(newline=newline))


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]))
def test_only_what_was_named_changes(before: list[str], after: list[str], newline: str) -> None:
    text = newline.join([*before, "THE LINE", *after])
    assert replace_text(draft(text, newline), text, "THE LINE", "x\ny") == newline.join([*before, "x", "y", *after])


@given(st.text(), st.text(min_size=1), st.text())
def test_it_is_exchanged_or_refused(text: str, old: str, new: str) -> None:
    try:
        assert replace_text(draft(text), text, old, new) == text.replace(old, new)
    except BadArguments as why:
        assert str(why)


@pytest.mark.parametrize("line", ["a" * 200, "word " * 40, "x = 1"])
def test_looking_for_what_is_not_there_is_quick(line: str) -> None:
    text = "\n".join(f"{line} {number}" for number in range(50_000))
    began = time.monotonic()
    with pytest.raises(BadArguments):
        replace_text(draft(text), text, f"{line} none\n{line} at all\n", "x")
    assert time.monotonic() - began < 10
