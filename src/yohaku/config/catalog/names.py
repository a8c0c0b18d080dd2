"""How people write the name of a model, and which spellings mean the same one.

Law: a suffix is taken away only when it names an edition of the same model (a date, -latest, -preview), never when it
may name another: `gpt-4` is no prefix of `gpt-4o`, and Mistral's `-2512` (year, month) is a model of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

VARIANTS = frozenset({"beta", "exacto", "extended", "floor", "free", "nitro", "online", "thinking"})
"""What OpenRouter writes behind a colon. Any other word there is a tag of Ollama."""

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


def plain(name: str) -> str:
    """The name as its maker would say it: no Bedrock region, fine-tune owner or `[1m]`; lower case."""
    name = re.sub(r"\[\w+\]$", "", name.strip().lower())
    if name.startswith("ft:"):
        name = name.split(":")[1]
    if bedrock := _BEDROCK.search(name):
        name = bedrock[1]
    return name


def key(name: str) -> str:
    """`claude-sonnet-4.5`, `claude-sonnet-4-5` and `Claude_Sonnet_4.5` are one name."""
    return re.sub(r"[._@\s]", "-", name.lower())


def stems(name: str) -> Iterator[str]:
    """The key of the name, then the keys it may stand for, the most exact first."""
    stem = key(name)
    while True:
        yield stem
        if turned := _turned(stem):
            yield turned
        shorter = _EDITION.sub("", stem)
        if shorter == stem:
            return
        stem = shorter


def _turned(stem: str) -> str | None:
    """Anthropic changed the order with version 4, and people write both."""
    if old := _CLAUDE_OLD.match(stem):
        return f"claude-{old[2]}-{old[1]}"
    if new := _CLAUDE_NEW.match(stem):
        return f"claude-{new[2]}-{new[1]}"
    return None
