"""The rules a user stated, word for word: what must survive every folding.

Law: a rule is a slice of what the user typed, never a rewording. What was only pasted (code, logs, quotes, other
people's text) states no rule, and a rule the user takes back is gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from yohaku.analysis.language import has_japanese
from yohaku.analysis.rule_patterns import (
    ASKS,
    ASKS_JA,
    BACK,
    COMMANDS,
    CONTENT,
    EMPTY,
    FINITE,
    FRAGMENT,
    GENERIC,
    HINT,
    LABEL,
    MILD,
    MILD_JA,
    ONCE,
    PLAIN,
    PLAIN_JA,
    POLITE,
    SAYS_JA,
    SHORT_JA,
    TAGGED_ON,
    TELLS,
    WITHDRAWS,
)
from yohaku.analysis.sentences import (
    MIN_PASTE_LINES,
    SENTENCE,
    lower_in_place,
    mask_quotes,
    split_sentences,
    strip_pasted,
)
from yohaku.core.model import Text, Turn

MAX_RULE_CHARS = 300
"""Characters of a rule that are kept."""

MAX_STANDING_CHARS = 4_000
"""Characters of rules that stand at once, the newest of them; short ones out of short prompts stand always."""

MAX_BRIEF_RULE_CHARS = 160


@lru_cache(maxsize=1 << 10)
def find_rules(text: str) -> tuple[str, ...]:
    """The sentences that set a rule, in order."""
    pasted = text.count("\n") >= MIN_PASTE_LINES
    found = ((sentence, _rule_at(sentence, pasted)) for sentence in split_sentences(text, _may_hold_rule))
    return tuple(dict.fromkeys(_shorten_rule(sentence, at) for sentence, at in found if at is not None))


def _may_hold_rule(line: str) -> bool:
    return bool(HINT.search(lower_in_place(line)))


def find_standing_rules(
    turns: Iterable[Turn], then: Iterable[Turn] = (), most: int = MAX_STANDING_CHARS
) -> tuple[str, ...]:
    """The rules of these turns that still stand; what is said in the turns `then` may only take them back."""
    stated: dict[str, tuple[str, bool]] = {}
    """By what they say, the newest last, each with whether it always stands."""
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
    return _keep_newest(list(stated.values()), most)


def _keep_newest(stated: list[tuple[str, bool]], most: int) -> tuple[str, ...]:
    left = most - sum(len(rule) for rule, always in stated if always)
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


def _rule_at(sentence: str, pasted: bool) -> int | None:
    """Where the rule in a sentence begins, if it sets one."""
    said = lower_in_place(mask_quotes(sentence))
    said = (TAGGED_ON.sub("", said) if said.endswith("?") else said)[: 2 * MAX_RULE_CHARS]
    at = _rule_at_ja(said, pasted) if has_japanese(said) else _rule_at_en(said, pasted)
    return None if at is None or ONCE.search(said) or _withdraws(said) else at


def _rule_at_en(said: str, pasted: bool) -> int | None:
    if pasted and said.rstrip("* _").endswith(":"):
        return None  # what it leads to is not in it
    polite = POLITE.match(said)
    if (ASKS.match(said) or said.rstrip(" *_)").endswith("?")) and not polite:
        return None
    if found := PLAIN.search(said):
        wish = polite and "sure" in found[0]
        return None if wish or TELLS.search(said, 0, found.start()) else found.start()
    if pasted or TELLS.search(said):
        return None
    if COMMANDS.match(said) and (found := MILD.search(said)):
        return found.start()
    return 0 if LABEL.match(said) or (FRAGMENT.match(said) and not FINITE.search(said)) else None


def _rule_at_ja(said: str, pasted: bool) -> int | None:
    if SAYS_JA.search(said):
        return None
    if found := PLAIN_JA.search(said):
        return found.start()
    found = MILD_JA.search(said)
    asks = ASKS_JA.search(said) or (not pasted and SHORT_JA.search(said))
    return found.start() if found and asks else None


def _shorten_rule(sentence: str, at: int) -> str:
    """All of it, or the clause with the rule and what comes behind it."""
    if len(sentence) <= MAX_RULE_CHARS:
        return sentence
    begin = 0 if at < MAX_RULE_CHARS // 2 else max(sentence.rfind(stop, 0, at + 2) + 1 for stop in ",;:—、，(\n")
    part = sentence[begin:].strip()
    if len(part) <= MAX_RULE_CHARS:
        return part
    part = part[:MAX_RULE_CHARS]
    return part[: part.rfind(" ")].rstrip() if " " in part[MAX_RULE_CHARS // 2 :] else part


def _find_withdrawn(text: str, stated: dict[str, tuple[str, bool]]) -> list[str]:
    """The keys of the rules that are taken back: those that speak of what the withdrawal speaks of."""
    if not stated or len(text) > 4_000 or not BACK.search(said := lower_in_place(text)):
        return []
    gone: list[str] = []
    for line in strip_pasted(said).split("\n"):
        for sentence in SENTENCE.split(line):
            if len(sentence) < 400 and WITHDRAWS.search(sentence):
                words = _content_words(sentence)
                telling = words - GENERIC or words
                gone += [key for key, (rule, _) in stated.items() if _concerns(_content_words(rule), telling)]
    return list(dict.fromkeys(gone))


def _withdraws(sentence: str) -> bool:
    return bool(BACK.search(sentence) and WITHDRAWS.search(sentence))


def _concerns(rule: frozenset[str], words: frozenset[str]) -> bool:
    return bool(words) and 2 * len(rule & words) >= len(words)


def _content_words(text: str) -> frozenset[str]:
    found = (word.casefold() for word in CONTENT.findall(text))
    return frozenset(_stem(word) for word in found if word not in EMPTY)


def _stem(word: str) -> str:
    """English endings off, roughly: `touching the tests` and `touch a test` speak of the same."""
    if word[0] > "\x7f":
        return word
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
