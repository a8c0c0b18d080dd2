"""Compaction as Codex requests it, answered by the proxy for upstreams that have never heard of it.

A trailing `compaction_trigger` on `/responses`, or `POST /responses/compact`, is answered with exactly one `compaction`
item. It seals the folded conversation itself, so any replica can restore it; the refs in it open from the store.
Providers that compact by themselves get the request as it came.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
import uuid
import zlib
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.responses import JSONResponse, Response

from yohaku.core.errors import Malformed, Unreadable
from yohaku.proxy.fitting import Fitter
from yohaku.session.driver import Summarise

COMPACT_PATH = "/responses/compact"
TRIGGER = "compaction_trigger"
COMPACTION_ITEMS = ("compaction", "compaction_summary")
COMPACTING_HOSTS = ("openai.com", "chatgpt.com", "openai.azure.com")
"""Hosts that compact by themselves, with their subdomains."""
SEAL = "yohaku1."
"""Begins the `encrypted_content` of an item of ours."""
MAX_STATE_BYTES = 64 << 20
STANDING_ROLES = ("system", "developer")
"""Roles of what a client sends anew with every request; it is not sealed where the conversation begins with it."""


def compacts_by_itself(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return any(host == known or host.endswith(f".{known}") for known in COMPACTING_HOSTS)


def asks_for_compaction(method: str, path: str, raw: bytes) -> bool:
    if method != "POST" or not path.endswith(("/responses", COMPACT_PATH)):
        return False
    return path.endswith(COMPACT_PATH) or (TRIGGER.encode() in raw and _ends_in_trigger(_decode(raw)))


def compact(fitter: Fitter, path: str, raw: bytes, summarise: Summarise | None = None) -> Response | None:
    """Answer a request for compaction; None where the body is not understood. Raise `DoesNotFit`.

    `summarise`: asks a model; without it, and where it fails, what is old is told without one.
    """
    body = _decode(restore(raw))
    if not isinstance(body, dict) or not isinstance(body.get("input"), list):
        return None
    entries = body["input"][:-1] if _ends_in_trigger(body) else body["input"]
    model = str(body.get("model") or "")
    try:
        kept, before, after = fitter.compact("openai_responses", model, _without_standing(entries), summarise)
    except (Malformed, Unreadable, RecursionError):
        return None
    item = {"type": "compaction", "id": f"cmp_{uuid.uuid4().hex}", "encrypted_content": seal(kept)}
    usage = {"input_tokens": before, "output_tokens": after, "total_tokens": before + after}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    if path.endswith(COMPACT_PATH):
        reply = _reply("response.compaction", model, [item], usage | details)
        return JSONResponse(reply)
    reply = _reply("response", model, [item], usage | details)
    return _stream(reply) if body.get("stream") else JSONResponse(reply)


def seal(entries: list[Any]) -> str:
    """Pack entries into a text that means nothing to a client."""
    return SEAL + base64.urlsafe_b64encode(zlib.compress(msgspec.json.encode(entries))).decode()


def unseal(text: str) -> list[Any] | None:
    """Return the entries that `seal` packed; None for anything else."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.urlsafe_b64decode(text.removeprefix(SEAL)), MAX_STATE_BYTES)
        entries = msgspec.json.decode(data)
    except (binascii.Error, zlib.error, msgspec.DecodeError, ValueError, RecursionError):
        return None
    return entries if isinstance(entries, list) else None


def restore(raw: bytes) -> bytes:
    """Return a body with the conversation in place of each item that seals it; the same bytes if there is none."""
    if SEAL.encode() not in raw:
        return raw
    body = _decode(raw)
    entries = body.get("input") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        return raw
    restored: list[Any] = []
    found = False
    for entry in entries:
        opened = _open(entry)
        if opened is None:
            restored.append(entry)
            continue
        found = True
        held = [text for each in opened if (text := _said(each))]
        restored = [each for each in restored if not _is_held(_said(each), held)] + opened
    return msgspec.json.encode({**body, "input": restored}) if found else raw


def _open(entry: Any) -> list[Any] | None:
    if not isinstance(entry, dict) or entry.get("type") not in COMPACTION_ITEMS:
        return None
    text = entry.get("encrypted_content")
    return unseal(text) if isinstance(text, str) and text.startswith(SEAL) else None


def _said(entry: Any) -> str | None:
    """Return what the user says in an entry: clients send prompts beside the sealed item, which holds them too."""
    if not isinstance(entry, dict) or entry.get("role") != "user":
        return None
    content = entry.get("content")
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
        content = "\n".join(text for text in texts if isinstance(text, str)) if all(texts) else None
    return content if isinstance(content, str) else None


def _is_held(text: str | None, held: list[str]) -> bool:
    """Tell whether a prompt stands in what was sealed; a gist may stand before it in one message."""
    return bool(text) and any(each == text or each.endswith(f"\n{text}") for each in held)


def _without_standing(entries: list[Any]) -> list[Any]:
    at = 0
    while at < len(entries) and isinstance(entries[at], dict) and entries[at].get("role") in STANDING_ROLES:
        at += 1
    return entries[at:]


def _ends_in_trigger(body: Any) -> bool:
    entries = body.get("input") if isinstance(body, dict) else None
    last = entries[-1] if isinstance(entries, list) and entries else None
    return isinstance(last, dict) and last.get("type") == TRIGGER


def _decode(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _reply(kind: str, model: str, output: list[Any], usage: dict[str, Any]) -> dict[str, Any]:
    name = f"resp_{uuid.uuid4().hex}"
    made = {"id": name, "object": kind, "created_at": int(time.time()), "status": "completed", "model": model}
    return {**made, "output": output, "usage": usage}


def _stream(reply: dict[str, Any]) -> Response:
    (item,) = reply["output"]
    begun = {**reply, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": reply},
    ]
    written = (
        f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
        for number, event in enumerate(events)
    )
    return Response("".join(written), media_type="text/event-stream")
