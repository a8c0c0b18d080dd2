"""Window of an endpoint: from its server, this machine's memory or the catalogue, then the user's number, then what a
server refused before.

Law: no window is chosen that is known to be refused; where nothing is known it is small enough for any model.
"""

from __future__ import annotations

from dataclasses import replace

from yohaku.agent.host.capacity import ChosenWindow, MachineMemory, Preset, tier_of, window_for, window_of_server
from yohaku.agent.host.kv_cache import positive_int
from yohaku.agent.host.local_servers import BILLIONS_KEY, BYTES_KEY
from yohaku.client.endpoint import Endpoint
from yohaku.config import resolve
from yohaku.config.resolve import SAFE_WINDOW
from yohaku.config.settings import Settings

REMOTE_OLLAMA_WINDOW = 8_192
"""Tokens for a model an Ollama on another machine has not loaded: its memory is not known."""


def choose_window(
    endpoint: Endpoint,
    settings: Settings,
    memory: MachineMemory,
    *,
    learned: int | None = None,
    preset: Preset = "balanced",
    n: int | None = None,
    force: bool = False,
    readable: int | None = None,
) -> ChosenWindow:
    """`learned` is what `WindowCache.window` says of the endpoint, `n` the number on the command line, and `readable`
    the tokens that this machine reads in bearable time."""
    asked = n or _configured_window(endpoint, settings)
    chosen = _choose(endpoint, settings, memory, preset, asked, force, readable)
    if learned and learned < chosen.window and not (force and asked):
        return replace(chosen, window=learned, tier=tier_of(learned), why="learned", most=learned)
    return chosen


def is_settable(endpoint: Endpoint) -> bool:
    """Return whether we choose the window, with memory as its bound."""
    return endpoint.provider in ("ollama", "embedded") and endpoint.local


def _choose(
    endpoint: Endpoint,
    settings: Settings,
    memory: MachineMemory,
    preset: Preset,
    asked: int | None,
    force: bool,
    readable: int | None,
) -> ChosenWindow:
    runs, trained = endpoint.window, endpoint.trained
    if is_settable(endpoint):
        size = positive_int(endpoint.info.get(BYTES_KEY)) or 0
        count = endpoint.info.get(BILLIONS_KEY)
        known = any(key.endswith(".block_count") for key in endpoint.info)
        about = endpoint.info if known or not isinstance(count, float) else count
        chosen = window_for(
            memory,
            size,
            about,
            preset=preset,
            n=asked,
            force=force,
            trained=trained,
            loaded=runs is not None,
            readable=readable,
        )
        if runs and runs > chosen.window and not asked and preset != "speed":
            return window_of_server(runs)  # it runs so already, so it fits
        return chosen
    if runs:
        return window_of_server(runs, preset=preset, n=asked, force=force)
    if endpoint.provider == "ollama":
        return _choose_remote(min(trained or REMOTE_OLLAMA_WINDOW, REMOTE_OLLAMA_WINDOW), asked, trained, preset)
    plain = replace(settings, window=None, maxima={})
    found = resolve.window_for(endpoint.model, plain, provider=endpoint.provider)
    if found.source == "default":
        tokens = asked or min(trained or SAFE_WINDOW, SAFE_WINDOW)
        return ChosenWindow(tokens, tier_of(tokens), "asked" if asked else "unknown", tokens)
    chosen = window_of_server(found.tokens, preset=preset, n=asked, force=force)
    return replace(chosen, why="known") if chosen.why == "served" else chosen


def _choose_remote(window: int, asked: int | None, trained: int | None, preset: Preset) -> ChosenWindow:
    """Choose the window of an Ollama on another machine, which takes any number."""
    if asked:
        return window_of_server(trained or asked, n=asked)
    return replace(window_of_server(window, preset=preset), why="unknown", exact=False)


def _configured_window(endpoint: Endpoint, settings: Settings) -> int | None:
    """Return the user's number from a variable or the config file, for all models or for this provider."""
    if settings.window:
        return settings.window
    if not settings.maxima:
        return None
    found = resolve.window_for(endpoint.model, settings, provider=endpoint.provider)
    return found.tokens if found.source in settings.origin.values() else None
