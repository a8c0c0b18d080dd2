from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from yohaku.agent.toolkit.diffs import count_changed_lines, unified_diff


def test_a_change_is_told_with_three_lines_around_it() -> None:
    old = "".join(f"{number}\n" for number in range(1, 21))
    assert unified_diff(old, old.replace("10\n", "ten\n"), "a.txt") == (
        "--- a.txt\n+++ a.txt\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
    )


def test_a_new_file_is_all_additions() -> None:
    assert unified_diff("", "a\nb\n", "a.txt") == "--- /dev/null\n+++ a.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n"


def test_lines_put_in_and_taken_out_are_counted() -> None:
    assert count_changed_lines("a\nb\nc\n", "a\nB\nc\nd\n") == (2, 1)


def test_a_rewrite_of_a_huge_file_costs_little() -> None:
    old = "\n" * 50_000
    assert unified_diff(old, "x\n" * 50_000, "a").endswith("[the diff goes on]\n")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from("abcd"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30))
def test_patch_makes_the_new_text_of_the_old_one(tmp_path_factory: object, old: list[str], new: list[str]) -> None:
    before, after = "".join(f"{x}\n" for x in old), "".join(f"{x}\n" for x in new)
    told = unified_diff(before, after, "f")
    if not told or not before or not after:
        return
    folder = Path(tmp_path_factory.mktemp("patch"))  # type: ignore[attr-defined]
    (folder / "f").write_text(before)
    subprocess.run(["patch", "-s", "f"], input=told, text=True, cwd=folder, check=True)
    assert (folder / "f").read_text() == after
