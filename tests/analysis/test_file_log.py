from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.analysis.file_access import FileAccess, LineRange, find_accesses
from yohaku.analysis.file_log import FileRecord, merge_ranges, read_file_log
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn


def use(name: str, arguments: dict[str, Any], result: str = "", error: bool = False) -> ToolUse:
    return ToolUse(Call("1", name, json.dumps(arguments)), Result((Text(result),), error))


def shell(command: str, result: str = "", error: bool = False) -> ToolUse:
    return use("bash", {"command": command}, result, error)


# Tools


@pytest.mark.parametrize(
    ("call", "touch"),
    [
        (use("Read", {"file_path": "/a.py"}), FileAccess("/a.py", "read")),
        (use("Read", {"file_path": "/a.py", "offset": 10, "limit": 5}), FileAccess("/a.py", "read", (10, 14))),
        (use("read_file", {"absolute_path": "/a.py", "limit": 5}), FileAccess("/a.py", "read", (1, 5))),
        (use("read", {"filePath": "/a.py", "offset": 7}), FileAccess("/a.py", "read", (7, -1))),
        (use("view", {"path": "/a.py", "view_range": [3, 9]}), FileAccess("/a.py", "read", (3, 9))),
        (use("open", {"path": "a.py", "line_number": 40}), FileAccess("a.py", "read", (40, -1))),
        (use("Write", {"file_path": "/a.py", "content": "x"}, "File created"), FileAccess("/a.py", "created")),
        (
            use("Write", {"file_path": "/a.py", "content": "x"}, "The file has been overwritten"),
            FileAccess("/a.py", "modified"),
        ),
        (use("Edit", {"file_path": "/a.py", "old_string": "x"}, "updated"), FileAccess("/a.py", "modified")),
        (use("MultiEdit", {"file_path": "/a.py", "edits": []}), FileAccess("/a.py", "modified")),
        (use("NotebookEdit", {"notebook_path": "/a.ipynb"}), FileAccess("/a.ipynb", "modified")),
        (use("replace", {"file_path": "/a.py"}), FileAccess("/a.py", "modified")),
        (use("str_replace_editor", {"command": "view", "path": "/a.py"}), FileAccess("/a.py", "read")),
        (use("str_replace_based_edit_tool", {"command": "create", "path": "/a.py"}), FileAccess("/a.py", "created")),
        (use("str_replace_editor", {"command": "insert", "path": "/a.py"}), FileAccess("/a.py", "modified")),
        (use("delete_file", {"target_file": "./a.py"}), FileAccess("a.py", "deleted")),
        (use("write_file", {"path": "a.py"}, "失敗しました"), FileAccess("a.py", "created", None, False)),
        (use("Edit", {"file_path": "/a.py"}, "x", error=True), FileAccess("/a.py", "modified", None, False)),
    ],
)
def test_a_tool_is_known_by_its_words(call: ToolUse, touch: FileAccess) -> None:
    assert find_accesses(call) == (touch,)


@pytest.mark.parametrize(
    "call",
    [
        use("Grep", {"pattern": "x", "path": "/a"}),
        use("find_file", {"file_name": "a.py", "dir": "src"}),
        use("get_user_details", {"user_id": "x"}),
        use("WebFetch", {"url": "https://x.y/a.py"}),
        use("LSP", {"operation": "hover", "filePath": "/a.py"}),
    ],
)
def test_a_search_touches_no_file(call: ToolUse) -> None:
    assert find_accesses(call) == ()


def test_a_move_deletes_and_creates() -> None:
    moved = use("move_file", {"source": "a", "destination": "b"})
    assert find_accesses(moved) == (FileAccess("a", "deleted"), FileAccess("b", "created"))


PATCH = """*** Begin Patch
*** Add File: a.py
+x
*** Update File: b.py
*** Move to: c.py
@@
*** Delete File: d.py
*** End Patch"""


@pytest.mark.parametrize(
    "call",
    [
        use("apply_patch", {"input": PATCH}),
        use("shell", {"command": ["apply_patch", PATCH]}),
        shell(f"apply_patch <<'E'\n{PATCH}\nE"),
    ],
)
def test_a_patch_says_what_it_does_to_each_file(call: ToolUse) -> None:
    assert find_accesses(call) == (
        FileAccess("a.py", "created"),
        FileAccess("b.py", "modified"),
        FileAccess("b.py", "deleted"),
        FileAccess("c.py", "created"),
        FileAccess("d.py", "deleted"),
    )


def test_an_editor_that_keeps_a_file_open_says_which_in_its_result() -> None:
    shown = "[File: /x/a.py (9 lines total)]\n1:x"
    assert find_accesses(use("edit", {"search": "x", "replace": "y"}, shown)) == (FileAccess("/x/a.py", "modified"),)
    assert find_accesses(use("execute", {"action": "edit 1:2\nx > y\nend_of_edit"}, shown)) == (
        FileAccess("/x/a.py", "modified"),
    )


def test_aider_says_what_it_edited() -> None:
    assert find_accesses(use("aider", {}, "Applied edit to a/b.py  \nCommit 1 x")) == (
        FileAccess("a/b.py", "modified"),
    )


# Shell commands


