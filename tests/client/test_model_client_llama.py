"""Talking to a real llama.cpp server with the scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.models import tiny
from tests.models.serving import Served
from yohaku.agent.events import ReadingProgress, TextDelta, ThoughtDelta
from yohaku.client.connection import Timeouts
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import RequestFailed, TooLong
from yohaku.client.model_client import ModelClient, RequestForm
from yohaku.core.history_builder import history_of
from yohaku.core.model import Text, Tool, Turn
from yohaku.core.recipe import Question
from yohaku.dialects import dialect_named
from yohaku.dialects.answer import Answer
from yohaku.summary.request import SummaryRequest, build_question

WINDOW = 8_192
BASES = {"openai_chat": "/v1", "openai_responses": "/v1", "anthropic": ""}
SHAPE = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = Tool("read_file", json.dumps({"name": "read_file", "description": "", "input_schema": SHAPE}))
QUICK = Timeouts(60.0, 60.0, pause=0.001)
CHAT = "".join(tiny.SCRIPTS["chat"])

spoken_here = pytest.mark.parametrize("dialect", BASES)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    for package in ("xllamacpp", "gguf", "numpy"):
        pytest.importorskip(package, reason=f"{package} is needed to serve a model: install the group `test`")
    path = tmp_path_factory.mktemp("talk") / "tiny.gguf"
    tiny.build(path)
    return Served(path, WINDOW)


def talked(served: Served, dialect: Any, using: Callable[[ModelClient], Awaitable[Any]], **how: Any) -> Any:
    url = str(served._server.listening_address) + BASES[dialect]
    where = Endpoint("llama.cpp", "llama.cpp", dialect, url, "tiny", local=True)

    async def run() -> Any:
        talk = ModelClient(where, window=WINDOW, **{"reserve": 256, "timeouts": QUICK, **how})
        try:
            return await using(talk)
        finally:
            await talk.close()

    return asyncio.run(run())


def body(dialect: str, text: str, *tools: Tool) -> dict[str, Any]:
    return dialect_named(dialect).compose(history_of([Turn((Text(text),))], tools=tools), "tiny")


@spoken_here
def test_what_it_says_is_heard_piece_by_piece(served: Served, dialect: str) -> None:
    heard: list[TextDelta | ThoughtDelta | ReadingProgress] = []
    answer: Answer = talked(served, dialect, lambda talk: talk.send(body(dialect, "Hello 余白"), heard.append))
    pieces = [piece.text for piece in heard if isinstance(piece, TextDelta | ThoughtDelta)]
    assert answer.text == CHAT == "".join(pieces)
    assert len(pieces) > 3 and not dialect_named(dialect).was_cut_off(answer)
    assert answer.usage and answer.usage.prompt > 10


@spoken_here
def test_its_calls_are_in_the_answer(served: Served, dialect: str) -> None:
    answer: Answer = talked(served, dialect, lambda talk: talk.send(body(dialect, "Go", READ), lambda _: None))
    [call] = answer.reply.calls
    assert (call.name, json.loads(call.arguments)) == ("read_file", {"path": "app.py"})


@spoken_here
def test_what_is_too_long_is_told_with_its_numbers(served: Served, dialect: str) -> None:
    with pytest.raises(TooLong) as raised:
        talked(served, dialect, lambda talk: talk.send(body(dialect, "x" * 20_000), lambda _: None))
    overflow = raised.value.overflow
    assert overflow.limit == WINDOW and overflow.needs and overflow.needs > 20_000


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
def test_a_reply_without_room_is_seen_to_be_cut(served: Served, dialect: str) -> None:
    answer: Answer = talked(served, dialect, lambda talk: talk.send(body(dialect, "Hi"), lambda _: None), reserve=3)
    assert dialect_named(dialect).was_cut_off(answer) and CHAT.startswith(answer.text)


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
@pytest.mark.parametrize("form", [RequestForm(False, False), RequestForm(True, False)])
def test_it_sums_up(served: Served, dialect: str, form: RequestForm) -> None:
    asked = build_question(SummaryRequest("summary", 300), "USER: please change app.py")
    assert tiny.SUMMARY in talked(served, dialect, lambda talk: talk.ask(asked), form=form)


def test_it_is_held_to_a_schema(served: Served) -> None:
    shape = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}
    asked = Question("summary", "Give a summary.", 60, schema=json.dumps(shape))
    assert talked(served, "openai_chat", lambda talk: talk.ask(asked)).lstrip().startswith("{")


def test_stopping_frees_the_server_for_the_next(served: Served) -> None:
    async def using(talk: ModelClient) -> Answer:
        heard = asyncio.Event()
        task = asyncio.create_task(talk.send(body("openai_chat", "Hello"), lambda _: heard.set()))
        await heard.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):  # on a busy machine all may be said by then
            await task
        return await talk.send(body("openai_chat", "Hello"), lambda _: None)

    assert talked(served, "openai_chat", using).text == CHAT


def test_a_body_it_does_not_take_is_told_in_plain_words(served: Served) -> None:
    bad = {"messages": [{"role": "user", "content": "x"}], "tools": 5}
    with pytest.raises(RequestFailed) as raised:
        talked(served, "openai_chat", lambda talk: talk.send(bad, lambda _: None))
    assert raised.value.said("ja").endswith("。")
