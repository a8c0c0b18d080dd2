"""Looking back and taking back on the command line: undo, redo, pins, diff; and a fit that goes on with a store."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_stores import FIT, UNKNOWN, Shell, a_result, data, session_of, shell  # noqa: F401

from yohaku import Session, stores
from yohaku.core.originals import ref_of
from yohaku.stores.memory import MemoryStore

KEEP = ["--window", "1000000", "-q"]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path / 'named.db'}"


def fitted(shell: Shell, *flags: str) -> bytes:  # noqa: F811
    """What comes out, with room for all of it: only folds that stand already show."""
    code, out, error = shell("fit", str(shell.folder / "given.json"), *KEEP, *flags)
    assert (code, error) == (0, "")
    return out


def test_with_a_store_named_a_repeat_gives_the_same_bytes_and_a_larger_window_all_of_them(
    shell: Shell,  # noqa: F811
    url: str,
) -> None:
    out = shell.folder / "out.json"
    runs = []
    for _ in range(3):
        assert shell.fit("--store", url, "--out", str(out))[0] == 0
        runs.append(out.read_bytes())
    given = (shell.folder / "given.json").read_bytes()
    assert runs[0] == runs[1] == runs[2] != given == fitted(shell, "--store", url)
    assert shell("receipts", "--store", url)[1].count(b"\n") == 1, "a repeat folds nothing"


def test_what_it_folds_is_folded_for_a_program_on_the_same_store(shell: Shell, url: str) -> None:  # noqa: F811
    shell.fit("--store", url, "--fold")
    session = Session(1_000_000, model="gpt-4o", store=url)
    body = session_of(40)
    assert session.fit(body) != body
    assert [done.number for done in session.undo()] == [1]
    assert session.fit(body) is body
    session.close()


def test_undo_and_redo_tell_what_they_did(shell: Shell, url: str) -> None:  # noqa: F811
    shell.fit("--store", url, "--fold")
    given, folded = (shell.folder / "given.json").read_bytes(), fitted(shell, "--store", url)
    told = json.loads((shell.folder / "report.json").read_text())
    line = shell("receipts", "--store", url)[1].decode()
    (key,) = re.findall(r"  ([0-9a-f]{8}) #1 ", line)
    numbers = f"folding 1 ({told['before']:,} → {told['after']:,} tokens)"
    undone = f"undone in session {key}: {numbers}; yohaku redo brings it back\n"
    assert shell("undo", "--store", url) == (0, undone.encode(), "")
    assert fitted(shell, "--store", url) == given
    assert shell("receipts", "--store", url)[1].decode() == line.rstrip("\n") + " (undone)\n"
    assert shell("undo", "--store", url) == (0, f"nothing to undo in session {key}\n".encode(), "")
    redone = f"standing again in session {key}: {numbers}\n"
    assert shell("redo", "--store", url, "--session", key[:4]) == (0, redone.encode(), "")
    assert fitted(shell, "--store", url) == folded
    assert shell("redo", "3", "--store", url) == (0, f"nothing to redo in session {key}\n".encode(), "")


def test_without_a_store_named_what_was_undone_is_left_open_too(shell: Shell, tmp_path: Path) -> None:  # noqa: F811
    """In a window in which it fits, though it would have been folded."""
    given, out = tmp_path / "given.json", tmp_path / "out.json"
    given.write_text(json.dumps(session_of(40)))
    total = json.loads(shell("count", str(given))[1])["tokens"]
    flags = ["fit", str(given), "--window", str(total + 10), "--reserve", "0", "-q", "--out", str(out)]
    assert shell(*flags)[0] == 0 and out.read_bytes() != given.read_bytes()
    folded = out.read_bytes()
    assert shell("undo")[0] == 0
    assert shell(*flags)[0] == 0 and out.read_bytes() == given.read_bytes()
    assert shell("redo")[0] == 0
    assert shell(*flags)[0] == 0 and out.read_bytes() == folded
    assert fitted(shell) == given.read_bytes(), "and still no fold is left for others"


def test_what_is_pinned_is_whole_in_the_next_fit(shell: Shell) -> None:  # noqa: F811
    ref, original = a_result(shell.fit()[1])
    assert shell("pin", f"ref={ref}")[1].decode().endswith(f": ref={ref}\n")
    words = "17.log 99: all is well"
    assert shell("pin", "--text", words)[1].decode().endswith(f": “{words}”\n")
    assert shell("pins")[1].decode() == f"ref={ref}\n“{words}”\n"
    out = shell.folder / "out.json"
    shell.fit("--out", str(out))
    entries = [str(entry["content"]) for entry in json.loads(out.read_text())["messages"]]
    assert any(original in text for text in entries) and any(words in text for text in entries)
    for what in ([ref], ["--text", words]):
        assert shell("unpin", *what)[0] == 0
        assert shell("unpin", *what)[0] == 2
    assert shell("pins")[1].decode().startswith("nothing is pinned in session ")


def test_a_pin_that_does_not_fit_says_how_to_unpin_it(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    body = session_of(3)
    body["messages"][2]["content"] = "the great log\n" * 3_000
    ref = ref_of(body["messages"][2]["content"])
    assert ref in shell.fit(body=body)[1]
    shell("pin", ref)
    code, _, error = shell("fit", str(shell.folder / "given.json"), *FIT)
    assert code == 3 and f"unpin ref={ref}, or use a larger window" in error and error.count("\n") == 1
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    assert f"ref={ref} のピンを外す" in shell("fit", str(shell.folder / "given.json"), *FIT)[2]


@pytest.mark.parametrize(
    "words",
    [
        ["undo"],
        ["redo"],
        ["pins"],
        ["pin", UNKNOWN],
        ["show", "--diff"],
        ["undo", "--session", "zzz"],
        ["pin", "--text", ""],
        ["pin", "no ref at all"],
        ["pin"],
        ["pin", UNKNOWN, "--text", "both"],
        ["undo", "0"],
        ["show", "--diff", "1", "2", "3"],
        ["show", "--diff", "9"],
        pytest.param(["show", "--diff", "9" * 5000], id="show --diff and many digits"),
        ["show", "--diff", "1", "nothing"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_one_plain_line(words: list[str], shell: Shell, data: Path) -> None:  # noqa: F811
    def tried() -> tuple[int, bytes, int]:
        try:
            code, out, error = shell(*words)
        except SystemExit as left:
            return int(str(left.code)), b"", 1
        return code, out, error.count("\n")

    assert tried() == (2, b"", 1) and not data.exists(), "a look makes no store"
    if words not in (["undo"], ["redo"], ["pins"], ["show", "--diff"]):
        shell.fit()
        assert tried() == (2, b"", 1)


def test_a_gist_is_not_pinned_but_undone(shell: Shell) -> None:  # noqa: F811
    shell.fit("--recipe", "auto")
    told = json.loads((shell.folder / "report.json").read_text())["folds"]
    gist = next(fold["ref"] for fold in told if fold["kind"] == "gist")
    code, _, error = shell("pin", gist)
    assert code == 2 and "yohaku undo" in error


def test_a_folding_is_not_pinned(shell: Shell, url: str) -> None:  # noqa: F811
    shell.fit("--store", url)
    folding = shell("receipts", "--store", url)[1].decode().split("#1 ")[1][:12]
    code, _, error = shell("pin", folding, "--store", url)
    assert code == 2 and folding in error
    assert b"pinned" in shell("pins", "--store", url)[1]


def test_a_diff_shows_what_foldings_changed(shell: Shell, url: str) -> None:  # noqa: F811
    for steps in (40, 80, 120):
        shell.fit("--store", url, body=session_of(steps))

    def lines(*which: str) -> list[str]:
        code, out, error = shell("show", "--diff", *which, "--store", url)
        assert (code, error) == (0, "")
        return out.decode().splitlines()

    rows = shell("receipts", "--store", url)[1].decode().splitlines()
    ids = [re.findall(rf" #{number + 1} ([a-z2-7]{{12}})  ", row)[0] for number, row in enumerate(rows)]
    last = lines()
    assert lines("3") == lines(ids[2]) == last
    assert re.fullmatch(r"--- before folding 3 \([\d,]+ tokens\)", last[0])
    assert re.fullmatch(r"\+\+\+ after folding 3 \([\d,]+ tokens\)", last[1])
    assert any(line.startswith("+gist ") for line in last) and any(line.startswith("-gist ") for line in last)
    assert lines("1", "3") == lines(ids[0], ids[2])
    assert lines("1", "3")[0].startswith("--- after folding 1 ") and lines("0", "1")[0].startswith(
        "--- before folding 1"
    )
    assert lines("2", "2") == ["no difference"]
    session = Session(1_000_000, model="gpt-4o", store=url)
    session.fit(session_of(120))
    assert session.diff().splitlines() == last and session.diff(1, 3).splitlines() == lines("1", "3")
    session.close()


def test_a_diff_is_coloured_on_a_terminal_and_nowhere_else(shell: Shell) -> None:  # noqa: F811
    shell.fit()
    assert b"\x1b" not in shell("show", "--diff")[1]
    command = [sys.executable, "-m", "yohaku", "show", "--diff"]
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        ours, theirs = pty.openpty()
        clean = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        subprocess.run(command, stdout=theirs, check=True, env={**clean, **environment})
        os.close(theirs)
        told = b""
        while chunk := _read(ours):
            told += chunk
        os.close(ours)
        assert (b"\x1b[32m+  result" in told) is coloured and b"+  result" in told


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""


def test_a_diff_of_a_session_that_folded_nothing_is_an_error_of_ours() -> None:
    session = Session(1_000_000, store=MemoryStore())
    session.fit(session_of(2))
    with pytest.raises(Exception, match="no folding 'the last' here"):
        session.diff()


def test_the_session_folded_last_is_meant_where_none_is_named(shell: Shell, url: str) -> None:  # noqa: F811
    for asked in ("First.", "Second."):
        body = session_of(40)
        body["messages"][0]["content"] = asked
        shell.fit("--store", url, body=body)
    rows = shell("receipts", "--store", url)[1].decode().splitlines()
    keys = {row.split()[2] for row in rows}
    assert len(keys) == 2
    store = stores.open(url)
    names = store.conversations()
    store.close()
    for name in names:
        assert name[:8] in shell("undo", "--store", url, "--session", name)[1].decode()
    assert shell("undo", "--store", url)[1].decode().startswith("nothing to undo in session ")
