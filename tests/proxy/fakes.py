"""A strict upstream, and a proxy in front of it, both real servers on loopback."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests import checkers
from tests.checkers import alternation
from yohaku import dialects, stores
from yohaku.config.settings import Settings
from yohaku.core.weigh import weigh
from yohaku.meters import for_model
from yohaku.proxy.app import Proxy
from yohaku.proxy.fitting import Fitter
from yohaku.proxy.model_routes import build_routes
from yohaku.proxy.server import build_server
from yohaku.proxy.upstream import Upstream
from yohaku.proxy.windows import UpstreamWindows

OF_PROXY = ("hosts", "token", "tenants", "recall_tool", "believed", "summaries", "held_state")
STREAM = (*(f'data: {{"n": {n}, "text": "余白"}}\n\n'.encode() for n in range(20)), b"data: [DONE]\n\n")


class StrictUpstream:
    """Refuses what is malformed or over its window, as the dialect's provider would; keeps what it was sent."""

    def __init__(self, dialect: str, window: int, model: str = "gpt-4o", *, alternates: bool = False) -> None:
        """`alternates`: refuses two messages of one role in a row, as some chat templates do."""
        self.dialect, self.window, self.model, self.alternates = dialect, window, model, alternates
        self.sent: list[tuple[str, dict[str, str], bytes]] = []
        self.refused = 0
        self.pieces: tuple[bytes, ...] = STREAM
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/" and request.method == "GET":
            return web.Response(status=404)  # a server that says nothing of itself
        raw = await request.read()
        self.sent.append((request.path_qs, dict(request.headers), raw))
        if request.method != "POST":
            return web.json_response({"path": request.path_qs}, headers={"X-Upstream": "yes"})
        body = json.loads(raw)
        dialect = dialects.dialect_named(self.dialect)
        assert checkers.DIALECTS[self.dialect].problems(body) == []
        tokens = weigh(dialect.read(body).history(), for_model(self.model, self.dialect)).total
        if tokens > self.window:
            self.refused += 1
            return web.json_response(dialect.too_long_body("too long", tokens, self.window), status=400)
        if self.alternates and alternation.problems(self.dialect, body):
            self.refused += 1
            words = "Conversation roles must alternate user/assistant/user/assistant/..."
            return web.json_response(dialect.error_body(words, 400), status=400)
        return await self.answer(request)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Upstream": "yes"})
        await response.prepare(request)
        for piece in self.pieces:
            await response.write(piece)
            await asyncio.sleep(0)
        return response


@asynccontextmanager
async def running(upstream: StrictUpstream, **options: Any) -> AsyncIterator[str]:
    """The URL of a proxy in front of `upstream`."""
    app = web.Application(client_max_size=2**28)
    app.router.add_route("*", "/{path:.*}", upstream.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    upstream.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    access = {name: options.pop(name) for name in OF_PROXY if name in options}
    way = Upstream(upstream.url, {})
    if folder := options.pop("remembers", None):
        access["windows"] = UpstreamWindows(way, folder, options.get("window"))
    tables = options.pop("routes", {})
    fitter = Fitter(options.pop("store", None) or stores.open("memory:"), Settings(), **options)
    routes = build_routes(tables, fitter, way, None)
    proxy = Proxy(fitter, way, routes=routes, **access)
    try:
        async with served(proxy) as url:
            yield url
    finally:
        await runner.cleanup()


@asynccontextmanager
async def served(proxy: Proxy) -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = build_server(proxy.app(), "127.0.0.1", 0)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


def conversation(steps: int, compose: Callable[..., Any] | None = None, dialect: str = "openai_chat") -> dict[str, Any]:
    """A long tool-using conversation as a body of the dialect."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": "Find the error. Never touch the database."},
    ]
    for number in range(steps):
        call = {"name": "bash", "arguments": json.dumps({"command": f"run {number}"})}
        calls = [{"id": f"call_{number}", "type": "function", "function": call}]
        result = f"part {number}: " + "all is well in this line of the log; " * 40
        messages += [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": result},
        ]
    chat = {"model": "gpt-4o", "messages": messages}
    if dialect == "openai_chat":
        return chat
    history = dialects.dialect_named("openai_chat").read(chat).history()
    return dialects.dialect_named(dialect).compose(history, "gpt-4o")
