"""The real LiteLLM hook: a request goes out within the window, everything else in it as it was."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

pytest.importorskip("litellm.integrations.custom_logger", reason="litellm is not installed: see CONTRIBUTING, adapters")

from tests.adapters.conftest import LONG, WINDOW

from yohaku import Session
from yohaku.adapters.litellm import FitHook


def request(turns: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the error. Never touch the database."}]
    for number in range(turns):
        messages += [
            {"role": "assistant", "content": f"part {number}: {LONG}"},
            {"role": "user", "content": f"And part {number + 1}?"},
        ]
    return {"model": "gpt-4o", "messages": messages, "temperature": 0.2, "metadata": {"user": "a"}}


def call(hook: FitHook, data: dict[str, Any], kind: str = "acompletion") -> dict[str, Any]:
    found: dict[str, Any] = asyncio.run(hook.async_pre_call_hook(None, None, data, kind))
    return found


def test_a_long_request_fits_and_keeps_its_other_fields() -> None:
    hook, data = FitHook(WINDOW), request(40)
    out = call(hook, data)
    assert len(data["messages"]) == 81
    limit = Session(WINDOW).budget.limit
    count = Session(WINDOW, model="gpt-4o").meter_for("openai_chat").count
    assert sum(count(message["content"]) for message in out["messages"]) <= limit
    assert (out["temperature"], out["metadata"], out["model"]) == (0.2, {"user": "a"}, "gpt-4o")
    ref = re.search(r"ref=([a-z2-7]{12})", str(out["messages"]))
    assert ref and "part 0:" in str(hook.store.get(ref[1]))


def test_the_next_request_of_a_conversation_has_the_same_view() -> None:
    hook = FitHook(WINDOW)
    first, other = call(hook, request(40)), call(hook, request(25))
    again = call(hook, request(40))
    assert again["messages"] == first["messages"] and other["messages"] != first["messages"]


def test_what_is_short_or_no_chat_is_left_alone() -> None:
    hook = FitHook(WINDOW)
    assert call(hook, request(1)) == request(1)
    assert call(hook, {"input": "text", "model": "e"}, "embeddings") == {"input": "text", "model": "e"}
