"""Export of a conversation as Markdown.

Law: only what is not text is left out, and its kind is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from yohaku.core.model import History, Part, Text, ToolUse


def to_markdown(history: History) -> str:
    return "\n\n".join(_pieces(history)) + "\n"


def _pieces(history: History) -> Iterator[str]:
    for number, turn in enumerate(history.turns, 1):
        yield f"## {number}"
        yield from (_quote(_text_of(part)) for part in turn.prompt)
        for step in turn.steps:
            for item in step.items:
                if isinstance(item, ToolUse):
                    yield f"**{item.call.name}** `{_to_inline(item.call.arguments)}`"
                    yield fence_code("\n".join(_text_of(part) for part in item.result.parts))
                else:
                    yield _text_of(item)


def fence_code(text: str, kind: str = "") -> str:
    """Put code into a fence longer than any inside it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}"


def _text_of(part: Part) -> str:
    return part.text if isinstance(part, Text) else f"[{part.kind}]"


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def _to_inline(text: str) -> str:
    return " ".join(text.replace("`", "'").split())
