"""`yohaku run`: a client of its own, started with the proxy in front of its upstream."""

from __future__ import annotations

import asyncio
import json
import os
import sys
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


def test_the_client_runs_behind_the_proxy_and_its_exit_code_is_ours(out: Path) -> None:
    upstream = StrictUpstream("anthropic", 8192)
    code = run(upstream, after=("--window", "8192", "--model", "small", "--store", "memory:", "-p", "go on"))
    assert (code, upstream.refused) == (7, 0)
    told: dict[str, Any] = json.loads(out.read_text())
    assert told["args"] == ["-p", "go on"] and told["model"] == "small" and told["bytes"]
    assert upstream.sent[0][1]["x-api-key"] == "mine"


def test_options_may_stand_before_the_client_too(out: Path) -> None:
    upstream = StrictUpstream("anthropic", 8192)
    assert run(upstream, "--window=8192", "--store", "memory:", after=("--window-size", "3")) == 7
    assert json.loads(out.read_text())["args"] == ["--window-size", "3"] and upstream.refused == 0


def test_a_client_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert main(["run", "codex"]) == 2
    assert capsys.readouterr().err.startswith("yohaku: codex is not installed")
