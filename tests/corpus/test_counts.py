"""What we count beside what providers billed: the bounds that are reached, request by request and in sum.

The table itself: `python3 dev.py counts`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.corpus.wire import Row, rows, table
from yohaku.core.meter import Meter
from yohaku.core.model import Opaque
from yohaku.meters import for_model
from yohaku.meters.claude import available
from yohaku.meters.estimate import Estimate, weights
from yohaku.meters.families import family_of

pytestmark = pytest.mark.shared

with_ctok = pytest.mark.skipif(not available(), reason="ctok, the exact counter for Claude, is not installed")


@cache
def counted(shared: Path) -> tuple[Row, ...]:
    return tuple(rows(shared))


@cache
def estimated(shared: Path) -> tuple[Row, ...]:
    """As where ctok is not installed."""
    return tuple(rows(shared, guess))


@cache
def guess(model: str, dialect: str) -> Meter:
    family = family_of(model, dialect)
    if not family.claude:
        return for_model(model, dialect)
    return Estimate("estimate", family.estimate, family.frame, family.rule)


def chosen(
    found: tuple[Row, ...], dialect: str, kind: str, family: str = "", like: Callable[[str], bool] = bool
) -> list[Row]:
    group = [row for row in found if row.exchange.dialect == dialect and row.kind == kind]
    return [row for row in group if row.family.startswith(family) and like(row.exchange.model)]


def gaps(group: list[Row]) -> list[int]:
    """Tokens over the bill."""
    return sorted(row.ours - row.billed for row in group)


def over(group: list[Row]) -> float:
    """Share of the bill, in sum."""
    return sum(row.ours for row in group) / sum(row.billed for row in group) - 1


def test_text_to_openai_is_counted_to_the_token(shared: Path) -> None:
    chat = chosen(counted(shared), "openai_chat", "text", "o200k", lambda model: model != "o1-mini")
    responses = chosen(counted(shared), "openai_responses", "text", "o200k")
    assert len(chat) >= 14 and len(responses) >= 12
    assert set(gaps(chat)) == set(gaps(responses)) == {0}


def test_tools_and_calls_to_openai_are_never_under_and_two_percent_over(shared: Path) -> None:
    chat = chosen(counted(shared), "openai_chat", "tools", "o200k")
    responses = chosen(counted(shared), "openai_responses", "tools", "o200k")
    assert len(chat) >= 58 and len(responses) >= 20
    assert gaps(chat)[0] >= 0 and gaps(chat)[-1] <= 9 and over(chat) < 0.01
    assert gaps(responses)[0] >= 0 and gaps(responses)[-1] <= 4 and over(responses) < 0.025


def test_text_to_gemini_is_counted_within_two_tokens_and_not_under(shared: Path) -> None:
    group = chosen(counted(shared), "gemini", "text")
    newer = chosen(counted(shared), "gemini", "text", like=lambda model: not model.startswith("gemini-2.0"))
    assert len(group) >= 12 and len(newer) >= 8
    assert gaps(newer)[0] >= 0 and gaps(newer)[-1] <= 2
    assert gaps(group)[0] >= 0 and gaps(group)[-1] <= 5


def test_tools_to_gemini_are_five_percent_over_and_hardly_ever_under(shared: Path) -> None:
    group = chosen(counted(shared), "gemini", "tools")
    under = [row.exchange.number for row in group if row.ours < row.billed]
    assert len(group) >= 24 and over(group) < 0.05
    assert len(under) <= 1 and gaps(group)[0] >= -18, under  # an object whose default is null


def test_calls_with_signed_thoughts_to_gemini_are_five_percent_over(shared: Path) -> None:
    group = chosen(counted(shared), "gemini", "thoughts")
    assert len(group) >= 47 and over(group) < 0.05 and gaps(group)[0] >= -8 and gaps(group)[-1] <= 98


@with_ctok
def test_text_to_claude_is_counted_to_the_token_for_one_prompt_and_within_four_for_more(shared: Path) -> None:
    group = chosen(counted(shared), "anthropic", "text")
    single = [row for row in group if len(row.exchange.request["messages"]) == 1]
    assert len(group) >= 16 and len(single) >= 7
    assert sum(row.ours == row.billed for row in single) >= len(single) - 1
    assert gaps(group)[0] >= 0 and gaps(group)[-1] <= 4


def test_text_to_claude_is_estimated_in_the_middle_and_never_under_on_the_safe_side(shared: Path) -> None:
    group = chosen(estimated(shared), "anthropic", "text")
    middle = chosen(tuple(rows(shared, middling)), "anthropic", "text")
    assert gaps(group)[0] >= 0 and over(group) < 0.13
    assert abs(over(middle)) < 0.06 and all(abs(over([row])) < 0.05 for row in middle if row.billed > 200)


class Middle(Estimate):
    def count(self, text: str) -> int:
        return round(self.raw(text))

    def weigh(self, part: Opaque) -> int:
        return round(super().weigh(part) / weights(self.target).safety)


@cache
def middling(model: str, dialect: str) -> Meter:
    family = family_of(model, dialect)
    if not family.claude:
        return for_model(model, dialect)
    return Middle("middle", family.estimate, family.frame, family.rule)


@with_ctok
def test_tools_to_claude_are_counted_with_the_prompt_that_a_forced_choice_makes_longer(shared: Path) -> None:
    group = chosen(counted(shared), "anthropic", "tools", "claude-3.0", lambda model: "4-0" not in model)
    late = [row for row in group if row.ours - row.billed < 150]  # the others are from before the prompt grew
    forced = [row for row in late if row.exchange.request["tool_choice"]["type"] in ("any", "tool")]
    free = [row for row in late if row not in forced]
    assert forced and free
    assert gaps(forced)[0] >= 0 and gaps(forced)[-1] <= 13 and over(forced) < 0.01
    assert gaps(free)[0] >= 0 and gaps(free)[-1] <= 17 and over(free) < 0.03
    every = chosen(counted(shared), "anthropic", "tools")
    assert gaps(every)[0] >= 0 and over(every) < 0.08


def test_tools_to_claude_are_never_under_without_ctok(shared: Path) -> None:
    assert gaps(chosen(estimated(shared), "anthropic", "tools"))[0] >= 0


@pytest.mark.parametrize(
    ("dialect", "family", "least", "most", "share"),
    [
        ("openai_chat", "mistral", 0, 2, 0.02),
        ("openai_chat", "deepseek", 0, 40, 0.08),
        ("openai_responses", "deepseek", 0, 9, 0.03),
        ("openai_chat", "llama3 × 1.1", 0, 64, 0.08),
        ("openai_chat", "gpt_oss", 0, 152, 0.22),  # two of four hold a thought as text, which the server takes out
    ],
)
def test_tools_of_others_are_never_under(
    shared: Path, dialect: str, family: str, least: int, most: int, share: float
) -> None:
    group = chosen(counted(shared), dialect, "tools", family)
    assert group
    assert least <= gaps(group)[0] and gaps(group)[-1] <= most and over(group) <= share


def test_text_of_others_is_never_under(shared: Path) -> None:
    for family in ("mistral", "deepseek", "llama3", "qwen3"):
        assert gaps(chosen(counted(shared), "openai_chat", "text", family))[0] >= 0


def test_pictures_are_counted_within_two_tokens(shared: Path) -> None:
    group = [row for row in counted(shared) if row.kind == "images"]
    assert len(group) >= 2 and gaps(group)[0] >= 0 and gaps(group)[-1] <= 2


def test_documents_are_never_under_and_an_empty_page_is_not_a_full_one(shared: Path) -> None:
    group = [row for row in counted(shared) if row.kind == "documents"]
    assert gaps(group)[0] >= 0
    chat = chosen(counted(shared), "openai_chat", "documents", "o200k")
    responses = chosen(counted(shared), "openai_responses", "documents", "o200k")
    assert over(chat) < 0.15 and gaps(responses)[-1] <= 264


def test_the_table_has_a_line_for_each_family_and_kind(shared: Path) -> None:
    lines = table(list(counted(shared))).splitlines()
    assert len(lines) == 1 + len({(r.exchange.dialect, r.family, r.kind, r.exact) for r in counted(shared)})
    assert any(line.split()[:3] == ["openai_chat", "o200k_base", "tools"] for line in lines)
