"""Report of `/context`: tokens by part, biggest items, rules, pins, folds, and what this recipe does in this window.

Law: it weighs what is sent, with the meter of the session.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from yohaku.agent.format import (
    call_title,
    clip,
    count_columns,
    draw_bar,
    format_headline,
    gauge_rows,
    pad,
    percent,
    remaining_row,
)
from yohaku.agent.gauge import describe_folding
from yohaku.agent.protocols import WorkingAgent
from yohaku.analysis.standing_rules import find_standing_rules
from yohaku.analysis.window_profile import profile_for
from yohaku.core.model import History, Text, ToolUse
from yohaku.core.weigh import Weigher
from yohaku.messages import find, say

if TYPE_CHECKING:
    from yohaku.agent.equipment import TierChoice
    from yohaku.session.session import Session

MAX_ITEMS = 8
WIDTH = 60


def context_text(agent: WorkingAgent, lang: str) -> str:
    gauge, session = agent.gauge, agent.session
    receipt = session.receipt
    shown = receipt.outcome.view.shown if receipt else agent.conversation.history
    preface = receipt.outcome.view.preface if receipt else None
    lines = [format_headline(gauge, lang, whole=True), draw_bar(gauge.share, 40), ""]
    table = (*gauge_rows(gauge, lang), remaining_row(gauge, lang))
    width = max(count_columns(row.label) for row in table) + 2
    lines += [f"{pad(row.label, width)}{row.tokens:>9,}  ({row.percent:>2}%)" for row in table]
    weigher = Weigher(session.meter_for(agent.endpoint.dialect))
    biggest = heapq.nlargest(
        MAX_ITEMS, _weigh_items(shown, weigher, lang, preface.text if preface else ""), key=lambda item: item[0]
    )
    lines += _render_section(
        say("context_biggest", lang), (f"{tokens:>9,}  {clip(name, WIDTH)}" for tokens, name in biggest)
    )
    rules = receipt.rules if receipt else find_standing_rules(agent.conversation.history.turns)
    lines += _render_section(say("context_rules", lang), (f"- {clip(rule, WIDTH)}" for rule in rules))
    lines += _render_section(say("context_pins", lang), (f"- {clip(str(pin), WIDTH)}" for pin in session.pins))
    lines += _render_section(say("context_counts", lang), _describe_counts(agent, lang))
    if receipt and receipt.folds:
        lines += ["", say("context_folds", lang, count=len(receipt.folds))]
    lines += _render_section(
        say("context_recipe", lang, recipe=session.recipe.name, window=agent.window),
        (f"- {line}" for line in describe_recipe(session, agent.tier_choice, lang)),
    )
    if session.sums_up and session.unasked:
        lines += ["", say("context_unasked", lang, why=say(f"why.without_model.{session.unasked}", lang))]
    elif session.sums_up and session.asks_model:
        writer, window = session.summary_model.name or agent.endpoint.model, session.summary_model.window
        lines += ["", say("context_summaries", lang, model=writer, window=window or agent.window)]
    if gauge.coming:
        lines += ["", say("context_next", lang, coming=gauge.coming)]
    return "\n".join(lines)


def describe_recipe(session: Session, choice: TierChoice, lang: str) -> Iterator[str]:
    """Yield what a recipe does in its window: at every step, when it folds, and with what is too big."""
    recipe, budget = session.recipe, session.budget
    at, cuts = recipe.starts_at(budget), recipe.cuts_at(budget)
    if at <= budget.limit:
        facts = {"percent": percent(at, budget.limit), "at": at}
        yield say("recipe_at", lang, **facts, what=describe_folding(recipe, lang))
    else:
        yield say("recipe_when_full", lang, what=describe_folding(recipe, lang))
    if cuts <= budget.limit:
        yield say("recipe_cuts", lang, percent=percent(cuts, budget.limit), at=cuts)
    folding = profile_for(budget.window).folding
    quiet = [rung.pass_name for rung in recipe.rungs if rung.quiet]
    codes = [f"recipe_quiet.{name}" for name in quiet if name != "one_line_results" or folding in ("full", "on")]
    known = [code for code in dict.fromkeys(codes) if find(code)]
    yield from (say(code, lang) for code in known or ["recipe_quiet.none"])
    why = say(f"tier_because_{choice.why}", lang, billions=choice.model.billions or 0, reading=choice.model.reading)
    yield say(f"recipe_tier_{choice.tier}", lang, why=why)
    yield say("recipe_refuses" if session.refuses else "recipe_parts", lang)


def _describe_counts(agent: WorkingAgent, lang: str) -> Iterator[str]:
    """Yield who counts, and how far the counts were from what was billed."""
    session = agent.session
    meter = session.meter_for(agent.endpoint.dialect)
    if session.server_counts:
        yield say("context_server_counts", lang)
    else:
        yield say("context_exact" if meter.exact else "context_estimate", lang, meter=meter.name)
    key = session.counted_model(meter.name)
    for line in session.gaps.totals() if session.gaps else ():
        if line.key == key:
            facts = {"replies": line.replies, "counted": line.counted, "billed": line.billed, "gap": line.gap}
            yield say("context_gap", lang, **facts)


def _render_section(title: str, lines: Iterable[str]) -> list[str]:
    rows = list(lines)
    return ["", title, *rows] if rows else []


def _weigh_items(shown: History, weigher: Weigher, lang: str, preface: str) -> Iterator[tuple[int, str]]:
    for turn in shown.turns:
        for part in turn.prompt:
            if preface and isinstance(part, Text) and part.text.startswith(preface):
                yield weigher.part(Text(preface)), f"{say('context_gist', lang)}: {preface[:200]}"
                part = Text(part.text.removeprefix(preface))
            text = part.text if isinstance(part, Text) else part.kind
            if text:
                yield weigher.part(part), f"{say('context_prompt', lang)}: {text[:200]}"
        for step in turn.steps:
            for item in step.items:
                if isinstance(item, ToolUse):
                    yield weigher.use(item), f"{item.call.name}: {call_title(item.call)}"
                else:
                    text = item.text if isinstance(item, Text) else item.kind
                    yield weigher.part(item), f"{say('context_reply', lang)}: {text[:200]}"
