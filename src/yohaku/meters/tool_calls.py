"""Tool calls as the model sees them: each provider writes name and arguments in its own form.

Law: arguments that are no JSON object are weighed as they were sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable

MARK = "t1:"
"""Stands for the namespace of Claude's elements: as many tokens as that has."""


def plain(name: str, arguments: str) -> tuple[str, ...]:
    return name, arguments


def twice(name: str, arguments: str) -> tuple[str, ...]:
    """OpenAI: the name stands in the call, and again as the author of its result."""
    return name, name, arguments


def addressed(name: str, arguments: str) -> tuple[str, ...]:
    """gpt-oss: a call says who sends it to whom, and so does its result. What is the same for all is in the frame."""
    return f"assistant to=functions.{name}", arguments, f"functions.{name} to=assistant"


def loose(name: str, arguments: str) -> tuple[str, ...]:
    """Gemini: the arguments as values inside values, each apart from its neighbours."""
    try:
        return name, json.dumps(json.loads(arguments), ensure_ascii=False)
    except (ValueError, RecursionError):
        return name, arguments


def elements(name: str, arguments: str) -> tuple[str, ...]:
    """Claude: an element for each argument, strings as they are and everything else as JSON."""
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        values = {"": arguments}
    inside = "".join(
        f'<{MARK}parameter name="{key}">{text(value)}</{MARK}parameter>\n' for key, value in values.items()
    )
    return (f'<{MARK}invoke name="{name}">\n{inside}</{MARK}invoke>\n',)


def text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


CALLS: dict[str, Callable[[str, str], tuple[str, ...]]] = {
    "plain": plain, "twice": twice, "addressed": addressed, "loose": loose, "elements": elements,
}  # fmt: skip
