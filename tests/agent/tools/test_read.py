from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from tests.agent.benches import ABench
from yohaku import meters
from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.tool import ToolResult
from yohaku.core.originals import ref_of

METER = meters.for_model("gpt-4o")
SOURCE = "import os\n\n" + "\n".join(f"def f{n}(a):\n    x = {n}\n    return x + a\n" for n in range(300))


def test_lines_are_numbered_from_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    assert ABench(tmp_path).use("read", path="a.txt") == ToolResult("1\tone\n2\ttwo")


def test_some_lines_and_where_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    bench = ABench(tmp_path)
    given = bench.use("read", path="a.txt", offset=5, limit=2)
    assert given == ToolResult("5\tline 5\n6\tline 6\n[lines 5-6 of 100; go on with offset=7]")
    assert bench.use("read", path="a.txt", offset=100) == ToolResult("100\tline 100")
    assert bench.use("read", path="a.txt", offset=101) == ToolResult("[a.txt has 100 lines, none from 101 on]")


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("utf-8", ""),
        ("cp932", "\n[Shift_JIS]"),
        ("euc_jp", "\n[EUC-JP]"),
        ("utf-16", "\n[UTF-16-LE]"),
        ("utf-8-sig", ""),
    ],
)
def test_japanese_is_read_whatever_its_encoding_and_name(tmp_path: Path, encoding: str, note: str) -> None:
    (tmp_path / "設計書.txt").write_bytes("設計の方針です。\n読みやすくします。\n".encode(encoding))
    given = ABench(tmp_path).use("read", path="設計書.txt")
    assert given == ToolResult(f"1\t設計の方針です。\n2\t読みやすくします。{note}")


def test_what_is_no_text_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))
    given = ABench(tmp_path).use("read", path="a.bin")
    assert given == ToolResult("a.bin is not text (256 bytes, bin): use a command that understands it.", error=True)


def test_an_image_is_given_as_one(tmp_path: Path) -> None:
    data = b"\x89PNG\r\n\x1a\n" + bytes(100)
    (tmp_path / "a.png").write_bytes(data)
    given = ABench(tmp_path).use("read", path="a.png")
    assert given == ToolResult("[image/png, 108 bytes]", media=(("image/png", base64.b64encode(data).decode()),))


def test_a_folder_is_listed(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "a.txt").write_text("12345")
    assert ABench(tmp_path).use("read", path=".").text == "./\n  src/\n  a.txt (5 bytes)"


