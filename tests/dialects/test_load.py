"""Bytes of any input: what is accepted, and that everything else is one plain sentence."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.dialects.recordings import told

from yohaku.core.errors import Malformed, Unreadable, YohakuError
from yohaku.core.model import History
from yohaku.dialects import dialect_named
from yohaku.dialects.load import Request, load
from yohaku.dialects.recordings import Recording

BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "やあ"}]}
TEXT = json.dumps(BODY, ensure_ascii=False).encode()
REQUEST = Request(BODY, "openai_chat")
SESSIONS = {
    "trajectory-v1": told.trajectory,
    "claude-code": told.claude_code,
    "codex": told.codex,
    "gemini-cli": told.gemini_cli,
    "gemini-cli in lines": told.gemini_cli_lines,
}


@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        json.dumps(BODY, indent=2).encode(),
        b"\xef\xbb\xbf" + TEXT + b"\r\n\r\n",
        gzip.compress(TEXT, mtime=0),
        b"\n " + TEXT,
    ],
)
def test_a_request_is_loaded_however_it_is_packed(data: bytes) -> None:
    assert load(data) == REQUEST


def test_two_gzip_members_are_one_file() -> None:
    assert load(gzip.compress(TEXT[:20]) + gzip.compress(TEXT[20:])) == REQUEST


def test_a_bare_list_of_messages_is_a_request() -> None:
    assert load(json.dumps(BODY["messages"]).encode()) == Request(BODY["messages"], "openai_chat")


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_file_is_known_by_its_first_lines(name: str) -> None:
    data = SESSIONS[name](told.sample())
    for packed in (data, b"\xef\xbb\xbf" + data, gzip.compress(data), data.replace(b"\n", b"\r\n")):
        loaded = load(packed)
        assert isinstance(loaded, Recording)
        assert loaded.format == name.partition(" ")[0]
        assert loaded.history.turns == told.sample().turns


def test_numbers_and_lone_surrogates_come_through_exactly() -> None:
    messages = '"messages":[{"role":"user","content":"\\ud83d!"}]'
    text = f'{{{messages},"seed":123456789012345678901234567890,"top_p":0.1,"a":1,"a":2}}'
    assert load(text.encode()) == Request(
        {
            "messages": [{"role": "user", "content": "\ud83d!"}],
            "seed": 123456789012345678901234567890,
            "top_p": 0.1,
            "a": 2,
        },
        "openai_chat",
    )


WRONG: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "f: this is empty"),
    "blank": (b" \n\n", "f: this is empty"),
    "only a mark": (b"\xef\xbb\xbf", "f: this is empty"),
    "binary": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "f: this is binary data, not JSON text"),
    "UTF-16": (TEXT.decode().encode("utf-16"), "f: this is UTF-16 text: save it as UTF-8"),
    "Latin-1": ('{"a":\n"é"}'.encode("latin-1"), "f: line 2: this is not UTF-8 text"),
    "prose": (b"Hello there", "f: line 1, column 1: this is not JSON: expecting value"),
    "broken": (
        b'{\n  "a": 1,\n  b: 2}',
        "f: line 3, column 3: this is not JSON: expecting property name enclosed in double quotes",
    ),
    "torn": (TEXT[:-2], "f: line 1, column 67: the text breaks off here: this is not whole JSON"),
    "torn in a text": (TEXT[:-12], "f: line 1, column 61: the text breaks off here: this is not whole JSON"),
    "not a number": (b'{"messages":[],"top_p":NaN}', "f: line 1: this holds a number that JSON cannot carry exactly"),
    "out of range": (b'{"messages":[],"top_p":1e999}', "f: line 1: this holds a number that JSON cannot carry exactly"),
    "endless number": (b"1" * 5000, "f: line 1: this holds a number that JSON cannot carry exactly"),
    "deep": (b"[" * 100_000, "f: line 1: this is nested too deeply"),
    "torn gzip": (gzip.compress(TEXT)[:-9], "f: this gzip data is broken or cut off"),
    "broken gzip": (b"\x1f\x8b\x08\0broken header and data", "f: this gzip data is broken or cut off"),
    "other lines": (
        b'{"level":"info"}\n{"level":"warn"}\n',
        "f: these lines are of no session we know: give a request, a list of messages or a session file",
    ),
    "an object": (b'{"a":1}', "f: this is not a request: it has neither messages, nor input, nor contents"),
    "an empty list": (b"[]", "f: this list of messages is empty"),
    "a session with a broken line": (
        told.trajectory(told.sample()) + b'{"role"',
        "f: line 12, column 8: the text breaks off here: this is not whole JSON",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_everything_wrong_is_one_plain_sentence(case: str) -> None:
    data, sentence = WRONG[case]
    with pytest.raises((Unreadable, Malformed)) as wrong:
        load(data, "f")
    assert str(wrong.value) == sentence


def test_without_a_name_the_sentence_stands_alone() -> None:
    with pytest.raises(Malformed) as wrong:
        load(b"[1,")
    assert str(wrong.value) == "line 1, column 4: the text breaks off here: this is not whole JSON"


def test_what_is_larger_than_the_limit_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(Unreadable) as wrong:
        load(b"[" * 1001, limit=1000)
    assert str(wrong.value) == "this is larger than 1,000 bytes: split it, or raise the limit"
    assert load(TEXT, limit=len(TEXT)) == REQUEST


def test_a_gzip_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = gzip.compress(b"[" * (64 * 2**20))
    with pytest.raises(Unreadable) as wrong:
        load(bomb, limit=2**20)
    assert str(wrong.value) == "this unpacks to more than 1 MB: split it, or raise the limit"
    assert load(gzip.compress(TEXT), limit=1000) == REQUEST


def attempt(data: bytes) -> None:
    """Loading and reading either works or raises an error of ours; warnings and other errors fail the test."""
    try:
        loaded = load(data, "f", limit=2**20)
        history = (
            loaded.history
            if isinstance(loaded, Recording)
            else dialect_named(loaded.dialect).read(loaded.value).history()
        )
        assert isinstance(history, History)
    except YohakuError as wrong:
        assert "\n" not in str(wrong)


@given(st.binary(max_size=200))
@example(b"\x1f\x8b")
@example(b"\0")
def test_arbitrary_bytes_never_raise_anything_else(data: bytes) -> None:
    attempt(data)
    attempt(gzip.compress(data))


@given(st.sampled_from(sorted(SESSIONS)), st.integers(0, 5000), st.binary(max_size=3), st.integers(0, 40))
def test_sessions_with_bytes_changed_never_raise_anything_else(name: str, at: int, put: bytes, cut: int) -> None:
    data = SESSIONS[name](told.sample())
    at %= len(data)
    attempt(data[:at] + put + data[at + cut :])


ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    "",
    " ",
    "x",
    "c1",
    [],
    [None],
    ["x"],
    {},
    {"type": "text"},
    {"type": 5},
    [{"type": "tool_use"}],
]
ODD += [
    [{"type": "tool_result", "tool_use_id": "c1"}],
    {"functionResponse": 5},
    [{"functionCall": {"name": "x"}}],
    "user",
]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*at, key))


def changed(value: Any, at: tuple[Any, ...], put: Any) -> Any:
    if not at:
        return put
    copy = value.copy()
    if at[1:] == () and put == "remove":
        del copy[at[0]]
    else:
        copy[at[0]] = changed(value[at[0]], at[1:], put)
    return copy


@given(
    st.sampled_from(sorted(SESSIONS)),
    st.lists(st.tuples(st.integers(0), st.sampled_from([*ODD, "remove"])), max_size=4),
)
def test_sessions_with_values_changed_never_raise_anything_else(name: str, changes: list[tuple[int, Any]]) -> None:
    value: Any = [json.loads(line) for line in SESSIONS[name](told.sample()).splitlines()]
    for number, put in changes:
        found = list(places(value))
        value = changed(value, found[number % len(found)], put) if found else value
    attempt("\n".join(map(json.dumps, value)).encode())


@pytest.mark.corpus
@pytest.mark.shared
def test_all_recorded_sessions_and_requests_load(shared: Path) -> None:
    for path in sorted((shared / "data").glob("*/*.jsonl.gz")):
        loaded = load(path.read_bytes(), path.name)
        assert isinstance(loaded, Recording)
        assert loaded.format == "trajectory-v1"
    with gzip.open(shared / "wire" / "recordings.jsonl.gz") as lines:
        for row in map(json.loads, lines):
            assert load(json.dumps(row["request"]).encode()) == Request(row["request"], row["dialect"])
