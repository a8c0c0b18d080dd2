"""Talking to servers that behave, and to those that do not: no crash, nothing lost, a plain sentence."""

from __future__ import annotations

import asyncio
import json
import re
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.fakes import (
    JSON,
    NDJSON,
    SSE,
    Answering,
    FakeOllama,
    FakeServer,
    Played,
    busy,
    spoken,
    sse,
    tokens,
    whole,
)
from tests.dialects.test_overflow import TOLD
from yohaku import dialects
from yohaku.agent.events import TextDelta, ThoughtDelta, UserNotice
from yohaku.client.connection import Timeouts
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import Busy, CutOff, Garbled, RequestFailed, RequestRefused, TooLong, Truncated, Unreachable
from yohaku.client.model_client import ModelClient, RequestForm
from yohaku.core.errors import Unanswered
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Reply, Text, Turn
from yohaku.core.recipe import Question
from yohaku.dialects import dialect_named
from yohaku.dialects.answer import Answer, Usage
from yohaku.dialects.overflow import Overflow

KEY = "sk-very-secret-0123456789"
QUICK = Timeouts(5.0, 5.0, tries=3, pause=0.001)
IMPATIENT = Timeouts(0.05, 0.05, tries=3, pause=0.001)
ASKED = Question("summary", "Sum it up.", 300, "<summary>\n", ("</summary>",), '{"type": "object"}')

every_dialect = pytest.mark.parametrize("dialect", dialects.BUILT_IN)


def body(dialect: str, text: str = "Hello") -> dict[str, Any]:
    made: dict[str, Any] = dialect_named(dialect).compose(history_of([Turn((Text(text),))]), "m")
    return made


class Spoke:
    """One sending: what was heard, told, answered or raised."""

    def __init__(self) -> None:
        self.heard: list[TextDelta | ThoughtDelta] = []
        self.told: list[UserNotice] = []
        self.answer: Answer | None = None
        self.error: Any = None
        self.server: FakeServer = FakeServer([])

    @property
    def said(self) -> str:
        return "".join(piece.text for piece in self.heard if isinstance(piece, TextDelta))


def speak(
    script: Any,
    dialect: Any = "openai_chat",
    timeouts: Timeouts = QUICK,
    using: Callable[[ModelClient], Awaitable[Any]] | None = None,
    text: str = "Hello",
    weighs: int = 0,
    window: int = 8192,
    form: RequestForm | None = None,
    **endpoint: Any,
) -> Spoke:
    spoke = Spoke()

    async def run() -> None:
        async with script if isinstance(script, FakeServer) else FakeServer(script) as spoke.server:
            where = spoke.server.endpoint(dialect, **{"key": KEY, **endpoint})
            talk = ModelClient(
                where, window=window, reserve=512, notify=spoke.told.append, timeouts=timeouts, form=form
            )
            try:
                if using:
                    spoke.answer = await using(talk)
                else:
                    spoke.answer = await talk.send(body(dialect, text), spoke.heard.append, weighs=weighs)
            except (RequestFailed, Unanswered) as error:
                spoke.error = error
            finally:
                await talk.close()

    asyncio.run(run())
    return spoke


def plain(error: Any) -> None:
    """A sentence in two languages that says what to do, and nothing of the key anywhere."""
    for said in (str(error), error.said("en"), error.said("ja")):
        assert (
            said.endswith((".", "。")) and not re.search(r"\{[a-z]+\}", said) and "\n" not in said and len(said) < 700
        )
        assert KEY not in said
    assert re.search(r"[ぁ-ん]", error.said("ja")) and error.said("en") == str(error)
    assert KEY not in "".join(traceback.format_exception(error)) + repr(error.facts) + repr(error.args)
    assert error.__cause__ is None and error.__context__ is None


# What is sent.


