"""A question as the body of a request in each dialect: what a program that is to answer one sends to its model.

Law: no body offers tools, and none ends in a call that is still open. What a server can hold a model to (a beginning,
an end, a schema) is used where it is known to be taken, and never relied on: the answer is read as it comes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import reduce

from yohaku.core.engine import Question
from yohaku.core.errors import Unanswered
from yohaku.core.model import Call, History, Opaque, Reply, Step, Text, Turn
from yohaku.dialects import dialect_named
from yohaku.dialects.dialect import Dialect, Json
from yohaku.dialects.server_api import merge


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
    shape = json.loads(question.schema) if question.schema and _takes_schema(dialect, schema) else None
    body = dialect.compose_question(history, model)
    begun = question.prefill.rstrip() if not shape and _takes_prefill(dialect, model, prefill) else ""
    if begun:
        body = dialect.with_entries(body, [*dialect.entries_of(body), dialect.model_entry(begun)])
    fields = [dialect.whole_fields, dialect.limit_fields(question.limit, model), dialect.window_fields(window)]
    if shape:
        fields.append(dialect.schema_fields(question.purpose, shape))
    elif question.stop:
        fields.append(dialect.stop_fields(question.stop, model))
    return reduce(merge, fields, body)


def _takes_schema(dialect: Dialect, schema: bool | None) -> bool:
    return dialect.takes_schema if schema is None else schema


def _takes_prefill(dialect: Dialect, model: str, prefill: bool | None) -> bool:
    return dialect.continues_prefill(model) if prefill is None else prefill and dialect.takes_prefill
