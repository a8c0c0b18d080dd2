"""`yohaku run`: a client of its own, started with the proxy in front of its upstream."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.proxy.fakes import StrictUpstream, conversation, running

from yohaku.cli.main import main

CLIENT = """#!{python}
import json, os, sys, urllib.request
base = os.environ["ANTHROPIC_BASE_URL"]
body = json.load(open({body!r}))
headers = {{"x-api-key": os.environ["ANTHROPIC_API_KEY"]}}
request = urllib.request.Request(base + "/v1/messages", json.dumps(body).encode(), headers)
data = urllib.request.urlopen(request).read()
json.dump({{"args": sys.argv[1:], "model": os.environ.get("ANTHROPIC_MODEL"), "bytes": len(data)}}, open({out!r}, "w"))
sys.exit(7)
"""


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found, body, program = tmp_path / "out.json", tmp_path / "body.json", tmp_path / "bin" / "claude"
    body.write_text(json.dumps(conversation(60, dialect="anthropic")))
    program.parent.mkdir()
    program.write_text(CLIENT.format(python=sys.executable, body=str(body), out=str(found)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("YOHAKU_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "mine")
    return found


def run(upstream: StrictUpstream, *before: str, after: tuple[str, ...] = ()) -> int:
    async def started() -> int:
        async with running(upstream, window=8192):
            words = ["run", *before, "claude", "--upstream", upstream.url, *after]
            return await asyncio.to_thread(main, words)

    return asyncio.run(started())


def test_the_client_runs_behind_the_proxy_and_its_exit_code_is_ours(
    out: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    upstream = StrictUpstream("anthropic", 8192)
    code = run(upstream, after=("--window", "8192", "--model", "small", "--store", "memory:", "-p", "go on"))
    assert (code, upstream.refused) == (7, 0)
    told: dict[str, Any] = json.loads(out.read_text())
    log = out.parent / "data" / "run.log"
    assert " folded: " in log.read_text() and log.stat().st_mode & 0o77 == 0 and capfd.readouterr().err == ""
    assert told["args"] == ["-p", "go on"] and told["model"] == "small" and told["bytes"]
    assert upstream.sent[0][1]["x-api-key"] == "mine"


def test_options_may_stand_before_the_client_too(out: Path) -> None:
    upstream = StrictUpstream("anthropic", 8192)
    assert run(upstream, "--window=8192", "--store", "memory:", after=("--window-size", "3")) == 7
    assert json.loads(out.read_text())["args"] == ["--window-size", "3"] and upstream.refused == 0


SLOW = """#!{python}
import os, signal, sys, time
def interrupted(*_):
    time.sleep(1)
    open({out!r}, "w").write("went on")
    sys.exit(5)
if {handles}:
    signal.signal(signal.SIGINT, interrupted)
open({out!r} + ".ready", "w").write(os.environ["ANTHROPIC_AUTH_TOKEN"])
time.sleep(60)
"""


def start_slow(tmp_path: Path, handles: bool) -> tuple[subprocess.Popen[bytes], Path]:
    out, program = tmp_path / "out", tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(SLOW.format(python=sys.executable, out=str(out), handles=handles))
    program.chmod(0o755)
    environment = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "YOHAKU_DATA": str(tmp_path / "data")}
    words = [sys.executable, "-m", "yohaku", "run", "claude", "--upstream", "http://127.0.0.1:9"]
    process = subprocess.Popen(words, env=environment, start_new_session=True)
    ready = Path(f"{out}.ready")
    while not ready.exists() and process.poll() is None:
        time.sleep(0.05)
    assert ready.exists()
    return process, out


def test_ctrl_c_is_the_clients_and_it_may_go_on(tmp_path: Path) -> None:
    process, out = start_slow(tmp_path, handles=True)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(30) == 5 and out.read_text() == "went on"


def test_a_signal_to_end_reaches_the_client_and_leaves_nothing_behind(tmp_path: Path) -> None:
    process, out = start_slow(tmp_path, handles=False)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 128 + signal.SIGTERM
    assert list((tmp_path / "data").glob("run-*")) == []
    assert Path(f"{out}.ready").read_text() == "not-needed"
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_a_client_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert main(["run", "codex"]) == 2
    assert capsys.readouterr().err.startswith("yohaku: codex is not installed")


def test_a_client_that_is_missing_is_said_with_the_command_that_installs_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert main(["run", "qwen"]) == 2
    assert "npm install -g @qwen-code/qwen-code" in capsys.readouterr().err
