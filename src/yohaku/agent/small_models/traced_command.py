"""The command that runs a failing command again and tells what functions were given and gave back.

Law: only for a plain call of Python, pytest, or Node.js with a file; it is run as every other command, and the user is
asked.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

PROGRAM = Path(__file__).with_name("trace_calls.py")
NODE_PROGRAM = PROGRAM.with_suffix(".cjs")
_PYTHON = re.compile(r"(?:[\w./-]*/)?python(?:3(?:\.\d{1,2})?)?")
_PYTEST = re.compile(r"(?:[\w./-]*/)?(?:pytest|py\.test)")
_NODE = re.compile(r"(?:[\w./-]*/)?node(?:js)?")
_SHELL = re.compile(r"[;&|<>$`\n]")
SKIPPED_FLAGS = ("-B", "-u", "-s", "-E", "-I")


def trace_command(command: str, names: Sequence[str]) -> str:
    """Return the command; empty where there is nothing to trace or the command is of another kind."""
    if not names or _SHELL.search(command):
        return ""
    try:
        program, *words = shlex.split(command)
    except ValueError:
        return ""
    if _NODE.fullmatch(program) and words and words[0].endswith((".js", ".cjs")):
        return shlex.join([program, str(NODE_PROGRAM), ",".join(names), *words])
    if _PYTEST.fullmatch(program):
        program, words = "python3", ["-m", "pytest", *words]
    elif not _PYTHON.fullmatch(program):
        return ""
    while words and words[0] in SKIPPED_FLAGS:
        words = words[1:]
    if not words or (words[0].startswith("-") and words[0] not in ("-m", "-c")):
        return ""
    return shlex.join([program, str(PROGRAM), ",".join(names), *words])


def is_trace(command: str) -> bool:
    """Return whether this is such a command: it changes nothing that the failing one does not."""
    return any(f" {shlex.quote(str(program))} " in command for program in (PROGRAM, NODE_PROGRAM))
