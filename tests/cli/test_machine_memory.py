"""A start on machines of several sizes: the memory that the kernel tells chooses the window of a local model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.agent.fakes import Asked, FakeServer, Played, spoken, whole
from tests.agent.host.test_capacity import EIGHT, LLAMA

from yohaku.agent.host.speed_cache import SpeedCache
from yohaku.client.endpoint import Endpoint

MODEL = "llama3.1:8b"
ON_THIS_MACHINE = 'mount --bind "$0" /proc/meminfo && mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
"""Run a command where a file stands for the memory, and no container has a limit."""


@pytest.fixture
def run_with(project: Path, tmp_path: Path) -> Callable[..., str]:
    """Run `yohaku` on a machine of so many gigabytes, all of them free."""
    unshare = shutil.which("unshare")
    if not unshare or os.geteuid() != 0:
        pytest.skip("only root may show a program another memory")
    if subprocess.run([unshare, "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")

    def run(gigabytes: int, *arguments: str) -> str:
        told = tmp_path / "meminfo"
        rows = ("MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "Active", "Inactive", "Shmem")
        sizes = {"Buffers": 0, "Cached": 0, "Active": 0, "Inactive": 0, "Shmem": 0}
        told.write_text("".join(f"{row}: {sizes.get(row, gigabytes << 20):>12} kB\n" for row in rows))
        command = [unshare, "-m", "sh", "-c", ON_THIS_MACHINE, str(told), sys.executable, "-m", "yohaku", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def play_ollama(info: dict[str, object]) -> Callable[[Asked], Played]:
    def answer(asked: Asked) -> Played:
        if asked.path == "/api/show":
            return whole({"model_info": info, "capabilities": ["completion", "tools"], "details": {}})
        return spoken("ollama", "Hello.", prompt=len(json.dumps(asked.body)) // 4)

    return answer


@pytest.mark.parametrize(
    ("info", "windows"),
    [
        pytest.param(LLAMA, {8: 4_096, 16: 32_768, 64: 131_072}, id="by its metadata"),
        pytest.param({}, {8: 4_096, 16: 16_384, 64: 98_304}, id="by the guide"),
    ],
)
def test_memory_and_model_choose_the_window_at_the_start(
    info: dict[str, object],
    windows: dict[int, int],
    serve: Callable[..., FakeServer],
    run_with: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # L11
    gets = {"/api/tags": {"models": [{"name": MODEL, "size": EIGHT}]}, "/api/ps": {"models": []}}
    server = serve(play_ollama(info), gets=gets)
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    quick = Endpoint("Ollama", "ollama", "ollama", server.url, MODEL, local=True)
    SpeedCache(Path(os.environ["XDG_DATA_HOME"]) / "yohaku").learn(quick, 10_000.0)
    chosen = {}
    for gigabytes in windows:
        assert run_with(gigabytes, "--model", f"ollama/{MODEL}", "-p", "hello") == "Hello.\n"
        chosen[gigabytes] = server.asked[-1].body["options"]["num_ctx"]
    assert chosen == windows


def test_the_presets_and_a_number_of_ones_own_follow_the_memory(
    serve: Callable[..., FakeServer], run_with: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:  # L12
    gets = {"/api/tags": {"models": [{"name": MODEL, "size": EIGHT}]}, "/api/ps": {"models": []}}
    server = serve(play_ollama(LLAMA), gets=gets)
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    quick = Endpoint("Ollama", "ollama", "ollama", server.url, MODEL, local=True)
    SpeedCache(Path(os.environ["XDG_DATA_HOME"]) / "yohaku").learn(quick, 10_000.0)
    chosen = {}
    for flags in (
        "",
        "--speed",
        "--balanced",
        "--quality",
        "--context-window 100000",
        "--context-window 100000 --force",
    ):
        assert run_with(16, "--model", f"ollama/{MODEL}", *flags.split(), "-p", "hello") == "Hello.\n"
        chosen[flags] = server.asked[-1].body["options"]["num_ctx"]
    assert list(chosen.values()) == [32_768, 16_384, 32_768, 49_152, 49_152, 100_000]
