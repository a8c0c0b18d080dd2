"""The command line as a user meets it: what it writes, what it says, and what it leaves alone."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import checkers
from tests.checkers.count import count, tokens

from yohaku.cli.main import main

CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USER = {"role": "user", "content": "x"}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "r"}

BAD: dict[str, tuple[bytes, str]] = {
    "broken JSON": (b'{"messages": [', "not whole JSON"),
    "wrong type": (b'{"messages": "x"}', "must be a list"),
    "unknown role": (json.dumps({"messages": [{"role": "bogus", "content": "x"}]}).encode(), "unknown role 'bogus'"),
    "missing result": (json.dumps({"messages": [USER, ASKS, USER]}).encode(), "messages[1]: call 'a' has no result"),
    "open call": (json.dumps({"messages": [USER, ASKS]}).encode(), "call 'a' has no result"),
    "result without call": (json.dumps({"messages": [USER, RESULT]}).encode(), "messages[1]: "),
    "duplicate id": (
        json.dumps({"messages": [USER, {**ASKS, "tool_calls": [CALL, CALL]}, RESULT, RESULT]}).encode(),
        "used twice",
    ),
    "two results": (json.dumps({"messages": [USER, ASKS, RESULT, RESULT]}).encode(), "two results"),
    "empty list": (b"[]", "empty"),
    "empty messages": (b'{"messages": []}', "empty"),
    "empty file": (b"", "empty"),
    "binary": (bytes(range(256)) * 20, "binary"),
    "not a conversation": (b'{"a": 1}', "not a request"),
    "a text": (b'"hello"', "not a conversation"),
    "content a number": (b'{"messages": [{"role": "user", "content": 5}]}', "content must be"),
    "torn gzip": (gzip.compress(b'{"messages": []}' * 50)[:-9], ""),
    "nested too deeply": (b"[" * 100_000, "too deeply"),
    "latin-1": ('{"messages": [{"role": "user", "content": "é"}]}'.encode("latin-1"), "UTF-8"),
}


def session_of(steps: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read the logs, and never delete anything."}]
    for number in range(steps):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}
        messages.append({"role": "assistant", "content": f"Step {number}.", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"line {number}\n" * 120})
    return {"model": "gpt-4o", "messages": messages, "temperature": 0.2, "x_unknown": {"kept": [1, 2]}}


@pytest.fixture(autouse=True)
def data(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a fit keeps what it folds: never in the home of who runs the tests."""
    folder = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    for name in ("YOHAKU_STORE", "YOHAKU_DATA"):
        monkeypatch.delenv(name, raising=False)
    return folder / "yohaku"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes | dict[str, Any]], str]:
    def write(content: bytes | dict[str, Any]) -> str:
        path = tmp_path / "given.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return str(path)

    return write


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_plain_line_and_nothing_is_written(
    case: str, write: Callable[..., str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    content, said = BAD[case]
    out, report = tmp_path / "out.json", tmp_path / "report.json"
    given = write(content)
    before = sorted(tmp_path.iterdir())
    assert main(["fit", given, "--window", "1000", "--out", str(out), "--report", str(report)]) == 2
    error = capfd.readouterr()
    assert error.out == "" and error.err.count("\n") == 1 and error.err.startswith("yohaku: ")
    assert said in error.err and "Traceback" not in error.err
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_a_missing_file_and_a_huge_one_are_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(500 * 2**20)
    for name, said in ((tmp_path, "folder"), (tmp_path / "none", "no such file"), (huge, "more than")):
        assert main(["fit", str(name), "--window", "1000"]) == 2
        assert said in capfd.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(write: Callable[..., str], capfd: pytest.CaptureFixture[str]) -> None:
    path = Path(write(session_of(1)))
    path.chmod(0)
    assert main(["fit", str(path), "--window", "1000"]) == 2
    assert "permission" in capfd.readouterr().err


def test_what_fits_leaves_as_the_same_bytes(
    write: Callable[..., str], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    raw = b'{"messages": [ {"role":"user", "content":"caf\\u00e9 \xe4\xbd\x99\xe7\x99\xbd"} ],\n "extra": 1.50}\n'
    assert main(["fit", write(raw), "--window", "1000"]) == 0
    assert capfdbinary.readouterr().out == raw
    assert main(["fit", write(gzip.compress(raw)), "--window", "1000"]) == 0
    assert capfdbinary.readouterr().out == raw


def test_what_does_not_fit_is_folded_and_reported(write: Callable[..., str], tmp_path: Path) -> None:
    given = session_of(40)
    out, report = tmp_path / "out.json", tmp_path / "report.json"
    path = write(given)
    assert main(["fit", path, "--window", "4096", "--out", str(out), "--report", str(report), "-q"]) == 0
    body, told = json.loads(out.read_text()), json.loads(report.read_text())
    assert checkers.DIALECTS["openai_chat"].problems(body) == []
    assert checkers.DIALECTS["openai_chat"].intact(given, body) == []
    assert count(body, "openai_chat") <= told["limit"] == 4096 - 512
    assert told["verdict"] == "folded" and told["after"] <= told["limit"] < told["before"] and told["exact"]
    assert {"verdict", "before", "after", "limit", "exact", "folds", "asks", "survived"} <= told.keys()
    assert all(fold.keys() == {"kind", "ref", "what", "before", "after", "why"} for fold in told["folds"])
    assert told["survived"]["lost"] == 0 and told["survived"]["by_ref"] > 0


def test_what_cannot_fit_is_exit_3_with_the_reason(
    write: Callable[..., str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = {"messages": [{"role": "system", "content": "rule " * 2000}, USER]}
    out, report = tmp_path / "out.json", tmp_path / "report.json"
    assert main(["fit", write(given), "--window", "1024", "--out", str(out), "--report", str(report)]) == 3
    error = capfd.readouterr().err
    assert "the system prompt" in error and "896" in error and error.count("\n") == 1
    assert not out.exists()
    assert json.loads(report.read_text())["verdict"] == "too_big"


@pytest.mark.parametrize("name", checkers.DIALECTS)
def test_any_dialect_can_be_asked_for(name: str, write: Callable[..., str], tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    assert main(["fit", write(session_of(30)), "--window", "4096", "--dialect", name, "--out", str(out), "-q"]) == 0
    assert checkers.DIALECTS[name].problems(json.loads(out.read_text())) == []


def test_count_says_how_sure_it_is(write: Callable[..., str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["count", write("こんにちは、世界".encode()), "--text", "--model", "gpt-4o"]) == 0
    assert json.loads(capfd.readouterr().out) == {
        "tokens": tokens("こんにちは、世界"),
        "exact": True,
        "meter": "o200k_base",
    }
    assert main(["count", write(session_of(2)), "--model", "some-model-nobody-knows"]) == 0
    assert json.loads(capfd.readouterr().out)["exact"] is False


def test_show_tells_before_after_and_why(write: Callable[..., str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["show", write(session_of(40)), "--window", "4096"]) == 0
    shown = capfd.readouterr().out
    assert "-- before" in shown and "-- after" in shown and "ref=" in shown and "result: superseded; ref=" in shown


def test_messages_are_in_the_language_of_the_user(
    write: Callable[..., str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    assert main(["fit", write(BAD["missing result"][0]), "--window", "1000"]) == 2
    assert "会話の形式が正しくありません" in capfd.readouterr().err
    assert main(["fit", write(session_of(1)), "--window", "100000"]) == 0
    assert "収まっています" in capfd.readouterr().err


def test_misuse_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    for arguments in (["fit", "--window", "-5"], ["fit", "--nonsense"], ["bogus"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
        assert capfd.readouterr().err.count("\n") == 1


def test_a_window_is_needed_and_an_unknown_model_is_told(
    write: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", write({"messages": [USER]})]) == 2
    assert "--window" in capfd.readouterr().err
    assert main(["fit", write({"messages": [USER]}), "--model", "nobody-knows-it"]) == 0
    assert "unknown model 'nobody-knows-it'" in capfd.readouterr().err


def test_a_pipe_that_closes_early_is_no_trouble(write: Callable[..., str]) -> None:
    command = f"{sys.executable} -m yohaku fit {write(session_of(400))} --window 1000000 -q | head -c 10"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == "" and len(done.stdout) == 10


def test_what_is_no_plain_file_is_written_to_and_not_replaced(write: Callable[..., str], tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    given = write({"messages": [USER]})
    assert main(["fit", given, "--window", "1000", "--out", str(link), "-q"]) == 0
    assert link.is_symlink() and json.loads(real.read_text()) == {"messages": [USER]}
    assert real.stat().st_mode & 0o777 == 0o600
    assert main(["fit", given, "--window", "1000", "--out", os.devnull, "-q"]) == 0
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("out", ["", ".", "given.json/x", "n" * 300])
def test_a_place_that_cannot_be_written_is_one_line(
    out: str, write: Callable[..., str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = Path(write({"messages": [USER]}))
    monkeypatch.chdir(given.parent)
    assert main(["fit", str(given), "--window", "1000", "--out", out]) == 2
    assert capfd.readouterr().err.count("\n") == 1


def test_half_a_letter_is_written_as_an_escape(write: Callable[..., str], tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    given = write(b'{"messages": [{"role": "user", "content": "a\\ud800b"}]}')
    assert main(["fit", given, "--window", "1000", "--dialect", "anthropic", "--out", str(out), "-q"]) == 0
    assert main(["count", str(out)]) == 0
