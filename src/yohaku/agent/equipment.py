"""System prompt and tools that suit a window.

Law: every number is a function of the window and of measured sizes, so that the same code is right for a meter that
counts bytes and for a window of a million tokens. The user sets nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from yohaku.agent.conversation import Conversation
from yohaku.agent.prompts import SystemPrompt, prompt_for
from yohaku.agent.toolkit.tool import AgentTool
from yohaku.analysis.window_profile import profile_for
from yohaku.core.meter import Meter
from yohaku.core.weigh import weigh
from yohaku.dialects.json_values import Json

Tier: TypeAlias = Literal["small", "full"]

MAX_FIXED_SHARE = 0.25
"""Share of the window that prompt and tools of the full tier may take."""


class Equipment(NamedTuple):
    tier: Tier
    tools: tuple[AgentTool, ...]
    prompt: SystemPrompt
    definitions: list[Json]
    """The tools in the form of the dialect."""


def choose_equipment(
    dialect: str, window: int, root: Path, meter: Meter, lang: str, tools: tuple[AgentTool, ...] | None
) -> Equipment:
    """`tools`: None for those that suit the window."""

    def equip(tier: Tier) -> Equipment:
        from yohaku.agent.tools import tool_definitions, tools_for

        given = tools_for(tier) if tools is None else tools
        prompt = prompt_for(tier, root, window, meter.count, bool(given), lang)
        return Equipment(tier, given, prompt, [*tool_definitions(given, dialect, tier == "small")])

    def weigh_fixed(tier: Tier) -> int:
        equipment = equip(tier)
        empty = Conversation(dialect, "", equipment.prompt.text, equipment.definitions)
        return weigh(empty.history, meter).fixed

    return equip(choose_tier(window, weigh_fixed))


def choose_tier(window: int, weigh_fixed: Callable[[Tier], int]) -> Tier:
    """`weigh_fixed` weighs the prompt and tools of a tier: a meter with many tokens makes any window small."""
    light = profile_for(window).light_prompt != "off" or weigh_fixed("full") > window * MAX_FIXED_SHARE
    return "small" if light else "full"
