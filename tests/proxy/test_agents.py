"""Real agents as clients, unmodified, started by `yohaku run`: a task that would overflow runs to its end.

They are looked for in the folder YOHAKU_CLIENTS (`node_modules/.bin` of an npm folder), else on the path.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiohttp import web

from tests import checkers
from tests.proxy.fakes import StrictUpstream, running
from yohaku import dialects, stores
from yohaku.cli.run import CLIENTS
from yohaku.core.errors import YohakuError
from yohaku.core.weigh import weigh
from yohaku.meters import for_model
from yohaku.recall.tools import READ

TASK = "Count with seq, several times. Never touch the database."
NOTES, EARLY = "notes.txt", "quince-7391"
"""A file that the first call shows, and what is in it."""
TIMEOUT = 90
ROOM = int(os.environ.get("YOHAKU_ROOM", "8192"))
"""Tokens of the window beyond what the agent itself needs."""
CALLS = 6 * max(1, ROOM // 8192)
"""Some agents cut what a call gives: it takes more of them to fill more room."""


class Agent(NamedTuple):
    dialect: str
    arguments: tuple[str, ...]
    tools: tuple[str, ...]
    """Names of its shell; the first that it offers is called."""


AGENTS = {
    "claude": Agent("anthropic", ("-p", TASK, "--dangerously-skip-permissions"), ("Bash",)),
    "codex": Agent(
        "openai_responses",
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", TASK),
        ("shell_command", "exec_command", "shell"),
    ),
    "gemini": Agent("gemini", ("--yolo", "-p", TASK), ("run_shell_command",)),
    "qwen": Agent("openai_chat", ("--yolo", "-p", TASK), ("run_shell_command",)),
    "opencode": Agent("openai_chat", ("run", TASK), ("bash",)),
}


class ScriptedProvider(StrictUpstream):
    """Calls the client's shell a number of times, then says it is done; refuses what is over its window."""

    def __init__(self, agent: Agent, window: int, calls: int) -> None:
        super().__init__(agent.dialect, window)
        self.agent, self.calls = agent, calls
        self.weights: list[int] = []
        self.overflows = 0
        self.broken: list[str] = []
        self.first, self.paths = calls, set[str]()
        self.opens = READ.name
        """The recall tool that it calls once, in the end, if it is offered; "" from then on."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.method != "POST":
            return web.json_response({"data": [], "models": []})
        self.paths.add(request.path)
        raw = await request.read()
        self.sent.append((request.path_qs, dict(request.headers), raw))
        body, dialect = json.loads(raw), dialects.dialect_named(self.dialect)
        if dialect.entries not in body:
            return web.json_response({})
        self.broken += checkers.DIALECTS[self.dialect].problems(body)
        tokens = weigh(dialect.read(body).history(), for_model("gpt-4o", self.dialect)).total
        self.weights.append(tokens)
        if tokens > self.window:
            self.overflows += 1
            return web.json_response(dialect.too_long_body("too long", tokens, self.window), status=400)
        names = [tool.name for tool in dialect.read(body).history().tools]
        shell = next((name for name in self.agent.tools if name in names), "")
        if self.calls == 0 and self.opens in names and "ref=" in raw.decode():
            ref, self.opens = raw.decode().split("ref=")[1][:12], ""
            return await self.write(request, READ.name, {"ref_id": ref})
        call = bool(shell) and self.calls > 0
        self.calls -= call
        return await self.write(request, shell if call else "", tokens=tokens)

    async def write(self, request: web.Request, shell: str, given: Any = None, tokens: int = 10) -> web.StreamResponse:
        command = f"seq {100_000 + self.calls} 101500"  # never the same: some agents stop a model that repeats itself
        if self.calls == self.first - 1:
            command = f"cat {NOTES}; {command}"
        given = given or {"command": command, **EXTRA_ARGUMENTS.get(shell, {})}
        if shell == "exec_command":
            given = {"cmd": command}
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in EVENTS[self.dialect](shell, given, tokens):
            kind = f"event: {event['type']}\n" if "type" in event else ""
            await response.write(f"{kind}data: {json.dumps(event)}\n\n".encode())
        if self.dialect == "openai_chat":
            await response.write(b"data: [DONE]\n\n")
        return response


EXTRA_ARGUMENTS = {"Bash": {"description": "Count."}, "bash": {"description": "Count."}}
NUMBERS = iter(range(10**9))


def anthropic_events(shell: str, given: Any, tokens: int) -> list[Any]:
    usage = {"input_tokens": tokens, "output_tokens": 1}
    message = {"id": f"msg_{next(NUMBERS)}", "type": "message", "role": "assistant", "model": "m", "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
    block: Any = {"type": "text", "text": ""}
    delta: Any = {"type": "text_delta", "text": "All done."}
    if shell:
        block = {"type": "tool_use", "id": f"toolu_{next(NUMBERS)}", "name": shell, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
    stop = {"stop_reason": "tool_use" if shell else "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    ]


def responses_events(shell: str, given: Any, tokens: int) -> list[Any]:
    number = next(NUMBERS)
    item: Any = {"type": "message", "id": "m", "role": "assistant"}
    item["content"] = [{"type": "output_text", "text": "All done."}]
    if shell:
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}", "name": shell}
        item["arguments"] = json.dumps(given)
    usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
    reply = {"id": f"r{number}", "object": "response", "status": "completed", "output": [item], "usage": usage}
    return [
        {"type": "response.created", "response": {"id": reply["id"]}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": reply},
    ]


def gemini_events(shell: str, given: Any, tokens: int) -> list[Any]:
    part: Any = {"functionCall": {"name": shell, "args": given}} if shell else {"text": "All done."}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": tokens, "candidatesTokenCount": 1, "totalTokenCount": tokens + 1}
    return [{"candidates": [candidate], "usageMetadata": usage}]


def chat_events(shell: str, given: Any, tokens: int) -> list[Any]:
    number = next(NUMBERS)
    made = {"id": f"r{number}", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
    function = {"name": shell, "arguments": json.dumps(given)}
    delta: Any = {"role": "assistant", "content": "All done."}
    if shell:
        call = {"index": 0, "id": f"c{number}", "type": "function", "function": function}
        delta = {"role": "assistant", "content": None, "tool_calls": [call]}
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if shell else "stop"}
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
    return [{**made, "choices": [{"index": 0, "delta": delta}]}, {**made, "choices": [end], "usage": usage}]


EVENTS = {
    "anthropic": anthropic_events,
    "openai_responses": responses_events,
    "gemini": gemini_events,
    "openai_chat": chat_events,
}


@contextmanager
def home_folder() -> Iterator[Path]:
    """A home in a folder that only we can write: Gemini CLI takes no settings from below /tmp."""
    places = (Path(sys.prefix), Path.home())
    ours = (place for place in places if not any(each.stat().st_mode & 0o022 for each in (place, *place.parents)))
    with tempfile.TemporaryDirectory(dir=next(ours, places[0]), ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def home() -> Iterator[Path]:
    with home_folder() as folder:
        yield folder


def find(name: str) -> str:
    folder = os.environ.get("YOHAKU_CLIENTS", "")
    if not shutil.which(name, path=f"{folder}{os.pathsep}{os.environ['PATH']}"):
        pytest.skip(f"{name} is not installed: npm install it, and set YOHAKU_CLIENTS to its folder")
    return name


def start(
    name: str, home: Path, upstream: ScriptedProvider, *options: str, more: tuple[str, ...] = ()
) -> tuple[int, str]:
    """Run an agent behind a proxy of its own, without `options` at the upstream itself.

    Return its exit code and all it printed.
    """
    folder = os.environ.get("YOHAKU_CLIENTS", "")
    (home / NOTES).write_text(f"The code of the door is {EARLY}.\n")

    async def started() -> tuple[int, str]:
        async with running(upstream, window=10**6):
            keep = {name: os.environ[name] for name in ("PATH", "LANG", "SSL_CERT_FILE") if name in os.environ}
            environment = {**keep, "HOME": str(home), "PATH": f"{folder}{os.pathsep}{keep['PATH']}", "CI": "1"}
            environment |= {"GEMINI_CLI_TRUST_WORKSPACE": "true", "IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1"}
            words = ["run", name, "--upstream", upstream.url, "--model", "gpt-4o", *options]
            command = [sys.executable, "-m", "yohaku", *words, *more, *AGENTS[name].arguments]
            if not options:
                client = CLIENTS[name]
                environment |= client.environment(upstream.url, "gpt-4o")
                if client.settings_variable:
                    (home / "settings.json").write_text(json.dumps(client.settings))
                    environment[client.settings_variable] = str(home / "settings.json")
                command = [name, *client.options(upstream.url, "gpt-4o"), *AGENTS[name].arguments]
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(
                *command, env=environment, cwd=home, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
            )
            try:
                out, err = await asyncio.wait_for(process.communicate(), TIMEOUT)
            except TimeoutError:
                process.kill()
                await process.communicate()
                raise
            return process.returncode or 0, (out + err).decode("utf-8", "replace")

    return asyncio.run(started())


@pytest.fixture(params=AGENTS)
def name(request: pytest.FixtureRequest) -> str:
    return find(request.param)


@functools.cache
def own_cost(name: str) -> int:
    """Return the tokens of an agent's first request."""
    with home_folder() as home:
        upstream = ScriptedProvider(AGENTS[name], 10**6, 0)
        code, said = start(name, home, upstream)
    assert (code, upstream.overflows) == (0, 0) and upstream.weights, said
    return max(upstream.weights)


