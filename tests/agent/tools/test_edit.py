from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.benches import ABench
from yohaku.agent.model_texts import REFUSED
from yohaku.agent.toolkit.tool import PermissionRequest, ToolResult

CODE = "def a():\n    return 1\n\n\ndef b():\n    return 1\n"


def edit(root: Path, old: str, new: str, **more: object) -> ToolResult:
    return ABench(root).use("edit", path="a.py", old_string=old, new_string=new, **more)


def test_one_piece_is_exchanged_and_the_difference_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    given = edit(tmp_path, "def a():\n    return 1", "def a():\n    return 2")
    assert (tmp_path / "a.py").read_text() == CODE.replace("return 1", "return 2", 1)
    assert given.text == "Edited a.py (+1 -1 lines)."
    assert (
        given.diff == "--- a.py\n+++ a.py\n@@ -1,5 +1,5 @@\n def a():\n-    return 1\n+    return 2\n \n \n def b():\n"
    )


def test_what_stands_more_than_once_is_refused_with_the_lines(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    given = edit(tmp_path, "return 1", "return 2")
    assert given.error
    assert given.text.startswith("old_string stands 2 times in a.py, at lines 2, 6.")
    assert (tmp_path / "a.py").read_text() == CODE
    assert not edit(tmp_path, "return 1", "return 2", replace_all=True).error
    assert (tmp_path / "a.py").read_text() == CODE.replace("return 1", "return 2")


def test_what_is_not_there_is_refused_with_the_nearest_lines(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    given = edit(tmp_path, "def b():\n  return 1\n", "x")
    assert given.error
    assert given.text == (
        "old_string is not in a.py. The nearest lines are (compare spaces and indentation):\n"
        "4\t\n5\tdef b():\n6\t    return 1"
    )
    assert "4\t\n5\tdef b():" in edit(tmp_path, "def b(self):\n", "x").text
    assert edit(tmp_path, "nothing like it", "x").text.endswith("Nothing in it is like that: read the file again.")


def test_line_numbers_that_reading_shows_are_understood(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    assert not edit(tmp_path, "1\tdef a():\n2\t    return 1", "1\tdef a():\n2\t    return 3").error
    assert (tmp_path / "a.py").read_text() == CODE.replace("return 1", "return 3", 1)


def test_line_ends_and_encoding_stay_as_they_were(tmp_path: Path) -> None:
    before = "一行目です。\r\n二行目です。\r\n三行目\n".encode("cp932")
    (tmp_path / "a.py").write_bytes(before)
    assert not edit(tmp_path, "一行目です。\n二行目です。", "最初の行\n次の行").error
    assert (tmp_path / "a.py").read_bytes() == "最初の行\r\n次の行\r\n三行目\n".encode("cp932")


def test_a_byte_order_mark_and_mode_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes("x = 1\n".encode("utf-8-sig"))
    path.chmod(0o750)
    edit(tmp_path, "x = 1", "x = 2")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == ("x = 2\n".encode("utf-8-sig"), 0o750)


def test_what_the_encoding_cannot_say_is_refused(tmp_path: Path) -> None:
    before = "これは日本語です。\n".encode("cp932")
    (tmp_path / "a.py").write_bytes(before)
    given = edit(tmp_path, "日本語", "日本語😀")
    assert given == ToolResult("a.py is in Shift_JIS, which has no '😀': leave it out.", error=True)
    assert (tmp_path / "a.py").read_bytes() == before


def test_a_file_that_changed_since_it_was_read_is_refused_with_the_difference(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(CODE)
    bench = ABench(tmp_path)
    bench.use("read", path="a.py")
    path.write_text(CODE.replace("def b", "def c"))
    given = bench.use("edit", path="a.py", old_string="def a", new_string="def x")
    assert given.error
    assert "-def b():\n+def c():" in given.text
    assert "def a" in path.read_text()
    assert not bench.use("edit", path="a.py", old_string="def a", new_string="def x").error


def test_a_file_that_changes_while_the_user_thinks_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(CODE)

    class Slow(ABench):
        async def allow(self, ask: PermissionRequest) -> bool:
            path.write_text("something else")
            return True

    given = Slow(tmp_path).use("edit", path="a.py", old_string="def a", new_string="def x")
    assert given == ToolResult("a.py has changed just now. Read it again, then edit.", error=True)
    assert path.read_text() == "something else"


def test_nothing_is_written_that_the_user_does_not_allow(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    bench = ABench(tmp_path, "no")
    assert bench.use("edit", path="a.py", old_string="def a", new_string="def x") == ToolResult(REFUSED, error=True)
    assert (tmp_path / "a.py").read_text() == CODE
    assert "-def a" in bench.asked[0].detail


def test_edits_of_our_own_are_no_news(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    bench = ABench(tmp_path)
    bench.use("read", path="a.py")
    assert not bench.use("edit", path="a.py", old_string="def a", new_string="def x").error
    assert not bench.use("edit", path="a.py", old_string="def b", new_string="def y").error
    assert bench.files.changed() == ()


@pytest.mark.parametrize(("old", "new"), [("def a", "def a"), ("", "x")])
def test_what_changes_nothing_or_names_nothing_is_refused(tmp_path: Path, old: str, new: str) -> None:
    (tmp_path / "a.py").write_text(CODE)
    assert edit(tmp_path, old, new).error


def test_an_empty_old_string_creates_a_file(tmp_path: Path) -> None:
    assert edit(tmp_path, "", "x = 1\n").text == "Created a.py (+1 -0 lines)."
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("name", ["edit", "multi_edit"])
def test_what_may_not_be_read_is_not_shown_by_an_edit_that_fails(tmp_path: Path, name: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "notes").write_text("the plan is secret\n")
    (root / ".env").write_text("PLAN=the plan is secret\n")
    one = {"old_string": "the plan is known", "new_string": "x"}
    for path in ("../notes", ".env"):
        bench = ABench(root, "no")
        given = bench.use(name, path=path, **(one if name == "edit" else {"edits": [one]}))
        assert given.error and "secret" not in given.text


def test_a_file_outside_that_the_user_let_be_read_can_be_edited(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "notes").write_text("old\n")
    bench = ABench(root)
    bench.use("read", path="../notes")
    assert not bench.use("edit", path="../notes", old_string="old", new_string="new").error
    assert (tmp_path / "notes").read_text() == "new\n"


def test_a_folder_that_leads_elsewhere_once_the_user_has_answered_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "project/src").mkdir(parents=True)
    (tmp_path / "project/src/a.py").write_text("a")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.py").write_text("a")

    class Swapping(ABench):
        async def allow(self, ask: PermissionRequest) -> bool:
            (self.root / "src").rename(self.root / "was")
            (self.root / "src").symlink_to(self.root.parent / "other")
            return True

    given = Swapping(tmp_path / "project").use("edit", path="src/a.py", old_string="a", new_string="b")
    assert given.error and (tmp_path / "other/a.py").read_text() == "a"


def test_a_key_in_a_file_is_not_shown_where_the_user_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "abcdefgh12345678")
    (tmp_path / "a.py").write_text("key = 'abcdefgh12345678'\nb = 1\n")
    bench = ABench(tmp_path)
    bench.use("edit", path="a.py", old_string="b = 1", new_string="b = 2")
    (ask,) = bench.asked
    assert "abcdefgh12345678" not in ask.detail and "[SOME_API_KEY hidden]" in ask.detail
