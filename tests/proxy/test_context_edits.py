"""Edits of the context that a client asks its provider for, behind a proxy to one that has none."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.proxy.fakes import StrictUpstream, conversation, running
from tests.proxy.test_app import PATHS, post
from yohaku import dialects, stores
from yohaku.proxy.context_edits import apply_edits, edits_by_itself

ANTHROPIC = dialects.dialect_named("anthropic")
CLEAR = {
    "type": "clear_tool_uses_20250919",
    "trigger": {"type": "input_tokens", "value": 2000},
    "keep": {"type": "tool_uses", "value": 2},
}


def edited(body: dict[str, Any], tokens: int, *edits: Any) -> dict[str, Any]:
    raw = json.dumps({**body, "context_management": {"edits": list(edits)}}).encode()
    made: dict[str, Any] = json.loads(apply_edits(ANTHROPIC, raw, tokens, stores.open("memory:")))
    assert "context_management" not in made
    return made


def results(body: dict[str, Any]) -> list[str]:
    return [use.result.text for step in ANTHROPIC.read(body).history().steps for use in step.uses]


def test_old_results_are_cleared_beyond_the_trigger_and_open_by_their_refs() -> None:
    async def run() -> None:
        upstream, store = StrictUpstream("anthropic", 100_000), stores.open("memory:")
        body = {**conversation(8, dialect="anthropic"), "context_management": {"edits": [CLEAR]}}
        async with running(upstream, window=100_000, store=store) as url:
            assert (await post(url + PATHS["anthropic"], body))[0] == 200
        sent = json.loads(upstream.sent[0][2])
        assert "context_management" not in sent
        *old, last, newest = results(sent)
        assert last.startswith("part 6") and newest.startswith("part 7") and len(old) == 6
        assert all(text.startswith("[Old tool result cleared: ref=") for text in old)
        assert str(store.get(old[0].split("ref=")[1][:12])).startswith("part 0")

    asyncio.run(run())


def test_below_the_trigger_nothing_is_cleared_and_excluded_tools_never() -> None:
    body = conversation(8, dialect="anthropic")
    assert edited(body, 1999, CLEAR) == body
    assert edited(body, 5000, {**CLEAR, "exclude_tools": ["bash"]}) == body
    assert edited(body, 5000, {"type": "compact_20260112"}, {"type": 3}, "edit") == body


def test_thoughts_of_older_turns_are_cleared_but_never_those_of_the_open_turn() -> None:
    def said(number: int) -> dict[str, Any]:
        thought = {"type": "thinking", "thinking": f"thought {number}", "signature": "s"}
        return {"role": "assistant", "content": [thought, {"type": "text", "text": "Yes."}]}

    prompts = [{"role": "user", "content": f"Question {number}?"} for number in range(4)]
    body = {"model": "m", "messages": [prompts[0], said(0), prompts[1], said(1), prompts[2], said(2), prompts[3]]}
    cleared = json.dumps(edited(body, 10, {"type": "clear_thinking_20251015"}))
    assert [f"thought {number}" in cleared for number in range(3)] == [False, False, True]
    assert edited(body, 10, {"type": "clear_thinking_20251015", "keep": "all"}) == body


@pytest.mark.parametrize("value", [None, [], {}, {"edits": 3}, [{"type": "compaction", "compact_threshold": 9}]])
def test_any_other_value_of_the_field_is_left_out(value: Any) -> None:
    raw = json.dumps({"messages": [{"role": "user", "content": "Hi"}], "context_management": value}).encode()
    assert b"context_management" not in apply_edits(ANTHROPIC, raw, 10, stores.open("memory:"))


def test_providers_that_make_edits_get_the_field() -> None:
    assert edits_by_itself("https://api.anthropic.com/v1/messages")
    assert edits_by_itself("https://api.openai.com/v1/responses")
    assert not edits_by_itself("http://127.0.0.1:8080/v1/messages")
    assert not edits_by_itself("https://notanthropic.com/v1/messages")