def opened(body: str, store: str) -> str:
    """Return a body with all that its refs open to, and theirs."""
    with closing(stores.open(store)) as kept:
        texts, seen = [body], set[str]()
        for text in texts:
            for ref in set(re.findall(r"ref=([a-z0-9]+)", text)) - seen:
                seen.add(ref)
                with suppress(YohakuError):
                    texts.append(str(kept.get(ref)))
    return "\n".join(texts)


def test_an_agent_gets_through_a_task_that_is_larger_than_its_window(name: str, home: Path) -> None:
    window = own_cost(name) + ROOM
    alone = ScriptedProvider(AGENTS[name], window, CALLS)
    with suppress(TimeoutError):
        start(name, home, alone)
    assert alone.overflows, "the task fits without the proxy"
    upstream, store = ScriptedProvider(AGENTS[name], window, CALLS), f"sqlite:///{home}/store.db"
    code, said = start(name, home, upstream, "--window", str(window), "--reserve", "1024", "--store", store)
    print(f"\n{name}: own cost {own_cost(name):,}, window {window:,}, requests {len(upstream.weights)}, "
          f"largest {max(upstream.weights):,}; without the proxy {alone.overflows} overflows")  # fmt: skip
    assert code == 0 and "All done." in said, said
    assert (upstream.calls, upstream.overflows, upstream.broken) == (0, 0, [])
    last = upstream.sent[-1][2].decode()
    assert "Never touch the database." in last and "ref=" in "".join(raw.decode() for _, _, raw in upstream.sent)
    assert EARLY in opened(last, store)


