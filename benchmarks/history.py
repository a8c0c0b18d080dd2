"""A long conversation generated from a seed: code, JSON, logs, prose and Japanese, as agents see them."""

from __future__ import annotations

import json
from random import Random
from typing import Any

_WORDS = tuple(
    """
    fold view ledger budget window token request reply result stream buffer parse error handler retry cache index
    session config module import return value list dict path file line column offset length total count limit
    """.split()
)
_JA = "会話の文脈を窓の中に収めるために古い結果を折りたたみ必要になったときに元の内容を開ける仕組みです。"


def messages(count: int, seed: int = 7, tokens: int = 380) -> list[dict[str, Any]]:
    """Make `count` messages in OpenAI chat form, about `tokens` each: a prompt every twenty, else calls and results."""
    chance = Random(seed)
    out: list[dict[str, Any]] = [{"role": "system", "content": "You are a careful engineer."}]
    for number in range(count):
        if number % 10 == 0:
            out.append({"role": "user", "content": prose(chance, 60)})
        out += step(chance, number, tokens)
        if len(out) >= count:
            break
    return out[:count] if out[count - 1]["role"] != "assistant" else out[: count - 1]


def step(chance: Random, number: int, tokens: int = 380) -> list[dict[str, Any]]:
    call_id = f"call_{number}"
    arguments = json.dumps({"path": f"src/{chance.choice(_WORDS)}_{number}.py", "offset": chance.randint(1, 900)})
    call = {"id": call_id, "type": "function", "function": {"name": "read_file", "arguments": arguments}}
    make = chance.choice((code, code, logs, as_json, japanese, prose))
    size = int(tokens * 2 * chance.uniform(0.2, 1.8))
    return [
        {"role": "assistant", "content": prose(chance, 20), "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": make(chance, size)},
    ]


def prose(chance: Random, tokens: int) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(tokens)).capitalize() + "."


def code(chance: Random, tokens: int) -> str:
    lines = []
    for _ in range(tokens // 14):
        a, b, c = (chance.choice(_WORDS) for _ in range(3))
        lines.append(f"    def {a}_{b}(self, {c}: int) -> None:\n        self.{a} = {c} + {chance.randint(0, 999)}")
    return "\n".join(lines)


def logs(chance: Random, tokens: int) -> str:
    lines = []
    for _ in range(tokens // 30):
        hour, minute, milli = chance.randint(0, 23), chance.randint(0, 59), chance.randint(0, 999)
        stamp = f"2026-03-{chance.randint(1, 28):02}T{hour:02}:{minute:02}:07.{milli:03}Z"
        lines.append(
            f"{stamp} INFO [{chance.choice(_WORDS)}] id={chance.getrandbits(32):08x} took {chance.randint(1, 9999)} ms"
        )
    return "\n".join(lines)


def as_json(chance: Random, tokens: int) -> str:
    rows = [
        {chance.choice(_WORDS): chance.randint(0, 10**6), "name": chance.choice(_WORDS)} for _ in range(tokens // 14)
    ]
    return json.dumps(rows, indent=1)


def japanese(chance: Random, tokens: int) -> str:
    return "".join(chance.choice(_JA) for _ in range(int(tokens / 0.9)))
