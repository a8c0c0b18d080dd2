"""Bodies as they leave: with limits and stream fields, adapted to what a server refused, or made from a question.

Law: every request of a conversation has the same limits and options; a server given another window reloads the model.
A question's body offers no tools and does not end in an open call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import RequestRefused
from yohaku.core.errors import Unanswered
from yohaku.core.model import Call, History, Opaque, Reply, Step, Text, Turn
from yohaku.core.recipe import Question
from yohaku.dialects import dialect_named, role_rules
from yohaku.dialects.answer import Answer
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import Json, merge
from yohaku.dialects.role_rules import NO_RULES, RoleRules, RuleName


@dataclass(frozen=True, slots=True)
class Quirks:
    """Fields, limits and roles that a server was found to refuse."""

    refused: frozenset[str] = frozenset()
    """Names of fields."""
    max_reply: int | None = None
    """Tokens that may be requested for a reply."""
    roles: RoleRules = NO_RULES


def limit_reply(body: dict[str, Json], endpoint: Endpoint, window: int, reserve: int) -> dict[str, Json]:
    """Limit the reply to what is reserved for it, or to the longest the model can write."""
    dialect = dialect_named(endpoint.dialect)
    limit = max(1, min(reserve, endpoint.output or reserve))
    return merge(merge(body, dialect.limit_fields(limit, endpoint.model)), dialect.window_fields(window))


def prepare(body: dict[str, Json], endpoint: Endpoint, quirks: Quirks) -> dict[str, Json]:
    """Add the model's name and the stream fields, and replace what the server refuses."""
    dialect = dialect_named(endpoint.dialect)
    named = {"model": endpoint.model} if dialect.names_model else {}
    sent = merge(named | dialect.follow_role_rules(body, quirks.roles), dialect.stream_fields)
    for name in sorted(quirks.refused & sent.keys()):
        value = sent.pop(name)
        if other := dialect.substitutes[name]:
            sent[other] = value
    if quirks.max_reply:
        for name in dialect.substitutes.keys() & sent.keys():
            if type(sent[name]) is int:
                sent[name] = min(sent[name], quirks.max_reply)
    return sent


def adapt(
    quirks: Quirks, refusal: RequestRefused, sent: dict[str, Json], substitutes: Mapping[str, str]
) -> Quirks | None:
    """Learn from a refusal that names a field we sent; None where it is about something else."""
    if refusal.status not in (400, 422):
        return None
    named = [name for name in substitutes if name in sent and re.search(rf"\b{name}\b", refusal.text)]
    if not named:
        return None
    name = named[0]
    if type(limit := sent[name]) is int and limit > 1:
        lower = [number for number in _numbers_in(refusal.text) if 0 < number < limit]
        if lower and quirks.max_reply is None:  # once: a server that keeps asking for less is not followed
            return replace(quirks, max_reply=max(lower))
    if name in quirks.refused or substitutes[name] in quirks.refused:
        return None
    return replace(quirks, refused=quirks.refused | {name})


def adapt_roles(quirks: Quirks, meant: tuple[RuleName, ...], body: dict[str, Json], dialect: Dialect) -> Quirks | None:
    """Learn a rule about roles from a refusal that may mean any of these; None if the body keeps to all of them."""
    rules = role_rules.stricter(dialect, body, quirks.roles, meant) if meant else None
    return replace(quirks, roles=rules) if rules else None


def _numbers_in(text: str) -> list[int]:
    found = re.findall(r"(?<![\w.])\d{1,3}(?:,\d{3})+\b|(?<![\w.])\d{1,9}\b", text)
    return [int(number.replace(",", "")) for number in found]


def question_body(
    question: Question,
    dialect: str,
    model: str = "",
    *,
    prefill: bool | None = None,
    schema: bool | None = None,
    window: int = 0,
) -> dict[str, Json]:
    """Write a body that asks `question`, whose text is complete in itself.

    `prefill` and `schema`: whether the server continues a reply begun for the model, and holds it to a schema. Without
    them, only what every server of the dialect takes is used. `window` is for servers that load the model with one.
    """
    history = History(turns=(Turn((Text(question.text),)),))
    return _compose(history, question, dialect_named(dialect), question.model or model, prefill, schema, window)


def summary_body(
    dialect: str,
    history: History,
    question: Question,
    model: str = "",
    *,
    prefill: bool | None = None,
    schema: bool | None = None,
    window: int = 0,
) -> dict[str, Json]:
    """Write a body that holds the conversation itself, entry by entry, with the question as the newest prompt."""
    asked = _append_prompt(history, question.text)
    return _compose(asked, question, dialect_named(dialect), question.model or model, prefill, schema, window)


def require_text(answer: Answer) -> str:
    """Return the text of an answer to a question, or raise `Unanswered`."""
    if not answer.text.strip():
        raise Unanswered(f"the model said nothing (it stopped for: {answer.stop or 'no reason given'})")
    return answer.text


def _append_prompt(history: History, text: str) -> History:
    """Add a prompt to a history; its tools go, and the open calls of its last reply."""
    *turns, last = history.turns or (Turn(()),)
    left = _without_calls(history.pending) if history.pending else ()
    if left:
        last = replace(last, steps=(*last.steps, Step(left)))
    match last:
        case Turn((*parts, Text(before, "")), ()):  # one text: some dialects write each as a message
            turns.append(replace(last, prompt=(*parts, Text(f"{before}\n\n{text}"))))
        case Turn(_, ()):
            turns.append(replace(last, prompt=(*last.prompt, Text(text))))
        case _:
            turns += [last, Turn((Text(text),))]
    return History(history.system, (), tuple(turns))


def _without_calls(reply: Reply) -> tuple[Text | Opaque, ...]:
    """Return what a provider accepts of a reply without its calls: a thought that led to one of them goes, too."""
    kept = tuple(item for item in reply.items if not isinstance(item, Call) and not _is_empty(item))
    return kept if any(isinstance(item, Text) for item in kept) else ()


def _is_empty(part: Text | Opaque) -> bool:
    return not part.text.strip() if isinstance(part, Text) else part.kind in ("thought", "item_reference")


def _compose(
    history: History,
    question: Question,
    dialect: Dialect,
    model: str,
    prefill: bool | None,
    schema: bool | None,
    window: int,
) -> dict[str, Json]:
    takes_schema = dialect.takes_schema if schema is None else schema
    takes_prefill = dialect.continues_prefill(model) if prefill is None else prefill and dialect.takes_prefill
    shape = json.loads(question.schema) if question.schema and takes_schema else None
    body = dialect.compose_question(history, model)
    begun = question.prefill.rstrip() if not shape and takes_prefill else ""
    if begun:
        body = dialect.with_entries(body, [*dialect.entries_of(body), dialect.model_entry(begun)])
    fields = [dialect.whole_fields, dialect.limit_fields(question.limit, model), dialect.window_fields(window)]
    if shape:
        fields.append(dialect.schema_fields(question.purpose, shape))
    elif question.stop:
        fields.append(dialect.stop_fields(question.stop, model))
    return reduce(merge, fields, body)
