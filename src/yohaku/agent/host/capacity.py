"""How large a window this machine can give a model: memory, the model's own numbers, then the user's wish.

Law: pure, and never an error. A wish that does not fit is made smaller, and both numbers are in what comes back.
The automatic window takes what a graphics card holds, else two thirds of what memory does: others want some too, and
`quality` (half as much again) still fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from yohaku.agent.host.kv_cache import MIB, cache_from_metadata, estimate_cache, positive_int
from yohaku.analysis.window_profile import profile_for
from yohaku.messages import say

GIB = 1024 * MIB

MIN_WINDOW = 4_096
"""Tokens. With fewer an agent has no room to work, and servers start with this many by themselves."""

MAX_AUTOMATIC_WINDOW = 131_072
"""Tokens the automatic choice takes at most; who wants more says so."""

MIN_CARD_WINDOW = 16_384
"""Tokens that must fit beside the model on the graphics card, else main memory is used too, which is slower."""

SERVER_OVERHEAD_BYTES = 512 * MIB
"""What a server needs beside the model and its cache."""

Tier: TypeAlias = Literal["small", "full"]
Preset: TypeAlias = Literal["speed", "balanced", "quality"]
WindowReason: TypeAlias = Literal[
    "memory", "card", "trained", "most", "least", "asked", "shrunk", "beyond", "forced", "served", "learned", "known",
    "unknown",
]  # fmt: skip
"""What decided: main memory, the graphics card, what the model was trained for, our own bounds; the user's number, that
number made smaller for memory's sake or for the model's, that number kept by force; the server, what it refused once,
what is known of the model, or nothing at all (then it is so little that any model takes it)."""


@dataclass(frozen=True, slots=True)
class MachineMemory:
    """Bytes."""

    ram: int
    free: int
    """What programs may still take without swapping."""
    vram: int = 0
    vram_free: int = 0
    unified: bool = False
    """Graphics and programs share one memory: it is all `ram`, and as fast as a card's."""


@dataclass(frozen=True, slots=True)
class ChosenWindow:
    window: int
    tier: Tier
    why: WindowReason
    most: int
    """Tokens that would fit; fewer than `window` where it was forced, or where even the least does not fit."""
    asked: int | None = None
    """The user's number, where it is not the window now."""
    exact: bool = False
    """Whether the model's own metadata told the weight of a token, and not the guide."""


def explain_window(chosen: ChosenWindow, lang: str) -> str:
    """Say in one sentence why the window is what it is."""
    return say(f"host_window_{chosen.why}", lang, window=chosen.window, most=chosen.most, asked=chosen.asked or 0)


def window_warning(chosen: ChosenWindow, lang: str) -> str:
    """Return what the user must know of the window before work begins; empty where all is well."""
    if chosen.why in ("shrunk", "beyond", "forced", "unknown"):
        return explain_window(chosen, lang)
    return say("host_too_tight", lang) if chosen.most < chosen.window else ""


def tier_of(window: int) -> Tier:
    """The short prompt and few tools go with what the window's strategies say of the prompt."""
    return "full" if profile_for(window).light_prompt == "off" else "small"


def window_for(
    memory: MachineMemory,
    model_bytes: int,
    about: Mapping[str, object] | float | None = None,
    *,
    preset: Preset = "balanced",
    n: int | None = None,
    force: bool = False,
    trained: int | None = None,
    cache_type: str = "f16",
    loaded: bool = False,
) -> ChosenWindow:
    """`about` is the model's metadata, or its size in billions; without either the size is told by its bytes.

    `loaded` says that the model's own bytes are not counted as free any more. `trained` bounds the window where the
    metadata says nothing of it.
    """
    info = about if isinstance(about, Mapping) else {}
    cache = cache_from_metadata(info, cache_type)
    exact = cache is not None
    size = float(about) if isinstance(about, int | float) else estimate_billions(model_bytes)
    cache = cache or estimate_cache(size, cache_type)
    ram, card = usable_bytes(memory)
    weight = 0 if loaded else model_bytes
    fits, beside = cache.tokens(ram + card - weight), cache.tokens(card - weight)
    length = trained_window(info) or trained
    most = min(fits, length) if length else fits
    if n is not None:
        return _choose_requested(n, most, most == length, force, exact)
    window, why = _choose_automatically(fits, beside, length)
    if preset == "speed":
        window = max(MIN_WINDOW, window // 2)
    elif preset == "quality":
        window = max(window, min(window * 3 // 2, round_down(most)))
    return ChosenWindow(window, tier_of(window), why, most, exact=exact)


def window_of_server(
    window: int, *, preset: Preset = "balanced", n: int | None = None, force: bool = False
) -> ChosenWindow:
    """The window where a server already has one: a wish can only make it smaller."""
    if n is not None:
        return _choose_requested(n, window, True, force, True)
    taken = max(min(MIN_WINDOW, window), window // 2) if preset == "speed" else window
    return ChosenWindow(taken, tier_of(taken), "served", window, exact=True)


def round_down(tokens: int) -> int:
    """The largest of 4K, 6K, 8K, 12K, 16K, 24K … that is not more, so that a little memory more or less, from one start
    to the next, gives the same window and the server need not load its model anew."""
    if tokens < MIN_WINDOW:
        return max(tokens, 0)
    power = 1 << (tokens.bit_length() - 1)
    return power * 3 // 2 if power * 3 // 2 <= tokens else power


def estimate_billions(model_bytes: int) -> float:
    """Parameters of a model of this size at about five bits each, which is how most are kept."""
    return model_bytes / 0.62e9


def trained_window(info: Mapping[str, object]) -> int | None:
    return positive_int(info.get(f"{info.get('general.architecture', '')}.context_length"))


def usable_bytes(memory: MachineMemory) -> tuple[int, int]:
    """Bytes a model and its cache may take, of main memory and of the card."""
    ram = min(memory.free, memory.ram * 3 // 4) - SERVER_OVERHEAD_BYTES
    card = min(memory.vram_free, memory.vram * 9 // 10) - SERVER_OVERHEAD_BYTES if memory.vram else 0
    return max(ram, 0), max(card, 0)


def _choose_automatically(fits: int, beside: int, length: int | None) -> tuple[int, WindowReason]:
    """`beside` are those that fit on the card with the model, and `length` what it was trained for."""
    why: WindowReason = "memory"
    window = round_down(fits * 2 // 3)
    if beside >= min(MIN_CARD_WINDOW, length or MIN_CARD_WINDOW):
        window, why = round_down(beside), "card"
    if window > MAX_AUTOMATIC_WINDOW:
        window, why = MAX_AUTOMATIC_WINDOW, "most"
    if window < MIN_WINDOW:
        window, why = MIN_WINDOW, "least"
    return (length, "trained") if length and length <= window else (window, why)


def _choose_requested(n: int, most: int, own: bool, force: bool, exact: bool) -> ChosenWindow:
    """`own` says that the bound is the model's or the server's own, and not memory."""
    bound = most if own else max(round_down(most), MIN_WINDOW)
    if n <= max(most, bound) or force:
        return ChosenWindow(n, tier_of(n), "asked" if n <= most else "forced" if force else "least", most, exact=exact)
    return ChosenWindow(bound, tier_of(bound), "beyond" if own else "shrunk", most, n, exact)
