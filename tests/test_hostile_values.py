"""Values that every parser meets one day: endless nesting, endless numbers, things that are not JSON.

Law: whatever is handed in, it is read or an error of ours is raised.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from yohaku import Session, meters
from yohaku.agent import sessions
from yohaku.config import settings
from yohaku.core.errors import BadSetting, Malformed, Unreadable, YohakuError
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Opaque, Result, Step, Text, Tool, ToolUse, Turn
from yohaku.core.originals import ref_of
from yohaku.core.weigh import weigh
from yohaku.dialects import DIALECTS
from yohaku.dialects.server_api import signature
from yohaku.lab.exam_sheets import parse, read_exam, read_history
from yohaku.meters.tokenizer_json import encoder_of
from yohaku.recall.tools import TOOLS, call
from yohaku.session import count_gaps
from yohaku.session.count_gaps import CountedModel, CountGaps
from yohaku.stores.memory import MemoryStore
from yohaku.stores.sqlite import SQLiteStore
from yohaku.tui import input_history

DEPTH = 100_000
DIGITS = "9" * 5_000


def nested(depth: int, *, objects: bool) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if objects else [value]
    return value


VALUES = {
    "a deep list": nested(DEPTH, objects=False),
    "a deep object": nested(DEPTH, objects=True),
    "a list as deep as Python goes": nested(900, objects=False),
    "an object as deep as Python goes": nested(900, objects=True),
    "a number of 5,000 digits": int("9" * 4_000) ** 2,
    "bytes": b"x",
    "a set": {1},
    "an object of Python": object(),
    "an object with a number for a name": {1: 2},
    "infinity": float("inf"),
    "half a surrogate pair": "\ud800",
}

TEXTS = {
    "opened lists": "[" * DEPTH,
    "lists": "[" * DEPTH + "]" * DEPTH,
    "objects": '{"a":' * DEPTH + "1" + "}" * DEPTH,
    "objects as deep as Python goes": '{"a":' * 900 + "1" + "}" * 900,
    "a number": DIGITS,
    "a negative number in an object": f'{{"a": -{DIGITS}}}',
    "an exponent": f'{{"a": 1e{DIGITS}}}',
    "parentheses": "(" * DEPTH,
    "half a surrogate pair": "\ud800",
    "nothing": "",
}

hostile_value = pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
hostile_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)

LONG = "all is well; " * 1_500


def bodies_with(value: Any) -> Iterator[Any]:
    """Yield requests in every dialect with a value in one place of them."""
    user = {"role": "user", "content": "Read it."}
    yield from (value, [value], {"messages": value}, {"input": value}, {"contents": value})
    yield {"messages": [{"role": "user", "content": value}]}
    yield {"messages": [{"role": value, "content": "x"}]}
    yield {"messages": [user, {"role": "assistant", "content": LONG, "beside": value}, user]}
    yield {"messages": [user], "beside": value}
    yield {"messages": [user], "tools": value}
    yield {"messages": [user], "tools": [{"type": "function", "function": {"name": "f", "parameters": value}}]}
    yield {"messages": [{"role": "user", "content": [{"type": "strange", "beside": value}]}]}
    asked = {"function": {"name": "f", "arguments": {"x": value}}}
    calling = {"role": "assistant", "content": "", "tool_calls": [asked]}
    yield {"options": {}, "messages": [user, calling, {"role": "tool", "tool_name": "f", "content": LONG}, user]}
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {"x": value}}
    given = {"type": "tool_result", "tool_use_id": "t", "content": LONG}
    anthropic = [user, {"role": "assistant", "content": [use]}, {"role": "user", "content": [given]}]
    yield {"system": "s", "max_tokens": 9, "messages": anthropic}
    function = {"functionCall": {"name": "f", "args": {"x": value}}}
    response = {"functionResponse": {"name": "f", "response": {"x": value, "text": LONG}}}
    parts = [("user", {"text": "Read it."}), ("model", function), ("user", response)]
    yield {"contents": [{"role": role, "parts": [part]} for role, part in parts]}
    yield {"contents": [{"role": "user", "parts": [value]}]}
    yield {"input": [user, {"type": "strange", "beside": value}, user]}
    yield {"input": "x", "instructions": value}


@hostile_value
def test_a_session_fits_it_or_says_what_is_wrong(value: Any) -> None:
    for body in bodies_with(value):
        for recipe, fold in (("auto", False), ("local", True), ("snapshot", True)):
            try:
                session = Session(3_000, model="gpt-4o", recipe=recipe)
                session.fit(body, fold=fold)
                assert session.receipt and session.receipt.report()
            except YohakuError as error:
                assert len(str(error)) < 1_000


def test_where_it_is_nested_too_deeply_is_said() -> None:
    entry = {"type": "strange", "beside": VALUES["a deep list"]}
    with pytest.raises(Malformed, match=r"^input\[1\]: this is nested too deeply$"):
        Session(3_000).fit({"input": [{"role": "user", "content": "x"}, entry]})
    with pytest.raises(Malformed, match=r"^the request: this is nested too deeply$"):
        Session(3_000).fit({"input": "x", "beside": VALUES["a deep list"]})
    with pytest.raises(Malformed, match=r"^input\[0\]: this holds a number that is too long, or itself$"):
        Session(3_000).fit({"input": [{"type": "strange", "beside": VALUES["a number of 5,000 digits"]}]})


def history_with(text: str) -> History:
    use = ToolUse(Call("c", "bash", text), Result((Text(text),)))
    parts = (Text(text), Opaque("strange", text), Opaque("image", text, "base64", "image/png"))
    return history_of([Turn(parts, (Step((Opaque("thought", text), use)),))], [Text(text)], [Tool("bash", text)])


@every_dialect
@hostile_text
def test_a_dialect_reads_and_writes_it(dialect: Any, text: str) -> None:
    json.dumps(dialect.compose(history_with(text), "m"))
    assert dialect.model_of(text.encode("utf-8", "surrogatepass")) == ""
    dialect.read_stream(f"data: {text}\n\n")
    dialect.read_stream(text)
    dialect.read_stream(f'[{{"candidates": {text}')
    for status in (200, 400, 413):
        dialect.read_overflow(status, text)
        dialect.read_overflow(status, f'{{"error": {{"message": "context length exceeded", "beside": {text}}}}}')


@hostile_text
def test_every_meter_weighs_it(text: str) -> None:
    signature(text)
    for model in ("gpt-4o", "claude-sonnet-4-5", "qwen3", "gemini-2.5-pro", "llama3", "gpt-oss", "mistral-large"):
        for dialect in DIALECTS:
            assert weigh(history_with(text), meters.for_model(model, dialect)).total >= 0


@hostile_text
def test_a_session_folds_around_it(text: str) -> None:
    function = {"name": "bash", "arguments": text}
    entries: list[dict[str, Any]] = [{"role": "user", "content": "Read the logs."}]
    for number in range(6):
        asked = {"id": f"c{number}", "type": "function", "function": function}
        entries.append({"role": "assistant", "content": None, "tool_calls": [asked]})
        entries.append({"role": "tool", "tool_call_id": f"c{number}", "content": LONG + text[:100]})
    for recipe in ("auto", "local", "layers"):
        session = Session(4_000, model="gpt-4o", recipe=recipe)
        try:
            session.fit(entries, fold=True)
        except YohakuError as error:
            assert len(str(error)) < 1_000


@hostile_text
def test_a_tool_of_recall_answers_it(text: str) -> None:
    for name in TOOLS:
        with pytest.raises(YohakuError):
            call(MemoryStore(), name, text)


CONFIGS = {
    "lists": f"window = {'[' * DEPTH}",
    "tables": f"window = {'{a = ' * DEPTH}",
    "names": f"{'a.' * 5_000}a = 1",
    "a number": f"window = {DIGITS}",
    "recipes": f"recipes.mine.{'a.' * 5_000}a = 1",
}


@pytest.mark.parametrize("text", CONFIGS.values(), ids=CONFIGS)
def test_a_config_file_is_done_without(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    read = settings.read({"YOHAKU_CONFIG": str(path), "HOME": str(tmp_path)})
    assert read.window is None
    assert all(len(warning.text.splitlines()) == 1 for warning in read.warnings)
    assert read.warnings or text.startswith("recipes")


def test_settings_from_a_program_are_refused() -> None:
    for value in ({"compaction": VALUES["a deep object"]}, {"window": -VALUES["a number of 5,000 digits"]}):
        with pytest.raises(BadSetting):
            settings.from_mapping(value)


READERS: dict[str, Callable[[Path], object]] = {
    "sessions": sessions._title,
    "input history": input_history.InputHistory,
    "counts": count_gaps.read_lines,
    "exam": lambda path: read_exam(path.parent),
    "exam's history": read_history,
    "exam's answer": lambda path: parse(path.read_bytes(), list[str], "here"),
    "tokenizer": lambda path: encoder_of(path.read_bytes()),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@hostile_text
def test_a_file_is_read_or_refused(read: Callable[[Path], object], text: str, tmp_path: Path) -> None:
    path = tmp_path / "exam.json"
    path.write_bytes(b"{}\n" * (read is READERS["sessions"]) + text.encode("utf-8", "surrogatepass"))
    try:
        read(path)
    except (YohakuError, ValueError) as error:
        assert isinstance(error, Unreadable) or read is READERS["tokenizer"]


def test_lines_far_beyond_the_end_are_none(tmp_path: Path) -> None:
    for store in (MemoryStore(), SQLiteStore(tmp_path / "store.db")):
        store.put(ref_of("one line"), "one line")
        store.put(ref_of("line\n" * 99_999), "line\n" * 99_999)
        for original in ("one line", "line\n" * 99_999):
            found = call(store, "tool_output_cache", {"ref_id": ref_of(original), "offset": 10**300, "limit": 10**300})
            assert "none here" in found


def test_a_model_whose_name_is_half_a_letter_is_counted(tmp_path: Path) -> None:
    gaps = CountGaps.in_folder(tmp_path)
    assert gaps.tell_once(CountedModel("\ud800", "", "estimate"))
    assert Session(4_000, model="\ud800", gaps=gaps).fit([{"role": "user", "content": "x"}])
