"""A command that reproduces what a prompt calls wrong: `money.percent(1000, 20) should give 800`.

Law: only a function of the project is called, and only with plain values that stand in the prompt; the command is run
as every other, and the user is asked.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path

SCRIPT_SUFFIXES = (".js", ".cjs")
MAX_ARGUMENT_CHARS = 200

_CALL = r"(?<![\w.])((?:[A-Za-z_]\w*\.){1,4})([A-Za-z_]\w*)(\([^()\n`]{0,200}\))`?"
_VALUE = (
    r"`?(-?\d[\d_]*(?:\.\d+)?|\"[^\"\n]{0,80}\"|'[^'\n]{0,80}'|True|False|None|true|false|null|\[[^\[\]\n]{0,120}\])`?"
)
_SHOULD = re.compile(
    rf"{_CALL}\s{{1,3}}(?:should|must|has to|ought to|is supposed to|is expected to)\s{{1,3}}"
    rf"(?:give|return|be|equal|yield|produce|print)s?\s{{1,3}}{_VALUE}(?!\.?[\w(])"
    rf"|{_CALL}\s{{0,3}}(?:は|が)\s{{0,3}}{_VALUE}\s{{0,3}}(?:を返す|になる|である|に等しい)(?:はず|べき)",
)


def find_check(root: Path, prompt: str) -> str:
    """Return a command that fails until what the prompt says should hold does; empty where it says nothing so."""
    found = _SHOULD.search(prompt)
    if not found:
        return ""
    modules, name, arguments, value = [group for group in found.groups() if group is not None]
    parts, given, wanted = modules.rstrip(".").split("."), _literal(arguments, call=True), _literal(value)
    if given is None or wanted is None:
        return ""
    path = root.joinpath(*parts)
    if path.with_suffix(".py").is_file():
        module = repr(".".join(parts))
        called = f"__import__({module}, fromlist=['*']).{name}{arguments}"
        return f"python3 -c {shlex.quote(f'assert (found := {called}) == {wanted[0]!r}, found')}"
    for suffix in SCRIPT_SUFFIXES:
        if path.with_suffix(suffix).is_file():
            listed = ", ".join(map(json.dumps, given))
            called = f'require("./{"/".join(parts)}{suffix}").{name}({listed})'
            check = f'require("assert").deepStrictEqual({called}, {json.dumps(wanted[0])})'
            return f"node -e {shlex.quote(check)}"
    return ""


def _literal(text: str, *, call: bool = False) -> list[object] | None:
    """Return the plain values of a text, a single one in a list; None where it holds anything else."""
    text = re.sub(r"\b(?:true|false|null)\b", lambda word: {"null": "None"}.get(word[0], word[0].title()), text)
    try:
        if not call:
            return [ast.literal_eval(text)]
        inside = text.strip()[1:-1].strip().rstrip(",")
        return list(ast.literal_eval(f"({inside},)")) if inside else []
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
