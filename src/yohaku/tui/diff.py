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


def without_names(diff: str) -> str:
    """Return the diff of one file without the two lines that name it; one of several files as it is."""
    lines = diff.split("\n")
    named = lines[0].startswith("--- ") and len(lines) > 1 and lines[1].startswith("+++ ")
    return "\n".join(lines[2:]) if named and diff.count("\n+++ ") == 1 else diff


def first_change(lines: list[str]) -> tuple[int, int]:
    """Return the place of the first changed line, and that after the last one that follows it directly."""
    at = next((n for n, line in enumerate(lines) if line[:1] in "+-" and line and line[:3] not in ("+++", "---")), 0)
    end = next((n for n in range(at, len(lines)) if lines[n][:1] not in ("+", "-")), len(lines))
    return at, end


def summarize_changes(diff: str) -> str:
    """Return `+3 -1`: lines added and removed."""
    lines = [line for line in diff.split("\n") if not line.startswith(("+++", "---"))]
    added = sum(line.startswith("+") for line in lines)
    return f"+{added} -{sum(line.startswith('-') for line in lines)}"


def _style_of(line: str) -> str:
    return "bold" if line.startswith(("+++", "---")) else STYLES.get(line[:1], "")
