"""A model's server on loopback that plays a script: what each request is answered with, byte by byte.

    async with FakeServer([busy(1), spoken("openai_chat", "Hel", "lo")]) as server:
        talk = Talk(server.endpoint("openai_chat"), window=8192, reserve=512)

The last answer of a script is given again and again. `server.asked` holds what came in.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from aiohttp import web

from yohaku.client.endpoint import Endpoint

SSE, NDJSON, JSON = "text/event-stream", "application/x-ndjson", "application/json"
BASES = {"openai_chat": "/v1", "openai_responses": "/v1", "anthropic": "", "gemini": "/v1beta", "ollama": ""}


@dataclass
class Asked:
    path: str
    headers: Mapping[str, str]
    body: Any
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client left before the answer had ended."""


@dataclass(frozen=True)
class Played:
    chunks: tuple[bytes, ...] = ()
    status: int = 200
    kind: str = SSE
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Literal["end", "cut", "stall"] = "end"
    """"cut": the connection breaks; "stall": nothing more comes until the client leaves."""


Answering: TypeAlias = Played | Callable[[Asked], Played]


class FakeServer:
    def __init__(self, script: Sequence[Answering] | Answering, gets: Mapping[str, Any] | None = None) -> None:
        self._script = list(script) if isinstance(script, Sequence) else [script]
        self._gets = gets or {}
        self.asked: list[Asked] = []
        self.url = ""

    async def __aenter__(self) -> FakeServer:
        app = web.Application(client_max_size=2**28)
        app.router.add_post("/{path:.*}", self._post)
        app.router.add_get("/{path:.*}", self._get)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    def endpoint(self, dialect: Any, **more: Any) -> Endpoint:
        given = {"name": "Fake", "provider": "ollama" if dialect == "ollama" else "fake", "model": "m", "local": True}
        return Endpoint(dialect=dialect, url=self.url + BASES[dialect], **(given | more))

    async def _get(self, request: web.Request) -> web.Response:
        found = self._gets.get(request.path)
        return web.json_response(found) if found is not None else web.Response(status=404)

    async def _post(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        asked = Asked(request.path_qs, dict(request.headers), json.loads(raw))
        self.asked.append(asked)
        turn = self._script[min(len(self.asked), len(self._script)) - 1]
        played = turn if isinstance(turn, Played) else turn(asked)
        response = web.StreamResponse(status=played.status, headers={"Content-Type": played.kind, **played.headers})
        try:
            await response.prepare(request)
            for chunk in played.chunks:
                await response.write(chunk)
                await asyncio.sleep(0)
            if played.ending == "stall":
                await asyncio.Event().wait()
        except (asyncio.CancelledError, ConnectionError):
            asked.gone.set()
            raise
        if played.ending == "cut" and request.transport:
            request.transport.abort()
        return response


def sse(*events: Any) -> tuple[bytes, ...]:
    return tuple(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode() for event in events)


def whole(body: Any, status: int = 200, **headers: str) -> Played:
    """An answer in one piece."""
    text = body if isinstance(body, str) else json.dumps(body)
    return Played((text.encode(),), status, JSON, {name.replace("_", "-"): value for name, value in headers.items()})


def busy(after: float | str = "", status: int = 429) -> Played:
    return whole({"error": {"message": "too many requests"}}, status, **({"Retry_After": str(after)} if after else {}))


def spoken(
    dialect: str, *pieces: str, thought: str = "", stop: str = "", prompt: int = 10, calls: Sequence[Any] = ()
) -> Played:
    """A streamed reply. `calls`: (name, arguments) in the dialects of OpenAI's chat and of Ollama."""
    match dialect:
        case "openai_chat":
            deltas: list[Any] = [{"reasoning_content": thought}] if thought else []
            deltas += [{"content": piece} for piece in pieces]
            deltas += [
                {"tool_calls": [{"index": n, "id": f"c{n}", "function": {"name": name, "arguments": json.dumps(args)}}]}
                for n, (name, args) in enumerate(calls)
            ]
            events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
            ended = {"choices": [{"index": 0, "delta": {}, "finish_reason": stop or "stop"}]}
            usage = {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": len(pieces)}}
            return Played(sse(*events, ended, usage, "[DONE]"))
        case "openai_responses":
            item = {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "".join(pieces)}],
            }
            said = [{"type": "response.output_text.delta", "delta": piece} for piece in pieces]
            mused = [{"type": "response.reasoning_summary_text.delta", "delta": thought}] if thought else []
            closing = {"status": "completed", "output": [item], "usage": {"input_tokens": prompt, "output_tokens": 1}}
            if stop:
                closing |= {"status": "incomplete", "incomplete_details": {"reason": stop}}
            return Played(sse(*mused, *said, {"type": "response.completed", "response": closing}))
        case "anthropic":
            blocks = [{"type": "thinking_delta", "thinking": thought}] if thought else []
            return Played(
                sse(
                    {"type": "message_start", "message": {"usage": {"input_tokens": prompt, "output_tokens": 1}}},
                    *(
                        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}}
                        for _ in blocks
                    ),
                    *({"type": "content_block_delta", "index": 0, "delta": block} for block in blocks),
                    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
                    *(
                        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": piece}}
                        for piece in pieces
                    ),
                    {
                        "type": "message_delta",
                        "delta": {"stop_reason": stop or "end_turn"},
                        "usage": {"output_tokens": len(pieces)},
                    },
                    {"type": "message_stop"},
                )
            )
        case "gemini":
            parts = [{"text": thought, "thought": True}] if thought else []
            parts += [{"text": piece} for piece in pieces]
            chunks: list[dict[str, Any]] = [{"candidates": [{"content": {"parts": [part]}}]} for part in parts]
            chunks.append(
                {
                    "candidates": [{"finishReason": stop or "STOP"}],
                    "usageMetadata": {"promptTokenCount": prompt, "candidatesTokenCount": 1},
                }
            )
            return Played(sse(*chunks))
    lines: list[dict[str, Any]] = (
        [{"message": {"role": "assistant", "content": "", "thinking": thought}}] if thought else []
    )
    lines += [{"message": {"role": "assistant", "content": piece}, "done": False} for piece in pieces]
    lines += [
        {"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": n, "arguments": a}}]}}
        for n, a in calls
    ]
    closing = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": stop or "stop"}
    lines.append({**closing, "prompt_eval_count": prompt, "eval_count": len(pieces)})
    return Played(tuple(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines), kind=NDJSON)


class FakeOllama(FakeServer):
    """Takes any request, drops the oldest of one that is too long for the window it has, and says nothing of it.

    `honest`: it refuses instead, as it does when it knows `truncate: false`. `tells`: `/api/ps` names the window.
    """

    def __init__(self, window: int, *, honest: bool = False, tells: bool = True, said: str = "Done.") -> None:
        row = {"name": "m:latest", "model": "m:latest", **({"context_length": window} if tells else {})}
        super().__init__(self._answer, {"/api/ps": {"models": [row]}})
        self.window = window
        self.honest = honest
        self.said = said
        self.cached = 0
        """Tokens of the next prompt that it finds in its cache and does not count."""

    def _answer(self, asked: Asked) -> Played:
        sent = tokens(asked.body)
        if sent > self.window and self.honest:
            return whole({"error": "the input length exceeds the context length"}, 400)
        return spoken("ollama", self.said, prompt=min(sent, self.window) - self.cached)


def tokens(body: dict[str, Any]) -> int:
    """As `FakeOllama` counts: one for four bytes of what is said."""
    return sum(len(entry["content"].encode()) for entry in body["messages"]) // 4
