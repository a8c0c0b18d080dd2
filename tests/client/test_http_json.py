from __future__ import annotations

import asyncio
import socket

import pytest

from tests.agent.loopback import Asked, Reply, loopback
from yohaku.client.http_json import fetch_json


def test_an_answer_is_its_json() -> None:
    with loopback({"/a?b=1": {"x": [1, 2]}}) as server:
        assert asyncio.run(fetch_json(f"{server.url}/a?b=1")) == {"x": [1, 2]}


def test_a_question_with_a_body_is_posted_with_the_key() -> None:
    with loopback({"/show": lambda asked: Reply(body=b'"yes"')}) as server:
        assert asyncio.run(fetch_json(f"{server.url}/show", "secret", {"model": "m"})) == "yes"
    assert [(each.method, each.body, each.headers["Authorization"]) for each in server.asked] == [
        ("POST", {"model": "m"}, "Bearer secret")
    ]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(404),
        Reply(500, b'{"error": 1}'),
        Reply(302, headers={"Location": "/elsewhere"}),
        Reply(body=b"<html>"),
        Reply(body=b"[" * 100_000),
        Reply(body=b'{"a": 1}', cut=4),
        Reply(body=b'"\xff"'),
    ],
    ids=["absent", "error", "moved", "page", "deep", "cut", "not-text"],
)
def test_anything_else_is_nothing_there(reply: Reply) -> None:
    def answer(asked: Asked) -> Reply:
        return reply

    with loopback({"/": answer}) as server:
        assert asyncio.run(fetch_json(f"{server.url}/")) is None
        assert [asked.path for asked in server.asked] == ["/"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/", "http://[::1", "nonsense", "http:///x", ""])
def test_an_address_that_is_none_is_nothing_there(url: str) -> None:
    assert asyncio.run(fetch_json(url)) is None


def test_nobody_listening_and_somebody_silent_are_nothing_there() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        assert asyncio.run(fetch_json(f"http://127.0.0.1:{port}/", timeout=0.05)) is None
        silent.listen()
        assert asyncio.run(fetch_json(f"http://127.0.0.1:{port}/", timeout=0.05)) is None
