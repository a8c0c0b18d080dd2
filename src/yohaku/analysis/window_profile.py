"""Measures of the agent for small windows, chosen by the size of the window alone."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Degree: TypeAlias = Literal["full", "on", "when needed", "off"]


class WindowProfile(NamedTuple):
    folding: Degree
    """Results become one line after the model has seen them once."""
    split_reading: Degree
    """A large file is shown as an outline, to be read part by part."""
    light_prompt: Degree
    """Short system prompt and few tools; "on" is a part of that."""
    propose_split: Degree
    """The agent proposes to split work that is too large for the window."""


def profile_for(window: int) -> WindowProfile:
    if window < 8_192:
        return WindowProfile("full", "full", "full", "when needed")
    if window < 16_384:
        return WindowProfile("on", "on", "on", "when needed")
    if window < 32_768:
        return WindowProfile("when needed", "when needed", "off", "when needed")
    return WindowProfile("when needed", "off", "off", "off")
