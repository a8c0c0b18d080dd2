"""Calls in Python's way, `read(path="a.py")`, where a text holds nothing else.

Law: nothing is run. Arguments stand by name and are plain values; anything more, and the text is no call.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping
from typing import Any

LONGEST = 20_000
"""Characters of a text that is looked at."""

_BEGINS = re.compile(r"\[?\s*[A-Za-z_]\w*\(")


def read_python_calls(
    text: str, names: frozenset[str], schemas: Mapping[str, Mapping[str, Any]]
) -> tuple[tuple[str, str], ...]:
    """Names with their arguments as JSON; none unless all of the text is calls of these names."""
    said = text.strip()
    if len(said) > LONGEST or not said.endswith((")", "]")) or not _BEGINS.match(said):
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's own opinion of what the model wrote
            lines = ast.parse(said).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    values = [line.value if isinstance(line, ast.Expr) else None for line in lines]
    nodes = [node for value in values for node in (value.elts if isinstance(value, ast.List) else [value])]
    calls = [_call(node, names, schemas) for node in nodes]
    return tuple(call for call in calls if call) if all(calls) else ()


def _call(
    node: ast.expr | None, names: frozenset[str], schemas: Mapping[str, Mapping[str, Any]]
) -> tuple[str, str] | None:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords) if name in names:
            try:
                arguments = {str(each.arg): ast.literal_eval(each.value) for each in keywords if each.arg}
                written = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            except (ValueError, TypeError, RecursionError, MemoryError):
                return None
            schema = schemas.get(name)
            known = schema.get("properties", {}).keys() if schema else arguments.keys()
            return (name, written) if len(arguments) == len(keywords) and arguments.keys() <= known else None
    return None
