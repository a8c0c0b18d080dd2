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
