"""Random damage to files and request bodies: bytes changed, JSON values replaced by hostile ones."""

from __future__ import annotations

import json
import random
import re
from copy import deepcopy
from typing import Any

SPICE = (
    b"null", b"[]", b"{}", b"-1", b"1e999", b"NaN", b'"\\ud800"', b"9" * 5000, b"[" * 20000, b'{"a":' * 20000, b"true",
    b'""', b"\xff\xfe", b"\x00", b"0.5", b"[[[]]]", b"[null]", b"[1]", b'{"type":7}', b'"tool"', b'"system"',
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, [], {}, -1, 1e308, 10**30, "", "x", True, [None], [[]], {"type": None}, {"type": "text"}, "\ud800",
)  # fmt: skip
NAMES = ("role", "type", "content", "id", "name", "text", "parts", "tool_calls", "arguments", "input", "output")
_VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+|true|false|null|\[\]|\{\}')


def mutate_bytes(data: bytes, chance: random.Random) -> bytes:
    """Flip, cut, delete or insert, or replace a JSON value."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(8):
            case 0 if at < len(data):
                data = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
            case 1:
                data = data[:at]
            case 2:
                data = data[:at] + data[at + chance.randrange(1, 50) :]
            case 3:
                data = data[:at] + chance.choice(SPICE) + data[at:]
            case _ if value := _VALUE.search(data, at):
                data = data[: value.start()] + chance.choice(SPICE) + data[value.end() :]
    return data


def mutate_values(data: bytes, chance: random.Random) -> bytes:
    """Replace, remove or add values of a JSON file, so that it stays one."""
    try:
        value = json.loads(data)
    except ValueError:
        return mutate_bytes(data, chance)
    for _ in range(chance.choice((1, 2, 3))):
        holders = list(_containers(value))
        holder = chance.choice(holders) if holders else None
        if not holder:
            break
        key = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        act = chance.random()
        if act < 0.2:
            del holder[key]
        elif act < 0.3:
            holder[key] = [holder[key]]
        elif act < 0.5 and isinstance(holder, dict):
            holder[chance.choice(NAMES)] = deepcopy(chance.choice(VALUES))
        else:
            holder[key] = deepcopy(chance.choice(VALUES))
    return json.dumps(value).encode()


def _containers(value: Any) -> Any:
    if isinstance(value, dict | list):
        if value:
            yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)
