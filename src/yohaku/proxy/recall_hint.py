"""The line that tells a model with a shell how to open what was folded, and who is told.

Law: a client without a shell is never told of a command, nor one that the command cannot serve.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from typing import Any

from yohaku.analysis.tool_calls import RUN_WORDS, normalize_name, split_tool_name
from yohaku.core.errors import YohakuError
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import Tool
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.server_api import signature

COMMANDS = ("command", "cmd", "commands", "commandline", "script")
"""Arguments of a tool that takes any command, without case and underscores."""


def command_of(store: str | None) -> str:
    """Return the command that opens a ref on this machine, from a store named by a flag or from the configured one.

    Empty where it would show a password, or where nothing is kept for another process.
    """
    if store and not store.startswith("sqlite:"):
        return ""
    program = "yohaku" if shutil.which("yohaku") else f"{shlex.quote(sys.executable)} -m yohaku"
    return f"{program} recall REF" + (f" --store {shlex.quote(store)}" if store else "")


def hint_for(dialect: Dialect, body: dict[str, Any], command: str) -> str:
    """Return the line for a client; "" where it has no tool that runs commands."""
    builder = HistoryBuilder()
    try:
        dialect.read_beside(builder, body)
    except (YohakuError, RecursionError):
        return ""
    if not command or not any(map(_runs_commands, builder.tools)):
        return ""
    return f"What a ref=… stands for can be read with the shell command `{command}`."


def _runs_commands(tool: Tool) -> bool:
    """Tell a shell from a tool that runs one thing, such as `run_tests`: it takes any command."""
    if split_tool_name(tool.name).isdisjoint(RUN_WORDS):
        return False
    found = signature(tool.definition)
    taken = {normalize_name(name) for name in found.parameters.get("properties", {})}
    return found.hosted or not taken.isdisjoint(COMMANDS)
