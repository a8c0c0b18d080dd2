"""The ASGI application: read a request, find out what it asks for and whose settings it has, and have it done."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import aiohttp
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Path
from starlette.types import ASGIApp

from yohaku import dialects
from yohaku.analysis.secret_formats import hide_formats
from yohaku.core.errors import DoesNotFit
from yohaku.proxy.access import Access
from yohaku.proxy.bodies import Bodies, BodyRefused
from yohaku.proxy.compaction import asks_for_compaction, compact, compacts_by_itself, restore
from yohaku.proxy.context_edits import apply_edits, asks_for_edits, edits_by_itself
from yohaku.proxy.exchange import Exchange, Setup, asker, find_window, relay_untouched
from yohaku.proxy.fitting import Fitter
from yohaku.proxy.held_state import HeldState
from yohaku.proxy.metrics import Metrics
from yohaku.proxy.model_list import PREFIX as PREFIX_OF_MODELS
from yohaku.proxy.model_list import take_off_prefix, translate_list, wants_list
from yohaku.proxy.model_routes import ModelRoute, find_model_route, rename_model
from yohaku.proxy.replies import error_body, refuse, unreachable
from yohaku.proxy.routes import Route, find_route
from yohaku.proxy.sidecar import FIT_PATH, PREFIX, model_in, serve_own_path, welcome
from yohaku.proxy.summaries import Summaries
from yohaku.proxy.tenants import Tenants
from yohaku.proxy.upstream import Upstream, reply_headers
from yohaku.proxy.windows import UpstreamWindows

log = logging.getLogger("yohaku.proxy")


def hide_secrets(record: logging.LogRecord) -> bool:
    """Replace keys and passwords in a log record, as a filter: error messages may quote requests."""
    record.msg, record.args = hide_formats(record.getMessage()), ()
    return True


log.addFilter(hide_secrets)

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class Proxy:
    def __init__(
        self,
        fitter: Fitter,
        upstream: Upstream,
        *,
        hosts: frozenset[str] = frozenset(),
        token: str = "",
        tenants: Tenants | None = None,
        windows: UpstreamWindows | None = None,
        recall_tool: bool = False,
        believed: int = 0,
        routes: tuple[ModelRoute, ...] = (),
        summaries: Summaries | None = None,
        held_state: HeldState | None = None,
    ) -> None:
        """`hosts`: names by which the proxy may be addressed; empty for any. `token`: needed of every client.

        `recall_tool`: add tools by which the model opens what was folded, and answer them here. `believed`: the window
        that clients take for the model's; token counts are told in its scale. `routes`: settings for some models.
        `summaries`: chapters written by a model; without it all are made without one.
        `held_state`: turns that clients leave to their provider; without it they are left there.
        """
        self.routes, self.summaries, self.held_state = routes, summaries, held_state
        self.recall_tool, self.believed = recall_tool, believed
        self.windows = windows or UpstreamWindows(Upstream(None, {}))
        self.fitter, self.upstream, self.hosts, self.token = fitter, upstream, hosts, token
        self.tenants, self.bodies = tenants or Tenants(), Bodies()
        self.metrics = Metrics()
        self.metrics.gauges |= {
            "yohaku_held_bytes": lambda: self.bodies.held,
            "yohaku_conversations": lambda: fitter.conversations,
        }

    def app(self) -> ASGIApp:
        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            yield
            for upstream in (self.upstream, *(route.upstream for route in self.routes)):
                if upstream:
                    await upstream.close()
            for summaries in {self.summaries, *(route.summaries for route in self.routes)}:
                if summaries:
                    await summaries.close()

        app = Starlette(routes=[Path("/{path:path}", self.handle, methods=METHODS)], lifespan=lifespan)
        return Access(app, self.hosts, self.token)

    async def handle(self, request: Request) -> Response:
        tenant = self.tenants.find(request.headers.items(), request.query_params.multi_items())
        try:
            async with self.bodies.read(request) as raw:
                ours, raw = self._for_tenant(tenant)._for_model(request, raw)
                return await ours._serve(request, raw)
        except BodyRefused as refused:
            headers = {"Connection": "close", "Retry-After": "1"}
            route = find_route(request.method, _as_written(request)[0])
            return JSONResponse(error_body(route, str(refused), refused.status), refused.status, headers)

    def _for_tenant(self, tenant: str) -> Proxy:
        """Return this proxy with the tenant's part of the store."""
        ours = copy.copy(self)
        ours.fitter = self.fitter.of(tenant)
        ours.routes = tuple(route.of(tenant) for route in self.routes)
        return ours

    def _for_model(self, request: Request, raw: bytes) -> tuple[Proxy, bytes]:
        """Return this proxy with the settings for the model of a request, and the body with the name it is sent by."""
        route = find_route(request.method, _as_written(request)[0])
        if PREFIX_OF_MODELS.encode() not in raw and not self.routes:
            return self, raw
        if request.url.path == FIT_PATH:
            model = request.query_params.get("model") or model_in(raw)
        else:
            model = (route.model or dialects.dialect_named(route.dialect).model_of(raw)) if route else ""
        raw = take_off_prefix(raw, model)
        found = find_model_route(self.routes, request.url.path, model.removeprefix(PREFIX_OF_MODELS))
        if found is None:
            return self, raw
        ours = copy.copy(self)
        ours.fitter, ours.routes = found.fitter, ()
        ours.summaries = found.summaries or self.summaries
        ours.upstream, ours.windows = found.upstream or self.upstream, found.windows or self.windows
        renamed = found.model and request.url.path != FIT_PATH  # whoever sends it himself names it himself
        return ours, rename_model(raw, found.model) if renamed else raw

    async def _serve(self, request: Request, raw: bytes) -> Response:
        if request.url.path.startswith(PREFIX):
            return await serve_own_path(self.fitter, request, raw, self.metrics)
        route = find_route(request.method, _as_written(request)[0])
        target = self.upstream.url_for(route.dialect if route else None, *_as_written(request))
        if target is None:
            if request.method == "GET" and request.url.path == "/":
                return welcome()
            missing = "there is no upstream for this path; start yohaku proxy with --upstream"
            return JSONResponse(error_body(route, missing, 404), 404)
        ours = not compacts_by_itself(target) and asks_for_compaction(request.method, request.url.path, raw)
        if ours and (answered := await self._compact(request, target, raw)):
            self.metrics.count_request("openai_responses", "compacted")
            return answered
        if wants_list(request.method, request.url.path, request.headers):
            return await self._list_models(request, target)
        if route is None:
            self.metrics.count_request("none", "passed")
            return await relay_untouched(self._setup, request, target, raw)
        raw = restore(raw)
        if asks_for_edits(raw) and not edits_by_itself(target):
            raw = await asyncio.to_thread(self._edit, route, raw)
        if route.counts:
            return await self._count(request, target, route, raw)
        return await Exchange(self._setup, request, target, route, raw).run()

    def _edit(self, route: Route, raw: bytes) -> bytes:
        """Make the edits that a body asks its provider for."""
        tokens = self.fitter.count(route.dialect, raw, route.model)
        if tokens is None:
            return raw
        return apply_edits(dialects.dialect_named(route.dialect), raw, tokens, self.fitter.store)

    async def _list_models(self, request: Request, target: str) -> Response:
        """Relay a list of models in the form that clients of Anthropic's API take."""
        plain = [(name, value) for name, value in request.headers.items() if name.lower() != "accept-encoding"]
        try:
            async with self.upstream.send("GET", target, plain, None) as response:
                data = await response.read()
                translated = translate_list(_decode(data)) if response.status == 200 else None
                if translated is None:
                    return Response(data, response.status, dict(reply_headers(response)))
                return JSONResponse(translated)
        except (aiohttp.ClientError, TimeoutError, OSError) as failed:
            return unreachable(Route("anthropic", False, None), failed, self.metrics, target)

    async def _count(self, request: Request, target: str, route: Route, raw: bytes) -> Response:
        tokens = await asyncio.to_thread(self.fitter.count, route.dialect, raw, route.model)
        if tokens is None:
            return await relay_untouched(self._setup, request, target, raw)
        dialect = dialects.dialect_named(route.dialect)
        self.metrics.count_request(route.dialect, "counted")
        if self.believed:
            await find_window(self._setup, request, route, raw)
            window = self.fitter.window_of(route.dialect, route.model or dialect.model_of(raw))
            tokens = round(tokens * self._setup.factor(window))
        return JSONResponse(dialect.count_body(tokens))

    async def _compact(self, request: Request, target: str, raw: bytes) -> Response | None:
        """Answer a request for compaction ourselves; None where its body is not understood."""
        route = Route("openai_responses", False, None)
        dialect = dialects.dialect_named(route.dialect)
        await find_window(self._setup, request, route, raw)
        try:
            if self.summaries is None:
                return await asyncio.to_thread(compact, self.fitter, request.url.path, raw)
            model = dialect.model_of(raw)
            window = self.fitter.window_of(route.dialect, model)
            ask = await asker(self._setup, request, target, dialect, model, window)
            return await self.summaries.work(partial(compact, self.fitter, request.url.path, raw), ask)
        except DoesNotFit as error:
            return refuse(route, error)

    @property
    def _setup(self) -> Setup:
        about = self.recall_tool, self.believed, self.summaries, self.held_state
        return Setup(self.fitter, self.upstream, self.windows, self.metrics, *about)


def _as_written(request: Request) -> tuple[str, str]:
    """Return the path and query of a request with their escapes, which `request.url` rewrites."""
    return request.scope["raw_path"].decode("latin-1"), request.scope["query_string"].decode("latin-1")


def _decode(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
