"""Edits of the context that a client asks its provider for, made here for upstreams that have never heard of them.

Anthropic's `context_management`: `clear_tool_uses_20250919` clears old tool results beyond a number of tokens, and
`clear_thinking_20251015` the thoughts of older replies. What is cleared opens by its ref. Compaction, there and in
OpenAI's `context_management`, is what the proxy does by itself before the window is full. The field is not sent on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from yohaku.core.model import History, Path, Text, ToolUse
from yohaku.core.originals import ref_of
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import dig, drop, put_all
from yohaku.proxy.compaction import compacts_by_itself
from yohaku.stores import Store

FIELD = "context_management"
EDITING_HOSTS = ("anthropic.com", "amazonaws.com", "googleapis.com", "azure.com")
"""Hosts of Anthropic's models, with their subdomains."""
CLEAR_RESULTS, CLEAR_THOUGHTS = "clear_tool_uses_20250919", "clear_thinking_20251015"
TRIGGER_TOKENS, KEPT_RESULTS, KEPT_THOUGHTS = 100_000, 3, 1
"""Anthropic's defaults."""


def edits_by_itself(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return compacts_by_itself(url) or any(host == known or host.endswith(f".{known}") for known in EDITING_HOSTS)


def asks_for_edits(raw: bytes) -> bool:
    return f'"{FIELD}"'.encode() in raw


def apply_edits(dialect: Dialect, raw: bytes, tokens: int, store: Store) -> bytes:
    """Return a body of so many tokens with its edits made, and without the field; the same bytes if it has none."""
    body = msgspec.json.decode(raw)
    if not isinstance(body, dict) or FIELD not in body:
        return raw
    asked = body[FIELD].get("edits") if isinstance(body[FIELD], dict) else None
    body = {name: value for name, value in body.items() if name != FIELD}
    for edit in asked if isinstance(asked, list) else ():
        kind = edit.get("type") if isinstance(edit, dict) else ""
        if kind == CLEAR_THOUGHTS:
            body = _clear_thoughts(dialect, body, edit)
        elif kind == CLEAR_RESULTS and tokens > _number(edit.get("trigger"), "input_tokens", TRIGGER_TOKENS):
            body = _clear_results(dialect, body, edit, store)
    return msgspec.json.encode(body)


def _number(value: Any, kind: str, usual: int) -> int:
    """Return the number of a field such as `{"type": "tool_uses", "value": 3}`."""
    found = value.get("value") if isinstance(value, dict) and value.get("type") == kind else None
    return found if type(found) is int and found >= 0 else usual


def _clear_results(dialect: Dialect, body: dict[str, Any], edit: dict[str, Any], store: Store) -> dict[str, Any]:
    history = dialect.read(body).history()
    excluded = edit.get("exclude_tools")
    spared = set(map(str, excluded)) if isinstance(excluded, list) else set()
    uses = [use for step in history.steps for use in step.uses if use.call.name not in spared]
    old = uses[: max(0, len(uses) - _number(edit.get("keep"), "tool_uses", KEPT_RESULTS))]
    changes = dict(change for use in old for change in _cleared(use, store))
    return dict(dialect.with_entries(body, put_all(dialect.entries_of(body), changes))) if changes else body


def _cleared(use: ToolUse, store: Store) -> Iterable[tuple[Path, str]]:
    for part in use.result.parts:
        if isinstance(part, Text) and part.at:
            ref = ref_of(part.text)
            text = f"[Old tool result cleared: ref={ref}]"
            if len(part.text) > len(text):
                store.put(ref, part.text)
                yield part.at, text


def _clear_thoughts(dialect: Dialect, body: dict[str, Any], edit: dict[str, Any]) -> dict[str, Any]:
    if edit.get("keep") == "all":
        return body
    history = dialect.read(body).history()
    kept = _number(edit.get("keep"), "thinking_turns", KEPT_THOUGHTS)
    entries = list(dialect.entries_of(body))
    for at in _old_thoughts(history, kept):
        if len(dig(entries, at[:-1])) > 1:  # a reply must not become empty
            entries[int(at[0])] = drop(entries[int(at[0])], at[1:])
    return dict(dialect.with_entries(body, entries))


def _old_thoughts(history: History, kept: int) -> list[Path]:
    """Return the places of thoughts outside the newest turns that have some; last first, so that removal moves none."""
    thinking = [step for turn in history.turns for step in turn.steps if step.thoughts]
    turns = [turn for turn in history.turns if any(step.thoughts for step in turn.steps)]
    new = {step.key for turn in turns[len(turns) - min(kept, len(turns)) :] for step in turn.steps}
    new |= {step.key for step in history.turns[-1].steps}  # a provider checks those of the turn it is in
    places = [thought.at for step in thinking if step.key not in new for thought in step.thoughts if thought.at]
    return sorted(places, key=lambda at: (at[0], at[-1]), reverse=True)
