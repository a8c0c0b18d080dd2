"""Clients behind the proxy, before a real llama.cpp server with little room.

To the scripted model every byte is a token, several times what we count: only refusals tell the proxy how large a
request may be. Aider is looked for on the path, or in YOHAKU_CLIENTS; the SDK runs where it is installed.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.models.conftest import made
from tests.models.serving import Served
from tests.proxy.fakes import served as proxy_at
from yohaku import stores
from yohaku.config.settings import Settings
from yohaku.proxy.app import Proxy
from yohaku.proxy.fitting import Fitter
from yohaku.proxy.upstream import Upstream
from yohaku.proxy.windows import UpstreamWindows

pytestmark = pytest.mark.slow  # a real server with a tiny model

WINDOWS = (4096, 8192, 16384)
RULE = "Never touch the database."
CALL, READ, HELLO = "read_file", "I have read the file.", "Hello! I am a tiny scripted model."
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOL = {"name": CALL, "description": "Read a file.", "parameters": PARAMETERS}
PATIENCE = 300


@pytest.fixture(scope="module", params=WINDOWS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Served:
    return made(tmp_path_factory.mktemp("served"), window=request.param)


def behind_proxy(server: Served, client: Callable[[str], Any]) -> Any:
    """Run a client in a thread, with the address of a proxy that is told nothing of the server's window."""

    async def run() -> Any:
        fitter = Fitter(stores.open("memory:"), Settings())
        upstream = Upstream(server.url, {})
        proxy = Proxy(fitter, upstream, windows=UpstreamWindows(upstream))
        async with proxy_at(proxy) as url:
            return await asyncio.to_thread(client, url)

    return asyncio.run(run())


def result_of(turn: int) -> str:
    return f"part {turn}: " + "all is well in this line of the log; " * 25


def agent_loop(ask: Callable[[list[Any]], Any], turns: int) -> list[Any]:
    """Ask for `turns` files, each read by a call; return what was sent and answered."""
    messages: list[Any] = [{"role": "system", "content": f"You are careful. {RULE}"}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Read file {turn}. {RULE if turn == 0 else ''}"})
        messages.append(ask(messages))
        (call,) = messages[-1]["tool_calls"]
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result_of(turn)})
        messages.append(ask(messages))
        assert READ in messages[-1]["content"]
    return messages


def plain_client(url: str) -> Callable[[list[Any]], Any]:
    def ask(messages: list[Any]) -> Any:
        body = {"model": "tiny", "messages": messages, "max_tokens": 64_000, "temperature": 0}
        body["tools"] = [{"type": "function", "function": TOOL}]
        sent = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode())
        with urllib.request.urlopen(sent, timeout=PATIENCE) as reply:
            message = json.load(reply)["choices"][0]["message"]
            return {name: value for name, value in message.items() if value is not None}

    return ask


def sdk_client(url: str) -> Callable[[list[Any]], Any]:
    openai = pytest.importorskip("openai", reason="the SDK is not installed: see CONTRIBUTING, adapters")
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)

    def ask(messages: list[Any]) -> Any:
        tools: Any = [{"type": "function", "function": TOOL}]
        made = client.chat.completions.create(model="tiny", messages=messages, tools=tools, max_tokens=64_000)
        return made.choices[0].message.model_dump(exclude_none=True)

    return ask


@pytest.mark.parametrize("client", [plain_client, sdk_client])
def test_an_agent_reads_more_than_the_window_holds(server: Served, client: Any) -> None:
    turns = server.window // 600
    said = behind_proxy(server, lambda url: agent_loop(client(url), turns))
    assert len(json.dumps(said)) > server.window * 1.3


def test_aider_goes_on_with_a_conversation_that_is_larger_than_the_window(server: Served, tmp_path: Path) -> None:
    folder = os.environ.get("YOHAKU_CLIENTS", "")
    aider = shutil.which("aider", path=f"{folder}{os.pathsep}{os.environ['PATH']}")
    if not aider:
        pytest.skip("aider is not installed: pip install aider-chat somewhere, and set YOHAKU_CLIENTS to its folder")
    count = server.window // 500
    lines = "".join(f"Note {number}: {'all is well here and there; ' * 20}\n" for number in range(count))
    words = ["--no-git", "--chat-mode", "ask", "--map-tokens", "0", "--no-stream", "--yes-always", "--no-pretty",
             "--no-check-update", "--analytics-disable", "--no-show-model-warnings", "--no-fancy-input",
             "--max-chat-history-tokens", "1000000"]  # fmt: skip

    async def run() -> tuple[int, str]:
        command = [sys.executable, "-m", "yohaku", "run", "aider", "--upstream", server.url, "--model", "tiny"]
        keep = {
            "PATH": f"{Path(aider).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "LANG": "C.UTF-8",
        }
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, *words, cwd=tmp_path, env=keep, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT
        )
        out, _ = await asyncio.wait_for(process.communicate(f"{lines}/exit\n".encode()), PATIENCE)
        return process.returncode or 0, out.decode("utf-8", "replace")

    code, said = asyncio.run(run())
    print(f"\naider: window {server.window:,}, {count} prompts, {said.count(HELLO)} replies")
    assert code == 0 and said.count(HELLO) == count, said[-3000:]
    own = said.lower().replace("max retries exceeded", "")  # said of its list of prices, where there is no network
    assert "exceed" not in own or "upstream refused" in said
