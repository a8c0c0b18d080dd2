"""In a real terminal: start, work, fold, take back, resume, quit; against a server that plays a part."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import yohaku
from tests.agent.fakes import Asked, FakeServer, Played, spoken

pytestmark = pytest.mark.skipif(
    shutil.which("tmux") is None and os.environ.get("YOHAKU_SERVERS") != "required",
    reason="tmux is not installed: apt-get install tmux",
)

MODELS = {"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": 8192}]}
CALLS = 6
SECONDS = 60.0


class Part:
    """Asked to work it reads logs, each another; asked anything else, or when that is done, it has the answer."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, asked: Asked) -> Played:
        text = next(str(entry["content"]) for entry in reversed(asked.body["messages"]) if entry["role"] == "user")
        if "work" not in text or self.calls == CALLS:
            return spoken("openai_chat", "答えは **42** です。", prompt=0)
        self.calls += 1
        first = 1000 * self.calls
        command = f"seq {first} {first + 300} | sed 's/^/request took ms: /'"
        return spoken("openai_chat", f"Log {first}. ", calls=[("bash", {"command": command})], prompt=0)


@pytest.fixture
def url() -> Iterator[str]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = FakeServer(Part(), {"/v1/models": MODELS})
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    yield f"{server.url}/v1#m"
    asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


class Terminal:
    def __init__(self, folder: Path, columns: int = 100, lines: int = 30) -> None:
        self.folder = folder
        self.size = ("-x", str(columns), "-y", str(lines))
        self.starts = 0

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-L", f"yohaku-{os.getpid()}-{self.starts}", "-f", "/dev/null", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def start(self, *arguments: str) -> None:
        self.starts += 1  # a server of its own: the last one may still be ending
        variables = {"PYTHONPATH": str(Path(yohaku.__file__).parent.parent), "LANG": "C.UTF-8", "NO_PROXY": "*"}
        variables |= {name: str(self.folder / "home") for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
        program = shlex.join([sys.executable, "-m", "yohaku", *arguments])
        line = f"cd {shlex.quote(str(self.folder))} && env {settings} {program}; echo ended $?; sleep 600"
        self.tmux("new-session", "-d", *self.size, line)

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)
        self.until(text[:20])
        self.tmux("send-keys", "Enter")

    def until(self, text: str) -> str:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if text in (page := self.tmux("capture-pane", "-p")):
                return page
            time.sleep(0.1)
        raise AssertionError(f"{text!r} is not on the screen:\n{page}")

    def stop(self) -> None:
        self.tmux("kill-server")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    (tmp_path / "home").mkdir()
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.stop()


@pytest.mark.slow
def test_start_work_fold_undo_resume_quit(terminal: Terminal, url: str) -> None:
    terminal.start("--model", url, "--yolo")
    terminal.until("/ 7K (")
    terminal.type("please work")
    page = terminal.until("答えは 42 です。")
    assert "Folded: " in page and " → " in page
    terminal.type("/undo")
    terminal.until("Taken back: 1")
    terminal.type("/quit")
    page = terminal.until("ended 0")
    assert "yohaku --resume " in page and "Traceback" not in page
    terminal.stop()
    terminal.start("--model", url, "--resume")
    terminal.until("答えは 42 です。")
    terminal.tmux("send-keys", "C-c")
    terminal.until("once more")
    terminal.tmux("send-keys", "C-c")
    terminal.until("ended 0")