@pytest.mark.parametrize(
    ("dialect", "path", "headers", "fields"),
    [
        (
            "openai_chat",
            "/v1/chat/completions",
            {"Authorization": f"Bearer {KEY}"},
            {"model": "m", "max_tokens": 512, "stream": True, "stream_options": {"include_usage": True}},
        ),
        (
            "openai_responses",
            "/v1/responses",
            {"Authorization": f"Bearer {KEY}"},
            {"model": "m", "max_output_tokens": 512, "stream": True},
        ),
        (
            "anthropic",
            "/v1/messages",
            {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
            {"model": "m", "max_tokens": 512, "stream": True},
        ),
        (
            "gemini",
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            {"x-goog-api-key": KEY},
            {"generationConfig": {"maxOutputTokens": 512}},
        ),
        (
            "ollama",
            "/api/chat",
            {"Authorization": f"Bearer {KEY}"},
            {
                "model": "m",
                "options": {"num_predict": 512, "num_ctx": 8192},
                "stream": True,
                "truncate": False,
                "shift": False,
                "keep_alive": "30m",
            },
        ),
    ],
)
def test_a_body_goes_where_its_dialect_is_spoken(
    dialect: str, path: str, headers: dict[str, str], fields: dict[str, Any]
) -> None:
    spoke = speak([spoken(dialect, "Hel", "lo", thought="Hm", prompt=9)], dialect)
    assert spoke.heard == [ThoughtDelta("Hm"), TextDelta("Hel"), TextDelta("lo")]
    assert spoke.answer and spoke.answer.text == "Hello"
    assert spoke.answer.usage and spoke.answer.usage.prompt == 9
    [asked] = spoke.server.asked
    assert asked.path == path
    assert {name: asked.headers.get(name) for name in headers} == headers
    own = {key: value for key, value in body(dialect).items() if key not in ("model", "max_tokens")}
    assert asked.body == {**own, **fields}


def test_without_a_key_no_key_is_sent() -> None:
    asked = speak([spoken("openai_chat", "x")], key="").server.asked[0]
    assert "Authorization" not in asked.headers


def test_options_of_the_body_stand_beside_ours() -> None:
    given = {**body("ollama"), "options": {"temperature": 0, "num_ctx": 1}, "keep_alive": "1m"}
    spoke = speak([spoken("ollama", "x")], "ollama", using=lambda talk: talk.send(given, lambda _: None))
    assert spoke.server.asked[0].body["options"] == {"temperature": 0, "num_ctx": 8192, "num_predict": 512}


def test_a_reply_is_asked_for_no_longer_than_the_model_can_say() -> None:
    asked = speak([spoken("anthropic", "x")], "anthropic", output=100).server.asked[0]
    assert asked.body["max_tokens"] == 100


def test_a_window_that_was_learned_is_used_from_then_on() -> None:
    async def using(talk: ModelClient) -> Answer:
        await talk.send(body("ollama"), lambda _: None)
        talk.window, talk.reserve = 4096, 100
        return await talk.send(body("ollama"), lambda _: None)

    asked = speak([spoken("ollama", "x")], "ollama", using=using).server.asked
    assert [each.body["options"] for each in asked] == [
        {"num_predict": 512, "num_ctx": 8192},
        {"num_predict": 100, "num_ctx": 4096},
    ]


# What a server does not take.


@pytest.mark.parametrize(
    ("message", "before", "after"),
    [
        ("Extra inputs are not permitted: stream_options", {"stream_options": {"include_usage": True}}, {}),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
         {"max_tokens": 512}, {"max_completion_tokens": 512}),
        ("max_tokens is too large: 512. This model supports at most 400 completion tokens",
         {"max_tokens": 512}, {"max_tokens": 400}),
        ("This model does not support stream", {"stream": True}, {}),
    ],
)  # fmt: skip
def test_what_a_server_does_not_take_is_left_out_from_then_on(message: str, before: Any, after: Any) -> None:
    async def using(talk: ModelClient) -> Answer:
        await talk.send(body("openai_chat"), lambda _: None)
        return await talk.send(body("openai_chat"), lambda _: None)

    spoke = speak([whole({"error": {"message": message}}, 400), spoken("openai_chat", "x")], using=using)
    assert len(spoke.server.asked) == 3 and spoke.error is None
    fields = [{key: each.body[key] for key in {**before, **after} if key in each.body} for each in spoke.server.asked]
    assert fields == [before, after, after]


ALTERNATE = "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/..."


@pytest.mark.parametrize("status", [400, 422, 500])
@pytest.mark.parametrize("message", [ALTERNATE, f"{'x' * 400}\n{ALTERNATE}"])
def test_a_server_that_wants_roles_in_turn_gets_them_from_then_on(message: str, status: int) -> None:
    said = {"messages": [{"role": "user", "content": "Hello"}, {"role": "user", "content": "there"}]}

    async def using(talk: ModelClient) -> Answer:
        await talk.send(said, lambda _: None)
        return await talk.send(said, lambda _: None)

    spoke = speak([whole({"error": {"message": message}}, status), spoken("openai_chat", "x")], using=using)
    joined = [{"role": "user", "content": "Hello\n\nthere"}]
    assert [each.body["messages"] for each in spoke.server.asked] == [said["messages"], joined, joined]
    assert spoke.error is None


