"""What an agent does about a small window, chosen by its size alone: the user sets nothing."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Degree: TypeAlias = Literal["full", "on", "when needed", "off"]


class WindowProfile(NamedTuple):
    folding: Degree
    """Results become one line after they were read once."""
    split_reading: Degree
    """A big file is shown by its structure, to be read part by part."""
    light_prompt: Degree
    """The short system prompt and the few tools; "on" is a part of that."""
    propose_split: Degree
    """The agent splits work that is too big for the window, and says so."""


def profile_for(window: int) -> WindowProfile:
    if window < 8_192:
        return WindowProfile("full", "full", "full", "when needed")
    if window < 16_384:
        return WindowProfile("on", "on", "on", "when needed")
    if window < 32_768:
        return WindowProfile("when needed", "when needed", "off", "when needed")
    return WindowProfile("when needed", "off", "off", "off")
