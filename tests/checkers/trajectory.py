"""Reads a trajectory-v1 file (JSON Lines, plain or gzip) as OpenAI chat messages, by its format page alone.

Recorded summaries are left out, since the folding under test makes its own; reasoning is not sent again.
"""

import gzip
import json
from pathlib import Path
from typing import Any


def load(path: str | Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header and the message lines."""
    data = Path(path).read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    header, *rows = [json.loads(line) for line in data.decode("utf-8").split("\n") if line]
    if header.get("format") != "trajectory-v1":
        raise ValueError(f"{path} is not a trajectory-v1 file")
    return header, rows


def to_openai(path: str | Path) -> list[dict[str, Any]]:
    return [_message(row) for row in load(path)[1] if row.get("mark") != "compact_summary"]


def _message(row: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": row["role"], "content": row.get("content")}
    if row["role"] == "tool":
        message["tool_call_id"] = row["tool_call_id"]
    if row.get("tool_calls"):
        message["tool_calls"] = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
            for c in row["tool_calls"]
        ]
    return message
