"""Calls that small models write as text instead of making them: between tags, in a fence, or bare.

Law: only a mounted tool is called, and only by what can be meant as a call: a name with its arguments, whole. All other
JSON, and code that is shown to the user, stays text. Time is in proportion to the text, whatever it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from yohaku.agent.small_models.lenient_json import NotJson, read_value
from yohaku.agent.small_models.python_calls import read_python_calls
from yohaku.core.model import Call
from yohaku.dialects.json_values import dump

NAMES = ("name", "tool", "tool_name", "function", "function_name", "action")
ARGUMENTS = ("arguments", "parameters", "args", "params", "input", "action_input", "tool_input")
WRAPPED = ("function", "tool_call", "function_call")
"""Fields whose object is the call itself."""
BESIDE = frozenset({"id", "type", "index", "call_id", "thought", "thoughts", "reason", "reasoning", "explanation"})
"""Fields that may stand beside a name and its arguments."""

MEANT = frozenset({"tool", "tool_call", "tool_calls", "tool_code", "tool_use"})
FENCED = MEANT | {"", "json", "json5", "jsonc", "xml"}
"""Fences that may hold a call; one of another language is code for the user."""
NAMED = 120
"""Characters before an object in which a tag may name the tool."""
TRIED, TRIAL = 2, 32
"""How often, on average, a sign of the text may be looked at; how many signs a trial counts for at least."""

CALL_END = re.compile(r"[}>`)]")
"""Characters that can end a call."""

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
_BETWEEN = re.compile(rf"(?:[ \t\r\n,;]++|{_TAG.format('/?')})*+")


class _Found(NamedTuple):
    start: int
    end: int
    calls: tuple[tuple[str, str], ...]
    """Names with their arguments, as JSON."""


class _Mounted(NamedTuple):
    names: frozenset[str]
    schemas: Mapping[str, Mapping[str, Any]]


def find_calls(
    text: str, names: Iterable[str], schemas: Mapping[str, Mapping[str, Any]] | None = None, *, salt: str = ""
) -> tuple[str, tuple[Call, ...]]:
    """What is left of a text without the calls written in it, and these calls.

    `schemas` are the parameters of the tools by name: with them, an object whose fields no tool takes is not a call.
    `salt` is a part of the ids; it must differ from reply to reply.
    """
    found = list(_Search(text, _Mounted(frozenset(names), schemas or {})).found())
    if not found:
        return text, ()
    ends = [0, *(each.end for each in found)]
    starts = [*(each.start for each in found), len(text)]
    left = (text[end:start].strip() for end, start in zip(ends, starts, strict=True))
    made = enumerate(call for each in found for call in each.calls)
    calls = tuple(Call(_id(salt, number, *call), *call) for number, call in made)
    return "\n\n".join(filter(None, left)), calls


def _id(salt: str, *said: object) -> str:
    whole = "\0".join((salt, *map(str, said))).encode("utf-8", "replace")
    return f"call_{blake2b(whole, digest_size=8).hexdigest()}"


class _Search:
    def __init__(self, text: str, mounted: _Mounted) -> None:
        self.text = text
        self.mounted = mounted
        self.left = TRIED * len(text) + 1000 * TRIAL

    def found(self) -> Iterator[_Found]:
        if calls := read_python_calls(self.text, *self.mounted):
            yield _Found(0, len(self.text), calls)
            return
        place = 0
        while sign := _NEXT.search(self.text, place):
            found = self._fenced(sign) if sign[1] else self._bare(sign.start())
            place = found.end
            if found.calls:
                yield found

    def _bare(self, start: int) -> _Found:
        """A value and what it calls. What is read whole and calls nothing is passed over with all inside it."""
        try:
            value, end = read_value(self.text, start)
        except NotJson as unread:
            return _Found(start, self._after(start, unread), ())
        opens = _OPENS.search(self.text, max(0, start - 40), start)
        calls = _calls(value, self.mounted, bool(opens))
        if not calls and (named := _NAMED.search(self.text, max(0, start - NAMED), start)):
            calls = _calls({"name": named[1], "arguments": value}, self.mounted, tagged=True)
            start, end = (named.start(), self._named_end(end)) if calls else (start, end)
            opens = _OPENS.search(self.text, max(0, start - 40), start)
        closes = _CLOSES.match(self.text, end)
        if self.text[start - 1 : start] == self.text[end : end + 1] == "`":
            start, end = start - 1, end + 1
        return _Found(opens.start() if opens else start, closes.end() if closes else end, calls)

    def _named_end(self, end: int) -> int:
        closes = _NAMED_END.match(self.text, end)
        return closes.end() if closes else end

    def _after(self, start: int, unread: NotJson) -> int:
        """Where to look next: at the next sign, until so much has been looked at again that we go on behind it."""
        self.left -= unread.at - start + TRIAL
        return start + 1 if self.left > 0 else max(start + 1, unread.at)

    def _fenced(self, opens: re.Match[str]) -> _Found:
        """A fence, and what it calls if it holds nothing else."""
        kind = opens[2].lower()
        if kind in FENCED and self.left > 0:
            calls, end = self._only_calls(opens.end(), opens[1], kind in MEANT)
            if calls:
                return _Found(opens.start(), end, calls)
        for closes in _FENCE_END.finditer(self.text, opens.end()):
            if closes[1].startswith(opens[1]):
                return _Found(opens.start(), closes.end(), ())
        return _Found(opens.start(), len(self.text), ())

    def _only_calls(self, place: int, fence: str, meant: bool) -> tuple[tuple[tuple[str, str], ...], int]:
        """The calls from `place` to the end of the fence, and where that is; the text may end first."""
        if meant and (closes := self.text.find(fence, place)) >= 0:
            self.left -= closes - place
            if calls := read_python_calls(self.text[place:closes], *self.mounted):
                return calls, closes + len(fence)
        found: list[tuple[str, str]] = []
        while True:
            place = self._between(place)
            if place == len(self.text) or self.text.startswith(fence, place):
                return tuple(found), min(len(self.text), place + len(fence))
            try:
                value, end = read_value(self.text, place)
            except NotJson as unread:
                self.left -= unread.at - place + TRIAL
                return (), place
            self.left -= end - place
            calls = _calls(value, self.mounted, tagged=meant)
            if not calls:
                return (), end
            found += calls
            place = end

    def _between(self, place: int) -> int:
        match = _BETWEEN.match(self.text, place)
        return match.end() if match else place


def _calls(value: Any, mounted: _Mounted, tagged: bool) -> tuple[tuple[str, str], ...]:
    """The calls a value is; none of them unless all of it is calls."""
    match value:
        case {"tool_calls": list(listed)} | {"calls": list(listed)} if len(value) == 1:
            return _calls(listed, mounted, tagged)
        case list() if value:
            each = [_calls(item, mounted, tagged) if isinstance(item, dict) else () for item in value]
            return tuple(call for calls in each for call in calls) if all(each) else ()
        case dict():
            call = _call(value, mounted, tagged)
            return (call,) if call else ()
    return ()


def _call(value: dict[str, Any], mounted: _Mounted, tagged: bool) -> tuple[str, str] | None:
    wrapped = next((field for field in WRAPPED if isinstance(value.get(field), dict)), "")
    if wrapped:
        return _call(value[wrapped], mounted, tagged) if not value.keys() - BESIDE - {wrapped} else None
    field = next((field for field in NAMES if isinstance(value.get(field), str)), "")
    name = value[field].removeprefix("functions.") if field else ""
    if name not in mounted.names:
        return None
    given = [key for key in ARGUMENTS if key in value]
    filled = _filled(value[given[0]]) if len(given) == 1 else None
    beside = BESIDE | {"description"} if filled else BESIDE
    if len(given) > 1 or value.keys() - beside - {field, *given} or (not given and not tagged):
        return None
    schema = mounted.schemas.get(name)
    arguments = filled or _object(value[given[0]] if given else {}, schema)
    return (name, dump(arguments)) if arguments is not None and _may_be(arguments, schema) else None


def _object(arguments: Any, schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Arguments as an object: some write it into a text, or give the only argument alone."""
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, str):
        return {} if arguments is None else None
    said = arguments.strip()
    try:
        value, end = read_value(said, 0)
    except NotJson:
        value, end = None, 0
    if isinstance(value, dict) and end == len(said):
        return value
    known = list(schema.get("properties", {})) if schema else []
    if said and len(known) == 1:
        return {known[0]: arguments}
    return None if said else {}


def _filled(arguments: Any) -> dict[str, Any] | None:
    """What stands in a copy of a tool's definition where its types were: some models call that way."""
    match arguments:
        case {"type": "object", "properties": dict(inside)} if not any(
            isinstance(each, dict) for each in inside.values()
        ):
            return inside
    return None


def _may_be(arguments: dict[str, Any], schema: Mapping[str, Any] | None) -> bool:
    """Whether these can be meant as arguments: not the definition of a tool, and something that the tool knows."""
    if isinstance(arguments.get("properties"), dict) and arguments.get("type") == "object":
        return False
    known = schema.get("properties") if schema else None
    return not known or not arguments or bool(arguments.keys() & known.keys())
