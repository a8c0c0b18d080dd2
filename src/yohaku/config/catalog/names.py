"""Spellings of a model's name that mean the same model.

Law: a suffix is removed only where it names an edition of the same model (a date, -latest, -preview), never where it
may name another: `gpt-4` does not match `gpt-4o`, and Mistral's `-2512` (year, month) is a model of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

VARIANTS = frozenset({"beta", "exacto", "extended", "floor", "free", "nitro", "online", "thinking"})
"""Words that OpenRouter writes behind a colon. Any other word there is a tag of Ollama."""

_EDITION = re.compile(
    r"""(?: -20\d\d-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])            # 20250929, 2024-08-06
          | -(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])                      # 0613: month and day
          | -(?:preview|exp|experimental|beta)(?:-\d\d-\d\d(?:\d\d)?)?     # preview-05-06, preview-09-2025
          | -latest | -default | -00\d | -0
        )$""",
    re.VERBOSE,
)
_BEDROCK = re.compile(r"(?:[a-z-]+\.)?anthropic\.(claude.+?)(?:-v\d+(?::\d+)?)?$")
_CLAUDE_OLD = re.compile(r"claude-(\d+(?:-\d+)?)-([a-z]+)$")
_CLAUDE_NEW = re.compile(r"claude-([a-z]+)-(\d+(?:-\d+)?)$")


def normalize(name: str) -> str:
    """Return the maker's name in lower case, without Bedrock region, fine-tune owner or `[1m]`."""
    name = re.sub(r"\[\w+\]$", "", name.strip().lower())
    if name.startswith("ft:"):
        name = name.split(":")[1]
    if bedrock := _BEDROCK.search(name):
        name = bedrock[1]
    return name


def key(name: str) -> str:
    """Return one key for `claude-sonnet-4.5`, `claude-sonnet-4-5` and `Claude_Sonnet_4.5`."""
    return re.sub(r"[._@\s]", "-", name.lower())


def stems(name: str) -> Iterator[str]:
    """Yield the key of the name, then the keys it may stand for, the most exact first."""
    stem = key(name)
    while True:
        yield stem
        if swapped := _swap_claude_order(stem):
            yield swapped
        shorter = _EDITION.sub("", stem)
        if shorter == stem:
            return
        stem = shorter


def _swap_claude_order(stem: str) -> str | None:
    """Return the name with version and size swapped: Anthropic changed the order with version 4."""
    if old := _CLAUDE_OLD.match(stem):
        return f"claude-{old[2]}-{old[1]}"
    if new := _CLAUDE_NEW.match(stem):
        return f"claude-{new[2]}-{new[1]}"
    return None
