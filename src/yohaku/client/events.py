"""Events of a request in progress: pieces of the reply, and notices for the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the reply, as it comes."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    """A piece of the model's thoughts, as it comes."""

    text: str


@dataclass(frozen=True, slots=True)
class UserNotice:
    """A plain sentence for the user, in the user's language, that says what to do next."""

    text: str
    kind: Literal["note", "warning", "error"] = "note"


@dataclass(frozen=True, slots=True)
class ReadingProgress:
    """How far the model has read the request, before its first word."""

    done: int
    """Tokens, those in the server's cache included."""
    total: int
    speed: float
    """Tokens in a second; 0: not known yet."""
    estimated: bool = False
    """From the speed of earlier replies: the server does not tell."""
    summing_up: bool = False
    """It reads in order to write a summary."""
