from __future__ import annotations

import pytest

from yohaku.agent.call_titles import call_title
from yohaku.core.model import Call


@pytest.mark.parametrize(
    ("name", "arguments", "title"),
    [
        ("bash", '{"command": "ls -la"}', "$ ls -la"),
        ("bash", '{"cmd": ["ls"]}', 'bash {"cmd": ["ls"]}'),
        ("bash", "ls", "bash ls"),
        ("Read", '{"file_path": "a"}', 'Read {"file_path": "a"}'),
        ("read", '{"path": 5}', None),
        ("edit", "[]", "edit []"),
    ],
)
def test_a_call_is_named_as_its_tool_says_or_as_it_was_asked(name: str, arguments: str, title: str | None) -> None:
    told = call_title(Call("1", name, arguments))
    assert told == title if title else told


def test_a_title_is_bounded() -> None:
    assert len(call_title(Call("1", "x", "y" * 10_000))) == 200
