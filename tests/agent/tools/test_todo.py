from __future__ import annotations

from pathlib import Path

from tests.agent.benches import ABench


def test_the_list_is_kept_and_told(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    items = [{"text": "読む", "status": "done"}, {"content": "fix", "status": "in_progress"}, "test"]
    assert bench.use("todo", items=items).text == "[x] 読む\n[>] fix\n[ ] test"
    assert bench.todo == [("done", "読む"), ("doing", "fix"), ("pending", "test")]
    assert bench.use("todo", items=[]).text == "The list is empty."


def test_a_bad_item_changes_nothing(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    bench.use("todo", items=["a"])
    for items in ([{"status": "done"}], [{"text": "x", "status": "perhaps"}], [3]):
        assert bench.use("todo", items=items).error
    assert bench.todo == [("pending", "a")]
