"""A unified diff with its colours; the signs stay, for those who see none."""

from __future__ import annotations

from textual.content import Content

from yohaku.agent.format import strip_controls
from yohaku.messages import say

STYLES = {"+": "$text-success", "-": "$text-error", "@": "$text-accent"}


def colour_diff(diff: str, lang: str, most: int = 200) -> Content:
    """At most so many lines of it, with how many there are more."""
    lines = strip_controls(diff).rstrip("\n").split("\n")
    told = [(f"{line}\n", _style_of(line)) for line in lines[:most]]
    if len(lines) > most:
        told.append((say("screen_more", lang, count=len(lines) - most), "italic"))
    return Content.assemble(*told).rstrip()


def summarize_changes(diff: str) -> str:
    """`+3 -1`: how much it changes."""
    lines = [line for line in diff.split("\n") if not line.startswith(("+++", "---"))]
    added = sum(line.startswith("+") for line in lines)
    return f"+{added} -{sum(line.startswith('-') for line in lines)}"


def _style_of(line: str) -> str:
    return "bold" if line.startswith(("+++", "---")) else STYLES.get(line[:1], "")
