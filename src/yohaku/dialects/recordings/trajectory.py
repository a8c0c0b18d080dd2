"""trajectory-v1: a header, then one message a line (the format of the recorded sessions we test on).

Law: a file that breaks the format is refused with the line where it does; nothing is repaired.
"""

from __future__ import annotations

from yohaku.core.errors import Malformed, Unreadable
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import Call, Result, Text
from yohaku.dialects.json_values import Json, kind_of, text_at
from yohaku.dialects.recordings import Recording, Retelling
from yohaku.dialects.recordings.lines import rows

NAME = "trajectory-v1"


def recognise(first: list[Json]) -> bool:
    return bool(first) and isinstance(first[0], dict) and first[0].get("format") == NAME


def read(data: bytes) -> Recording:
    lines = rows(data)
    _, header = next(lines, (0, {}))
    if not recognise([header]):
        raise Unreadable(f"this is not a {NAME} file: its first line is no header")
    retelling = Retelling()
    for number, row in lines:
        retelling.at(f"line {number}")
        # The summary of another tool: what it replaced is in the file.
        if row.get("mark") != "compact_summary":
            _message(retelling, row)
    model = header.get("model")
    return retelling.recording(NAME, model if isinstance(model, str) else "")


def _message(retelling: Retelling, row: dict[str, Json]) -> None:
    builder = retelling.builder
    match row.get("role"):
        case "system":
            _system(builder, _content(row, builder.where))
        case "user":
            if text := _content(row, builder.where):
                builder.prompt(Text(text))
        case "assistant":
            _assistant(builder, row)
            match row.get("usage"):
                case {"prompt": prompt, "output": output}:
                    retelling.bill(prompt, output)
        case "tool":
            text = _content(row, builder.where)
            call_id = text_at(row.get("tool_call_id"), builder.where, "tool_call_id")
            builder.answer(call_id, Result((Text(text),) if text else (), error=row.get("error") is True))
        case role:
            raise Malformed(f"unknown role {role!r}", builder.where)


def _system(builder: HistoryBuilder, text: str) -> None:
    if text and builder.began:
        builder.prompt(Text(text, by="system"))
    elif text:
        builder.system.append(Text(text))


def _assistant(builder: HistoryBuilder, row: dict[str, Json]) -> None:
    builder.reply()
    calls = row.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise Malformed(f"tool_calls must be a list, not {kind_of(calls)}", builder.where)
    text = "" if calls and row.get("content") is None else _content(row, builder.where)
    # White space beside calls is nothing said, and some providers refuse it.
    if text and not (calls and text.isspace()):
        builder.say(Text(text))
    for call in calls or ():
        if not isinstance(call, dict):
            raise Malformed(f"a tool call must be an object, not {kind_of(call)}", builder.where)
        call_id, name, arguments = (text_at(call.get(key), builder.where, key) for key in ("id", "name", "arguments"))
        builder.say(Call(call_id, name, arguments))


def _content(row: dict[str, Json], where: str) -> str:
    return text_at(row.get("content"), where, "content")
