"""Bytes may be split anywhere: what is heard is what is read in the end."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.fakes import spoken
from tests.corpus.wire import exchanges
from yohaku import dialects
from yohaku.client.events import TextDelta, ThoughtDelta
from yohaku.client.stream_parser import StreamParser
from yohaku.dialects import dialect_named
from yohaku.dialects.answer import error_in

every_dialect = pytest.mark.parametrize("dialect", dialects.BUILT_IN)


def listened(dialect: str, chunks: list[bytes]) -> tuple[str, str, StreamParser]:
    heard: list[TextDelta | ThoughtDelta] = []
    parser = StreamParser(dialect_named(dialect), heard.append)
    for chunk in chunks:
        parser.feed(chunk)
    parser.close()
    said = "".join(piece.text for piece in heard if isinstance(piece, TextDelta))
    return said, "".join(piece.text for piece in heard if isinstance(piece, ThoughtDelta)), parser


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[a:b] for a, b in pairwise(ends)]


@every_dialect
@given(
    pieces=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=5),
    places=st.lists(st.integers(0, 10_000), max_size=30),
    ends=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
)
def test_a_stream_split_anywhere_is_heard_whole(
    dialect: str, pieces: list[str], places: list[int], ends: bytes, mark: bytes
) -> None:
    stream = mark + b"".join(spoken(dialect, *pieces, thought="Hm. 余白").chunks).replace(b"\n", ends)
    said, thought, parser = listened(dialect, cut(stream, places))
    assert (said, thought) == ("".join(pieces), "Hm. 余白")
    assert parser.answer().text == said == dialect_named(dialect).read_stream(parser.received).text


@every_dialect
def test_a_piece_is_heard_as_soon_as_its_event_has_ended(dialect: str) -> None:
    heard: list[TextDelta | ThoughtDelta] = []
    parser = StreamParser(dialect_named(dialect), heard.append)
    counts = []
    for chunk in spoken(dialect, "one", "two").chunks:
        parser.feed(chunk)
        counts.append(len(heard))
    assert sorted(set(counts)) in ([0, 1, 2], [1, 2])
    assert heard == [TextDelta("one"), TextDelta("two")]


@pytest.mark.shared
def test_every_recorded_stream_is_heard_whole_byte_by_byte(shared: Path) -> None:
    for exchange in exchanges(shared):
        if exchange.stream and len(exchange.stream) < 60_000:
            data = exchange.stream.encode()
            _, _, parser = listened(exchange.dialect, [data[n : n + 1] for n in range(len(data))])
            parser.say_rest(exchange.answer.text)
            assert parser.said == exchange.answer.text, exchange.number
            assert parser.answer() == exchange.answer, exchange.number


@every_dialect
@given(st.lists(st.binary(max_size=40), max_size=10))
def test_garbage_is_passed_over(dialect: str, chunks: list[bytes]) -> None:
    said, thought, parser = listened(dialect, chunks)
    assert isinstance(said, str) and isinstance(thought, str) and parser.error is None


def test_what_never_ends_takes_time_in_proportion() -> None:
    said, _, parser = listened("openai_chat", [b"data: " + b"x" * 9] * 200_000)
    assert said == "" and parser.events == 0 and len(parser.received) == 3_000_000


def test_what_was_said_in_no_event_is_heard_in_the_end() -> None:
    heard: list[TextDelta | ThoughtDelta] = []
    parser = StreamParser(dialect_named("openai_chat"), heard.append)
    parser.feed(spoken("openai_chat", "Hel").chunks[0])
    parser.say_rest("Hello")
    parser.say_rest("Hello")
    assert heard == [TextDelta("Hel"), TextDelta("lo")]


@pytest.mark.parametrize(
    ("event", "found"),
    [
        ({"type": "error", "error": {"type": "overloaded_error"}}, True),
        ({"type": "error", "code": "server_error", "message": "no"}, True),
        ({"error": "model runner has stopped"}, True),
        ({"error": None}, False),
        ({"error": {}}, False),
        ({"type": "response.failed", "response": {"error": {"code": "server_error"}}}, True),
        ({"type": "response.created", "response": {"error": None}}, False),
        ({"choices": [{"delta": {"content": '{"error": "what a model says"}'}}]}, False),
        (None, False),
    ],
)
def test_an_error_that_comes_as_an_event_is_seen(event: Any, found: bool) -> None:
    assert bool(error_in(event)) is found
    if event:
        data = f"data: {json.dumps(event)}\n\n".encode()
        assert bool(listened("openai_chat", [data])[2].error) is found
