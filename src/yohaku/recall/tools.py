"""Recall as tools for the model: their definitions in every dialect, and the results of their calls.

Law: a model's mistake raises an error of ours whose sentence tells it what to do.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from typing import Any

from yohaku.core.errors import BadSetting
from yohaku.dialects import dialect_named
from yohaku.dialects.server_api import Signature
from yohaku.recall.contents import open_ref
from yohaku.recall.lines import grep
from yohaku.recall.ref import parse_ref
from yohaku.recall.search_originals import search
from yohaku.stores import Store

MAX_LINES = 2000
MAX_LINE_NUMBER = 1 << 40
"""More lines than any original has, and still a number that every database can hold."""

_REF = {
    "type": "string",
    "description": "The ref shown as ref=… where something was folded; REF:120-310 for some of its lines.",
}
_LINE = {"type": "integer", "minimum": 1, "description": "Line to begin at, counted from 1. Default 1."}


def _limit(usual: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "description": f"How many lines at most. Default {usual}."}


READ = Signature(
    "tool_output_cache",
    "Open what was folded away: gives numbered lines of the original behind a ref; a long stretch of the "
    "conversation opens with its contents, whose rows name the lines to open next. "
    "Use it when a shortened output, file or earlier part of the conversation holds something you need.",
    {
        "type": "object",
        "properties": {"ref_id": _REF, "offset": _LINE, "limit": _limit(200)},
        "required": ["ref_id"],
        "additionalProperties": False,
    },
)
GREP = Signature(
    "tool_output_cache_grep",
    "Search in what was folded away: gives the lines of the original behind a ref that match a regular expression.",
    {
        "type": "object",
        "properties": {
            "ref_id": _REF,
            "pattern": {"type": "string", "description": "A regular expression; (?i) ignores case."},
            "context": {"type": "integer", "minimum": 0, "description": "Lines around each match. Default 0."},
            "limit": _limit(50),
            "offset": _LINE,
        },
        "required": ["ref_id", "pattern"],
        "additionalProperties": False,
    },
)
SEARCH = Signature(
    "recall_search",
    "Search in everything that was folded away, where no ref is known: gives the lines that hold all the words, "
    "in whatever case, each with the ref and the line to open it at; or else the passages that hold most of them.",
    {
        "type": "object",
        "properties": {
            "words": {"type": "string", "description": "One word or more, parted by blanks; parts of words do."},
            "limit": _limit(20),
        },
        "required": ["words"],
        "additionalProperties": False,
    },
)
TOOLS = {tool.name: tool for tool in (READ, GREP, SEARCH)}
BY_REF = (READ, GREP)
"""The tools a model needs to open the refs it is shown."""


def definitions(dialect: str, tools: Sequence[Signature] = BY_REF) -> list[dict[str, Any]]:
    """Write definitions to add to the `tools` of a request in this dialect."""
    return dialect_named(dialect).tool_definitions(tools)


def call(
    store: Store,
    name: str,
    arguments: str | Mapping[str, Any],
    *,
    refs: Container[str] | None = None,
    learn: bool = True,
) -> str:
    """Return the result of a call. A `YohakuError` is for the model to read, as the error of its call.

    `refs` and `learn` apply to a search.
    """
    if name not in TOOLS:
        raise BadSetting(f"unknown tool {name!r}: use one of {', '.join(TOOLS)}")
    given = given_to(TOOLS[name], arguments)
    if name == SEARCH.name:
        limit = min(MAX_LINES, _number(given, "limit", 20, 1))
        return str(search(store, _text(given, "words"), limit, refs=refs, learn=learn))
    place = parse_ref(_text(given, "ref_id"))
    ref, offset = place.ref, _number(given, "offset", place.line or 1, 1)
    if name == READ.name:
        chosen = offset if "offset" in given else None
        lines = min(MAX_LINES, _number(given, "limit", 200, 1)) if "limit" in given else None
        return str(open_ref(store, place, chosen, lines))
    limit = min(MAX_LINES, _number(given, "limit", 50, 1))
    return str(grep(store, ref, _text(given, "pattern"), _number(given, "context", 0, 0), limit, offset=offset))


def given_to(tool: Signature, arguments: str | Mapping[str, Any]) -> dict[str, Any]:
    """Decode the arguments, and refuse any that the tool does not have."""
    given = _given(arguments)
    unknown = given.keys() - tool.parameters["properties"].keys()
    if unknown:
        known = ", ".join(tool.parameters["properties"])
        raise BadSetting(f"{tool.name} has no argument {sorted(unknown)[0]!r}: it takes {known}")
    return given


def ref_in(given: Mapping[str, Any]) -> str:
    """Return the ref, in whatever form the model copied it."""
    return parse_ref(_text(given, "ref_id")).ref


def _given(arguments: str | Mapping[str, Any]) -> dict[str, Any]:
    try:
        given = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
    except (ValueError, RecursionError):
        raise BadSetting("the arguments are not JSON: give an object") from None
    if not isinstance(given, dict):
        raise BadSetting('the arguments are no object: give one, such as {"ref_id": "…"}')
    return {name: value for name, value in given.items() if value is not None}


def _text(given: Mapping[str, Any], name: str) -> str:
    if not isinstance(given.get(name), str) or not given[name]:
        raise BadSetting(f"{name} is missing: give it as text")
    return str(given[name])


def _number(given: Mapping[str, Any], name: str, usual: int, least: int) -> int:
    """Return a whole number, also one in quotes or with a decimal point."""
    value = given.get(name, usual)
    try:
        number = int(value) if not isinstance(value, float) or value.is_integer() else None
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or isinstance(value, bool) or number < least:
        raise BadSetting(f"{name} is {str(value)[:40]!r}: give a whole number from {least} on")
    return min(number, MAX_LINE_NUMBER)
