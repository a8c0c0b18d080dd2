"""System prompt and tools that suit a window and a model.

Law: every number is a function of the window and of measured sizes, so that the same code is right for a meter that
counts bytes and for a window of a million tokens. The user need set nothing; what is set decides.
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

TierReason: TypeAlias = Literal["set", "window", "share", "size", "speed", "enough"]
"""The user's setting; the window is small, or the full prompt would take too much of it; the model is small, or slow to
read; window and model bear the full prompt."""

MAX_FIXED_SHARE = 0.25
"""Share of the window that prompt and tools of the full tier may take."""

MIN_FULL_BILLIONS = 5.0
"""Parameters from which a model can choose among fifteen tools; smaller ones invent answers instead of calling one."""

MAX_FIXED_SECONDS = 30.0
"""That a model may take to read prompt and tools of the full tier, before it reads what the user wrote."""


class ModelStrength(NamedTuple):
    billions: float | None = None
    """Parameters; None: not known."""
    reading: float = 0.0
    """Tokens it reads in a second; 0: not measured."""


UNKNOWN = ModelStrength()


class TierChoice(NamedTuple):
    tier: Tier
    why: TierReason
    model: ModelStrength = UNKNOWN


class Equipment(NamedTuple):
    choice: TierChoice
    tools: tuple[AgentTool, ...]
    prompt: SystemPrompt
    definitions: list[Json]
    """The tools in the form of the dialect."""

    @property
    def tier(self) -> Tier:
        return self.choice.tier


def choose_equipment(
    dialect: str,
    window: int,
    root: Path,
    meter: Meter,
    lang: str,
    tools: tuple[AgentTool, ...] | None,
    model: ModelStrength = UNKNOWN,
    wanted: str = "auto",
) -> Equipment:
    """`tools`: None for those that suit window and model. `wanted`: the user's tier, or "auto"."""

    def equip(choice: TierChoice) -> Equipment:
        tier = choice.tier
        from yohaku.agent.tools import tool_definitions, tools_for

        given = tools_for(tier) if tools is None else tools
        prompt = prompt_for(tier, root, window, meter.count, bool(given), lang)
        return Equipment(choice, given, prompt, [*tool_definitions(given, dialect, tier == "small")])

    def weigh_fixed(tier: Tier) -> int:
        equipment = equip(TierChoice(tier, "enough"))
        empty = Conversation(dialect, "", equipment.prompt.text, equipment.definitions)
        return weigh(empty.history, meter).fixed

    return equip(choose_tier(window, weigh_fixed, model, wanted))


def choose_tier(
    window: int,
    weigh_fixed: Callable[[Tier], int],
    model: ModelStrength = UNKNOWN,
    wanted: str = "auto",
) -> TierChoice:
    """Choose the tier that both the window and the model can bear.

    `weigh_fixed` weighs the prompt and tools of a tier: a meter with many tokens makes any window small.
    """
    if wanted in ("small", "full"):
        return TierChoice("small" if wanted == "small" else "full", "set", model)
    if profile_for(window).light_prompt != "off":
        return TierChoice("small", "window", model)
    if model.billions is not None and model.billions < MIN_FULL_BILLIONS:
        return TierChoice("small", "size", model)
    fixed = weigh_fixed("full")
    if fixed > window * MAX_FIXED_SHARE:
        return TierChoice("small", "share", model)
    if model.reading and fixed > model.reading * MAX_FIXED_SECONDS:
        return TierChoice("small", "speed", model)
    return TierChoice("full", "enough", model)