def test_a_missing_file_is_told_with_the_one_that_may_be_meant(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("")
    given = ABench(tmp_path).use("read", path="confg.toml")
    assert given == ToolResult("confg.toml does not exist. In that folder there is config.toml.", error=True)
    assert "nor does its folder" in ABench(tmp_path).use("read", path="no/such").text


def test_a_pipe_or_device_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert ABench(tmp_path).use("read", path="pipe").error
    assert ABench(tmp_path).use("read", path="/dev/zero").error


def test_outside_the_project_is_asked_for_also_through_a_link(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "outside.txt").write_text("secret plans")
    (root / "link.txt").symlink_to(tmp_path / "outside.txt")
    bench = ABench(root, "no")
    assert [bench.use("read", path=way).error for way in ("link.txt", "../outside.txt")] == [True, True]
    assert [ask.detail for ask in bench.asked] == [str(tmp_path / "outside.txt")] * 2


def test_without_a_room_two_thousand_lines_are_given(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("some words\n" * 5_000)
    given = ABench(tmp_path).use("read", path="a.log")
    assert given.text.endswith("\n2000\tsome words\n[lines 1-2000 of 5,000; go on with offset=2001]")
    assert given.cut


def test_in_a_small_room_the_head_is_given_and_where_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("".join(f"event {n} 日本語の行\n" for n in range(1, 5_001)))
    with output_budget.limit_output(500, METER):
        given = ABench(tmp_path).use("read", path="a.log")
    assert METER.count(given.text) <= 500
    *lines, note = given.text.split("\n")
    assert [line.split("\t")[0] for line in lines] == [str(n) for n in range(1, len(lines) + 1)]
    assert note == f"[lines 1-{len(lines)} of 5,000; go on with offset={len(lines) + 1}]"
    assert len(lines) > 20


@pytest.mark.parametrize("tokens", [700, 1_500, 3_000])
def test_a_big_source_file_is_given_by_its_structure(tmp_path: Path, tokens: int) -> None:
    (tmp_path / "big.py").write_text(SOURCE)
    with output_budget.limit_output(tokens, METER):
        given = ABench(tmp_path).use("read", path="big.py")
    assert METER.count(given.text) <= tokens
    assert given.cut
    assert given.text.startswith("1\timport os\n2\t\n3\tdef f0(a):")
    assert given.text.endswith("\treturn x + a".replace("\t", "\t    "))
    assert "give offset and limit for details. Structure:]\n3-" in given.text


def test_who_asks_for_lines_of_a_big_file_gets_them(tmp_path: Path) -> None:
    (tmp_path / "big.py").write_text(SOURCE)
    with output_budget.limit_output(1_000, METER):
        given = ABench(tmp_path).use("read", path="big.py", offset=400, limit=3)
    assert [line.split("\t")[0] for line in given.text.split("\n")[:3]] == ["400", "401", "402"]


def test_a_file_of_a_hundred_megabytes_is_read_in_part(tmp_path: Path) -> None:
    path = tmp_path / "huge.log"
    with path.open("wb") as out:
        for _ in range(100):
            out.write(b"a line of some forty characters, or more\n" * 25_000)
    given = ABench(tmp_path).use("read", path="huge.log", offset=2_000_000, limit=1)
    assert given.text.startswith(
        "2000000\ta line of some forty characters, or more\n[lines 2000000-2000000 of 2,500,000;"
    )


def test_a_long_line_is_cut(tmp_path: Path) -> None:
    (tmp_path / "min.js").write_text("x" * 50_000)
    assert ABench(tmp_path).use("read", path="min.js").text == "1\t" + "x" * 2_000 + "… [+48,000 characters]"


def test_a_notebook_is_given_cell_by_cell(tmp_path: Path) -> None:
    book = {"cells": [{"cell_type": "markdown", "source": ["# T\n"]},
                      {"cell_type": "code", "source": ["print(1)"], "outputs": [{"text": ["1\n"]}]}]}  # fmt: skip
    (tmp_path / "a.ipynb").write_text(json.dumps(book))
    assert ABench(tmp_path).use("read", path="a.ipynb").text == (
        "[cell 0, markdown]\n# T\n\n[cell 1, code]\nprint(1)\n[output]\n1\n"
    )


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert ABench(tmp_path).use("read", path="a") == ToolResult("[empty file]")


def test_keys_in_a_file_are_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "token-value-0123")
    (tmp_path / "a").write_text("t = token-value-0123\n")
    assert ABench(tmp_path).use("read", path="a").text == "1\tt = [MY_TOKEN hidden]"


def test_what_is_given_by_its_structure_is_not_outlined_again_when_it_arrives(tmp_path: Path) -> None:
    from yohaku.analysis.outline import render_outline

    (tmp_path / "big.py").write_text(SOURCE)
    for tokens in (700, 1_500, 3_000):
        with output_budget.limit_output(tokens, METER):
            given = ABench(tmp_path).use("read", path="big.py")
        assert render_outline(given.text, "ref", 5, 10) is None


def kept(bench: ABench, text: str) -> str:
    assert bench.session is not None
    bench.session.store.put(ref_of(text), text)
    return ref_of(text)


@pytest.mark.parametrize("form", ["ref={}", "[ref={}]", "ref: {}", "{}", "`ref={}`"])
def test_what_was_folded_is_read_by_its_ref_however_it_is_copied(tmp_path: Path, form: str) -> None:
    bench = ABench(tmp_path)
    ref = kept(bench, SOURCE)
    given = bench.use("read", path=form.format(ref), offset=4, limit=2)
    lines = "     4:     x = 0\n     5:     return x + a"
    assert given == ToolResult(f"[ref={ref}: lines 4-5 of 1,201]\n{lines}\n[more from offset=6]")
    assert bench.asked == []


@pytest.mark.parametrize("form", ["ref={}:4", "[ref={}:4]", "{}:4", "ref={}:4:"])
def test_a_line_shown_with_a_ref_is_where_reading_begins(tmp_path: Path, form: str) -> None:
    bench = ABench(tmp_path)
    shown = form.format(kept(bench, SOURCE))
    assert bench.use("read", path=shown, limit=1).text.split("\n")[1] == "     4:     x = 0"
    assert bench.use("read", path=shown, offset=5, limit=1).text.split("\n")[1] == "     5:     return x + a"


def test_a_file_of_that_name_comes_first(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    ref = kept(bench, SOURCE)
    (tmp_path / ref).write_text("a file\n")
    assert bench.use("read", path=ref) == ToolResult("1\ta file")


def test_a_ref_nothing_is_kept_under_is_told_and_a_bare_name_is_a_missing_file(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    assert bench.use("read", path="ref=aaaabbbbcccc") == ToolResult("unknown ref 'aaaabbbbcccc'", error=True)
    assert "ref" not in bench.use("read", path="Makefile_old").text
    bench.session = None
    assert bench.use("read", path="ref=aaaabbbbcccc") == ToolResult("Nothing is kept in this session.", error=True)


def test_a_ref_keeps_to_the_room(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    with output_budget.limit_output(200, METER):
        given = bench.use("read", path=f"ref={kept(bench, SOURCE)}", limit=900)
    assert (given.cut, METER.count(given.text) <= 200) == (True, True)
