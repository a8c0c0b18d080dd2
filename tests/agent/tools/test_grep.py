from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.agent.benches import ABench
from yohaku import meters
from yohaku.agent.toolkit import found_hits, output_budget
from yohaku.agent.toolkit.tool import ToolResult

METER = meters.for_model("gpt-4o")


def make(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_hits_are_told_file_by_file_with_their_numbers(tmp_path: Path) -> None:
    make(tmp_path, a_dot_py="x = 1\ny = 2\nx = 3\n", src__b_dot_py="  x = 4\n", c_dot_txt="x = 5")
    bench = ABench(tmp_path)
    assert bench.use("grep", pattern=r"^\s*x = \d", glob="*.py").text == "a.py\n1: x = 1\n3: x = 3\nsrc/b.py\n1: x = 4"
    assert bench.use("grep", pattern="x = 4", path="src").text == "src/b.py\n1: x = 4"
    assert bench.use("grep", pattern="x = 1", path="a.py").text == "a.py\n1: x = 1"
    assert bench.use("grep", pattern="nowhere") == ToolResult("No line matches nowhere.")


def test_japanese_is_found_whatever_the_encoding(tmp_path: Path) -> None:
    for encoding in ("utf-8", "cp932", "euc_jp", "utf-16"):
        (tmp_path / f"{encoding}.txt").write_bytes("設定を読み込みます。\nこれは検索の対象です。\n".encode(encoding))
    told = ABench(tmp_path).use("grep", pattern="検索の.象").text
    assert told == "\n".join(
        f"{name}.txt\n2: これは検索の対象です。" for name in ("cp932", "euc_jp", "utf-16", "utf-8")
    )


def test_binaries_links_ignored_files_and_secrets_are_not_searched(tmp_path: Path) -> None:
    root = tmp_path / "project"
    make(root, a="needle", _dot_gitignore="b\n", b="needle", node_modules__c="needle", _dot_env="needle=1")
    (root / "d.bin").write_bytes(b"needle\0\0")
    make(tmp_path, outside="needle")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "folder").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    told = ABench(root).use("grep", pattern="needle").text
    assert told == "a\n1: needle\n[1 files that may hold secrets were not searched]"


def test_outside_the_project_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    bench = ABench(tmp_path / "project", "no")
    assert bench.use("grep", pattern="x", path="..").error
    assert len(bench.asked) == 1


def test_there_are_at_most_five_hundred_hits(tmp_path: Path) -> None:
    make(tmp_path, a="hit\n" * 10_000)
    bench = ABench(tmp_path)
    given = bench.use("grep", pattern="hit", path="a")
    assert given.cut and given.text.count("hit\n") == 500
    assert given.output and bench.session
    note = f"[10,000 hits, not all shown; ref={given.output.id}; or use a narrower pattern or path]"
    assert given.text.endswith(note)
    kept = str(bench.session.recall(given.output.id))
    assert kept.startswith("a\n1: hit\n") and kept.endswith("\n10000: hit\n")
    assert given.output[1:] == (len(kept), 10_001)


def test_no_more_hits_are_kept_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_hits, "MAX_KEPT_BYTES", 50_000)
    make(tmp_path, a="hit\n" * 100_000)
    bench = ABench(tmp_path)
    given = bench.use("grep", pattern="hit")
    assert given.output and bench.session
    assert 50_000 <= given.output.byte_size < 51_000 and " hits or more, not all shown" in given.text
    opened = bench.use("tool_output_cache", ref_id=given.output.id, offset=4_000, limit=1)
    assert "3999: hit" in opened.text


def test_the_room_is_kept_to(tmp_path: Path) -> None:
    make(tmp_path, a="a hit with some words around it\n" * 10_000)
    with output_budget.limit_output(300, METER):
        given = ABench(tmp_path).use("grep", pattern="hit")
    assert METER.count(given.text) <= 300
    assert given.cut


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", r"^(\w+\s?)*$", "(x+x+)+y", "(?=(a+)+b)c"])
def test_a_pattern_cannot_stall(tmp_path: Path, pattern: str) -> None:
    make(tmp_path, a="a" * 5_000 + "!\n", b=" " * 50_000)
    began = time.monotonic()
    ABench(tmp_path).use("grep", pattern=pattern)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "", "a" * 2_000])
