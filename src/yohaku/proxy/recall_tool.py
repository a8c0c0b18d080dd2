"""Recall tools that the proxy adds to a folded request, and answers itself within the client's turn.

A reply is held back while it may still turn out to call one of them. If it does, its calls are answered from the store
and the model is asked again; the client sees only the last reply. What was recalled is woven into later requests of the
same conversation, at its place, as long as this process remembers it.

A reply that is long already is let through. A call in the rest of it reaches the client, which reports an unknown tool;
in the client's next request that report is replaced by what was asked for.
"""

from __future__ import annotations

import codecs
import json
from collections import OrderedDict
from threading import Lock
from typing import Any, NamedTuple

import aiohttp

from yohaku.core.errors import YohakuError
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.meter import Meter
from yohaku.core.model import Call, History, Path, Reply, Result, Step, Text, ToolUse, Turn
from yohaku.dialects.answer import Answer
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import put_all
from yohaku.recall import tools
from yohaku.stores import Store

NAMES = frozenset(tool.name for tool in tools.BY_REF)
MAX_ROUNDS = 6
"""Replies in a row that may recall; the next request offers no recall, so that an answer must come."""
LONG_REPLY_CHARS = 600
"""A reply with so much text is an answer: it is let through."""
SHARE_OF_LIMIT = 0.25
"""Of the limit, for what one call shows."""
MAX_EXCHANGES = 4096
CUT = "[cut; give a smaller limit, and go on from the line after the last one here]"
NOT_RUN = "Not run: what you recalled is shown first. Make this call again if you still want it."


class Recalled(NamedTuple):
    """What was recalled within one turn of the client."""

    after: str = ""
    """Key of what came before it in the client's own conversation."""
    entries: tuple[Any, ...] = ()
    rounds: int = 0


class HeldReply(NamedTuple):
    data: bytes
    answer: Answer | None
    """None for a reply that was let through before its end, or not understood."""


def offer(dialect: Dialect, body: dict[str, Any]) -> dict[str, Any]:
    """Return a body with the recall tools; the same object where the client decides what is called, or has them.

    Clients put the name of an MCP server before those of its tools.
    """
    builder = HistoryBuilder()
    try:
        dialect.read_beside(builder, body)
    except (YohakuError, RecursionError):
        return body
    if not dialect.lets_model_choose(body) or any(tool.name.endswith(tuple(NAMES)) for tool in builder.tools):
        return body
    field = dialect.tools_field
    if not isinstance(body.get(field) or [], list):
        return body
    return {**body, field: [*(body.get(field) or ()), *tools.definitions(dialect.name)]}


class Exchanges:
    """What was recalled lately, by tenant and by the key of the step or prompt that it follows."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[Any, ...]] = OrderedDict()
        self._lock = Lock()

    def keep(self, tenant: str, recalled: Recalled) -> None:
        with self._lock:
            self._kept[tenant, recalled.after] = recalled.entries
            while len(self._kept) > MAX_EXCHANGES:
                self._kept.popitem(last=False)

    def weave(self, tenant: str, dialect: Dialect, body: dict[str, Any]) -> dict[str, Any]:
        """Return a body with what was recalled in its place; the same object if nothing was."""
        if not self._kept:
            return body
        try:
            history = dialect.read(body).history()
        except (YohakuError, RecursionError):
            return body
        entries = dialect.entries_of(body)
        places = [(at, found) for key, at in _places(history, len(entries)) if (found := self._kept.get((tenant, key)))]
        if not places:
            return body
        woven = list(entries)
        for at, found in sorted(places, key=lambda place: place[0], reverse=True):
            woven[at:at] = found
        return dict(dialect.with_entries(body, woven))


def _places(history: History, count: int) -> list[tuple[str, int]]:
    """Return each key with the index of the entry at which the reply to it begins."""
    found: list[tuple[str, int]] = []
    for turn, later in zip(history.turns, [*history.turns[1:], None], strict=True):
        starts = [_first_entry(step) for step in turn.steps]
        end = next((int(part.at[0]) for part in later.prompt if part.at), count) if later else count
        keys = [turn.key, *(step.key for step in turn.steps)]
        found += [(key, at) for key, at in zip(keys, [*starts, end], strict=True) if at is not None]
    return found


def _first_entry(step: Step) -> int | None:
    places = [item.call.at if isinstance(item, ToolUse) else item.at for item in step.items]
    return min((int(at[0]) for at in places if at and isinstance(at[0], int)), default=None)


def last_key(history: History) -> str:
    """Return the key of the newest step, or of the prompt that has none yet."""
    turn = history.turns[-1]
    return turn.steps[-1].key if turn.steps else turn.key


def recall(
    dialect: Dialect, body: dict[str, Any], reply: Reply, before: Recalled, store: Store, meter: Meter, limit: int
) -> Recalled:
    """Answer the calls of a reply; those of the client's own tools are put off until the model has read."""
    results = {call.id: _result(call, store, meter, int(limit * SHARE_OF_LIMIT)) for call in reply.calls}
    turn = Turn((Text("."),), (reply.settle(results),))
    entries = dialect.entries_of(dialect.compose(History(turns=(turn,))))[1:]
    after = before.after or last_key(dialect.read(body).history())
    return Recalled(after, (*before.entries, *entries), before.rounds + 1)