def test_a_server_that_takes_no_system_prompt_gets_it_as_the_users_words() -> None:
    said = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]}
    refusal = whole({"error": {"message": "System role not supported"}}, 400)
    spoke = speak([refusal, spoken("openai_chat", "x")], using=lambda talk: talk.send(said, lambda _: None))
    assert spoke.server.asked[1].body["messages"] == [{"role": "user", "content": "Be brief.\n\nHello"}]
    assert spoke.error is None


def test_a_server_that_is_never_content_with_the_roles_is_not_asked_for_ever() -> None:
    calls = [{"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    said = {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look."},
            {"role": "user", "content": "There."},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "a", "content": "a cat"},
        ]
    }
    refusal = whole({"error": {"message": ALTERNATE}}, 400)
    spoke = speak([refusal], using=lambda talk: talk.send(said, lambda _: None))
    assert isinstance(spoke.error, RequestRefused) and len(spoke.server.asked) == 4
    plain(spoke.error)


def test_a_server_that_refuses_everything_is_not_asked_for_ever() -> None:
    message = "stream stream_options max_tokens max_completion_tokens"
    spoke = speak([whole({"error": {"message": message}}, 400)])
    assert isinstance(spoke.error, RequestRefused) and len(spoke.server.asked) <= 5
    plain(spoke.error)


# Replies that do not come as they should.


@every_dialect
def test_a_reply_in_one_piece_is_heard_all_the_same(dialect: str) -> None:
    pieces = {
        "openai_chat": {"choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]},
        "openai_responses": {
            "status": "completed",
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}],
        },
        "anthropic": {"content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn"},
        "gemini": {"candidates": [{"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP"}]},
        "ollama": {"message": {"role": "assistant", "content": "Hello"}, "done": True, "done_reason": "stop"},
    }
    for text in (json.dumps(pieces[dialect]), json.dumps(pieces[dialect], indent=2)):
        spoke = speak([whole(text)], dialect)
        assert spoke.said == "Hello"
        assert spoke.answer and spoke.answer.text == "Hello"


def test_a_stream_of_the_wrong_kind_is_heard_all_the_same() -> None:
    for kind in ("text/plain", JSON, NDJSON, "application/octet-stream", "nonsense"):
        assert speak([Played(spoken("openai_chat", "Hello").chunks, kind=kind)]).said == "Hello"


def test_calls_are_in_the_answer() -> None:
    spoke = speak([spoken("openai_chat", "Look.", calls=[("read", {"path": "a"})])])
    assert spoke.answer == Answer(
        Reply((Text("Look."), Call("c0", "read", '{"path": "a"}'))), Usage(10, output=1), "stop"
    )


@pytest.mark.parametrize(
    ("dialect", "stop", "cut"),
    [
        ("openai_chat", "length", True),
        ("openai_chat", "stop", False),
        ("openai_responses", "max_output_tokens", True),
        ("anthropic", "max_tokens", True),
        ("anthropic", "model_context_window_exceeded", True),
        ("anthropic", "end_turn", False),
        ("gemini", "MAX_TOKENS", True),
        ("gemini", "STOP", False),
        ("ollama", "length", True),
        ("ollama", "stop", False),
    ],
)
def test_a_reply_there_was_no_more_room_for_is_an_answer_that_says_so(dialect: str, stop: str, cut: bool) -> None:
    spoke = speak([spoken(dialect, "Hel", stop=stop)], dialect)
    assert spoke.answer and dialect_named(dialect).was_cut_off(spoke.answer) is cut


@every_dialect
@pytest.mark.parametrize("ending", ["cut", "end", "stall"])
def test_a_stream_that_breaks_off_keeps_what_was_heard(dialect: str, ending: Any) -> None:
    full = spoken(dialect, "Hel", "lo")
    first = next(n for n, chunk in enumerate(full.chunks) if b"Hel" in chunk)
    spoke = speak([Played(full.chunks[: first + 1], ending=ending)], dialect, Timeouts(5.0, 0.05, 3, 0.001))
    assert isinstance(spoke.error, CutOff)
    assert spoke.error.answer == Answer(Reply((Text("Hel"),)))
    assert spoke.said == "Hel" and len(spoke.server.asked) == 1
    plain(spoke.error)


