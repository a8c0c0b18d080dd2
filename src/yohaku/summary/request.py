"""Asking a model for a gist, and trusting nothing it says: what is asked, in which form, and how often.

Law: at most eight stretches, one merge and one repair are asked for; every answer is read by `answer.read`, and
what does not pass is not used. The record comes first in a question and the form of the answer last.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from yohaku.core.engine import Question
from yohaku.core.errors import Unanswered
from yohaku.summary.check import FIELDS, Accepted, Evidence, Rejected, check_answer
from yohaku.summary.prompts.form import FORMS
from yohaku.summary.prompts.merge import MERGE
from yohaku.summary.prompts.repair import REPAIR
from yohaku.summary.prompts.retain import RETAIN
from yohaku.summary.prompts.snapshot import SNAPSHOT
from yohaku.summary.prompts.summary import SUMMARY
from yohaku.summary.transcript_text import Utterance, cut_middle_to_tokens, split_stretches

BY_MODEL = "by_model"
"""Reason of a gist that a model wrote."""
Kind: TypeAlias = Literal["summary", "snapshot"]
Count: TypeAlias = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What is wanted of an answer."""

    kind: Kind
    limit: int
    """Tokens it may have."""
    prompt: str = ""
    """In place of our own."""
    directives: tuple[str, ...] = ()
    retain: str | None = RETAIN
    """How to choose what is kept to the letter; None asks for nothing of the kind. A snapshot never does."""
    retain_directives: tuple[str, ...] = ()
    words: str = ""
    """What the user said when asking for it."""
    rules: tuple[str, ...] = field(default=())
    """Kept word for word without the model, which need not repeat them."""
    japanese: bool = False
    model: str = ""

    @property
    def retains(self) -> bool:
        return self.kind == "summary" and self.retain is not None


def build_question(order: SummaryRequest, record: str, reason: str = "", merge: bool = False) -> Question:
    """One stretch of the record, or the notes to be merged, with everything needed to answer; `reason` asks again."""
    name = "notes" if merge else "transcript"
    asks = [f"<{name}>\n{record}\n</{name}>", _instruction(order, merge)]
    if reason:
        asks.append(REPAIR.format(reason=reason))
    asks.append(
        f"Answer in exactly this form, with your own text in place of each line in parentheses:\n{_answer_form(order)}"
    )
    return Question(
        "repair" if reason else "merge" if merge else order.kind,
        "\n\n".join(asks),
        order.limit,
        prefill="<scratchpad>\n" if order.kind == "snapshot" else "<retain>\n" if order.retains else "<summary>\n",
        stop=("</state_snapshot>",) if order.kind == "snapshot" else ("</summary>",),
        schema=_answer_schema(order),
        model=order.model,
    )


def _instruction(order: SummaryRequest, merge: bool) -> str:
    own = order.prompt or (SNAPSHOT if order.kind == "snapshot" else SUMMARY)
    asks = [_list_points(MERGE if merge else own, order.directives)]
    if order.retains:
        asks.append(_list_points(order.retain or "", order.retain_directives))
    if order.words:
        asks.append(f"What the user asked for in this: {order.words}")
    if order.rules:
        asks.append(
            _list_points("These rules of the user are handed on elsewhere; you need not repeat them:", order.rules)
        )
    language = (
        "Write in Japanese (日本語で書くこと)." if order.japanese else "Write in the language the user writes in."
    )
    size = f"{order.limit * 4 // 5:,} characters" if order.japanese else f"{max(20, order.limit * 3 // 5):,} words"
    return "\n\n".join(filter(None, [*asks, f"{language} At most {size}."]))


def _list_points(text: str, points: Iterable[str]) -> str:
    return "\n".join([text, *(f"- {' '.join(point.split())}" for point in points)])


def _answer_form(order: SummaryRequest) -> str:
    return FORMS["snapshot"] if order.kind == "snapshot" else FORMS["retain"] * order.retains + FORMS["summary"]


def _answer_schema(order: SummaryRequest) -> str:
    names = FIELDS if order.kind == "snapshot" else ("retain", "summary") if order.retains else ("summary",)
    fields = {name: {"type": "string"} for name in names}
    return json.dumps({"type": "object", "properties": fields, "required": list(names), "additionalProperties": False})


def ask_for_summary(
    order: SummaryRequest, said: list[Utterance], evidence: Evidence, tokens: int, count: Count
) -> Generator[Question, str, Accepted | Rejected]:
    """Everything there is to ask about a conversation; `tokens` is what a whole question may weigh.

    Where nobody answers the result is Bad: who asks has to do without.
    """
    room = tokens - count(build_question(order, "").text) - REPAIR_TOKENS
    if room < MIN_RECORD_TOKENS:
        return Rejected("no_room_to_ask")
    records = split_stretches(said, room, count)
    part = order if len(records) == 1 else replace(order, limit=min(order.limit, room // len(records)))
    answers: list[Accepted] = []
    again = True
    try:
        for record in records:
            found, again = yield from _ask_twice(part, record, evidence, count, again)
            if isinstance(found, Rejected):
                return found
            answers.append(found)
    except Unanswered as nobody:
        return Rejected("unanswered", str(nobody) or "nobody answered")
    if len(answers) == 1:
        return answers[0]
    notes = cut_middle_to_tokens("\n\n".join(answer.whole for answer in answers), room, count)
    try:
        found, _ = yield from _ask_twice(order, notes, evidence, count, again, merge=True)
    except Unanswered:
        found = Rejected("unanswered")
    return found if isinstance(found, Accepted) else _join_answers(answers, order.limit, count)


def _join_answers(answers: list[Accepted], tokens: int, count: Count) -> Accepted:
    """The answers one after the other, each with its share: better than none of them."""
    share = tokens // len(answers) - 2
    return Accepted("\n\n".join(cut_middle_to_tokens(answer.whole, share, count) for answer in answers))


REPAIR_TOKENS = 96
"""Tokens left for the reason of a repair."""
MIN_RECORD_TOKENS = 64
"""Tokens of a record below which there is nothing to sum up."""


def _ask_twice(
    order: SummaryRequest, record: str, evidence: Evidence, count: Count, again: bool, merge: bool = False
) -> Generator[Question, str, tuple[Accepted | Rejected, bool]]:
    """One answer, asked for a second time where that is still allowed; with whether it is from now on."""
    answer = yield build_question(order, record, merge=merge)
    found = check_answer(answer, order.kind, evidence, order.limit, count)
    if isinstance(found, Accepted) or not again:
        return found, again
    answer = yield build_question(order, record, found.reason, merge)
    return check_answer(answer, order.kind, evidence, order.limit, count), False