def _result(call: Call, store: Store, meter: Meter, room: int) -> Result:
    if call.name not in NAMES:
        return Result((Text(NOT_RUN),))
    text, failed = open_ref(call, store, meter, room)
    return Result((Text(text),), error=failed)


def open_ref(call: Call, store: Store, meter: Meter, room: int) -> tuple[str, bool]:
    """Return what a call asks for, within `room` tokens, and whether it failed."""
    try:
        text = tools.call(store, call.name, call.arguments)
    except YohakuError as wrong:
        return str(wrong), True
    if meter.count(text) <= room:
        return text, False
    lines = text.split("\n")
    kept, used = [lines[0]], meter.count(lines[0]) + meter.count(CUT)
    for line in lines[1:]:
        used += meter.count(line) + 1
        if used > room:
            break
        kept.append(line)
    return "\n".join([*kept, CUT]), False


def answer_late(dialect: Dialect, body: dict[str, Any], store: Store, meter: Meter, limit: int) -> dict[str, Any]:
    """Replace what a client said to calls that reached it; the same object if there are none."""
    try:
        history = dialect.read(body).history()
    except (YohakuError, RecursionError):
        return body
    changes: dict[Path, Any] = {}
    for use in (use for step in history.steps for use in step.uses if use.call.name in NAMES):
        part = next((part for part in use.result.parts if isinstance(part, Text) and part.at), None)
        if part is not None:
            changes[part.at] = open_ref(use.call, store, meter, int(limit * SHARE_OF_LIMIT))[0]
    if not changes:
        return body
    return dict(dialect.with_entries(body, put_all(dialect.entries_of(body), changes)))


def calls_us(answer: Answer | None) -> bool:
    return answer is not None and any(call.name in NAMES for call in answer.reply.calls)


async def hold_reply(dialect: Dialect, response: aiohttp.ClientResponse, held: bytes) -> HeldReply:
    """Read a reply to its end, or until it is clear that it is an answer."""
    reader, decoder, text, said = dialect.stream_reader(), codecs.getincrementaldecoder("utf-8")("replace"), "", 0
    stream = response.content_type in STREAM_TYPES
    piece = held
    while True:
        if stream:
            text += decoder.decode(piece).replace("\r\n", "\n")
            complete, end, rest = text.rpartition(dialect.event_end)
            for event in dialect.events(complete + end) if end else ():
                said += len(reader.feed(event).text)
            text = rest
            if said > LONG_REPLY_CHARS and not any(name.encode() in held for name in NAMES):
                return HeldReply(held, None)
        piece = await response.content.readany()
        if not piece:
            break
        held += piece
    try:
        if stream:
            for event in dialect.events(text):
                reader.feed(event)
            return HeldReply(held, reader.answer())
        return HeldReply(held, _read_whole(dialect, held))
    except (YohakuError, ValueError, RecursionError):
        return HeldReply(held, None)


STREAM_TYPES = ("text/event-stream", "application/x-ndjson")


def _read_whole(dialect: Dialect, data: bytes) -> Answer | None:
    body = json.loads(data)
    if isinstance(body, dict):
        return dialect.read_reply(body)
    reader = dialect.stream_reader()  # Gemini writes a stream as a list where no events are asked for
    for event in body if isinstance(body, list) else ():
        reader.feed(event)
    return reader.answer()