def test_below_an_agents_own_cost_it_is_told_so(name: str, home: Path) -> None:
    upstream = ScriptedProvider(AGENTS[name], 10**6, CALLS)
    window = own_cost(name) * 3 // 4
    with suppress(TimeoutError):  # some ask again for minutes
        code, said = start(name, home, upstream, "--window", str(window), "--store", "memory:")
        print(f"\n{name}: window {window:,} of {own_cost(name):,}, ended with {code}: {said[-300:]}")
    assert upstream.calls == CALLS and all(tokens <= window for tokens in upstream.weights)


@pytest.mark.parametrize("provider", ["yohaku", "OpenAI"])
def test_codex_compacts_against_an_upstream_that_has_never_heard_of_it(provider: str, home: Path) -> None:
    """By a prompt of its own, or by the request that it sends to whoever is called OpenAI."""
    find("codex")
    window = own_cost("codex") + ROOM
    upstream = ScriptedProvider(AGENTS["codex"], window, CALLS)
    limit = f"model_auto_compact_token_limit={own_cost('codex') + 3000}"
    options = ("--window", str(window), "--reserve", "1024", "--store", f"sqlite:///{home}/store.db")
    code, said = start(
        "codex", home, upstream, *options, more=("-c", limit, "-c", f'model_providers.yohaku.name="{provider}"')
    )
    assert code == 0 and "All done." in said, said
    assert (upstream.calls, upstream.overflows, upstream.broken) == (0, 0, [])
    sent = "".join(raw.decode() for _, _, raw in upstream.sent)
    assert "compaction_trigger" not in sent and not any(path.endswith("/compact") for path in upstream.paths)


SMALL_WINDOWS = {"claude": 12_288, "codex": 6144, "gemini": 8192, "qwen": 12_288, "opencode": 6144}
"""Less than each of them needs for itself, or hardly more."""


def test_an_agent_runs_in_less_than_its_own_prompt_needs_and_its_model_opens_what_was_folded(
    name: str, home: Path
) -> None:
    window = SMALL_WINDOWS[name]
    upstream = ScriptedProvider(AGENTS[name], window, CALLS)
    options = ("--window", str(window), "--reserve", "1024", "--squeeze", "--recall-tool", "--believe", "200000")
    code, said = start(name, home, upstream, "--store", "memory:", *options)
    print(f"\n{name}: window {window:,}, requests {len(upstream.weights)}, largest {max(upstream.weights):,}")
    assert code == 0 and "All done." in said and READ.name not in said, said
    assert (upstream.calls, upstream.overflows, upstream.broken, upstream.opens) == (0, 0, [], "")
    history = dialects.dialect_named(upstream.dialect).read(json.loads(upstream.sent[-1][2])).history()
    (recalled,) = (use for step in history.steps for use in step.uses if use.call.name == READ.name)
    assert recalled.result.text.startswith("[ref=")
