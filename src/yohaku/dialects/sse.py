"""Server-sent events, as much of them as model providers use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def events(stream: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of the `data:` fields, in order; other lines, `[DONE]` and a torn last event are passed over."""
    for block in stream.replace("\r\n", "\n").replace("\r", "\n").split("\n\n"):
        data = "\n".join(line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:"))
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
