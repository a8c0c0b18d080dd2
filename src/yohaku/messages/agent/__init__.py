"""What the agent says to people, in their language: the sentences of every part, merged.

Law: a sentence is plain, says what to do next where something is the matter, and exists in English and in Japanese.
Each part of the agent keeps its own in a file here, as `WORDS`; the folder is the registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path


@cache
def table() -> Mapping[str, tuple[str, str]]:
    """English and Japanese, by name."""
    parts = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    merged: dict[str, tuple[str, str]] = {}
    for part in parts:
        words: Mapping[str, tuple[str, str]] = import_module(f"yohaku.messages.agent.{part}").WORDS
        if twice := merged.keys() & words.keys():
            raise ValueError(f"{part} says again what another part says: {', '.join(sorted(twice))}")
        merged |= words
    return merged


def say(name: str, lang: str, /, **facts: object) -> str:
    english, japanese = table()[name]
    return (japanese if lang == "ja" else english).format(**facts)