@pytest.mark.parametrize(
    ("command", "touched"),
    [
        ("cat a.py b.py", [FileAccess("a.py", "read"), FileAccess("b.py", "read")]),
        ("head -n 20 a.py", [FileAccess("a.py", "read", (1, 20))]),
        ("head -50 a.py", [FileAccess("a.py", "read", (1, 50))]),
        ("sed -n '10,20p' a.py", [FileAccess("a.py", "read", (10, 20))]),
        ("sed -n '10,$p' a.py", [FileAccess("a.py", "read", (10, -1))]),
        ("nl -ba a.py | sed -n '5,9p'", [FileAccess("a.py", "read", (5, 9))]),
        ("cat a.py | head -3", [FileAccess("a.py", "read", (1, 3))]),
        ("sed -i 's/x/y/' a.py", [FileAccess("a.py", "modified")]),
        ("sed -i '' 's/x/y/' a.py", [FileAccess("a.py", "modified")]),
        ("sed -i -e 's/x/y/' a.py", [FileAccess("a.py", "modified")]),
        ("rm -rf a b", [FileAccess("a", "deleted"), FileAccess("b", "deleted")]),
        ("mv a.py b/", [FileAccess("a.py", "deleted")]),
        ("cp a b", [FileAccess("a", "read"), FileAccess("b", "created")]),
        ("touch a; mkdir -p b/c", [FileAccess("a", "created"), FileAccess("b/c", "created")]),
        ("echo x > a; echo y >> b", [FileAccess("a", "created"), FileAccess("b", "modified")]),
        ("cat > a.py <<'EOF'\ncat b.py > c\nEOF", [FileAccess("a.py", "created")]),
        ("make | tee -a log.txt", [FileAccess("log.txt", "modified")]),
        (
            "git rm a && git mv b c",
            [FileAccess("a", "deleted"), FileAccess("b", "deleted"), FileAccess("c", "created")],
        ),
        ("git -C /x mv b c", [FileAccess("b", "deleted"), FileAccess("c", "created")]),
        ("git rm --cached a", []),
        ("git checkout -- a.py", [FileAccess("a.py", "modified")]),
        ("cd /x/y && cat ../a.py ./b.py", [FileAccess("../a.py", "read"), FileAccess("b.py", "read")]),
        ("ls src", [FileAccess("src", "read")]),
        ("ls *.py; cat $F", []),
        ("grep x a.py 2>/dev/null", []),
        ("python a.py > out.txt 2>&1", [FileAccess("out.txt", "created")]),
        ("bash -lc 'cat a.py'", [FileAccess("a.py", "read")]),
    ],
)
def test_a_shell_command_says_what_it_does(command: str, touched: list[FileAccess]) -> None:
    assert list(find_accesses(shell(command))) == touched


def test_a_path_is_told_as_it_was_said() -> None:
    assert find_accesses(use("exec_command", {"cmd": "cat a.py", "workdir": "/x"})) == (FileAccess("a.py", "read"),)


def test_of_a_failed_command_the_last_part_failed() -> None:
    ran = shell("cat > a.py <<E\nx\nE\ncat b.py", "Exit code 1", error=True)
    assert find_accesses(ran) == (FileAccess("a.py", "created"), FileAccess("b.py", "read", None, False))


def test_a_file_that_is_missing_was_not_touched() -> None:
    ran = shell("rm a b; true", "rm: cannot remove 'b': No such file or directory")
    assert find_accesses(ran) == (FileAccess("a", "deleted"), FileAccess("b", "deleted", None, False))


# The ledger


def turn(*uses: ToolUse) -> Turn:
    return Turn((Text("go"),), tuple(Step((one,)) for one in uses))


def test_the_ledger_keeps_the_last_state_the_ranges_and_the_last_step() -> None:
    turns = [
        turn(
            use("Read", {"file_path": "/x/a.py", "offset": 1, "limit": 10}),
            use("Read", {"file_path": "/x/b.py"}),
            use("Edit", {"file_path": "/x/a.py"}),
        ),
        turn(
            use("Read", {"file_path": "/x/a.py", "offset": 8, "limit": 10}),
            use("Edit", {"file_path": "/x/b.py"}, "x", error=True),
            shell("rm c.py"),
        ),
    ]
    assert list(read_file_log(turns).values()) == [
        FileRecord("/x/b.py", "read", ((1, -1),), 1),
        FileRecord("/x/a.py", "modified", ((1, 17),), 3),
        FileRecord("c.py", "deleted", (), 5),
    ]


def test_a_file_made_here_stays_created_and_one_seen_before_is_modified() -> None:
    turns = [turn(shell("echo x > a; echo y >> a"), shell("cat b; echo y > b"))]
    assert {path: file.state for path, file in read_file_log(turns).items()} == {"a": "created", "b": "modified"}


def test_a_relative_path_is_the_same_file_as_the_one_absolute_path_it_ends() -> None:
    turns = [turn(use("Read", {"file_path": "/x/src/a.py"}), shell("sed -i s/x/y/ src/a.py"), shell("cat a.py"))]
    assert list(read_file_log(turns)) == ["/x/src/a.py"]
    two = [turn(use("Read", {"file_path": "/x/a.py"}), use("Read", {"file_path": "/y/a.py"}), shell("cat a.py"))]
    assert list(read_file_log(two)) == ["/x/a.py", "/y/a.py", "a.py"]


def spans() -> st.SearchStrategy[LineRange]:
    return st.tuples(st.integers(1, 30), st.integers(0, 30)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(spans(), max_size=8))
def test_joined_ranges_hold_the_same_lines_and_do_not_meet(ranges: list[LineRange]) -> None:
    done = merge_ranges(tuple(ranges))
    assert {n for a, b in done for n in range(a, b + 1)} == {n for a, b in ranges for n in range(a, b + 1)}
    assert all(first[1] + 1 < second[0] for first, second in pairwise(done))


def test_a_range_without_an_end_takes_in_all_after_it() -> None:
    assert merge_ranges(((5, 9), (7, -1), (100, 120))) == ((5, -1),)
