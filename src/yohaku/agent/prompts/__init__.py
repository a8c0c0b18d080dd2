"""The system prompt: one text a tier, so that each can be read, changed and tried by itself.

Law: the parts that are the same for everybody come first, those of this machine and project last, so that a provider's
prompt cache holds; nothing in it changes during a conversation, hence no date.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from yohaku.agent.prompts.full import FULL
from yohaku.agent.prompts.small import SMALL
from yohaku.agent.toolkit.ordinary_files import open_ordinary, show_name
from yohaku.agent.toolkit.secrets import holds_secrets, redact

INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""Files with a project's instructions for agents; the first that can be used counts."""

MAX_INSTRUCTION_SHARE = 0.1
"""Share of the window that a project's instructions may take."""

MAX_INSTRUCTION_BYTES = 1_000_000
"""Bytes of such a file that are read."""

MAX_INSTRUCTION_FILE_BYTES = 16_000_000
"""Size from which such a file is refused: nobody wrote that."""

MAX_LISTED_NAMES, MAX_LISTING_TOKENS = 40, 150
"""Names of the project's top folder in the prompt, and tokens they may take."""

TEXTS = {"small": SMALL, "full": FULL}


class SystemPrompt(NamedTuple):
    text: str
    cut: str = ""
    """The project's file that did not fit."""
    refused: str = ""
    """The project's file that is none, or leads to secrets or out of the project."""


def prompt_for(
    tier: Literal["small", "full"],
    root: Path,
    window: int,
    count: Callable[[str], int],
    tools: bool = True,
    lang: str = "en",
) -> SystemPrompt:
    """Return the system prompt of a tier for work in `root`; without tools one for conversation only."""
    reminder = LANGUAGE_REMINDERS.get(lang, "")
    if not tools:
        return SystemPrompt(f"{CHAT}{reminder}".rstrip() + "\n")
    instructions, cut, refused = _project(root, int(window * MAX_INSTRUCTION_SHARE), count)
    folder = show_name(str(root))
    where = f"\nYou work in {folder} on {_system()}. Relative paths start there.{_listing(root, count)}\n"
    return SystemPrompt(f"{TEXTS[tier]}{where}{instructions}{reminder}".rstrip() + "\n", cut, refused)


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
        visible = (path for path in root.iterdir() if not path.name.startswith("."))
        found = sorted(show_name(path.name) + "/" * path.is_dir() for path in visible)
    except OSError:
        return ""
    named = found[:MAX_LISTED_NAMES]
    while named and count(" ".join(named)) > MAX_LISTING_TOKENS:
        named = named[: len(named) * 3 // 4]
    more = " …" if len(named) < len(found) else ""
    return f" It holds: {' '.join(named)}{more}" if named else ""


def _project(root: Path, max_tokens: int, count: Callable[[str], int]) -> tuple[str, str, str]:
    """Return the project's instructions, the name of their file if it was cut, and of one that was refused."""
    refused = ""
    for name in INSTRUCTIONS:
        text = _read_instructions(root, name)
        if text is None:
            refused = refused or name
        elif text:
            shown = _head(text, max_tokens, count)
            whole = shown == text
            note = "" if whole else f"\n[{name} goes on: read it for the rest]"
            return f"\nThe project's own instructions, from {name}:\n{shown}{note}\n", "" if whole else name, refused
    return "", "", refused


def _read_instructions(root: Path, name: str) -> str | None:
    """Return the text, empty where there is no such file; None for one that must not be in the prompt.

    A file is judged by where it leads: a project that was downloaded may hold a link to anything.
    """
    try:
        if not os.path.lexists(root / name):
            return ""
        path = (root / name).resolve(strict=True)
        if not path.is_relative_to(root.resolve()) or holds_secrets(str(path)):
            return None
        if path.stat().st_size > MAX_INSTRUCTION_FILE_BYTES:
            return None
        with open_ordinary(path) as file:
            data = file.read(MAX_INSTRUCTION_BYTES)
    except (OSError, RuntimeError):  # a loop of links, or not readable
        return None
    return None if b"\0" in data else redact(data.decode("utf-8", "replace").removeprefix("\ufeff")).strip()


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
