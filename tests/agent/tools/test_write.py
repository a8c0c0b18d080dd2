from __future__ import annotations

from pathlib import Path

from tests.agent.benches import ABench
from yohaku.agent.toolkit.tool import ToolResult


def test_a_new_file_and_its_folders_are_made(tmp_path: Path) -> None:
    given = ABench(tmp_path).use("write", path="資料/新規.txt", content="一\n二\n")
    assert given.text == "Created 資料/新規.txt (2 lines)."
    assert given.diff.startswith("--- /dev/null\n+++ 資料/新規.txt\n")
    assert (tmp_path / "資料/新規.txt").read_text() == "一\n二\n"


def test_a_file_nobody_has_read_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("precious")
    bench = ABench(tmp_path)
    assert bench.use("write", path="a", content="x").error
    assert (tmp_path / "a").read_text() == "precious"
    bench.use("read", path="a")
    assert bench.use("write", path="a", content="x\n").text == "Overwritten a (1 lines; +1 -1)."
    assert (tmp_path / "a").read_text() == "x\n"


def test_line_ends_of_the_old_file_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a\r\nb\r\n")
    bench = ABench(tmp_path)
    bench.use("read", path="a")
    bench.use("write", path="a", content="a\nc\n")
    assert (tmp_path / "a").read_bytes() == b"a\r\nc\r\n"


def test_the_same_content_is_not_written_again(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    bench.use("write", path="a", content="x")
    assert bench.use("write", path="a", content="x") == ToolResult("a has exactly this content already.")
    assert len(bench.asked) == 1


def test_a_link_out_of_the_project_is_asked_for_with_the_reason(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "outside.txt")
    bench = ABench(root, "no")
    assert bench.use("write", path="link", content="x").error
    assert not (tmp_path / "outside.txt").exists()
    assert bench.asked[0].danger == "It is outside the project."


def test_read_only_writes_nothing(tmp_path: Path) -> None:
    bench = ABench(tmp_path, mode="read-only")
    assert bench.use("write", path="a", content="x").error
    assert bench.asked == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_cannot_be_written(tmp_path: Path) -> None:
    assert ABench(tmp_path).use("write", path=".", content="x").error


def test_a_small_model_may_write_the_name_of_the_project_before_a_path(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    bench = ABench(root)
    bench.careful = True
    for number, name in enumerate(("shop/a.py", f"{tmp_path.name}/shop/a.py", f"{str(root).lstrip('/')}/a.py")):
        assert not bench.use("write", path=name, content=f"x = {number}\n").error
        assert (root / "a.py").read_text() == f"x = {number}\n"
    bench.prompt = "Add shop/b.py to the project."
    bench.use("write", path="shop/b.py", content="x = 1\n")
    assert (root / "shop" / "b.py").exists()
    bench.use("write", path="shop/c.py", content="x = 1\n")
    assert (root / "shop" / "c.py").exists(), "there is such a folder now"
    assert {path.name for path in root.iterdir()} == {"a.py", "shop"}
