"""Calls that small models write as text: as JSON between tags, in a fence or bare, or as Python, `read(path="a.py")`.

Law: a text is a call only if it names a known tool with whole arguments. All other JSON, and code that is shown to the
user, stays text; no Python is run. The time is in proportion to the text, whatever it is.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Any, NamedTuple

from yohaku.agent.toolkit.arguments import ALIASES
from yohaku.agent.toolkit.lenient_json import NotJson, parse, read_value
from yohaku.core.model import Call
from yohaku.dialects.json_values import dump

NAME_FIELDS = ("name", "tool", "tool_name", "function", "function_name", "action")
ARGUMENT_FIELDS = ("arguments", "parameters", "args", "params", "input", "action_input", "tool_input")
WRAPPER_FIELDS = ("function", "tool_call", "function_call")
"""Fields whose object is the call itself."""
OTHER_FIELDS = frozenset(
    {"id", "type", "index", "call_id", "thought", "thoughts", "reason", "reasoning", "explanation"}
)
"""Fields that a call may have beside its name and arguments."""

CALL_FENCES = frozenset({"tool", "tool_call", "tool_calls", "tool_code", "tool_use"})
JSON_FENCES = CALL_FENCES | {"", "json", "json5", "jsonc", "xml"}
"""Languages of fences that may hold a call; others are code for the user."""
MAX_TAG_CHARS = 120
"""Characters before an object in which a tag may name the tool."""
MAX_READS_PER_CHAR, MIN_READ_COST = 2, 32
"""Times that a character is read on average; characters that an attempt counts for at least."""
MAX_PYTHON_CHARS = 20_000

CALL_END = re.compile(r"[}>`)]")
"""Characters that can end a call."""

TOOL_ALIASES = {
    "read": "read_file open_file view_file view cat get_file file_read readfile",
    "write": "write_file create_file save_file file_write writefile",
    "edit": "edit_file str_replace replace_in_file modify_file update_file apply_edit",
    "bash": "run shell execute run_command execute_command terminal run_shell_command exec run_bash",
    "grep": "search search_files grep_search find_in_files search_code ripgrep search_file_content",
    "glob": "find_files list_files file_search",
    "list_dir": "ls list_directory",
}
"""Names other agents use for the same tool."""
_BY_ALIAS = {alias: name for name, aliases in TOOL_ALIASES.items() for alias in aliases.split()}

_TAG = r"<\|?{}(?:tool_calls?|function_call|tool_use|tools)\|?>"
_OPENS = re.compile(rf"(?:{_TAG.format('')}|<\|python_tag\|>|\[TOOL_CALLS?\])[ \t\r\n]*+$")
_CLOSES = re.compile(rf"[ \t\r\n]*+{_TAG.format('/?')}")
_NAMED = re.compile(
    r"<\|?(?:function|tool|tool_call|call|invoke)(?:[ \t]{1,4}name)?[ \t]{0,4}=[ \t]{0,4}[\"']?([\w.-]{1,64})[\"']?"
    r"[ \t]{0,4}(?:>|(?:arguments|parameters|args|params|input)[ \t]{0,4}=[ \t]{0,4}[\"']?)[ \t\r\n]{0,8}$"
)
"""A tag that names the tool, before its arguments: `<function=read>`, `<function name="read" arguments=`."""
_NAMED_END = re.compile(r"[\"']?[ \t]*+(?:/?>)?(?:[ \t\r\n]*+</(?:function|tool|tool_call|call|invoke)>)?")
_NEXT = re.compile(r"^[ \t]*+(`{3,}|~{3,})[ \t]*+([\w-]*+)|\[|\{(?=[ \t\r\n]*+[\"'{}])", re.MULTILINE)
_FENCE_END = re.compile(r"^[ \t]*+(`{3,}|~{3,})[ \t\r]*+$", re.MULTILINE)
_TAGGED = re.compile(rf"{_TAG.format('')}|<\|python_tag\|>|\[TOOL_CALLS?\]|<(?:function|tool|invoke)[ =]")
_ATTEMPT = re.compile(
    r"(?:(?:^|\n)[ \t]*(?:[`~]{3,}\w{0,10}\s{0,4})?(?:<[^<>\n]{1,80}>\s{0,4})?"
    r"|<\|?tool_calls?\|?>\s{0,4}|\[TOOL_CALLS?\]\s{0,4})"
    r"\[?\{{1,2}\s{0,8}[\"'](?:name|tool|tool_name|function|action|type|id)[\"']\s{0,4}:\s{0,4}(?:[\"']([\w.-]{1,64}))?"
)
_PYTHON_CALL = re.compile(r"\[?\s*[A-Za-z_]\w*\(")
_BETWEEN = re.compile(rf"(?:[ \t\r\n,;]++|{_TAG.format('/?')})*+")


class _FoundCalls(NamedTuple):
    start: int
    end: int
    calls: tuple[tuple[str, str], ...]
    """Names and arguments, as JSON."""


class _KnownTools(NamedTuple):
    names: frozenset[str]
    schemas: Mapping[str, Mapping[str, Any]]


def find_calls(
    text: str, names: Iterable[str], schemas: Mapping[str, Mapping[str, Any]] | None = None, *, salt: str = ""
) -> tuple[str, tuple[Call, ...]]:
    """Return the text without the calls written in it, and these calls.

    `schemas`: the parameters of the tools by name; with them an object whose fields no tool takes is not a call.
    `salt`: part of the ids, different in each reply.
    """
    known = names if isinstance(names, frozenset) else frozenset(names)
    found = list(_CallSearch(text, _KnownTools(known, schemas or {})).find())
    if not found:
        return text, ()
    ends = [0, *(each.end for each in found)]
    starts = [*(each.start for each in found), len(text)]
    left = (text[end:start].strip() for end, start in zip(ends, starts, strict=True))
    made = enumerate(call for each in found for call in each.calls)
    calls = tuple(Call(_make_id(salt, number, *call), *call) for number, call in made)
    return "\n\n".join(filter(None, left)), calls


def drop_attempts(text: str, names: Iterable[str]) -> str:
    """Return the text without what is meant as a call and cannot be made: of an unknown tool, or not whole."""
    begins = _ATTEMPT.search(text)
    if not begins:
        return text
    left, calls = find_calls(text, _AnyName())
    if calls and (_TAGGED.search(text) or not left.strip("`<>/ \n")):
        return left
    if begins[1] in {*names, *_BY_ALIAS}:  # not whole
        return text[: begins.start()].rstrip()
    return text


class _AnyName(frozenset[str]):
    def __contains__(self, name: object) -> bool:
        return True


def _make_id(salt: str, *facts: object) -> str:
    whole = "\0".join((salt, *map(str, facts))).encode("utf-8", "replace")
    return f"call_{blake2b(whole, digest_size=8).hexdigest()}"


class _CallSearch:
    def __init__(self, text: str, tools: _KnownTools) -> None:
        self.text = text
        self.tools = tools
        self.left = MAX_READS_PER_CHAR * len(text) + 1000 * MIN_READ_COST

    def find(self) -> Iterator[_FoundCalls]:
        if not isinstance(self.tools.names, _AnyName) and (calls := _read_python_calls(self.text, self.tools)):
            yield _FoundCalls(0, len(self.text), calls)
            return
        place = 0
        while sign := _NEXT.search(self.text, place):
            found = self._read_fence(sign) if sign[1] else self._read_bare(sign.start())
            place = found.end
            if found.calls:
                yield found

    def _read_bare(self, start: int) -> _FoundCalls:
        """Read a value; one without calls is skipped with all inside it."""
        try:
            value, end = read_value(self.text, start)
        except NotJson as error:
            return _FoundCalls(start, self._next_start(start, error), ())
        opens = _OPENS.search(self.text, max(0, start - 40), start)
        calls = _calls_in(value, self.tools, bool(opens))
        if not calls and (named := _NAMED.search(self.text, max(0, start - MAX_TAG_CHARS), start)):
            calls = _calls_in({"name": named[1], "arguments": value}, self.tools, tagged=True)
            start, end = (named.start(), self._skip_tag_end(end)) if calls else (start, end)
            opens = _OPENS.search(self.text, max(0, start - 40), start)
        closes = _CLOSES.match(self.text, end)
        if self.text[start - 1 : start] == self.text[end : end + 1] == "`":
            start, end = start - 1, end + 1
        return _FoundCalls(opens.start() if opens else start, closes.end() if closes else end, calls)

    def _skip_tag_end(self, end: int) -> int:
        closes = _NAMED_END.match(self.text, end)
        return closes.end() if closes else end

    def _next_start(self, start: int, error: NotJson) -> int:
        """Go on at the next character, or, when too much was read twice, where the error is."""
        self.left -= error.at - start + MIN_READ_COST
        return start + 1 if self.left > 0 else max(start + 1, error.at)

    def _read_fence(self, opens: re.Match[str]) -> _FoundCalls:
        """Read a fence; it has calls only if it holds nothing else."""
        kind = opens[2].lower()
        if kind in JSON_FENCES and self.left > 0:
            calls, end = self._read_calls(opens.end(), opens[1], kind in CALL_FENCES)
            if calls:
                return _FoundCalls(opens.start(), end, calls)
        for closes in _FENCE_END.finditer(self.text, opens.end()):
            if closes[1].startswith(opens[1]):
                calls = self._read_unclosed(opens.end(), closes.start()) if kind in JSON_FENCES else ()
                return _FoundCalls(opens.start(), closes.end(), calls)
        return _FoundCalls(opens.start(), len(self.text), ())

    def _read_unclosed(self, start: int, end: int) -> tuple[tuple[str, str], ...]:
        """Read a call that lacks its last brace behind whole arguments: small models count them wrong."""
        inside = self.text[start:end].strip()
        if not inside.startswith("{") or self.left <= 0:
            return ()
        self.left -= len(inside)
        with suppress(NotJson):
            return _calls_in(parse(inside + "}"), self.tools, tagged=False)
        return ()

    def _read_calls(self, place: int, fence: str, only_calls: bool) -> tuple[tuple[tuple[str, str], ...], int]:
        """Read calls from `place` to the end of the fence or of the text; return them and that place."""
        if only_calls and (closes := self.text.find(fence, place)) >= 0:
            self.left -= closes - place
            if calls := _read_python_calls(self.text[place:closes], self.tools):
                return calls, closes + len(fence)
        found: list[tuple[str, str]] = []
        while True:
            place = self._skip_between(place)
            if place == len(self.text) or self.text.startswith(fence, place):
                return tuple(found), min(len(self.text), place + len(fence))
            try:
                value, end = read_value(self.text, place)
            except NotJson as error:
                self.left -= error.at - place + MIN_READ_COST
                return (), place
            self.left -= end - place
            calls = _calls_in(value, self.tools, tagged=only_calls)
            if not calls:
                return (), end
            found += calls
            place = end

    def _skip_between(self, place: int) -> int:
        match = _BETWEEN.match(self.text, place)
        return match.end() if match else place


def _calls_in(value: Any, tools: _KnownTools, tagged: bool) -> tuple[tuple[str, str], ...]:
    """Return the calls in a value; none unless all of it is calls."""
    match value:
        case {"tool_calls": list(listed)} | {"calls": list(listed)} if len(value) == 1:
            return _calls_in(listed, tools, tagged)
        case list() if value:
            each = [_calls_in(item, tools, tagged) if isinstance(item, dict) else () for item in value]
            return tuple(call for calls in each for call in calls) if all(each) else ()
        case dict():
            call = _read_call(value, tools, tagged)
            return (call,) if call else ()
    return ()


def _read_call(value: dict[str, Any], tools: _KnownTools, tagged: bool) -> tuple[str, str] | None:
    wrapped = next((field for field in WRAPPER_FIELDS if isinstance(value.get(field), dict)), "")
    if wrapped:
        return _read_call(value[wrapped], tools, tagged) if not value.keys() - OTHER_FIELDS - {wrapped} else None
    field = next((field for field in NAME_FIELDS if isinstance(value.get(field), str)), "")
    name = _known_name(value[field].removeprefix("functions."), tools) if field else ""
    if name not in tools.names:
        return None
    given = [key for key in ARGUMENT_FIELDS if key in value]
    filled = _read_filled_definition(value[given[0]]) if len(given) == 1 else None
    others = OTHER_FIELDS | {"description"} if filled else OTHER_FIELDS
    if len(given) > 1 or value.keys() - others - {field, *given} or (not given and not tagged):
        return None
    schema = tools.schemas.get(name)
    arguments = filled or _as_object(value[given[0]] if given else {}, schema)
    return (name, dump(arguments)) if arguments is not None and _may_be_arguments(arguments, schema) else None


def _known_name(name: str, tools: _KnownTools) -> str:
    """Return the name by which a tool is known here; one of another agent may stand for it."""
    other = _BY_ALIAS.get(name.lower(), "")
    return other if name not in tools.names and other in tools.names else name


def _as_object(arguments: Any, schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return arguments as an object: some models write it as a string, or give the only argument alone."""
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, str):
        return {} if arguments is None else None
    with suppress(NotJson):
        value = parse(arguments)
        if isinstance(value, dict):
            return value
    known = list(schema.get("properties", {})) if schema else []
    if arguments.strip() and len(known) == 1:
        return {known[0]: arguments}
    return None if arguments.strip() else {}


