"""Finder of the rules that a user stated, which must survive every folding word for word.

Law: a rule is a slice of what the user typed. Pasted text (code, logs, quotes) states no rule, and a rule that the user
withdraws no longer stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from yohaku.analysis.language import has_japanese
from yohaku.analysis.rule_patterns import (
    COMMAND,
    COMMON_WORDS,
    CONTENT_WORD,
    FINITE_VERB,
    LABEL,
    NO_FRAGMENT,
    ONE_TASK,
    PLAIN_RULE,
    PLAIN_RULE_JA,
    POLITE_REQUEST,
    QUESTION,
    REPORT,
    REPORT_JA,
    REQUEST_JA,
    RESTRICTION,
    RESTRICTION_JA,
    RULE_HINT,
    SHORT_REQUEST_JA,
    STOP_WORDS,
    TAG_QUESTION,
    WITHDRAWAL,
    WITHDRAWAL_HINT,
)
from yohaku.analysis.sentences import (
    MIN_PASTE_LINES,
    SENTENCE_END,
    lower_in_place,
    mask_quotes,
    split_sentences,
    strip_pasted,
)
from yohaku.core.model import Text, Turn

MAX_RULE_CHARS = 300
"""A longer rule is shortened to the clause that states it."""

MAX_STANDING_CHARS = 4_000
"""Characters of all standing rules, the newest first; brief rules of short prompts stand in any case."""

MAX_BRIEF_RULE_CHARS = 160

MAX_WITHDRAWAL_TEXT_CHARS = 4_000
"""In a longer prompt no withdrawal is looked for: it is mostly pasted."""

MAX_WITHDRAWAL_CHARS = 400
"""A longer sentence is not a withdrawal."""


@lru_cache(maxsize=1 << 10)
def find_rules(text: str) -> tuple[str, ...]:
    """Return the sentences that state a rule, in order."""
    pasted = text.count("\n") >= MIN_PASTE_LINES
    found = ((sentence, _find_rule(sentence, pasted)) for sentence in split_sentences(text, _may_hold_rule))
    return tuple(dict.fromkeys(_shorten_rule(sentence, at) for sentence, at in found if at is not None))


def _may_hold_rule(line: str) -> bool:
    return bool(RULE_HINT.search(lower_in_place(line)))


def find_standing_rules(
    turns: Iterable[Turn], then: Iterable[Turn] = (), max_chars: int = MAX_STANDING_CHARS
) -> tuple[str, ...]:
    """Return the rules of `turns` that still stand; the turns `then` add none, but may withdraw some."""
    stated: dict[str, tuple[str, bool]] = {}
    """Rule and whether it stands in any case, by normalised text, the newest last."""
    for text in _typed_texts(turns):
        for key in _find_withdrawn(text, stated):
            del stated[key]
        brief = text.count("\n") < MIN_PASTE_LINES
        for rule in find_rules(text):
            stated.pop(key := _normalize(rule), None)
            stated[key] = rule, brief and len(rule) <= MAX_BRIEF_RULE_CHARS
    for text in _typed_texts(then):
        for key in _find_withdrawn(text, stated):
            del stated[key]
    return _keep_newest(list(stated.values()), max_chars)


def _keep_newest(stated: list[tuple[str, bool]], max_chars: int) -> tuple[str, ...]:
    left = max_chars - sum(len(rule) for rule, always in stated if always)
    kept: list[str] = []
    for rule, always in reversed(stated):
        if always:
            kept.append(rule)
        elif len(rule) <= left:
            left -= len(rule)
            kept.append(rule)
    return tuple(reversed(kept))


def _typed_texts(turns: Iterable[Turn]) -> Iterator[str]:
    for turn in turns:
        yield from (part.text for part in turn.prompt if isinstance(part, Text) and not part.by)


def _normalize(rule: str) -> str:
    return "".join(re.findall(r"\w+", rule.casefold()))


def _find_rule(sentence: str, pasted: bool) -> int | None:
    """Return the position of the rule in a sentence; None if it states none."""
    text = lower_in_place(mask_quotes(sentence))
    text = (TAG_QUESTION.sub("", text) if text.endswith("?") else text)[: 2 * MAX_RULE_CHARS]
    at = _find_rule_ja(text, pasted) if has_japanese(text) else _find_rule_en(text, pasted)
    return None if at is None or ONE_TASK.search(text) or _withdraws(text) else at


def _find_rule_en(text: str, pasted: bool) -> int | None:
    if pasted and text.rstrip("* _").endswith(":"):
        return None  # it introduces what follows
    polite = POLITE_REQUEST.match(text)
    if (QUESTION.match(text) or text.rstrip(" *_)").endswith("?")) and not polite:
        return None
    if found := PLAIN_RULE.search(text):
        one_task = polite and "sure" in found[0]  # "could you make sure …"
        return None if one_task or REPORT.search(text, 0, found.start()) else found.start()
    if pasted or REPORT.search(text):
        return None
    if COMMAND.match(text) and (found := RESTRICTION.search(text)):
        return found.start()
    return 0 if LABEL.match(text) or (NO_FRAGMENT.match(text) and not FINITE_VERB.search(text)) else None


def _find_rule_ja(text: str, pasted: bool) -> int | None:
    if REPORT_JA.search(text):
        return None
    if found := PLAIN_RULE_JA.search(text):
        return found.start()
    found = RESTRICTION_JA.search(text)
    requests = REQUEST_JA.search(text) or (not pasted and SHORT_REQUEST_JA.search(text))
    return found.start() if found and requests else None


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


def _find_withdrawn(text: str, stated: dict[str, tuple[str, bool]]) -> list[str]:
    """Return the keys of the rules that a text withdraws: those about the same things as the withdrawal."""
    if not stated or len(text) > MAX_WITHDRAWAL_TEXT_CHARS:
        return []
    lower = lower_in_place(text)
    if not WITHDRAWAL_HINT.search(lower):
        return []
    withdrawn: list[str] = []
    for line in strip_pasted(lower).split("\n"):
        for sentence in SENTENCE_END.split(line):
            if len(sentence) < MAX_WITHDRAWAL_CHARS and WITHDRAWAL.search(sentence):
                words = _content_words(sentence)
                words = words - COMMON_WORDS or words
                withdrawn += [key for key, (rule, _) in stated.items() if _concerns(_content_words(rule), words)]
    return list(dict.fromkeys(withdrawn))


def _withdraws(sentence: str) -> bool:
    return bool(WITHDRAWAL_HINT.search(sentence) and WITHDRAWAL.search(sentence))


def _concerns(rule: frozenset[str], words: frozenset[str]) -> bool:
    return bool(words) and 2 * len(rule & words) >= len(words)


def _content_words(text: str) -> frozenset[str]:
    found = (word.casefold() for word in CONTENT_WORD.findall(text))
    return frozenset(_strip_ending(word) for word in found if word not in STOP_WORDS)


def _strip_ending(word: str) -> str:
    """Strip English endings, roughly: `touching the tests` and `touch a test` have the same stems."""
    if word[0] > "\x7f":
        return word
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
