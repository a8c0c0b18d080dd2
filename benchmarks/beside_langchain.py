"""Trim the same requests with LangChain and with yohaku, in the throw-away environment of `fit.py --langchain`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import history
import splintr
from langchain_core.messages import convert_to_messages, convert_to_openai_messages, trim_messages

import yohaku

ASKED = int(sys.argv[1])
POINTS = range(1_600, 2_001, 20)
"""Messages of each request of the session."""

tokenizer = splintr.Tokenizer.from_pretrained("o200k_base")


def exact(messages: list[Any]) -> int:
    """Count LangChain's messages by the documented rule for OpenAI chat."""
    return size(convert_to_openai_messages(messages))


def size(messages: list[dict[str, Any]]) -> int:
    total = 3
    for message in messages:
        total += 4 + count(message.get("content") or "")
        for call in message.get("tool_calls") or ():
            total += count(call["function"]["name"]) + count(call["function"]["arguments"])
    return total


def count(text: str) -> int:
    return len(tokenizer.encode_ordinary(text))


def malformed(messages: list[dict[str, Any]]) -> bool:
    open_calls: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return True
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            return True
        open_calls |= {call["id"] for call in message.get("tool_calls") or ()}
    return bool(open_calls) or not any(message["role"] == "user" for message in messages)


def measured(trim: Any) -> dict[str, Any]:
    seconds: list[float] = []
    over, worst, bad = 0, 0, 0
    for messages in REQUESTS:
        start = time.perf_counter()
        kept = trim(messages)
        seconds.append(time.perf_counter() - start)
        weight = size(kept)
        over += weight > ASKED
        worst = max(worst, weight)
        bad += malformed(kept)
    return {"seconds": sum(seconds) / len(seconds), "first": seconds[0], "over": over, "worst": worst, "bad": bad}


def langchain(counter: Any) -> Any:
    def trim(messages: list[Any]) -> list[dict[str, Any]]:
        kept = trim_messages(
            convert_to_messages(messages),
            max_tokens=ASKED,
            token_counter=counter,
            include_system=True,
            start_on="human",
        )
        return convert_to_openai_messages(kept)

    return trim


def ours() -> Any:
    """Time one session over the whole conversation, its intended use; LangChain's function keeps no state."""
    return yohaku.Session(window=ASKED, reserve=0, recipe="chat", model="gpt-4o").fit


SESSION = history.messages(2000)
REQUESTS = [SESSION[:end] for end in POINTS]
REQUESTS = [messages if messages[-1]["role"] != "assistant" else messages[:-1] for messages in REQUESTS]
warm = [count(message["content"]) for message in REQUESTS[-1]]

print(
    json.dumps(
        {
            "requests": len(REQUESTS),
            "approximate": measured(langchain("approximate")),
            "exact": measured(langchain(exact)),
            "yohaku": measured(ours()),
        }
    )
)
