"""Shorten what a client sends with every request, tool descriptions and system text, where the window is too small.

Law: the result depends on the system text, the tools and the limit only, so it is the same in every request of a
conversation. No tool, argument or name is taken away. What is left out of the system text opens by its ref.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from yohaku.core.errors import YohakuError
from yohaku.core.meter import Meter
from yohaku.core.model import History, Path, Text
from yohaku.core.originals import ref_of
from yohaku.core.weigh import weigh
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import put_all
from yohaku.dialects.server_api import SCHEMA_FIELDS
from yohaku.stores import Store

SHARE_OF_LIMIT = 0.5
"""Of the limit, for system text and tools together; the rest is for the conversation."""
SYSTEM_SHARE = 0.5
"""Of that, for system text at least."""
HEAD_SHARE = 0.7
"""Of a shortened text, for its beginning; the rest is its end, where clients put what matters now."""
SMALL_TEXT_TOKENS = 100
"""Texts of the system prompt up to this size stay whole."""
SENTENCE_END = re.compile(r"[.!?。]\s|\n")


class Brevity(NamedTuple):
    tool: int
    """Characters that the description of a tool keeps."""
    argument: int
    """Characters that the description of an argument keeps."""


LEVELS = (Brevity(600, 160), Brevity(200, 60), Brevity(80, 0))


def squeeze(dialect: Dialect, body: dict[str, Any], meter: Meter, limit: int, store: Store) -> dict[str, Any]:
    """Return a body whose system text and tools take at most half of the limit, or as near as can be."""
    try:
        history = dialect.read(body).history()
    except (YohakuError, RecursionError):
        return body
    room = int(limit * SHARE_OF_LIMIT)
    system = _weigh(History(system=history.system), meter)
    tools = _weigh(History(tools=history.tools), meter)
    if system + tools <= room:
        return body
    field = dialect.tools_field
    squeezed, kept = body, max(int(room * SYSTEM_SHARE), room - tools)
    for level in LEVELS:
        if min(system, kept) + tools <= room or not body.get(field):
            break
        squeezed = {**body, field: _shorten_descriptions(body[field], level)}
        tools = _weigh(History(tools=dialect.read(squeezed).history().tools), meter)
    kept = max(int(room * SYSTEM_SHARE), room - tools)
    return _shorten_system(dialect, squeezed, history, meter, kept, store) if system > kept else squeezed


def _weigh(history: History, meter: Meter) -> int:
    return weigh(history, meter).total


def _shorten_descriptions(value: Any, level: Brevity, *, in_schema: bool = False) -> Any:
    if isinstance(value, list):
        return [_shorten_descriptions(item, level, in_schema=in_schema) for item in value]
    if not isinstance(value, dict):
        return value
    shortened: dict[str, Any] = {}
    for name, inner in value.items():
        if name == "description" and isinstance(inner, str):
            if text := _shorten_text(inner, level.argument if in_schema else level.tool):
                shortened[name] = text
        else:
            shortened[name] = _shorten_descriptions(inner, level, in_schema=in_schema or name in SCHEMA_FIELDS)
    return shortened


def _shorten_text(text: str, chars: int) -> str:
    """Return the beginning of a text, up to the end of a sentence where one is near."""
    if len(text) <= chars:
        return text
    ends = [found.end() for found in SENTENCE_END.finditer(text, 0, chars)]
    cut = ends[-1] if ends and ends[-1] > chars // 3 else chars
    return text[:cut].rstrip()


def _shorten_system(
    dialect: Dialect, body: dict[str, Any], history: History, meter: Meter, room: int, store: Store
) -> dict[str, Any]:
    texts = [(part, meter.count(part.text)) for part in history.system if isinstance(part, Text) and part.at]
    large = [(part, tokens) for part, tokens in texts if tokens > SMALL_TEXT_TOKENS]
    left = room - sum(tokens for _, tokens in texts if tokens <= SMALL_TEXT_TOKENS)
    share = max(0.02, left / max(1, sum(tokens for _, tokens in large)))
    in_entries: dict[Path, Any] = {}
    beside: dict[Path, Any] = {}
    for part, _ in large if share < 1 else ():
        place = in_entries if isinstance(part.at[0], int) else beside
        place[part.at] = _cut_middle(part.text, share, store)
    if beside:
        body = put_all(body, beside)
    if in_entries:
        body = dialect.with_entries(body, put_all(dialect.entries_of(body), in_entries))
    return body


def _cut_middle(text: str, share: float, store: Store) -> str:
    """Keep whole lines of the beginning and of the end; the text itself goes to the store."""
    ref = ref_of(text)
    store.put(ref, text)
    mark = f"\n[… shortened to fit the window; all of it: ref={ref}]\n"
    chars = max(0, int(len(text) * share * 0.95) - len(mark))
    head, tail = int(chars * HEAD_SHARE), chars - int(chars * HEAD_SHARE)
    begin, end = text[:head], text[len(text) - tail :]
    if "\n" in begin[head // 2 :]:
        begin = begin[: begin.rindex("\n")]
    if "\n" in end[: tail // 2]:
        end = end[end.index("\n") + 1 :]
    return begin + mark + end
