"""One request to the model and its reply, with calls in a form that can be run and sent back.

Law: the conversation is not changed here: a nudge, a sampling setting or a cache mark is part of one request only.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from yohaku.agent.event_queue import EventQueue, ReplyComplete
from yohaku.agent.events import ReplyFinished, TextDelta
from yohaku.agent.small_models.text_calls import CALL_END, drop_attempts, find_calls
from yohaku.agent.toolkit.tool import AgentTool
from yohaku.core.model import Call, Part, Reply, Text
from yohaku.dialects.answer import Answer
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import RAW, Json, arguments_object, dump

if TYPE_CHECKING:
    from yohaku.client.model_client import ModelClient

_CODE = re.compile(r"^[ \t]*```[\w+-]*[ \t]*\n.*?\n[ \t]*```", re.MULTILINE | re.DOTALL)
"""A whole block of code."""
LOW_TEMPERATURE, VARYING_TEMPERATURE = 0.2, 0.6


class Nudge(NamedTuple):
    """A message for the next request only; it never becomes part of the conversation."""

    text: str
    tools: bool = True
    """False: the model is to answer in words."""
    begin: str = ""
    """First words of the model's answer, where the server can continue them."""
    previous: str = ""
    """The reply that the message is about, which is not in the conversation either."""
    reminds: bool = False
    """It says again what was asked, and the reply answers it and the conversation alike."""
    vary: bool = False
    """The model is to say something else than before."""
    code: bool = False
    """The reply ends with its first block of code."""


def build_request(body: Json, dialect: Dialect, nudge: Nudge | None, *, local: bool, small: bool) -> Json:
    """Return the body to send to a server on this machine or to another, for a small model or for a capable one."""
    if nudge:
        body = _add_nudge(body, dialect, nudge)
    if local and small:  # at the usual temperature small models misspell calls
        temperature = VARYING_TEMPERATURE if nudge and nudge.vary else LOW_TEMPERATURE
        body = {**dialect.temperature_fields(temperature), **body}
    return body if local else dialect.mark_cache(body)


async def request_reply(
    client: ModelClient,
    request: Json,
    events: EventQueue,
    *,
    weight: int,
    begin: str = "",
    end_at_call_of: Sequence[AgentTool] = (),
    end_at_code: bool = False,
) -> Answer:
    """Send a request and emit its reply piece by piece; a whole call of one of these tools, as text, ends it."""

    def holds_call(text: str) -> bool:
        return bool(find_text_calls(text, end_at_call_of)[1])

    def is_complete(text: str) -> bool:
        return holds_call(text) or (end_at_code and bool(_CODE.search(text)))

    def is_call(text: str) -> bool:
        return holds_call(text) or drop_attempts(text, names) != text

    names = tuple(tool.name for tool in end_at_call_of)
    events.start_reply(is_complete if end_at_call_of or end_at_code else None, names)
    if begin:
        events.emit(TextDelta(begin))
    try:
        answer = await events.run_cancellable(client.send(request, events.emit, weighs=weight))
    except ReplyComplete:
        answer = Answer(Reply((Text(events.reply_text),)), stop="call")
    else:
        answer = _prepend(begin, answer)
    finally:
        events.show_held(is_call)
    events.emit(ReplyFinished(answer.usage, answer.stop, client.speed.reading, client.speed.writing))
    return answer


def normalize_reply(reply: Reply, tools: Sequence[AgentTool], number: int, ids: Collection[str]) -> Reply:
    """Return the reply with calls written as text made into calls, and every call one that can be sent back.

    `number` counts the replies of the conversation, `ids` are those of its calls: some servers number their calls from
    1 in each reply, and some dialects want each id once.
    """
    if not reply.calls and tools:
        text, calls = _first_text_call(text_of(reply), tools, number)
        if calls:
            others = (item for item in reply.items if not isinstance(item, Text | Call))
            reply = Reply((*others, *((Text(text),) if text.strip() else ()), *calls))
    taken = set(ids)
    items: list[Part | Call] = []
    for index, item in enumerate(reply.items):
        if isinstance(item, Call):
            name = item.id if item.id and item.id not in taken else f"call_{number}_{index}_{len(taken)}"
            taken.add(name)
            item = Call(name, item.name, dump(arguments_object(item.arguments or "{}")))
        items.append(item)
    return Reply(tuple(items))


def number_calls(reply: Reply, ids: Collection[str]) -> Reply:
    """Return the reply with an id for each call that we made for the model."""
    items: list[Part | Call] = []
    count = len(ids)
    for item in reply.items:
        if isinstance(item, Call) and not item.id:
            item, count = Call(f"for_{count}", item.name, item.arguments), count + 1
        items.append(item)
    return Reply(tuple(items))


def drop_torn_calls(answer: Answer) -> Answer:
    """Return what is usable of a reply that was cut off: its text, and the calls whose arguments are whole."""
    items = (item for item in answer.reply.items if not isinstance(item, Call) or not _is_torn(item))
    return Answer(Reply(tuple(items)), answer.usage, answer.stop)


def text_of(reply: Reply) -> str:
    return "".join(item.text for item in reply.items if isinstance(item, Text))


def find_text_calls(text: str, tools: Sequence[AgentTool], number: int = 0) -> tuple[str, tuple[Call, ...]]:
    """Return the text without the calls written in it, and these calls."""
    if not ("name" in text or "tool" in text or "(" in text):  # nearly all texts
        return text, ()
    schemas = {tool.name: tool.parameters for tool in tools}
    return find_calls(text, tuple(schemas), schemas, salt=str(number))


def _first_text_call(text: str, tools: Sequence[AgentTool], number: int) -> tuple[str, tuple[Call, ...]]:
    """The first of them and the text before it: small models make up what they write after a call."""
    _, found = find_text_calls(text, tools, number)
    if not found:
        return text, ()
    ends = [match.end() for match in CALL_END.finditer(text)]
    first = bisect_left(ends, 1, key=lambda end: len(find_text_calls(text[:end], tools, number)[1]))
    before, calls = find_text_calls(text[: ends[min(first, len(ends) - 1)]], tools, number)
    return before, (calls or found)[:1]


def _is_torn(call: Call) -> bool:
    return RAW in arguments_object(call.arguments or "{}")


def _prepend(begin: str, answer: Answer) -> Answer:
    """Servers do not repeat the words they were given to continue."""
    if not begin:
        return answer
    first, *rest = answer.reply.items or (Text(""),)
    items = (Text(begin + first.text), *rest) if isinstance(first, Text) else (Text(begin), first, *rest)
    return Answer(Reply(items), answer.usage, answer.stop)


def _add_nudge(body: Json, dialect: Dialect, nudge: Nudge) -> Json:
    if nudge.previous.strip():
        body = dialect.with_entries(body, [*dialect.entries_of(body), dialect.model_entry(nudge.previous)])
    body = dialect.add_words(body, nudge.text)
    if nudge.begin:
        body = dialect.with_entries(body, [*dialect.entries_of(body), dialect.model_entry(nudge.begin)])
    return body if nudge.tools else dialect.without_tool_calls(body)