def _read_filled_definition(arguments: Any) -> dict[str, Any] | None:
    """Return the values in a copy of a tool's definition: some models call that way."""
    match arguments:
        case {"type": "object", "properties": dict(inside)} if not any(
            isinstance(each, dict) for each in inside.values()
        ):
            return inside
    return None


def _may_be_arguments(arguments: dict[str, Any], schema: Mapping[str, Any] | None) -> bool:
    """Return whether these can be arguments: no definition of a tool, and at least one that the tool knows."""
    if isinstance(arguments.get("properties"), dict) and arguments.get("type") == "object":
        return False
    known = schema.get("properties") if schema else None
    others = {alias for name in known or () for alias in ALIASES.get(name, ())}
    return not known or not arguments or bool(arguments.keys() & (known.keys() | others))


def _read_python_calls(text: str, tools: _KnownTools) -> tuple[tuple[str, str], ...]:
    """Return names and arguments as JSON; none unless all of the text is calls with plain values by name."""
    text = text.strip()
    if len(text) > MAX_PYTHON_CHARS or not text.endswith((")", "]")) or not _PYTHON_CALL.match(text):
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's opinion of the model's code
            lines = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    values = [line.value if isinstance(line, ast.Expr) else None for line in lines]
    nodes = [node for value in values for node in (value.elts if isinstance(value, ast.List) else [value])]
    calls = [_read_python_call(node, tools) for node in nodes]
    return tuple(call for call in calls if call) if all(calls) else ()


def _read_python_call(node: ast.expr | None, tools: _KnownTools) -> tuple[str, str] | None:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords) if name in tools.names:
            try:
                arguments = {str(each.arg): ast.literal_eval(each.value) for each in keywords if each.arg}
                written = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            except (ValueError, TypeError, RecursionError, MemoryError):
                return None
            schema = tools.schemas.get(name)
            known = schema.get("properties", {}).keys() if schema else arguments.keys()
            return (name, written) if len(arguments) == len(keywords) and arguments.keys() <= known else None
    return None
