"""llama.cpp's own server, in this process, and a model of it as a summariser.

A server takes a free port and stops when nobody holds it any more.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from yohaku.client.request import question_body, require_text
from yohaku.core.recipe import Question
from yohaku.dialects import dialect_named

PATHS = {"openai_chat": "/v1/chat/completions", "openai_responses": "/v1/responses", "anthropic": "/v1/messages"}
"""Where the server speaks each dialect."""


SECONDS = 3_600
"""A real model reads some twenty tokens a second on one thread, less beside other work."""


class Refusal(Exception):
    """The server's answer to a request it does not take."""


class Served:
    def __init__(self, model: Path, window: int) -> None:
        import xllamacpp

        how = xllamacpp.CommonParams()
        how.model.path, how.n_ctx, how.n_parallel, how.port = str(model), window, 1, 0
        how.cpuparams.n_threads = how.cpuparams_batch.n_threads = 1  # more are slower on a machine that others use too
        how.use_jinja, how.fit_params, how.ui, how.endpoint_props = True, False, False, True
        how.verbosity = 0
        self.model = model
        self.window = window
        self._server = xllamacpp.Server(how)

    @property
    def url(self) -> str:
        return str(self._server.listening_address)

    def ask(self, dialect: str, body: dict[str, Any]) -> dict[str, Any]:
        """The reply to a body, always the same; raises `Refusal` with the server's words."""
        return self.post(PATHS[dialect], {"temperature": 0, **body})

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        sent = urllib.request.Request(
            self._server.listening_address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(sent, timeout=SECONDS) as reply:
                answer: dict[str, Any] = json.load(reply)
                return answer
        except urllib.error.HTTPError as error:
            with error:
                raise Refusal(error.read().decode()) from None

    def summariser(self, dialect: str = "openai_chat", **how: Any) -> Callable[[Question], str]:
        def summarise(question: Question) -> str:
            reply = self.ask(dialect, question_body(question, dialect, **how))
            return require_text(dialect_named(dialect).read_reply(reply))

        return summarise
