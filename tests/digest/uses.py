"""Builders of tool uses and turns for tests of gists."""

from __future__ import annotations

import json
from typing import Any

from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn


def count(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass")) // 4 + 1


def use(name: str, arguments: dict[str, Any], result: str = "", error: bool = False) -> ToolUse:
    return ToolUse(Call("1", name, json.dumps(arguments)), Result((Text(result),), error))


def bash(command: str, result: str = "", error: bool = False) -> Step:
    return Step((use("bash", {"command": command}, result, error),))


def said(text: str) -> Step:
    return Step((Text(text),))


def turn(prompt: str, *steps: Step) -> Turn:
    return Turn((Text(prompt),), steps)
