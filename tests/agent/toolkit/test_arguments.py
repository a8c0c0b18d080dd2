from __future__ import annotations

from typing import Any

import pytest

from yohaku.agent.toolkit.arguments import BadArguments, repair_arguments
from yohaku.agent.tools import tool_named


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("read", {"file_path": "a", "offset": "10", "limit": 5.0}, {"path": "a", "offset": 10, "limit": 5}),
        ("read", '{"path": "a", "limit": null}', {"path": "a"}),
        ("read", "a.py", {"path": "a.py"}),
        ("read", "{'path': 'a.py', 'limit': 5,}", {"path": "a.py", "limit": 5}),
        ("bash", {"cmd": "ls", "description": "lists"}, {"command": "ls"}),
        ("bash", '{"command": "echo \n"}', {"command": "echo \n"}),
        ("edit", {"path": "a", "old_str": "x", "new_str": "y", "replace_all": "true"},
         {"path": "a", "old_string": "x", "new_string": "y", "replace_all": True}),
        ("write", {"path": "a.json", "content": {"a": 1}}, {"path": "a.json", "content": '{"a": 1}'}),
        ("multi_edit", {"path": "a", "edits": '[{"old_string": "x"}]'}, {"path": "a", "edits": [{"old_string": "x"}]}),
    ],
)  # fmt: skip
def test_what_can_only_be_meant_in_one_way_is_understood(name: str, given: Any, meant: dict[str, Any]) -> None:
    assert repair_arguments(tool_named(name), given) == meant


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("read", {}, "read needs 'path'. Its arguments: path, offset, limit."),
        ("read", {"path": "a", "limit": "many"}, "read: 'limit' is 'many'; give a integer."),
        ("glob", "{broken", "The arguments of glob are not a JSON object. Its arguments: pattern."),
        ("notebook_edit", {"path": "a", "cell": 1, "mode": "burn"},
         "notebook_edit: 'mode' is 'burn'; give one of replace, insert, delete."),
    ],
)  # fmt: skip
def test_what_is_wrong_says_what_to_give(name: str, given: Any, told: str) -> None:
    with pytest.raises(BadArguments) as wrong:
        repair_arguments(tool_named(name), given)
    assert str(wrong.value) == told
