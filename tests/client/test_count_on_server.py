from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from yohaku.client.endpoint import Endpoint
from yohaku.client.http_json import count_on_server

BODY = {"messages": [{"role": "user", "content": "Hello."}]}


@contextmanager
def server(answer: object, status: int = 200) -> Iterator[str]:
    class Counts(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *said: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Counts) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}/v1"
        made.shutdown()


def asked(url: str, provider: str = "llama.cpp") -> int | None:
    return asyncio.run(count_on_server(Endpoint("here", provider, "openai_chat", url, "m"), BODY))


def test_a_server_that_counts_is_believed() -> None:
    with server({"input_tokens": 181}) as url:
        assert asked(url) == 181


def test_one_that_cannot_is_left_alone() -> None:
    for answer, status in (({}, 200), ([], 200), ({"input_tokens": "many"}, 200), ({"error": "no"}, 404)):
        with server(answer, status) as url:
            assert asked(url) is None
    assert asked("http://127.0.0.1:1/v1") is None


def test_one_that_bills_is_not_asked() -> None:
    with server({"input_tokens": 181}) as url:
        assert asked(url, "openai") is None
