"""Questions to a model that summarises: the questions of one summary, their form, and how often one is repeated.

Law: a summary takes at most eight stretches, one merge and one repair; a chapter eight parts and one repair, and in
place of others one merge of them before that. Every
answer goes through `check_answer`, and a rejected one is not used. The record comes first in a question, behind the
chapters before it; the form of the answer comes last.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from yohaku.analysis.shorten import find_cap
from yohaku.core.errors import Unanswered
from yohaku.core.recipe import Question
from yohaku.core.view import CHAPTER_BREAK
from yohaku.summary.answer_fields import FIELDS
from yohaku.summary.check import Accepted, Evidence, Rejected, check_answer
from yohaku.summary.prompts import (
    ANSWER_IN_FORM,
    CHAPTER,
    FORMS,
    GOES_ON,
    IN_JAPANESE,
    IN_USERS_LANGUAGE,
    MERGE,
    OPEN_AT_END,
    OPEN_IN_SHORT,
    REPAIR,
    RETAIN,
    RULES_KNOWN,
    SNAPSHOT,
    SUMMARY,
)
from yohaku.summary.transcript_text import (
    MIN_RESULT_CHARS,
    Utterance,
    cut_end_to_tokens,
    cut_middle_to_tokens,
    split_stretches,
)

BY_MODEL = "by_model"
"""Reason of a gist that a model wrote."""
WITHOUT_MODEL = "without_model."
"""Beginning of the reason of a gist that a model was to write, and why it did not."""
SummaryKind: TypeAlias = Literal["summary", "snapshot"]
Count: TypeAlias = Callable[[str], int]

REPAIR_TOKENS = 96
"""Tokens kept free for the reason of a repair."""
MAX_RETAINED_SHARE = 0.4
"""Share of a summary that lines kept to the letter may have, where it is joined from several answers."""
EARLIER_SHARES = (0.5, 0.25)
"""Share of a question about a chapter that the chapters before it take at most; less if one question is enough then."""
CAPABLE_RESULT_CHARS = 24_000
"""Characters that a result keeps at least for a capable model: more than a question in a small window holds."""
CHAPTER_EXCESS = 1.25
"""A chapter may be so many times as long as asked for: its last lines say what is open; lines of results make way."""
SAMPLE_JA = """\
利用者の依頼により `src/app.py` の load() を直した。設定が空だと失敗していた(KeyError: 'port')。\
修正後 `pytest -q` は12件成功、1件失敗。残り: README.md の説明を更新する。"""
"""Text as a summary in Japanese has it; its tokens tell how many characters a summary may have."""
SAFE_SHARE = 0.85
"""Share of these characters that is asked for, since texts differ."""
MIN_TOKENS_WITH_STATE = 300
"""A shorter chapter has no paragraph of its own for what holds now."""
MIN_RECORD_TOKENS = 64
"""With fewer tokens for the record, no question is asked."""


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """Form, length and content of the answer."""

    kind: SummaryKind
    limit: int
    """Tokens of the answer at most."""
    prompt: str = ""
    """Replaces SUMMARY or SNAPSHOT."""
    directives: tuple[str, ...] = ()
    retain: str | None = RETAIN
    """Instruction for lines to keep to the letter; None for none. Not used by snapshots."""
    retain_directives: tuple[str, ...] = ()
    words: str = ""
    """What the user added to the command that folds."""
    rules: tuple[str, ...] = field(default=())
    """Rules that the gist shows anyway: the model need not repeat them."""
    japanese: bool = False
    characters_per_token: float = 0.8
    """Of a text in Japanese."""
    model: str = ""
    chapter: bool = False
    """Ask for what is new in the record, behind the chapters before it."""
    earlier: tuple[str, ...] = ()
    """These chapters, as they stand."""
    goes_on: bool = False
    """The next part of the record is asked about next: what is open is told then."""
    capable: bool = False
    """The model writes much of a chapter: it is shown results whole, in more questions, and its numbers are trusted."""

    @property
    def result_chars(self) -> int:
        """Characters that a result keeps at least: the record is rather split."""
        return CAPABLE_RESULT_CHARS if self.capable else MIN_RESULT_CHARS

    @property
    def retains(self) -> bool:
        return self.kind == "summary" and self.retain is not None


def measure_japanese(count: Count) -> float:
    """Return the characters of a summary in Japanese to ask for, for each of its tokens."""
    return SAFE_SHARE * len(SAMPLE_JA) / max(1, count(SAMPLE_JA))


def build_question(request: SummaryRequest, record: str, reason: str = "", merge: bool = False) -> Question:
    """Return the question about one stretch of the record, or about notes to merge; with `reason`, a repair."""
    name = "notes" if merge else "transcript"
    parts = [f"<chapters>\n{CHAPTER_BREAK.join(request.earlier)}\n</chapters>"] if request.earlier else []
    parts += [f"<{name}>\n{record}\n</{name}>", _instruction(request, merge)]
    if reason:
        parts.append(REPAIR.format(reason=reason))
    parts.append(f"{ANSWER_IN_FORM}\n{_answer_form(request, merge)}")
    return Question(
        "repair" if reason else "merge" if merge else request.kind,
        "\n\n".join(parts),
        request.limit,
        prefill="<scratchpad>\n" if request.kind == "snapshot" else "<retain>\n" if request.retains else "<summary>\n",
        stop=("</state_snapshot>",) if request.kind == "snapshot" else ("</summary>",),
        schema=_answer_schema(request),
        model=request.model,
    )


def _instruction(request: SummaryRequest, merge: bool) -> str:
    own = request.prompt or _default_prompt(request)
    parts = [_list_points(MERGE if merge else own, request.directives)]
    if request.retains:
        parts.append(_list_points(request.retain or "", request.retain_directives))
    if request.words:
        parts.append(f"What the user asked for in this: {request.words}")
    if request.rules:
        parts.append(_list_points(RULES_KNOWN, request.rules))
    if request.japanese:  # tokens in characters or words, on the safe side
        language, size = IN_JAPANESE, f"{int(request.limit * request.characters_per_token):,} characters"
    else:
        language, size = IN_USERS_LANGUAGE, f"{max(20, request.limit * 3 // 5):,} words"
    together = " for both together" if request.chapter and request.retains else ""
    return "\n\n".join(filter(None, [*parts, f"{language} At most {size}{together}."]))


def _default_prompt(request: SummaryRequest) -> str:
    if request.kind == "snapshot":
        return SNAPSHOT
    if not request.chapter:
        return SUMMARY
    end = OPEN_AT_END if request.limit >= MIN_TOKENS_WITH_STATE else OPEN_IN_SHORT
    return CHAPTER.format(end=GOES_ON if request.goes_on else end)


def _list_points(text: str, points: Iterable[str]) -> str:
    return "\n".join([text, *(f"- {' '.join(point.split())}" for point in points)])


def _answer_form(request: SummaryRequest, merge: bool) -> str:
    if request.kind == "snapshot":
        return FORMS["snapshot"]
    return FORMS["retain"] * request.retains + FORMS["chapter" if request.chapter and not merge else "summary"]


def _answer_schema(request: SummaryRequest) -> str:
    names = FIELDS if request.kind == "snapshot" else ("retain", "summary") if request.retains else ("summary",)
    fields = {name: {"type": "string"} for name in names}
    return json.dumps({"type": "object", "properties": fields, "required": list(names), "additionalProperties": False})


def ask_for_summary(
    request: SummaryRequest, utterances: list[Utterance], evidence: Evidence, tokens: int, count: Count
) -> Generator[Question, str, Accepted | Rejected]:
    """Yield the questions of one summary, each of at most `tokens`; return the checked summary.

    If no answer comes, it is rejected, and the caller makes a gist without a model.
    """
    left = tokens - count(build_question(request, "").text) - REPAIR_TOKENS
    if left < MIN_RECORD_TOKENS:
        return Rejected("no_room_to_ask")
    records = split_stretches(utterances, left, count)
    part = request if len(records) == 1 else replace(request, limit=min(request.limit, left // len(records)))
    answers: list[Accepted] = []
    may_repair = True
    try:
        for record in records:
            found, may_repair = yield from _ask(part, record, evidence, count, may_repair)
            if isinstance(found, Rejected):
                return found
            answers.append(found)
    except Unanswered as error:
        return Rejected("unanswered", str(error) or "nobody answered")
    if len(answers) == 1:
        return answers[0]
    notes = cut_middle_to_tokens("\n\n".join(answer.whole for answer in answers), left, count)
    try:
        found, _ = yield from _ask(request, notes, evidence, count, may_repair, merge=True)
    except Unanswered:
        found = Rejected("unanswered")
    return found if isinstance(found, Accepted) else _join_answers(answers, request.limit, count)


def ask_for_chapter(
    request: SummaryRequest, utterances: list[Utterance], evidence: Evidence, tokens: int, count: Count
) -> Generator[Question, str, Accepted | Rejected]:
    """Yield the questions of one chapter, each of at most `tokens`; return the checked chapter.

    A stretch that is too long for one question is told in parts, each behind those before it, which stay as they are.
    """
    bare = max(0, tokens - count(build_question(replace(request, earlier=("",)), "").text) - REPAIR_TOKENS)
    earlier = sum(count(text) + 2 for text in request.earlier)
    if bare < 2 * MIN_RECORD_TOKENS:
        return Rejected("no_room_to_ask")
    for share in EARLIER_SHARES:
        most = int(bare * share)
        records = split_stretches(utterances, bare - min(most, earlier), count, request.result_chars)
        if len(records) == 1:
            break
    else:  # in parts, each behind those before it
        most = int(bare * EARLIER_SHARES[0])
        records = split_stretches(utterances, bare - min(most, earlier + request.limit), count, request.result_chars)
    part, answers, may_repair = replace(request, limit=request.limit // len(records)), list[Accepted](), True
    try:
        for number, record in enumerate(records, 1):
            told = _shorten_all((*request.earlier, *(answer.whole for answer in answers)), most, count)
            part = replace(part, earlier=told, goes_on=number < len(records))
            found, may_repair = yield from _ask(part, record, evidence, count, may_repair)
            if isinstance(found, Rejected):
                return found
            answers.append(found)
    except Unanswered as error:
        return Rejected("unanswered", str(error) or "nobody answered")
    return join_parts(answers)


def ask_for_merge(
    request: SummaryRequest, chapters: tuple[str, ...], evidence: Evidence, tokens: int, count: Count
) -> Generator[Question, str, Accepted | Rejected]:
    """Yield one question, and maybe a repair, for a shorter text in place of these chapters."""
    left = tokens - count(build_question(request, "", merge=True).text) - REPAIR_TOKENS
    if left < MIN_RECORD_TOKENS:
        return Rejected("no_room_to_ask")
    notes = CHAPTER_BREAK.join(_shorten_all(chapters, left, count))
    try:
        found, _ = yield from _ask(request, notes, evidence, count, True, merge=True)
    except Unanswered as error:
        return Rejected("unanswered", str(error) or "nobody answered")
    return found


def _shorten_all(texts: tuple[str, ...], tokens: int, count: Count) -> tuple[str, ...]:
    """Return the beginnings of texts that are too long together: there stands what was told."""
    weights = [count(text) for text in texts]
    cap = find_cap(weights, tokens) if sum(weights) > tokens else max(weights, default=0)
    return tuple(
        text if weight <= cap else cut_end_to_tokens(text, cap, count)
        for text, weight in zip(texts, weights, strict=True)
    )


def join_parts(answers: list[Accepted]) -> Accepted:
    """Return the parts one after the other, and what each wants kept to the letter once."""
    text = CHAPTER_BREAK.join(answer.text for answer in answers)
    retained = dict.fromkeys(line for answer in answers for line in answer.retain.splitlines() if line.strip())
    return Accepted(text, "\n".join(retained), sum(answer.dropped for answer in answers))


def _join_answers(answers: list[Accepted], tokens: int, count: Count) -> Accepted:
    """Return the answers one after the other, each cut to its share: for want of a merged one."""
    lines = "\n".join(answer.retain for answer in answers if answer.retain)
    retain = cut_middle_to_tokens(lines, int(tokens * MAX_RETAINED_SHARE), count) if lines else ""
    share = (tokens - count(retain)) // len(answers) - 2
    return Accepted("\n\n".join(cut_middle_to_tokens(answer.text, share, count) for answer in answers), retain)


def _ask(
    request: SummaryRequest, record: str, evidence: Evidence, count: Count, may_repair: bool, merge: bool = False
) -> Generator[Question, str, tuple[Accepted | Rejected, bool]]:
    """Return the checked answer, after a repair if one is needed and allowed, and whether one is still allowed."""
    limit = int(request.limit * CHAPTER_EXCESS) if request.chapter else request.limit
    answer = yield build_question(request, record, merge=merge)
    found = check_answer(answer, request.kind, evidence, limit, count, trust_numbers=request.capable)
    if isinstance(found, Accepted) or not may_repair:
        return found, may_repair
    answer = yield build_question(request, record, found.reason, merge)
    return check_answer(answer, request.kind, evidence, limit, count, trust_numbers=request.capable), False
