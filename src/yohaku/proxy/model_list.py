"""The list of models as Claude Code takes it: Anthropic's form, and ids that begin with `claude` or `anthropic`.

Claude Code ignores every other id. An id of the upstream that begins otherwise is listed with a prefix, which is taken
off again when a request names it.
"""

from __future__ import annotations

from typing import Any

from yohaku.proxy.model_routes import rename_model

PREFIX = "claude-by-yohaku/"
ACCEPTED = ("claude", "anthropic")
LIST_PATH = "/v1/models"
CREATED = "2026-01-01T00:00:00Z"
"""Anthropic's form has a date; other servers tell none, or when they were started."""


def wants_list(method: str, path: str, headers: Any) -> bool:
    """Tell whether a client of Anthropic's API asks for the list."""
    return method == "GET" and path.endswith(LIST_PATH) and "anthropic-version" in headers


def translate_list(reply: Any) -> dict[str, Any] | None:
    """Return a list of another server in Anthropic's form; None for one that is in it already, or not understood."""
    rows = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and isinstance(row.get("id"), str) for row in rows):
        return None
    if any(row.get("type") == "model" for row in rows):
        return None
    ids = [row["id"] for row in rows]
    data = [
        {"type": "model", "id": _accepted(name), "display_name": name, "created_at": CREATED} for name in sorted(ids)
    ]
    ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {"first_id": None, "last_id": None}
    return {"data": data, "has_more": False, **ends}


def _accepted(name: str) -> str:
    return name if name.startswith(ACCEPTED) else PREFIX + name


def take_off_prefix(raw: bytes, model: str) -> bytes:
    """Return a body with the upstream's own name of a model that was listed with our prefix."""
    return rename_model(raw, model.removeprefix(PREFIX)) if model.startswith(PREFIX) else raw
