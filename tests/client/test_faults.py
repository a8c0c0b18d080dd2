"""From what a server or the network gave to a typed error."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import Garbled, RequestFailed, Unreachable
from yohaku.client.faults import of_status, quote, read_wait
from yohaku.messages import find

HERE = Endpoint("H", "h", "openai_chat", "http://h", "m", "sk-123456")


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({"retry-after": "7"}, "", 7.0),
        ({"retry-after": "0.5"}, "", 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, "", 1.5),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "-1"}, "", None),
        ({"retry-after": formatdate(0, usegmt=True)}, "", 0.0),
        ({}, '{"details": [{"retryDelay": "34.5s"}]}', 34.5),
        ({}, "", None),
    ],
)
def test_how_long_to_wait_is_said_in_many_ways(headers: dict[str, str], text: str, seconds: float | None) -> None:
    assert read_wait(headers, text) == seconds


def test_a_date_in_the_future_is_waited_for() -> None:
    found = read_wait({"retry-after": formatdate(time.time() + 100, usegmt=True)})
    assert found is not None and 90 < found <= 100


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"error": {"message": "no\\nway"}}', "no way"),
        ('{"error": "no"}', "no"),
        ('[{"error": {"message": "no"}}]', "no"),
        ('{"detail": [{"msg": "no"}]}', "no"),
        ('{"message": "no"}', "no"),
        ("  no  way ", "no way"),
        ("<html><body>x</body></html>", "a web page"),
        ("key sk-123456 is wrong", "key ••• is wrong"),
        ("x" * 400, "x" * 300 + "…"),
        ("\x1b[31mred\u202e", "[31mred"),
        ("", ""),
        ('{"error": ' * 500 + "1" + "}" * 500, ""),
    ],
)
def test_a_server_is_quoted_in_one_line_without_the_key(text: str, said: str) -> None:
    assert quote(text, HERE) == said or (text.startswith('{"error": {"error"') and len(quote(text, HERE)) <= 301)


@pytest.mark.parametrize("status", [301, 400, 401, 402, 403, 404, 409, 413, 418, 422, 429, 500, 503, 529, 599])
def test_every_status_has_a_sentence(status: int) -> None:
    error: RequestFailed = of_status(status, {}, "it did not work", HERE).error
    assert error.said("en") == str(error) and error.said("ja").endswith("。") and find(error.code)


def test_every_reason_for_not_being_reached_has_words() -> None:
    for why in ("refused", "unknown", "tls", "proxy", "late", "stall", "lost", "address"):
        assert Unreachable(why, "H", "h:1", seconds=9).said("ja").endswith("。")  # type: ignore[arg-type]
    assert Garbled(empty=True).said("ja") != Garbled("x").said("ja")