@every_dialect
def test_a_stream_that_breaks_before_a_word_is_tried_again(dialect: str) -> None:
    spoke = speak([Played((b": hello\n\n",), ending="cut"), spoken(dialect, "Hello")], dialect)
    assert spoke.said == "Hello" and len(spoke.server.asked) == 2
    assert [told.text for told in spoke.told] == ["Fake does not answer properly yet; trying again in 1 s."]


@every_dialect
def test_silence_is_an_error_in_the_end(dialect: str) -> None:
    spoke = speak([Played(ending="stall")], dialect, IMPATIENT)
    assert isinstance(spoke.error, Unreachable) and spoke.error.why == "stall"
    assert len(spoke.server.asked) == 2
    plain(spoke.error)


def test_an_empty_stream_is_tried_again_and_then_told() -> None:
    for chunks in ((), sse("[DONE]"), (b"\n\n",)):
        spoke = speak([Played(chunks)])
        assert isinstance(spoke.error, Garbled) and len(spoke.server.asked) == 3
        assert "nothing" in str(spoke.error)
        plain(spoke.error)


def test_an_empty_stream_for_a_long_request_means_that_it_was_too_long() -> None:
    spoke = speak([Played()], weighs=7_900)
    assert isinstance(spoke.error, TooLong) and len(spoke.server.asked) == 1
    assert isinstance(speak([Played()], text="word " * 9_000).error, TooLong)


# Errors.


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "ollama"])
def test_every_wording_of_an_overflow_is_one(told: str, dialect: str) -> None:
    status, text, overflow = TOLD[told]
    if status == 200:
        script = Played((text.encode() if isinstance(text, str) else json.dumps(text).encode(),))
    else:
        script = whole(text, status)
    spoke = speak([script], dialect)
    assert isinstance(spoke.error, TooLong), spoke.error
    assert spoke.error.overflow == overflow and len(spoke.server.asked) == 1
    plain(spoke.error)


def test_an_overflow_inside_a_stream_that_began_well_is_one() -> None:
    error = {"error": {"message": "maximum context length is 100 tokens", "code": "context_length_exceeded"}}
    began = spoken("openai_chat", "Hel").chunks[:1]
    spoke = speak([Played((*began, *sse(error)))])
    assert isinstance(spoke.error, TooLong) and spoke.error.overflow == Overflow(100)
    assert isinstance(speak([Played(sse(error))]).error, TooLong)


def test_what_a_model_says_of_overflows_is_no_error() -> None:
    said = 'error: maximum context length is 100 tokens {"error": "context_length_exceeded"}'
    assert speak([spoken("openai_chat", said)]).said == said


@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_busy_server_is_asked_again_and_then_told_of(status: int) -> None:
    assert speak([busy(status=status), busy(status=status), spoken("openai_chat", "Hello")]).said == "Hello"
    spoke = speak([busy(status=status)])
    assert isinstance(spoke.error, Busy) and len(spoke.server.asked) == 3
    plain(spoke.error)


@pytest.mark.parametrize(
    "played",
    [
        busy(90),
        whole({"error": {"message": "rate limit"}}, 429, retry_after_ms="90000"),
        whole({"error": {"details": [{"retryDelay": "90s"}], "message": "rate limit"}}, 429),
    ],
)
def test_a_server_that_asks_for_more_than_a_minute_is_not_waited_for(played: Played) -> None:
    spoke = speak([played])
    assert isinstance(spoke.error, Busy) and spoke.error.after == 90 and len(spoke.server.asked) == 1
    assert "90 seconds" in str(spoke.error)
    plain(spoke.error)


def test_a_date_may_say_how_long_to_wait() -> None:
    assert speak([busy("Wed, 21 Oct 2015 07:28:00 GMT"), spoken("openai_chat", "Hello")]).said == "Hello"
    assert speak([busy("not a date"), spoken("openai_chat", "Hello")]).said == "Hello"


