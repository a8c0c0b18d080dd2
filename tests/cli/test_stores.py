"""Stores on the command line: what a fit folded opens later, and no store can fail a fit."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yohaku import Session, messages, stores
from yohaku.cli.main import main
from yohaku.core.errors import BadSetting, StoreFailed
from yohaku.core.originals import ref_of
from yohaku.stores.fallback import FallbackStore
from yohaku.stores.memory import MemoryStore
from yohaku.stores.rows import read_record, write_record
from yohaku.stores.sqlite import SQLiteStore

UNKNOWN = "a" * 12
FIT = ["--window", "4096", "--recipe", "local", "-q"]


@pytest.fixture(autouse=True)
def data(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a fit keeps what it folds: never in the home of who runs the tests."""
    folder = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    for name in ("YOHAKU_STORE", "YOHAKU_DATA", "YOHAKU_LANG", "YOHAKU_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return folder / "yohaku"


def session_of(steps: int) -> dict[str, Any]:
    entries: list[dict[str, Any]] = [{"role": "user", "content": "Read the logs, and never delete anything."}]
    for number in range(steps):
        arguments = json.dumps({"command": f"cat {number}.log"})
        call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": arguments}}
        entries.append({"role": "assistant", "content": f"Step {number}.", "tool_calls": [call]})
        entries.append({"role": "tool", "tool_call_id": f"c{number}", "content": output(number)})
    return {"model": "gpt-4o", "messages": entries}


def output(number: int) -> str:
    return "".join(f"{number}.log {line}: all is well\n" for line in range(120)) + f"余白 {number}"


class Shell:
    """What a user sees of `yohaku`, without the process."""

    def __init__(self, folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        self.folder, self._capture = folder, capfdbinary

    def __call__(self, *arguments: str) -> tuple[int, bytes, str]:
        code = main(list(arguments))
        said = self._capture.readouterr()
        return code, said.out, said.err.decode()

    def fit(self, *flags: str, body: dict[str, Any] | None = None) -> tuple[int, list[str], str]:
        """What `fit` ends with, the refs of results in its report, and what it said."""
        given, report = self.folder / "given.json", self.folder / "report.json"
        given.write_text(json.dumps(body or session_of(40)))
        code, _, error = self("fit", str(given), *FIT, "--report", str(report), *flags)
        return code, [fold["ref"] for fold in json.loads(report.read_text())["folds"]], error


@pytest.fixture
def shell(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Shell:
    return Shell(tmp_path, capfdbinary)


def a_result(refs: list[str]) -> tuple[str, str]:
    """A ref of the report that stands for an output, and the output."""
    known = {ref_of(output(number)): output(number) for number in range(40)}
    return next((ref, known[ref]) for ref in refs if ref in known)


def test_a_ref_of_a_fit_opens_later_as_the_same_bytes(shell: Shell, data: Path) -> None:
    code, refs, error = shell.fit()
    assert (code, error) == (0, "")
    ref, original = a_result(refs)
    assert shell("recall", ref, "--raw") == (0, original.encode(), "")
    assert all(shell("recall", each, "--raw")[0] == 0 for each in refs)
    assert stat.S_IMODE((data / "store.db").stat().st_mode) == 0o600
    assert stat.S_IMODE(data.stat().st_mode) == 0o700


def test_what_a_search_shows_opens_where_it_was_found(shell: Shell) -> None:
    shell.fit()
    place = shell("recall", "--search", "7.log 30:")[1].decode().split(": ")[0]
    ref, line = place.removeprefix("ref=").split(":")
    assert shell("recall", place) == shell("recall", ref, "--offset", line)


def test_it_opens_in_another_process_too(shell: Shell) -> None:
    ref, original = a_result(shell.fit()[1])
    command = [sys.executable, "-m", "yohaku", "recall", ref, "--raw"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == original.encode()


def test_lines_are_numbered_and_the_next_offset_is_said(shell: Shell) -> None:
    ref, original = a_result(shell.fit()[1])
    lines = original.split("\n")
    expected = f"[ref={ref}: lines 5-6 of 121]\n     5: {lines[4]}\n     6: {lines[5]}\n[more from offset=7]\n"
    for given in (ref, f"ref={ref}", f"[ref={ref}]"):
        assert shell("recall", given, "--offset", "5", "--limit", "2") == (0, expected.encode(), "")
    whole = shell("recall", ref)[1].decode().splitlines()
    assert len(whole) == 122 and whole[-1] == f"   121: {lines[120]}"


def test_a_limit_that_was_asked_for_is_kept_to_however_long_the_lines(shell: Shell, data: Path) -> None:
    text = ("x" * 1000 + "\n") * 300
    store = SQLiteStore(data / "store.db")
    store.put(ref_of(text), text)
    store.close()
    assert len(shell("recall", ref_of(text))[1].splitlines()) < 60
    assert len(shell("recall", ref_of(text), "--limit", "300")[1].splitlines()) == 301


def test_a_pattern_shows_the_lines_that_match_it(shell: Shell) -> None:
    ref, original = a_result(shell.fit()[1])
    line = original.split("\n")[77]
    expected = f"[ref={ref}: 1 of 121 lines match]\n    78: {line}\n"
    assert shell("recall", ref, "--grep", r"\b77: ") == (0, expected.encode(), "")
    code, out, error = shell("recall", ref, "--grep", "(")
    assert (code, out, error.count("\n")) == (2, b"", 1) and "'('" in error


def test_a_search_finds_words_in_everything_that_is_kept_also_japanese(shell: Shell) -> None:
    ref, original = a_result(shell.fit()[1])
    word = original.split("\n")[120]
    code, out, error = shell("recall", "--search", word)
    assert code == 0 and error == "" and f"ref={ref}:121: {word}" in out.decode().splitlines()
    assert shell("recall", "--search", "nowhere at all")[1].decode() == (
        "nothing that is kept has “nowhere at all” in a line\n"
    )


def test_a_search_that_found_more_says_so(shell: Shell) -> None:
    shell.fit()
    out = shell("recall", "--search", "well", "--limit", "3")[1].decode().splitlines()
    assert len(out) == 4 and out[3].startswith("there may be more")


def test_bytes_are_told_and_given_raw(shell: Shell, data: Path) -> None:
    picture = bytes(range(256)) * 3
    store = SQLiteStore(data / "store.db")
    store.put(ref_of(picture), picture)
    store.close()
    assert shell("recall", ref_of(picture))[1].decode() == f"[ref={ref_of(picture)}: 768 bytes, not text]\n"
    assert shell("recall", ref_of(picture), "--raw") == (0, picture, "")


@pytest.mark.parametrize("command", ["recall", "why"])
@pytest.mark.parametrize("ref", [UNKNOWN, "../../etc/passwd", "", "%"])
def test_an_unknown_ref_is_one_plain_line(command: str, ref: str, shell: Shell, data: Path) -> None:
    for folded in (False, True):
        if folded:
            shell.fit()
        assert data.exists() is folded, "a look makes no store"
        assert shell(command, ref) == (2, b"", f"yohaku: unknown ref {ref!r}\n")


@pytest.mark.parametrize(
    "flags", [[], [UNKNOWN, "--search", "x"], [UNKNOWN, "--raw", "--limit", "3"], [UNKNOWN, "--raw", "--offset", "3"]]
)
def test_a_recall_that_cannot_be_meant_is_one_plain_line(flags: list[str], shell: Shell) -> None:
    code, out, error = shell("recall", *flags)
    assert (code, out, error.count("\n")) == (2, b"", 1)


def test_a_fit_that_folds_nothing_makes_no_store(shell: Shell, data: Path) -> None:
    assert shell.fit(body=session_of(1))[:2] == (0, [])
    assert not data.exists()


def test_a_fit_does_not_depend_on_those_before_it(shell: Shell, tmp_path: Path) -> None:
    given, out = tmp_path / "given.json", tmp_path / "out.json"
    shell.fit("--out", str(out))
    first = out.read_bytes()
    assert shell("fit", str(given), "--window", "1000000", "-q") == (0, given.read_bytes(), "")
    assert shell("fit", str(given), *FIT) == (0, first, "")


def test_a_fit_leaves_no_folds_for_the_sessions_of_a_program_on_the_same_store(shell: Shell, data: Path) -> None:
    shell.fit()
    session = Session(1_000_000, model="gpt-4o", store=stores.default_url(data))
    body = session_of(40)
    assert session.fit(body) is body
    session.store.close()


def test_the_store_is_the_one_named_else_the_one_set_else_the_users_own(
    shell: Shell, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, chosen = tmp_path / "named.db", tmp_path / "set.db"
    monkeypatch.setenv("YOHAKU_STORE", f"sqlite://{chosen}")
    ref, _ = a_result(shell.fit("--store", f"sqlite://{named}")[1])
    assert (named.exists(), chosen.exists(), data.exists()) == (True, False, False)
    assert shell("recall", ref)[0] == 2
    assert shell("recall", ref, "--store", f"sqlite://{named}")[0] == 0
    shell.fit()
    assert (chosen.exists(), data.exists()) == (True, False)
    assert shell("recall", ref)[0] == 0


def test_a_store_in_memory_keeps_nothing(shell: Shell, data: Path) -> None:
    ref, _ = a_result(shell.fit("--store", "memory:")[1])
    assert not data.exists() and shell("recall", ref)[0] == 2


def spoil_folder(data: Path) -> None:
    data.write_text("a file where the folder should be")


def spoil_file(data: Path) -> None:
    data.mkdir()
    (data / "store.db").write_bytes(b"this is no database" * 100)


def spoil_later(data: Path) -> None:
    data.mkdir()
    database = sqlite3.connect(data / "store.db")
    database.execute("PRAGMA user_version = 1000")
    database.close()


def spoil_address(data: Path) -> None:
    os.environ["YOHAKU_STORE"] = "ftp://nobody"


def spoil_server(data: Path) -> None:
    os.environ["YOHAKU_STORE"] = "redis://127.0.0.1:1"


@pytest.mark.parametrize("spoil", [spoil_folder, spoil_file, spoil_later, spoil_address, spoil_server])
def test_no_store_fails_a_fit_and_one_line_says_so(
    spoil: Callable[[Path], None], shell: Shell, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YOHAKU_STORE", "")
    out = tmp_path / "out.json"
    shell.fit("--out", str(out), "--store", "memory:")
    expected = out.read_bytes()
    spoil(data)
    code, refs, error = shell.fit("--out", str(out))
    assert code == 0 and out.read_bytes() == expected
    assert re.fullmatch(r"yohaku: the store .*; going on in memory: what is folded now cannot be opened later\n", error)
    code, shown, error = shell("recall", refs[0])
    assert (code, shown, error.count("\n")) == (2, b"", 1)


def test_a_store_that_fails_is_said_in_japanese(shell: Shell, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    spoil_file(data)
    code, _, error = shell.fit()
    assert code == 0 and error.count("\n") == 1 and "メモリで続けます" in error and str(data) in error


@pytest.mark.parametrize("url", ["ftp://nobody", "nonsense", "sqlite:"])
def test_a_store_that_is_named_wrongly_is_misuse(url: str, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "given.json").write_text(json.dumps(session_of(40)))
    for words in (["fit", str(tmp_path / "given.json"), *FIT], ["recall", UNKNOWN], ["receipts"], ["collect"]):
        code, out, error = shell(*words, "--store", url)
        assert (code, out, error.count("\n")) == (2, b"", 1), words


def test_receipts_tell_what_was_folded_and_when(shell: Shell, data: Path, tmp_path: Path) -> None:
    assert shell("receipts")[1].decode() == f"no folding is recorded in sqlite://{data / 'store.db'}\n"
    shell.fit()
    told = json.loads((tmp_path / "report.json").read_text())
    (line,) = shell("receipts")[1].decode().splitlines()
    day = time.strftime("%Y-%m-%d")
    numbers = f"{told['before']:,} → {told['after']:,} of {told['limit']:,} tokens, {len(told['folds'])} folds: "
    assert re.match(rf"{day} \d\d:\d\d  [0-9a-f]{{8}} #1 [a-z2-7]{{12}}  {re.escape(numbers)}", line)
    shell.fit(body=session_of(60))
    assert len(shell("receipts")[1].splitlines()) == 2
    assert shell("receipts", "--limit", "1")[1].splitlines() == shell("receipts")[1].splitlines()[1:]


def test_rows_of_other_programs_are_passed_over(shell: Shell, data: Path) -> None:
    store = SQLiteStore(data / "store.db")
    for row in ("not JSON", "[]", "{}", '{"at": 1}'):
        store.record("theirs", row)
    store.close()
    assert shell("receipts")[1].startswith(b"no folding")
    assert shell("why", UNKNOWN)[0] == 2


def test_why_tells_what_a_ref_stands_for(shell: Shell, tmp_path: Path) -> None:
    shell.fit()
    told = json.loads((tmp_path / "report.json").read_text())
    for fold in told["folds"]:
        code, out, error = shell("why", f"ref={fold['ref']}")
        assert (code, error) == (0, "")
        reason, numbers = out.decode().splitlines()
        assert reason == ": ".join(messages.describe(fold["what"], fold["why"], "en"))
        assert numbers.startswith(f"{fold['before']:,} → {fold['after']:,} tokens; last folded ")


def test_why_of_what_was_kept_without_a_folding_says_that_it_opens(shell: Shell, data: Path) -> None:
    store = SQLiteStore(data / "store.db")
    store.put(ref_of("text"), "text")
    store.close()
    ref = ref_of("text")
    said = f"yohaku: no folding is recorded for {ref}, but yohaku recall {ref} opens it\n"
    assert shell("why", ref) == (2, b"", said)


def aged(data: Path, days: int) -> None:
    database = sqlite3.connect(data / "store.db")
    database.execute("UPDATE originals SET at = at - ?", (days * 86_400,))
    for number, name, row in database.execute("SELECT id, conversation, row FROM records").fetchall():
        told = json.loads(read_record(name, row, "here"))
        older = write_record(name, json.dumps({**told, "at": told["at"] - days * 86_400}))
        database.execute("UPDATE records SET row = ? WHERE id = ?", (older, number))
    database.commit()
    database.close()


def test_collect_removes_what_is_old_and_a_dry_run_only_says_so(shell: Shell, data: Path) -> None:
    refs = set(shell.fit()[1])
    assert shell("collect")[1].startswith(b"removed 0 originals")
    aged(data, 31)
    assert shell("collect", "--older-than", "40")[1].startswith(b"removed 0 originals")
    told = rf"{len(refs) + 1} originals \([1-9].* 0 folds and 1 records; 0 bytes "  # and what the folding recorded
    assert re.match(f"would remove {told}", shell("collect", "--dry-run")[1].decode())
    assert shell("receipts")[1].count(b"\n") == 1
    assert all(shell("recall", ref)[0] == 0 for ref in refs)
    assert re.match(f"removed {told}are left", shell("collect")[1].decode())
    assert shell("receipts")[1].startswith(b"no folding")
    assert all(shell("recall", ref)[0] == 2 for ref in refs)


def test_collect_removes_what_is_old_for_every_tenant(shell: Shell, data: Path) -> None:
    store = SQLiteStore(data / "store.db")
    for name in ("one", "two"):
        store.of(name).put(ref_of(f"of {name}"), f"of {name}")
    store.close()
    aged(data, 31)
    assert shell("collect")[1].startswith(b"removed 2 originals")


def test_collect_keeps_to_a_size_by_removing_the_oldest(shell: Shell, data: Path) -> None:
    store = SQLiteStore(data / "store.db")
    texts = ["old " * 400, "new " * 400]
    for text in texts:
        store.put(ref_of(text), text)
    store.close()
    aged(data, 1)
    assert shell("collect", "--size", "1 GB")[1].startswith(b"removed 0 originals")
    assert shell("collect", "--size", "0.001kb")[1].startswith(b"removed 2 originals")
    with pytest.raises(SystemExit, match="2"):
        shell("collect", "--size", "much")


def test_collect_says_what_must_stay_though_it_is_too_much(shell: Shell, data: Path) -> None:
    session = Session(4_096, model="gpt-4o", store=stores.default_url(data))
    session.fit(session_of(40))
    session.close()
    aged(data, 1)
    removed, over = shell("collect", "--size", "1b")[1].decode().splitlines()
    assert removed.startswith("removed 0 originals")
    assert re.fullmatch("[0-9,]+ bytes more than wished for must stay: folds still show them", over)


def test_collect_spares_what_was_just_put_and_what_a_program_still_shows(shell: Shell, data: Path) -> None:
    refs = shell.fit()[1]
    assert shell("collect", "--older-than", "0")[1].startswith(b"removed 0 originals")
    session = Session(4_096, recipe="local", model="gpt-4o", store=stores.default_url(data))
    session.fit(session_of(40))
    session.store.close()
    aged(data, 31)
    shell("collect")
    assert [shell("recall", ref)[0] for ref in refs] == [0] * len(refs)


def test_a_session_takes_the_url_of_a_store(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path / 'store.db'}"
    first = Session(4_096, model="gpt-4o", store=url)
    out = first.fit(session_of(40))
    assert first.receipt is not None and first.warnings == ()
    first.store.close()
    second = Session(4_096, model="gpt-4o", store=url)
    assert second.fit(session_of(40)) == out
    alone = Session(4_096, model="gpt-4o")
    assert alone.fit(session_of(40)) == out
    assert all(second.recall(fold.ref) == alone.recall(fold.ref) for fold in first.receipt.folds)
    second.store.close()
    with pytest.raises(BadSetting):
        Session(4_096, store="ftp://nobody")


def test_a_session_whose_store_fails_goes_on_in_memory_and_says_so_once(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"this is no database" * 100)
    for store in (SQLiteStore(tmp_path / "store.db"), f"sqlite://{tmp_path / 'store.db'}"):
        session = Session(4_096, model="gpt-4o", store=store)
        assert session.fit(session_of(40)) == Session(4_096, model="gpt-4o").fit(session_of(40))
        session.fit(session_of(60))
        (warning,) = session.warnings
        assert warning.code == "store_failed" and warning.facts["where"] == str(tmp_path / "store.db")
        assert session.receipt is not None
        assert all(session.recall(fold.ref) for fold in session.receipt.folds)
        with pytest.raises(StoreFailed):
            session.recall(UNKNOWN)


def test_a_store_that_cannot_fail_or_is_sheltered_is_taken_as_it_is() -> None:
    for store in (MemoryStore(), FallbackStore(MemoryStore())):
        assert Session(4_096, store=store).store is store


def test_one_row_is_recorded_for_each_folding_with_the_folds_made_by_it() -> None:
    store = MemoryStore()
    session = Session(4_096, model="gpt-4o", store=store)
    made: list[list[str]] = []
    for steps in (1, 20, 21, 40):
        session.fit(session_of(steps))
        assert session.receipt is not None
        if session.receipt.outcome.folds:
            made.append([fold.ref for fold in session.receipt.outcome.folds])
    (conversation,) = store.conversations()
    rows = [json.loads(row) for row in store.recorded(conversation)]
    assert [[fold["ref"] for fold in row["folds"]] for row in rows] == made and len(made) > 1


def test_help_and_a_fit_that_folds_nothing_load_no_database() -> None:
    code = (
        "import sys; from yohaku.cli.main import main; sys.stdout = open('/dev/null', 'w')\n"
        "main(['fit', '-', '--window', '1000', '-q']); sys.stderr.write(str('sqlite3' in sys.modules))"
    )
    given = json.dumps({"messages": [{"role": "user", "content": "x"}]})
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True, check=True)
    assert done.stderr == "False"
