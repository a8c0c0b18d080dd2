"""Rules that still stand: stated by the user and not withdrawn, and the choice of those that there are tokens for.

Laws: a rule stands until the user withdraws it. Reading many prompts takes time in proportion to their number. A choice
counts what it leaves out, so that nothing is left out silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from yohaku.analysis.rule_patterns import LASTING
from yohaku.analysis.rules import find_rules
from yohaku.analysis.sentences import MIN_PASTE_LINES, lower_in_place
from yohaku.analysis.withdrawals import content_words, count_needed, find_withdrawals
from yohaku.core.model import Text, Turn

MAX_BRIEF_RULE_CHARS = 160

MAX_COMPARED_RULES = 1_000
"""Rules compared with one withdrawal in vain: beyond, only the newest that share its rarest words are compared."""

MAX_MISSES = 8
"""After this many rules that did not fit, no more are tried."""


class StandingRule(NamedTuple):
    text: str
    brief: bool
    """True for a short sentence of a short prompt: typed, not pasted."""
    first: bool
    """True if it is of the first prompt, which frames the whole task."""


IN_PASTED_TEXTS = "[from longer texts among the prompts; what the user said later goes before them:]"
IN_PASTED_TEXTS_JA = "[以下は指示に含まれる長い文書から。後のユーザーの発言が優先:]"


class RuleChoice(NamedTuple):
    shown: tuple[str, ...]
    """In the order in which they were stated."""
    left_out: int = 0
    pasted: frozenset[str] = frozenset()
    """Those shown that stand in a longer text: a template, a document, a plan."""

    def lines(self, ref: str, japanese: bool = False) -> tuple[str, ...]:
        """Return the rules, typed ones first, and behind them how many more there are and the ref that opens them."""
        typed = [rule for rule in self.shown if rule not in self.pasted]
        pasted = [rule for rule in self.shown if rule in self.pasted]
        title = [IN_PASTED_TEXTS_JA if japanese else IN_PASTED_TEXTS] if pasted else []
        more = f"[ほかに決まり {self.left_out:,} 件: ref={ref}]" if japanese else f"[{self.left_out:,} more: ref={ref}]"
        return (*typed, *title, *pasted, *([more] if self.left_out else []))


def find_standing_rules(turns: Iterable[Turn], then: Iterable[Turn] = ()) -> tuple[str, ...]:
    """Return the rules of `turns` that still stand; the turns `then` add none, but may withdraw some."""
    return tuple(rule.text for rule in read_standing_rules(turns, then))


def read_standing_rules(turns: Iterable[Turn], then: Iterable[Turn] = ()) -> list[StandingRule]:
    """Return the rules that still stand, those stated last at the end."""
    stated = _StatedRules()
    for number, text in enumerate(_typed_texts(turns)):
        prompt = read_prompt(text)
        stated.withdraw(prompt.withdrawals)
        stated.add(prompt, first=number == 0)
    for text in _typed_texts(then):
        stated.withdraw(read_prompt(text).withdrawals)
    return list(stated.rules.values())


def choose_rules(rules: Sequence[StandingRule], tokens: int, count: Callable[[str], int]) -> RuleChoice:
    """Return the rules that fit into `tokens`: typed before pasted, lasting before others, then the newest."""
    order = sorted(range(len(rules)), key=lambda at: (-_rank(rules[at]), -at))
    kept: list[int] = []
    misses = 0
    for at in order:
        weight = count(f"- {rules[at].text}\n")
        if weight <= tokens:
            tokens -= weight
            kept.append(at)
        elif (misses := misses + 1) > MAX_MISSES:
            break
    pasted = frozenset(rules[at].text for at in kept if not rules[at].brief)
    return RuleChoice(tuple(rules[at].text for at in sorted(kept)), len(rules) - len(kept), pasted)


def _rank(rule: StandingRule) -> int:
    lasting = rule.first or LASTING.search(lower_in_place(rule.text)) is not None
    return 2 * rule.brief + lasting


# Reading


class PromptRules(NamedTuple):
    rules: tuple[str, ...]
    withdrawals: tuple[frozenset[str], ...]
    """Words of each withdrawal."""
    short: bool


MAX_CACHED_CHARS = 1_000
"""Longer prompts are few, and would take much memory if as many were cached."""


def read_prompt(text: str) -> PromptRules:
    """Return the rules and withdrawals of a prompt, from a cache if it was read before."""
    return _read_short(text) if len(text) <= MAX_CACHED_CHARS else _read_long(text)


def _read(text: str) -> PromptRules:
    return PromptRules(find_rules(text), find_withdrawals(text), text.count("\n") < MIN_PASTE_LINES)


_read_short = lru_cache(maxsize=1 << 14)(_read)
_read_long = lru_cache(maxsize=1 << 8)(_read)


def _typed_texts(turns: Iterable[Turn]) -> Iterator[str]:
    for turn in turns:
        yield from (part.text for part in turn.prompt if isinstance(part, Text) and not part.by)


class _StatedRules:
    """Rules by normalised text, the newest last, with an index by the words that withdrawals mean them by."""

    def __init__(self) -> None:
        self.rules: dict[str, StandingRule] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._by_word: dict[str, dict[str, None]] = {}

    def add(self, prompt: PromptRules, first: bool) -> None:
        for rule in prompt.rules:
            key = "".join(re.findall(r"\w+", rule.casefold()))
            self._remove(key)
            brief = prompt.short and len(rule) <= MAX_BRIEF_RULE_CHARS
            self.rules[key] = StandingRule(rule, brief, first)
            self._words[key] = _rule_words(rule)
            for word in self._words[key]:
                self._by_word.setdefault(word, {})[key] = None

    def withdraw(self, withdrawals: Iterable[frozenset[str]]) -> None:
        """Remove the rules about the same things as a withdrawal: those that share half of its words."""
        for words in withdrawals:
            for key in self._find_meant(words):
                self._remove(key)

    def _find_meant(self, words: frozenset[str]) -> list[str]:
        # A rule that shares `need` of the words has one of any `len(words) - need + 1` of them: look up the rarest.
        need = count_needed(words)
        rarest = sorted(words, key=lambda word: (len(self._by_word.get(word, ())), word))[: len(words) - need + 1]
        meant: dict[str, None] = {}
        in_vain = 0
        for word in rarest:
            for key in reversed(self._by_word.get(word, {})):
                if len(self._words[key] & words) >= need:
                    meant[key] = None
                elif (in_vain := in_vain + 1) >= MAX_COMPARED_RULES:
                    return list(meant)
        return list(meant)

    def _remove(self, key: str) -> None:
        if self.rules.pop(key, None) is not None:
            for word in self._words.pop(key):
                del self._by_word[word][key]


@lru_cache(maxsize=1 << 14)
def _rule_words(rule: str) -> frozenset[str]:
    return content_words(rule)
