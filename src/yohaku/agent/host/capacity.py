"""Window this machine can give a model, from its memory, the model's metadata and the number the user asked for.

Law: pure, and never an error. A number that does not fit is made smaller, and the result holds both.
The automatic window is what a graphics card holds, else two thirds of main memory: other programs need some too, and
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
"""Tokens. An agent cannot work with fewer, and servers start with this many by default."""

MAX_AUTOMATIC_WINDOW = 131_072
"""Tokens. A larger window must be asked for."""

MIN_CARD_WINDOW = 16_384
"""Tokens that must fit beside the model on the graphics card; else main memory is used too, which is slower."""

MIN_SLOW_WINDOW = 8_192
"""Tokens below which a slow machine does not bound the window: with fewer, foldings cost more time than they save."""

SERVER_OVERHEAD_BYTES = 512 * MIB
"""Memory of a server beside the model and its cache."""

Tier: TypeAlias = Literal["small", "full"]
Preset: TypeAlias = Literal["speed", "balanced", "quality"]
WindowReason: TypeAlias = Literal[
    "memory", "card", "trained", "most", "least", "slow", "asked", "shrunk", "beyond", "forced", "served", "learned",
    "known", "unknown",
]  # fmt: skip
"""What decided: main memory, the graphics card, what the model was trained for, our own bounds, how slowly this machine
reads; the user's number, that number made smaller for memory's sake or for the model's, that number kept by force; the
server, what it refused once, what is known of the model, or nothing at all (then it is so little that any model takes
it)."""


@dataclass(frozen=True, slots=True)
class MachineMemory:
    """Bytes."""

    ram: int
    free: int
    """Available without swapping."""
    vram: int = 0
    vram_free: int = 0
    unified: bool = False
    """Graphics and programs share one memory: all of it is `ram`, and as fast as a card's."""


@dataclass(frozen=True, slots=True)
class ChosenWindow:
    window: int
    tier: Tier
    why: WindowReason
    most: int
    """Tokens that would fit; fewer than `window` where it was forced, or where even the least does not fit."""
    asked: int | None = None
    """The number the user asked for, where the window differs."""
    exact: bool = False
    """Whether the bytes of a token come from the model's metadata, not from an estimate."""


def explain_window(chosen: ChosenWindow, lang: str) -> str:
    """Say in one sentence why the window is what it is."""
    return say(f"host_window_{chosen.why}", lang, window=chosen.window, most=chosen.most, asked=chosen.asked or 0)


def window_warning(chosen: ChosenWindow, lang: str) -> str:
    """Return what the user must know of the window before work begins; empty where all is well."""
    if chosen.why in ("shrunk", "beyond", "forced", "unknown"):
        return explain_window(chosen, lang)
    return say("host_too_tight", lang) if chosen.most < chosen.window else ""


def tier_of(window: int) -> Tier:
    """Return the tier of prompt and tools for a window."""
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
    readable: int | None = None,
) -> ChosenWindow:
    """Choose the window. `about`: metadata, or billions of parameters; else they are estimated from `model_bytes`.

    `loaded`: the model is in memory, so its bytes are no longer counted as free. `trained` bounds the window where
    the metadata has no length. `readable`: tokens that this machine reads in bearable time, which bound an automatic
    window.
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
    if readable is not None and window > (bound := max(MIN_SLOW_WINDOW, round_down(readable))):
        window, why = bound, "slow"
    if preset == "speed":
        window = max(MIN_WINDOW, window // 2)
    elif preset == "quality":
        half_again = window * 3 // 2
        window = half_again if half_again <= most else max(window, most if most == length else round_down(most))
    return ChosenWindow(window, tier_of(window), why, most, exact=exact)


def window_of_server(
    window: int, *, preset: Preset = "balanced", n: int | None = None, force: bool = False
) -> ChosenWindow:
    """Choose the window where the server has one already: a request can only make it smaller."""
    if n is not None:
        return _choose_requested(n, window, True, force, True)
    taken = max(min(MIN_WINDOW, window), window // 2) if preset == "speed" else window
    return ChosenWindow(taken, tier_of(taken), "served", window, exact=True)


def round_down(tokens: int) -> int:
    """Round down to 4K, 6K, 8K, 12K, 16K, 24K …, so that a little more or less free memory at the next start gives the
    same window, and the server need not load its model again."""
    if tokens < MIN_WINDOW:
        return max(tokens, 0)
    power = 1 << (tokens.bit_length() - 1)
    return power * 3 // 2 if power * 3 // 2 <= tokens else power


def estimate_billions(model_bytes: int) -> float:
    """Estimate billions of parameters from the size of the file, at about five bits each."""
    return model_bytes / 0.62e9


def trained_window(info: Mapping[str, object]) -> int | None:
    return positive_int(info.get(f"{info.get('general.architecture', '')}.context_length"))


def usable_bytes(memory: MachineMemory) -> tuple[int, int]:
    """Return the bytes a model and its cache may take, of main memory and of the card."""
    ram = min(memory.free, memory.ram * 3 // 4) - SERVER_OVERHEAD_BYTES
    card = min(memory.vram_free, memory.vram * 9 // 10) - SERVER_OVERHEAD_BYTES if memory.vram else 0
    return max(ram, 0), max(card, 0)


def _choose_automatically(fits: int, beside: int, length: int | None) -> tuple[int, WindowReason]:
    """`beside`: tokens that fit on the card with the model; `length`: what it was trained for."""
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
    """`own`: the bound is the model's or the server's, not memory."""
    bound = most if own else max(round_down(most), MIN_WINDOW)
    if n <= max(most, bound) or force:
        return ChosenWindow(n, tier_of(n), "asked" if n <= most else "forced" if force else "least", most, exact=exact)
    return ChosenWindow(bound, tier_of(bound), "beyond" if own else "shrunk", most, n, exact)