def test_a_bad_pattern_is_told(tmp_path: Path, pattern: str) -> None:
    assert ABench(tmp_path).use("grep", pattern=pattern).error


def test_a_long_line_is_shown_around_the_match(tmp_path: Path) -> None:
    make(tmp_path, a="x" * 100_000 + "needle" + "y" * 100_000)
    told = ABench(tmp_path).use("grep", pattern="needle").text
    assert told.startswith("a\n1: …xxx")
    assert "needleyyy" in told
    assert len(told) < 300


def test_a_big_file_is_searched_block_by_block_with_true_numbers(tmp_path: Path) -> None:
    with (tmp_path / "big.log").open("wb") as out:
        for _ in range(40):
            out.write(b"nothing to see in this line at all\n" * 10_000)
        out.write("見つけた\n".encode())
    assert ABench(tmp_path).use("grep", pattern="見つけた").text == "big.log\n400001: 見つけた"


def test_source_comes_before_other_texts_and_logs_and_data_last(tmp_path: Path) -> None:
    make(tmp_path, a_dot_log="rate 1\n", b_dot_json='{"rate": 1}\n', c_dot_md="The rate.\n", d_dot_py="x = rate\n")
    lines = ABench(tmp_path).use("grep", pattern="rate").text.split("\n")
    assert lines[::2] == ["d.py", "c.md", "a.log", "b.json"]


def test_of_source_the_file_that_defines_it_comes_first(tmp_path: Path) -> None:
    make(tmp_path, a_dot_py="rate()\n", b_dot_py="def rate():\n    pass\n", c_dot_js="function rate() {}\n")
    lines = ABench(tmp_path).use("grep", pattern="rate").text.split("\n")
    assert lines[::2] == ["b.py", "c.js", "a.py"]


@pytest.mark.parametrize(("careful", "most"), [(False, 20), (True, 5)])
def test_of_a_file_a_few_hits_are_shown_and_the_definition_is_among_them(
    tmp_path: Path, careful: bool, most: int
) -> None:
    make(tmp_path, a_dot_py="x = rate()\n" * 300 + "def rate():\n", b_dot_py="rate()\n")
    bench = ABench(tmp_path)
    bench.careful = careful
    given = bench.use("grep", pattern="rate")
    lines = given.text.split("\n")
    assert lines[:2] == ["a.py", "1: x = rate()"] and lines[most] == "301: def rate():"
    assert lines[most + 1 : most + 4] == [f"… {301 - most} more in this file", "b.py", "1: rate()"]
    assert given.cut and given.output and "[302 hits, not all shown; ref=" in given.text
    assert bench.session and "\n150: x = rate()\n" in str(bench.session.recall(given.output.id))


def test_a_single_file_is_shown_as_far_as_there_is_room(tmp_path: Path) -> None:
    make(tmp_path, a_dot_py="x = rate()\n" * 300)
    given = ABench(tmp_path).use("grep", pattern="rate", path="a.py")
    assert given.text.count("\n") == 300 and not given.cut


def test_a_small_model_that_searches_for_a_sentence_gets_the_lines_with_its_words(tmp_path: Path) -> None:
    make(tmp_path, a_dot_py="RETURN_DAYS = 17\n")
    bench = ABench(tmp_path)
    assert bench.use("grep", pattern="return period").text == "No line matches return period."
    bench.careful = True
    told = "No line matches return period. Lines with one of these words:\na.py\n1: RETURN_DAYS = 17"
    assert bench.use("grep", pattern="return period").text == told
    told = "No line matches something else. What is defined there:\na.py\n1: RETURN_DAYS = 17"
    assert bench.use("grep", pattern="something else").text == told
    assert bench.use("grep", pattern="返品").text == told.replace("something else", "返品")
    (tmp_path / "a.py").write_text("print(17)\n")
    assert bench.use("grep", pattern="返品").text == "No line matches 返品."
