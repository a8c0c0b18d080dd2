"""The system prompt: one text a tier, so that each can be read, changed and tried by itself.

Law: the parts that are the same for everybody come first, those of this machine and project last, so that a provider's
prompt cache holds; nothing in it changes during a conversation, hence no date.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from yohaku.agent.prompts.full import FULL
from yohaku.agent.prompts.small import SMALL

INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""Files with a project's instructions for agents; the first that exists counts."""

MAX_INSTRUCTION_SHARE = 0.1
"""Share of the window that a project's instructions may take."""

MAX_INSTRUCTION_BYTES = 1_000_000
"""Bytes of such a file that are read."""

MAX_LISTED_NAMES, MAX_LISTING_TOKENS = 40, 150
"""Names of the project's top folder in the prompt, and tokens they may take."""

TEXTS = {"small": SMALL, "full": FULL}


class SystemPrompt(NamedTuple):
    text: str
    cut: str = ""
    """The project's file that did not fit."""


def prompt_for(
    tier: Literal["small", "full"],
    root: Path,
    window: int,
    count: Callable[[str], int],
    tools: bool = True,
    lang: str = "en",
) -> SystemPrompt:
    """Return the system prompt of a tier for work in `root`; without tools one for conversation only."""
    instructions, cut = _project(root, int(window * MAX_INSTRUCTION_SHARE), count) if tools else ("", "")
    where = (
        f"\nYou work in {root} on {_system()}. Relative paths start there.{_listing(root, count)}\n" if tools else ""
    )
    base = TEXTS[tier] if tools else CHAT
    return SystemPrompt(f"{base}{where}{instructions}{LANGUAGE_REMINDERS.get(lang, '')}".rstrip() + "\n", cut)


LANGUAGE_REMINDERS = {
    "ja": "\nWhen the user writes Japanese, answer in Japanese: 日本語で書かれたら、必ず日本語で答える。\n"
}
"""Last in the prompt, in their own language: small models follow the language of tools and files, which is English."""


CHAT = """\
You are yohaku, a helpful assistant in the user's terminal. Reply in the language the user writes in. Be accurate and \
brief; say so when you do not know something. Text in square brackets with ref=… stands for an earlier part of the \
conversation that was folded to save room: go on from it, and start nothing new because of it.
"""


def _system() -> str:
    return {"Darwin": "macOS"}.get(platform.system(), platform.system() or "an unknown system")


def _listing(root: Path, count: Callable[[str], int]) -> str:
    """List the project's folder as it was at the start: a small model then invents fewer paths."""
    try:
        found = sorted(path.name + "/" * path.is_dir() for path in root.iterdir() if not path.name.startswith("."))
    except OSError:
        return ""
    named = found[:MAX_LISTED_NAMES]
    while named and count(" ".join(named)) > MAX_LISTING_TOKENS:
        named = named[: len(named) * 3 // 4]
    more = " …" if len(named) < len(found) else ""
    return f" It holds: {' '.join(named)}{more}" if named else ""


def _project(root: Path, max_tokens: int, count: Callable[[str], int]) -> tuple[str, str]:
    for name in INSTRUCTIONS:
        try:
            with (root / name).open(encoding="utf-8", errors="replace") as file:
                text = file.read(MAX_INSTRUCTION_BYTES).strip()
        except OSError:
            continue
        if text:
            shown = _head(text, max_tokens, count)
            whole = shown == text
            note = "" if whole else f"\n[{name} goes on: read it for the rest]"
            return f"\nThe project's own instructions, from {name}:\n{shown}{note}\n", "" if whole else name
    return "", ""


def _head(text: str, max_tokens: int, count: Callable[[str], int]) -> str:
    """Return as many whole lines as fit into `max_tokens`."""
    if len(text) <= 8 * max_tokens and count(text) <= max_tokens:
        return text
    lines = text[: 8 * max_tokens].splitlines(keepends=True)
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if count("".join(lines[:middle])) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return "".join(lines[:low]).rstrip()