@pytest.mark.parametrize("status", [500, 502, 504, 522])
def test_a_failing_server_is_asked_again_and_then_told_of(status: int) -> None:
    failing = whole("<html><h1>Bad gateway</h1></html>", status)
    assert speak([failing, spoken("openai_chat", "Hello")]).said == "Hello"
    spoke = speak([failing])
    assert isinstance(spoke.error, RequestRefused) and (spoke.error.status, spoke.error.text) == (status, "a web page")
    plain(spoke.error)


def test_a_server_that_loads_its_model_is_waited_for() -> None:
    loading = whole({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, 503)
    spoke = speak([*[loading] * 9, spoken("openai_chat", "Hello")])
    assert spoke.said == "Hello"
    assert [told.text for told in spoke.told] == ["Fake is still loading the model; waiting for it."]


@pytest.mark.parametrize(
    ("status", "text", "named"),
    [
        (400, '{"error": {"message": "messages: at least one is required"}}', "at least one is required"),
        (401, '{"error": {"message": "Incorrect API key provided: ' + KEY + '"}}', "API key"),
        (402, '{"error": "no credit"}', "billing"),
        (403, "Forbidden", "API key"),
        (404, '{"error": "model \'m\' not found"}', "/model"),
        (422, '[{"detail": [{"msg": "bad"}]}]', "bad"),
        (429, '{"error": {"code": "insufficient_quota", "message": "check your plan and billing details"}}', "plan"),
        (301, "moved", "moved"),
        (418, "\x00\x1b[31m\u202eteapot", "teapot"),
    ],
)
def test_a_refusal_is_told_once_in_plain_words(status: int, text: str, named: str) -> None:
    headers = {"location": "http://127.0.0.1:1/"} if status == 301 else {}
    spoke = speak([whole(text, status, **headers)])
    assert isinstance(spoke.error, RequestRefused) and spoke.error.status == status and len(spoke.server.asked) == 1
    assert named in str(spoke.error)
    plain(spoke.error)


@pytest.mark.parametrize(
    ("dialect", "error", "kind", "tries"),
    [
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, Busy, 3),
        ("openai_chat", {"error": {"message": "Provider returned error", "code": 502}}, RequestRefused, 3),
        ("openai_chat", {"error": {"message": "bad tool", "code": 400}}, RequestRefused, 1),
        (
            "openai_responses",
            {"type": "response.failed", "response": {"error": {"code": "server_error"}}},
            RequestRefused,
            3,
        ),
        ("openai_responses", {"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}, Busy, 3),
        ("gemini", {"error": {"code": 503, "status": "UNAVAILABLE", "message": "later"}}, Busy, 3),
    ],
)
def test_an_error_that_comes_as_an_event_is_told_like_any_other(
    dialect: str, error: Any, kind: Any, tries: int
) -> None:
    spoke = speak([Played(sse(error))], dialect)
    assert type(spoke.error) is kind and len(spoke.server.asked) == tries
    plain(spoke.error)
    assert type(speak([whole(error)], dialect).error) is kind
    began = next(chunk for chunk in spoken(dialect, "Hel").chunks if b"Hel" in chunk)
    late = speak([Played((began, *sse(error)))], dialect)
    assert isinstance(late.error, CutOff) and late.error.answer.text == "Hel" and len(late.server.asked) == 1


def test_an_error_of_ollama_comes_as_a_line() -> None:
    spoke = speak([Played((b'{"error":"model runner has unexpectedly stopped"}\n',), kind=NDJSON)], "ollama")
    assert isinstance(spoke.error, RequestRefused) and "model runner has unexpectedly stopped" in str(spoke.error)
    plain(spoke.error)


@every_dialect
@pytest.mark.parametrize(
    "page", ["<!DOCTYPE html><html><body>Log in</body></html>", "OK", "[1, 2]", "{}", '"x"', "{\n", "\x00\xff", "null"]
)
def test_what_is_no_reply_is_told_in_plain_words(dialect: str, page: str) -> None:
    for kind in ("text/html", SSE, JSON):
        spoke = speak([Played((page.encode(),), kind=kind)], dialect)
        assert isinstance(spoke.error, Garbled), (spoke.answer, spoke.error)
        plain(spoke.error)


@every_dialect
@settings(max_examples=25)
@given(
    chunks=st.lists(
        st.binary(max_size=30)
        | st.sampled_from(
            [
                b"data: ",
                b"\n\n",
                b'{"choices": 1}',
                b'{"choices": [{"delta": {"tool_calls": [{"id": 1}]}}]}',
                b'{"type": "content_block_start", "index": 0, "content_block": {}}',
                b'{"type": "content_block_delta", "index": 0, "delta": {"text": "a"}}',
                b'{"candidates": [{"content": {"parts": [{"functionCall": 1}]}}]}',
                b'{"message": {"tool_calls": [{}]}}',
                b'{"response": {"output": [{"type": "function_call"}]}}',
                b'{"error": {"message": 5}}',
                b"[" * 2000,
            ]
        ),
        max_size=8,
    ),
    status=st.sampled_from([200, 200, 200, 400, 500]),
)
def test_garbage_never_breaks_us(dialect: str, chunks: list[bytes], status: int) -> None:
    spoke = speak([Played(tuple(chunks), status)], dialect)
    if spoke.error is not None:
        plain(spoke.error)
    else:
        assert spoke.answer is not None


# Connections.


def unreachable(**endpoint: Any) -> RequestFailed:
    async def run() -> RequestFailed:
        given = {"name": "Far", "provider": "x", "dialect": "openai_chat", "model": "m", "key": KEY, **endpoint}
        talk = ModelClient(Endpoint(**given), window=8192, reserve=512, timeouts=QUICK)
        try:
            await talk.send(body("openai_chat"), lambda _: None)
        except RequestFailed as error:
            return error
        finally:
            await talk.close()
        raise AssertionError

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:1/v1", "refused"),
        ("http://user:" + KEY + "@127.0.0.1:1/v1", "refused"),
        ("http://no.such.host.invalid/v1", "unknown"),
        ("not a url", "address"),
        ("", "address"),
        ("http://[::1", "address"),
    ],
)
def test_what_cannot_be_reached_is_told_in_plain_words(url: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for local in (True, False):
        error = unreachable(url=url, local=local)
        assert isinstance(error, Unreachable) and error.why == why
        plain(error)


def test_a_server_without_trust_is_told_as_such() -> None:
    async def run() -> RequestFailed:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        where = Endpoint("Far", "x", "openai_chat", f"https://127.0.0.1:{port}/v1", "m", KEY)
        talk = ModelClient(where, window=8192, reserve=512, timeouts=QUICK)
        try:
            await talk.send(body("openai_chat"), lambda _: None)
        except RequestFailed as error:
            return error
        finally:
            await talk.close()
            server.close()
        raise AssertionError

    error = asyncio.run(run())
    assert isinstance(error, Unreachable) and error.why == "tls"
    plain(error)


def test_the_proxy_of_the_environment_is_used_but_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> list[str]:
        lines: list[str] = []

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            lines.append((await reader.readline()).decode().strip())
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        for url in ("http://models.invalid/v1", "http://127.0.0.1:1/v1"):
            talk = ModelClient(
                Endpoint("Far", "x", "openai_chat", url, "m", KEY), window=8192, reserve=512, timeouts=QUICK
            )
            with pytest.raises(RequestFailed) as raised:
                await talk.send(body("openai_chat"), lambda _: None)
            plain_later.append(raised.value)
            await talk.close()
        server.close()
        return lines

    plain_later: list[RequestFailed] = []
    assert asyncio.run(run()) == ["POST http://models.invalid/v1/chat/completions HTTP/1.1"]
    assert isinstance(plain_later[0], RequestRefused) and isinstance(plain_later[1], Unreachable)


def test_stopping_closes_the_connection_at_once() -> None:
    async def run() -> None:
        for ending in (Played(ending="stall"), Played(spoken("openai_chat", "Hel").chunks[:1], ending="stall")):
            async with FakeServer([ending]) as server:
                talk = ModelClient(server.endpoint("openai_chat"), window=8192, reserve=512)
                task = asyncio.create_task(talk.send(body("openai_chat"), lambda _: None))
                while not server.asked:
                    await asyncio.sleep(0.001)
                await asyncio.sleep(0.02)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                async with asyncio.timeout(5):
                    await server.asked[0].gone.wait()
                await talk.close()

    asyncio.run(run())


def test_a_listener_that_fails_is_not_taken_for_the_server() -> None:
    def hear(_: TextDelta | ThoughtDelta) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        speak([spoken("openai_chat", "Hello")], using=lambda talk: talk.send(body("openai_chat"), hear))


# Ollama, which may drop the oldest and say nothing.


LONG = "word " * 4_000
"""5,000 tokens, as the fake counts, and a little less than that for most models."""


@pytest.mark.parametrize("tells", [True, False])
def test_a_request_that_ollama_cut_is_noticed(tells: bool) -> None:
    spoke = speak(FakeOllama(2_048, tells=tells), "ollama", text=LONG, weighs=5_000)
    assert isinstance(spoke.error, Truncated)
    assert (spoke.error.told, spoke.error.sent) == (2_048, 5_000)
    assert spoke.error.window == (2_048 if tells else None)
    assert spoke.error.answer and spoke.error.answer.text == "Done."
    plain(spoke.error)


def test_a_request_that_ollama_cut_is_noticed_without_being_weighed() -> None:
    assert isinstance(speak(FakeOllama(2_048), "ollama", text=LONG).error, Truncated)


def test_a_request_that_was_cut_a_little_is_noticed_where_ollama_names_its_window() -> None:
    assert isinstance(speak(FakeOllama(4_500), "ollama", text=LONG, weighs=5_000).error, Truncated)


def test_an_ollama_that_refuses_what_is_too_long_says_so_itself() -> None:
    assert isinstance(speak(FakeOllama(2_048, honest=True), "ollama", text=LONG).error, TooLong)


@pytest.mark.parametrize("tells", [True, False])
def test_a_prompt_that_stood_in_the_cache_is_not_taken_for_cut(tells: bool) -> None:
    server = FakeOllama(8_192, tells=tells)
    longer = {"messages": [*body("ollama", LONG)["messages"], {"role": "user", "content": "more " * 100}]}

    async def using(talk: ModelClient) -> Answer:
        await talk.send(body("ollama", LONG), lambda _: None, weighs=5_000)
        server.cached = 5_000
        await talk.send({**longer, "model": "m"}, lambda _: None, weighs=tokens(longer))
        server.cached = tokens(longer)  # found whole: not counted at all
        return await talk.send({**longer, "model": "m"}, lambda _: None, weighs=tokens(longer))

    spoke = speak(server, "ollama", using=using)
    assert spoke.error is None and spoke.answer and spoke.answer.text == "Done."


# Summaries.


def asked(script: list[Answering], dialect: str = "openai_chat", **more: Any) -> Spoke:
    return speak(script, dialect, using=lambda talk: talk.ask(ASKED), **more)


@every_dialect
def test_a_question_is_answered_in_every_dialect(dialect: str) -> None:
    spoke = asked([spoken(dialect, "It ", "is so.")], dialect)
    assert spoke.answer == "It is so."  # type: ignore[comparison-overlap]


def test_a_question_to_llama_cpp_is_held_to_its_schema_and_asked_plainly_where_that_is_refused() -> None:
    spoke = asked([spoken("openai_chat", "x")], provider="llama.cpp")
    sent = spoke.server.asked[0].body
    assert sent["response_format"]["json_schema"]["schema"] == {"type": "object"} and sent["max_tokens"] == 300
    refused = whole({"error": {"message": "response_format is not supported"}}, 400)

    async def twice(talk: ModelClient) -> Any:
        await talk.ask(ASKED)
        return await talk.ask(ASKED)

    spoke = speak([refused, spoken("openai_chat", "x")], using=twice, provider="llama.cpp")
    assert ["response_format" in each.body for each in spoke.server.asked] == [True, False, False]


def test_an_answer_may_be_begun_where_the_server_goes_on_with_it() -> None:
    spoke = asked([spoken("openai_chat", "x")], form=RequestForm(True, False))
    assert spoke.server.asked[0].body["messages"][-1] == {"role": "assistant", "content": "<summary>"}
    assert spoke.server.asked[0].body["stop"] == ["</summary>"]


def test_a_question_to_ollama_keeps_its_window() -> None:
    sent = asked([spoken("ollama", "x")], "ollama").server.asked[0].body
    assert sent["options"] == {"num_predict": 300, "num_ctx": 8192}
    assert (sent["stream"], sent["truncate"], sent["shift"]) == (True, False, False)


def test_a_model_that_says_nothing_has_not_answered() -> None:
    assert isinstance(asked([spoken("openai_chat", " ")]).error, Unanswered)


def test_a_question_that_is_too_long_is_told_as_such() -> None:
    status, text, overflow = TOLD["llama.cpp"]
    spoke = asked([whole(text, status)], provider="llama.cpp")
    assert isinstance(spoke.error, TooLong) and spoke.error.overflow == overflow
