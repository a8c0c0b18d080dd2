"""A unified diff in colours; the signs stay, for terminals without them."""

from __future__ import annotations

from textual.content import Content

from yohaku.agent.format import strip_controls
from yohaku.messages import say

STYLES = {"+": "$text-success", "-": "$text-error", "@": "$text-accent"}


def colour_diff(diff: str, lang: str, most: int = 200) -> Content:
    """Colour at most `most` lines, and add the number of the others."""
    lines = strip_controls(diff).rstrip("\n").split("\n")
    told = [(f"{line}\n", _style_of(line)) for line in lines[:most]]
    if len(lines) > most:
        told.append((say("screen_more", lang, count=len(lines) - most), "italic"))
    return Content.assemble(*told).rstrip()


def summarize_changes(diff: str) -> str:
    """Return `+3 -1`: lines added and removed."""
    lines = [line for line in diff.split("\n") if not line.startswith(("+++", "---"))]
    added = sum(line.startswith("+") for line in lines)
    return f"+{added} -{sum(line.startswith('-') for line in lines)}"


def _style_of(line: str) -> str:
    return "bold" if line.startswith(("+++", "---")) else STYLES.get(line[:1], "")
