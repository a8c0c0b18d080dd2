"""Finder of the rules in what a user typed, which must survive every folding word for word.

Law: a rule is a slice of what the user typed. Pasted text (code, logs, quotes) states no rule.
"""

from __future__ import annotations

from yohaku.analysis.language import has_japanese
from yohaku.analysis.order_patterns import (
    CONDITION,
    CONDITION_JA,
    FORM_JA,
    FRAME,
    FRAME_ALONE_CHARS,
    ONE_OCCASION,
    ONE_OCCASION_JA,
    ORDER_START,
    PLAIN_ORDER_JA,
    REPLY_FACT,
    REPLY_FORM,
    STANDING_REQUEST_JA,
    VALUE_FORM,
    WORK_ORDER,
)
from yohaku.analysis.rule_patterns import (
    COMMAND,
    FINITE_VERB,
    LABEL,
    NO_FRAGMENT,
    ONE_TASK,
    PLAIN_RULE,
    PLAIN_RULE_JA,
    POLITE_REQUEST,
    QUESTION,
    REFERS_BACK,
    REPORT,
    REPORT_JA,
    REQUEST_JA,
    RESTRICTION,
    RESTRICTION_JA,
    RULE_HINT,
    SHORT_REQUEST_JA,
    TAG_QUESTION,
)
from yohaku.analysis.sentences import (
    MIN_PASTE_LINES,
    lower_in_place,
    mask_quotes,
    split_sentences,
)
from yohaku.analysis.withdrawals import is_withdrawal

MAX_RULE_CHARS = 300
"""A longer rule is shortened to the clause that states it."""


def find_rules(text: str) -> tuple[str, ...]:
    """Return the sentences that state a rule, in order."""
    pasted = text.count("\n") >= MIN_PASTE_LINES
    found: dict[str, None] = {}
    framed = False
    for sentence in split_sentences(text, _may_hold_rule):
        at = _find_rule(sentence, pasted, framed)
        framed = at is None and _announces_rule(sentence)
        if at is not None:
            found[_shorten_rule(sentence, at)] = None
    return tuple(found)


def _may_hold_rule(line: str) -> bool:
    return bool(RULE_HINT.search(lower_in_place(line)))


def _announces_rule(sentence: str) -> bool:
    """Test for `For the rest of this session.`: the next sentence is the rule."""
    return len(sentence) <= FRAME_ALONE_CHARS and FRAME.search(lower_in_place(sentence)) is not None


def _find_rule(sentence: str, pasted: bool, framed: bool) -> int | None:
    """Return the position of the rule in a sentence; None if it states none. `framed`: the one before announced it."""
    text = lower_in_place(mask_quotes(sentence))
    text = (TAG_QUESTION.sub("", text) if text.endswith("?") else text)[: 2 * MAX_RULE_CHARS]
    at = _find_rule_ja(text, pasted, framed) if has_japanese(text) else _find_rule_en(text, pasted, framed)
    return None if at is None or ONE_TASK.search(text) or is_withdrawal(text) else at


def _find_rule_en(text: str, pasted: bool, framed: bool) -> int | None:
    if pasted and (text.rstrip("* _").endswith(":") or REFERS_BACK.match(text)):
        return None  # it introduces what follows, or answers what came before
    polite = POLITE_REQUEST.match(text)
    if (QUESTION.match(text) or text.rstrip(" *_)").endswith("?")) and not polite:
        return None
    if found := PLAIN_RULE.search(text):
        one_task = polite and "sure" in found[0]  # "could you make sure …"
        return None if one_task or REPORT.search(text, 0, found.start()) else found.start()
    if pasted or REPORT.search(text):
        return None
    if (found_at := _find_order_en(text, framed)) is not None:
        return found_at
    if COMMAND.match(text) and (found := RESTRICTION.search(text)):
        return found.start()
    return 0 if LABEL.match(text) or (NO_FRAGMENT.match(text) and not FINITE_VERB.search(text)) else None


def _find_order_en(text: str, framed: bool) -> int | None:
    """Return the position of an order that stands for more than one occasion."""
    frame = FRAME.search(text)
    order = (text[frame.end() :].lstrip(" ,:.") or text) if frame else text
    at = len(text) - len(order)
    if ORDER_START.match(order) and (framed or frame or REPLY_FORM.search(order)):
        return 0
    if CONDITION.match(order):
        return None if ONE_OCCASION.match(order) else at
    return at if any(form.match(order) for form in (REPLY_FACT, VALUE_FORM, WORK_ORDER)) else None


def _find_rule_ja(text: str, pasted: bool, framed: bool) -> int | None:
    if REPORT_JA.search(text):
        return None
    if found := PLAIN_RULE_JA.search(text):
        return found.start()
    found = RESTRICTION_JA.search(text)
    requests = REQUEST_JA.search(text) or (not pasted and SHORT_REQUEST_JA.search(text))
    if found and requests:
        return found.start()
    if pasted or ONE_OCCASION_JA.search(text):
        return None
    if STANDING_REQUEST_JA.search(text):
        standing = framed or any(form.search(text) for form in (CONDITION_JA, FORM_JA, FRAME))
    else:
        standing = bool(PLAIN_ORDER_JA.search(text) and CONDITION_JA.search(text))
    return 0 if standing else None


def _shorten_rule(sentence: str, at: int) -> str:
    """Return the sentence, or if it is too long the clause at `at` and what follows it."""
    if len(sentence) <= MAX_RULE_CHARS:
        return sentence
    begin = 0 if at < MAX_RULE_CHARS // 2 else max(sentence.rfind(stop, 0, at + 2) + 1 for stop in ",;:—、，(\n")
    part = sentence[begin:].strip()
    if len(part) <= MAX_RULE_CHARS:
        return part
    part = part[:MAX_RULE_CHARS]
    return part[: part.rfind(" ")].rstrip() if " " in part[MAX_RULE_CHARS // 2 :] else part
