"""A question as the body of a request in each dialect: what a program that is to answer one sends to its model.

Law: no body offers tools, and none ends in a call that is still open. What a server can hold a model to (a beginning,
an end, a schema) is used where it is known to be taken, and never relied on: the answer is read as it comes.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from yohaku.core.engine import Question
from yohaku.core.errors import Unanswered
from yohaku.core.model import Call, History, Opaque, Reply, Step, Text, Turn
from yohaku.dialects import dialect_named
from yohaku.dialects.dialect import Dialect, Json

PREFILLED = re.compile(r"claude-(?:[23]|instant)|claude-[a-z]+-4(?:[-.@](?:[0-5]|20\d{6})\b|$)")
"""Models that go on with a reply begun for them; later ones refuse a request that ends in one."""

THINKERS = re.compile(r"(?:^|/)(?:o\d|gpt-[5-9])")
"""Models of OpenAI that take `max_completion_tokens` for `max_tokens`, and no `stop`."""

FEWEST = 16
"""Tokens. The Responses API refuses a smaller limit."""


def request(
    question: Question,
    dialect: str,
    model: str = "",
    *,
    prefill: bool | None = None,
    schema: bool | None = None,
    window: int = 0,
) -> dict[str, Json]:
    """A body that asks `question`, whose text is complete in itself.

    `prefill` and `schema` say whether the server can begin an answer and hold it to a schema; where nothing is said,
    only what every server of the dialect takes is used. `window` tells Ollama, which would cut the question silently.
    """
    asked = History(turns=(Turn((Text(question.text),)),))
    return _body(asked, question, dialect_named(dialect), question.model or model, prefill, schema, window)


def summary_of(
    dialect: str,
    history: History,
    question: Question,
    model: str = "",
    *,
    prefill: bool | None = None,
    schema: bool | None = None,
    window: int = 0,
) -> dict[str, Json]:
    """The other way to ask: the conversation itself, entry by entry, and the question as what the user says last."""
    asked = _asking(history, question.text)
    return _body(asked, question, dialect_named(dialect), question.model or model, prefill, schema, window)


def answer_of(dialect: str, reply: dict[str, Json]) -> str:
    """What the model said in a server's reply to either; raises `Unanswered` where it said nothing."""
    answer = dialect_named(dialect).read_reply(reply)
    said = "".join(item.text for item in answer.reply.items if isinstance(item, Text))
    if not said.strip():
        raise Unanswered(f"the model said nothing (it stopped for: {answer.stop or 'no reason given'})")
    return said


def _asking(history: History, text: str) -> History:
    """The history without its tools, with what is left of an open reply, and with `text` as the newest prompt."""
    *turns, last = history.turns or (Turn(()),)
    left = _without_calls(history.pending) if history.pending else ()
    if left:
        last = replace(last, steps=(*last.steps, Step(left)))
    said = Text(text)
    if last.steps:
        turns += [last, Turn((said,))]
    else:
        turns.append(replace(last, prompt=(*last.prompt, said)))
    return History(history.system, (), tuple(turns))


def _without_calls(reply: Reply) -> tuple[Text | Opaque, ...]:
    """What a provider takes of a reply whose calls go: a thought that led to one of them would lead nowhere."""
    kept = tuple(item for item in reply.items if not isinstance(item, Call) and not _empty(item))
    return kept if any(isinstance(item, Text) for item in kept) else ()


def _empty(part: Text | Opaque) -> bool:
    return not part.text.strip() if isinstance(part, Text) else part.kind in ("thought", "item_reference")


def _body(
    history: History,
    question: Question,
    dialect: Dialect,
    model: str,
    prefill: bool | None,
    schema: bool | None,
    window: int,
) -> dict[str, Json]:
    body = dialect.compose(history, model)
    if dialect.name == "openai_responses":  # some servers know what the model said only by its type
        body["input"] = [{"type": "message", **item} for item in body["input"]]
    shape = json.loads(question.schema) if question.schema and _holds(dialect, schema) else None
    begun = question.prefill.rstrip() if not shape and _begins(dialect, model, prefill) else ""
    if begun:
        body = dialect.with_entries(body, [*dialect.entries_of(body), dialect.model_entry(begun)])
    return body | LIMITS[dialect.name](question, model, shape, window)


def _holds(dialect: Dialect, schema: bool | None) -> bool:
    return dialect.name == "ollama" if schema is None else schema


def _begins(dialect: Dialect, model: str, prefill: bool | None) -> bool:
    if prefill is None:
        return dialect.name == "anthropic" and bool(PREFILLED.search(model))
    return prefill and dialect.name != "openai_responses"


def _openai_chat(question: Question, model: str, shape: Json, window: int) -> dict[str, Json]:
    thinks = bool(THINKERS.search(model))
    limits: dict[str, Json] = {"max_completion_tokens" if thinks else "max_tokens": question.limit}
    if shape:
        held = {"name": question.purpose, "strict": True, "schema": shape}
        limits["response_format"] = {"type": "json_schema", "json_schema": held}
    elif question.stop and not thinks:
        limits["stop"] = list(question.stop)
    return limits


def _openai_responses(question: Question, model: str, shape: Json, window: int) -> dict[str, Json]:
    limits: dict[str, Json] = {"max_output_tokens": max(FEWEST, question.limit)}
    if shape:
        limits["text"] = {
            "format": {"type": "json_schema", "name": question.purpose, "strict": True, "schema": shape},
        }
    return limits


def _anthropic(question: Question, model: str, shape: Json, window: int) -> dict[str, Json]:
    limits: dict[str, Json] = {"max_tokens": question.limit}
    if shape:
        limits["output_config"] = {"format": {"type": "json_schema", "schema": shape}}
    elif question.stop:
        limits["stop_sequences"] = list(question.stop)
    return limits


def _gemini(question: Question, model: str, shape: Json, window: int) -> dict[str, Json]:
    limits: dict[str, Json] = {"maxOutputTokens": question.limit}
    if shape:
        limits |= {"responseMimeType": "application/json", "responseJsonSchema": shape}
    elif question.stop:
        limits["stopSequences"] = list(question.stop)
    return {"generationConfig": limits}


def _ollama(question: Question, model: str, shape: Json, window: int) -> dict[str, Json]:
    options: dict[str, Json] = {"num_predict": question.limit}
    if window:
        options["num_ctx"] = window
    if question.stop and not shape:
        options["stop"] = list(question.stop)
    return {"stream": False, "options": options, **({"format": shape} if shape else {})}


LIMITS = {
    "openai_chat": _openai_chat,
    "openai_responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}
