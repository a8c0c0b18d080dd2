"""Clients whose own prompt and tools are larger than the window, behind a proxy that may shorten them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.proxy.fakes import STREAM, StrictUpstream, conversation, running
from tests.proxy.test_app import PATHS, post
from yohaku import dialects, stores
from yohaku.dialects.server_api import Signature

WINDOW = 8192
LONG = "Use this when you must. Never use it on a database. " + "More words about when it is of use. " * 60


def large_client(dialect: str, steps: int) -> dict[str, Any]:
    """A request with some 14,000 tokens of system text and tools, as agents have them."""
    found = dialects.dialect_named(dialect)
    schema = {"type": "object", "properties": {f"a{n}": {"type": "string", "description": LONG} for n in range(3)}}
    tools = [Signature(f"tool_{number}", LONG, schema) for number in range(6)]
    system = "You are careful.\n" + "\n".join(f"Rule {n}: do this and not that." for n in range(500)) + "\nBe brief."
    body = conversation(steps, dialect=dialect)
    text = json.dumps({**body, found.tools_field: found.tool_definitions(tools)})
    made: dict[str, Any] = json.loads(text.replace("You are careful.", json.dumps(system)[1:-1]))
    return made


@pytest.mark.parametrize("dialect", PATHS)
def test_prompt_and_tools_beyond_the_window_are_shortened_if_allowed(dialect: str) -> None:
    async def run() -> None:
        store = stores.open("memory:")
        upstream = StrictUpstream(dialect, WINDOW)
        async with running(upstream, window=WINDOW, squeeze=True, store=store) as url:
            for steps in (1, 30, 31):
                status, data, _ = await post(url + PATHS[dialect], large_client(dialect, steps))
                assert (status, data) == (200, b"".join(STREAM))
        assert upstream.refused == 0
        first, *later = (json.loads(raw) for _, _, raw in upstream.sent)
        found = dialects.dialect_named(dialect)
        assert all(body[found.tools_field] == first[found.tools_field] for body in later), "the prompt cache holds"
        history = found.read(first).history()
        assert [tool.name for tool in history.tools] == [f"tool_{number}" for number in range(6)]
        assert all('"a2"' in tool.definition and "Use this when you must." in tool.definition for tool in history.tools)
        system = "".join(part.text for part in history.system)  # type: ignore[union-attr]
        assert system.startswith("You are careful.\nRule 0:") and system.endswith("Be brief.")
        ref = system.split("all of it: ref=")[1][:12]
        assert "Rule 250" not in system and "Rule 250" in str(store.get(ref))

    asyncio.run(run())


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
def test_without_leave_they_are_refused_in_the_words_of_the_dialect(dialect: str) -> None:
    async def run() -> None:
        upstream = StrictUpstream(dialect, WINDOW)
        async with running(upstream, window=WINDOW) as url:
            status, data, _ = await post(url + PATHS[dialect], large_client(dialect, 1))
        assert status == 400 and upstream.sent == []
        assert dialects.dialect_named(dialect).read_overflow(status, data.decode())

    asyncio.run(run())


def test_what_leaves_room_for_the_conversation_leaves_as_it_came() -> None:
    async def run() -> None:
        upstream = StrictUpstream("anthropic", 131_072)
        raw = json.dumps(large_client("anthropic", 1), indent=1).encode()
        async with running(upstream, window=131_072, squeeze=True) as url:
            await post(url + PATHS["anthropic"], raw)
        assert upstream.sent[0][2] == raw

    asyncio.run(run())


def test_a_window_below_even_the_shortest_form_is_refused() -> None:
    async def run() -> None:
        upstream = StrictUpstream("anthropic", 128)
        async with running(upstream, window=128, squeeze=True) as url:
            status, data, _ = await post(url + PATHS["anthropic"], large_client("anthropic", 1))
        assert status == 400 and b"prompt is too long" in data and upstream.sent == []

    asyncio.run(run())
