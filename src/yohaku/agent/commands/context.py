"""Report of `/context`: tokens by part, biggest items, rules, pins, folds.

Law: it weighs what is sent, with the meter of the session.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from yohaku.agent.format import (
    call_title,
    clip,
    count_columns,
    draw_bar,
    format_headline,
    gauge_rows,
    pad,
    remaining_row,
)
from yohaku.agent.protocols import WorkingAgent
from yohaku.analysis.rules import find_standing_rules
from yohaku.core.model import History, Text, ToolUse
from yohaku.core.weigh import Weigher
from yohaku.messages import say

MAX_ITEMS = 8
WIDTH = 60


def context_text(agent: WorkingAgent, lang: str) -> str:
    gauge, session = agent.gauge, agent.session
    receipt = session.receipt
    shown = receipt.outcome.view.shown if receipt else agent.conversation.history
    gist = receipt.outcome.view.gist if receipt else None
    lines = [format_headline(gauge, lang, whole=True), draw_bar(gauge.share, 40), ""]
    table = (*gauge_rows(gauge, lang), remaining_row(gauge, lang))
    width = max(count_columns(row.label) for row in table) + 2
    lines += [f"{pad(row.label, width)}{row.tokens:>9,}  ({row.percent:>2}%)" for row in table]
    weigher = Weigher(session.meter_for(agent.endpoint.dialect))
    biggest = heapq.nlargest(
        MAX_ITEMS, _weigh_items(shown, weigher, lang, gist.text if gist else ""), key=lambda item: item[0]
    )
    lines += _render_section(
        say("context_biggest", lang), (f"{tokens:>9,}  {clip(name, WIDTH)}" for tokens, name in biggest)
    )
    rules = receipt.rules if receipt else find_standing_rules(agent.conversation.history.turns)
    lines += _render_section(say("context_rules", lang), (f"- {clip(rule, WIDTH)}" for rule in rules))
    lines += _render_section(say("context_pins", lang), (f"- {clip(str(pin), WIDTH)}" for pin in session.pins))
    if receipt and receipt.folds:
        lines += ["", say("context_folds", lang, count=len(receipt.folds))]
    if gauge.coming:
        lines += ["", say("context_next", lang, coming=gauge.coming)]
    return "\n".join(lines)


def _render_section(title: str, lines: Iterable[str]) -> list[str]:
    rows = list(lines)
    return ["", title, *rows] if rows else []


def _weigh_items(shown: History, weigher: Weigher, lang: str, gist: str) -> Iterator[tuple[int, str]]:
    for turn in shown.turns:
        for part in turn.prompt:
            text = part.text if isinstance(part, Text) else part.kind
            who = say("context_gist" if gist and text == gist else "context_prompt", lang)
            yield weigher.part(part), f"{who}: {text[:200]}"
        for step in turn.steps:
            for item in step.items:
                if isinstance(item, ToolUse):
                    yield weigher.use(item), f"{item.call.name}: {call_title(item.call)}"
                else:
                    text = item.text if isinstance(item, Text) else item.kind
                    yield weigher.part(item), f"{say('context_reply', lang)}: {text[:200]}"
