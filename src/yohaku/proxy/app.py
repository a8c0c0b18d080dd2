"""The ASGI application: read a request, fit it, relay the reply as it comes.

An upstream that refuses a fitted request as too long, or because of its roles, is asked again with a smaller view or in
the form it wants; the client sees only the last answer. What cannot be rescued is answered in the client's own dialect.
"""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route as Path
from starlette.types import ASGIApp

from yohaku import dialects
from yohaku.analysis.secret_formats import hide_formats
from yohaku.core.errors import BadSetting, DoesNotFit
from yohaku.core.recipe import Question
from yohaku.dialects.answer import Answer
from yohaku.dialects.overflow import Overflow
from yohaku.proxy.access import Access
from yohaku.proxy.believed_window import scale_stream, scale_whole
from yohaku.proxy.bodies import Bodies, BodyRefused
from yohaku.proxy.compaction import asks_for_compaction, compact, compacts_by_itself, restore
from yohaku.proxy.context_edits import apply_edits, asks_for_edits, edits_by_itself
from yohaku.proxy.first_events import read_beginning, whole_stream
from yohaku.proxy.fitting import NOTHING_RECALLED, Fitted, Fitter
from yohaku.proxy.metrics import Metrics
from yohaku.proxy.model_list import PREFIX as PREFIX_OF_MODELS
from yohaku.proxy.model_list import take_off_prefix, translate_list, wants_list
from yohaku.proxy.model_routes import ModelRoute, find_model_route, rename_model
from yohaku.proxy.recall_tool import MAX_ROUNDS, Recalled, calls_us, hold_reply
from yohaku.proxy.routes import Route, find_route
from yohaku.proxy.sidecar import PREFIX, serve_own_path
from yohaku.proxy.summaries import Ask, Summaries, ask_upstream
from yohaku.proxy.tenants import Tenants
from yohaku.proxy.translation import Translation, send_translated, translate
from yohaku.proxy.upstream import Upstream, reply_headers
from yohaku.proxy.windows import UpstreamWindows
from yohaku.session.receipt import Receipt

log = logging.getLogger("yohaku.proxy")


def hide_secrets(record: logging.LogRecord) -> bool:
    """Replace keys and passwords in a log record, as a filter: error messages may quote requests."""
    record.msg, record.args = hide_formats(record.getMessage()), ()
    return True


log.addFilter(hide_secrets)

SHRINK = 0.8
"""Share of our window to use after a refusal that names no limit."""
MAX_ATTEMPTS = 5
"""Requests to the upstream for one of the client: there are three rules about roles, and windows."""
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
    ) -> None:
        """`hosts`: names by which the proxy may be addressed; empty for any. `token`: needed of every client.

        `recall_tool`: add tools by which the model opens what was folded, and answer them here. `believed`: the window
        that clients take for the model's; token counts are told in its scale. `routes`: settings for some models.
        `summaries`: chapters written by a model; without it all are made without one.
        """
        self.routes, self.summaries = routes, summaries
        self.recall_tool, self.believed = recall_tool, believed
        self.windows = windows or UpstreamWindows(None)
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
            return JSONResponse(_error_body(route, str(refused), refused.status), refused.status, headers)

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
        model = (route.model or dialects.dialect_named(route.dialect).model_of(raw)) if route else ""
        raw = take_off_prefix(raw, model)
        found = find_model_route(self.routes, request.url.path, model.removeprefix(PREFIX_OF_MODELS))
        if found is None:
            return self, raw
        ours = copy.copy(self)
        ours.fitter, ours.routes = found.fitter, ()
        ours.summaries = found.summaries or self.summaries
        ours.upstream, ours.windows = found.upstream or self.upstream, found.windows or self.windows
        return ours, rename_model(raw, found.model) if found.model else raw

    async def _serve(self, request: Request, raw: bytes) -> Response:
        if request.url.path.startswith(PREFIX):
            return await serve_own_path(self.fitter, request, raw, self.metrics)
        route = find_route(request.method, _as_written(request)[0])
        target = self.upstream.url_for(route.dialect if route else None, *_as_written(request))
        if target is None:
            missing = "there is no upstream for this path; start yohaku proxy with --upstream"
            return JSONResponse(_error_body(route, missing, 404), 404)
        ours = not compacts_by_itself(target) and asks_for_compaction(request.method, request.url.path, raw)
        if ours and (answered := await self._compact(request, raw)):
            self.metrics.count_request("openai_responses", "compacted")
            return answered
        if wants_list(request.method, request.url.path, request.headers):
            return await self._list_models(request, target)
        if route is None:
            self.metrics.count_request("none", "passed")
            return await self._relay(request, target, raw)
        raw = restore(raw)
        if asks_for_edits(raw) and not edits_by_itself(target):
            raw = await asyncio.to_thread(self._edit, route, raw)
        if route.counts:
            return await self._count(request, target, route, raw)
        return await self._generate(request, target, route, raw)

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
            return self._unreachable(Route("anthropic", False, None), failed)

    async def _count(self, request: Request, target: str, route: Route, raw: bytes) -> Response:
        tokens = await asyncio.to_thread(self.fitter.count, route.dialect, raw, route.model)
        if tokens is None:
            return await self._relay(request, target, raw)
        dialect = dialects.dialect_named(route.dialect)
        self.metrics.count_request(route.dialect, "counted")
        if self.believed:
            await self._find_window(request, route, raw)
            window = self.fitter.window_of(route.dialect, route.model or dialect.model_of(raw))
            tokens = round(tokens * self._factor(window))
        return JSONResponse(dialect.count_body(tokens))

    def _factor(self, window: int) -> float:
        """Return by how much token counts are multiplied for the client."""
        return max(1.0, self.believed / window) if self.believed and window else 1.0

    async def _generate(self, request: Request, target: str, route: Route, raw: bytes) -> Response:
        await self._find_window(request, route, raw)
        if self.summaries:
            await self._wait_for_summary(self.summaries, route, raw)
        try:
            fitted = await self._fit(route, raw)
        except DoesNotFit as error:
            self.metrics.count_request(route.dialect, "refused")
            return self._refuse(route, error)
        except BadSetting as error:
            log.warning("not fitted: %s", error)
            fitted = Fitted(raw, unread=str(error))
        if fitted.unread:
            log.info("%s left alone: %s", request.url.path, fitted.unread)
        elif fitted.receipt:
            _log_folding(request.url.path, fitted.receipt)
        self._measure(route, fitted)
        if self.summaries and fitted.session:
            ask = await self._asker(self.summaries, request, target, route, fitted)
            await self.summaries.begin(fitted.session, len(raw), ask)
        return await self._relay(request, target, fitted.body, route if fitted.receipt else None, raw, fitted)

    async def _wait_for_summary(self, summaries: Summaries, route: Route, raw: bytes) -> None:
        if not summaries.is_running():
            return
        session = await asyncio.to_thread(self.fitter.find_session, route.dialect, raw, route.model)
        if session:
            await summaries.wait_for(session, len(raw))

    async def _asker(self, summaries: Summaries, request: Request, target: str, route: Route, fitted: Fitted) -> Ask:
        """Return a function that asks the model of the summaries, for this request alone."""
        if summaries.spec.endpoint:
            return summaries.ask_configured
        client, headers, upstream = dialects.dialect_named(route.dialect), list(request.headers.items()), self.upstream
        model = summaries.spec.name or route.model or client.model_of(fitted.body)
        native = await self.windows.native_dialect(_bearer(request))
        url = upstream.url_at_root(native.path) if native else client.path_of_question(target)

        async def ask(question: Question) -> str:
            return await ask_upstream(upstream, native or client, url, headers, question, model, fitted.window)

        return ask

    def _measure(self, route: Route, fitted: Fitted) -> None:
        receipt = fitted.receipt
        if receipt is None:
            self.metrics.count_request(route.dialect, "left_alone")
            return
        folded = bool(receipt.outcome.folds or receipt.reused)
        self.metrics.count_request(route.dialect, "folded" if folded else "fits")
        self.metrics.count_tokens(receipt.unfolded, receipt.after)

    async def _compact(self, request: Request, raw: bytes) -> Response | None:
        """Answer a request for compaction ourselves; None where its body is not understood."""
        route = Route("openai_responses", False, None)
        await self._find_window(request, route, raw)
        try:
            return await asyncio.to_thread(compact, self.fitter, request.url.path, raw)
        except DoesNotFit as error:
            return self._refuse(route, error)

    async def _find_window(self, request: Request, route: Route, raw: bytes) -> None:
        """Ask the upstream for its window before the first request for a model is fitted."""
        model = route.model or dialects.dialect_named(route.dialect).model_of(raw)
        self.fitter.use_window(model, await self.windows.find(model, _bearer(request)))

    async def _relay(
        self,
        request: Request,
        target: str,
        body: bytes,
        route: Route | None = None,
        raw: bytes = b"",
        fitted: Fitted | None = None,
        attempt: int = 1,
    ) -> Response:
        """Relay a request; with `route` a refusal that we can help leads to another attempt."""
        stack = AsyncExitStack()
        try:
            headers = request.headers.items()
            factor = self._factor(fitted.window) if fitted else 1.0
            if route:  # the beginning of the reply is read here
                headers = [(name, value) for name, value in headers if name.lower() != "accept-encoding"]
            translation = await self._translate(request, route, body, fitted)
            sending: AbstractAsyncContextManager[Any] = (
                send_translated(self.upstream, translation, headers)
                if translation
                else self.upstream.send(request.method, target, headers, body or None)
            )
            response = await stack.enter_async_context(sending)
            if route and fitted and attempt < MAX_ATTEMPTS and response.status in (400, 413, 422, 500):
                data = await response.read()
                again = await self._adapt(route, raw, fitted, response.status, data.decode("utf-8", "replace"))
                await stack.aclose()
                if again is None:
                    return Response(data, response.status, dict(reply_headers(response)))
                return await self._relay(request, target, again.body, route, raw, again, attempt + 1)
            if route and fitted and response.status == 200 and "Content-Encoding" not in response.headers:
                begun = await read_beginning(dialects.dialect_named(route.dialect), response)
                if begun.overflow and attempt < MAX_ATTEMPTS:
                    smaller = await self._shrink(route, raw, fitted, begun.overflow, silent=begun.silent)
                    if smaller:
                        await stack.aclose()
                        return await self._relay(request, target, smaller.body, route, raw, smaller, attempt + 1)
                if fitted.offers_recall or fitted.recalled.entries:
                    reply = await hold_reply(dialects.dialect_named(route.dialect), response, begun.held)
                    if reply.answer and calls_us(reply.answer):
                        await stack.aclose()
                        again = await self._recall(route, raw, fitted, reply.answer)
                        return await self._relay(request, target, again.body, route, raw, again)
                    self.fitter.keep_recalled(fitted.recalled)
                    return _stream(self.metrics, response, stack, reply.data, factor)
                return _stream(self.metrics, response, stack, begun.held, factor)
        except (aiohttp.ClientError, TimeoutError, OSError) as failed:
            await stack.aclose()
            return self._unreachable(route, failed)
        return _stream(self.metrics, response, stack)

    async def _translate(
        self, request: Request, route: Route | None, body: bytes, fitted: Fitted | None
    ) -> Translation | None:
        """Write a fitted request in the one dialect of an upstream that has to be spoken to in it; None elsewhere."""
        if not (route and fitted and fitted.receipt):
            return None
        server = await self.windows.native_dialect(_bearer(request))
        if server is None or server.name == route.dialect:
            return None
        client = dialects.dialect_named(route.dialect)
        model = route.model or client.model_of(body)
        return await asyncio.to_thread(translate, client, server, body, model, fitted.window, fitted.receipt.after)

    async def _recall(self, route: Route, raw: bytes, fitted: Fitted, answer: Answer) -> Fitted:
        """Answer what the model asks of our tools, and fit the request with it."""
        self.metrics.count_attempt("recall")
        log.info("opened for the model: %s", ", ".join(call.arguments for call in answer.reply.calls))
        recalled = await asyncio.to_thread(
            self.fitter.recall, route.dialect, raw, route.model, answer.reply, fitted.recalled
        )
        return await self._fit(route, raw, recalled)

    async def _fit(
        self, route: Route, raw: bytes, recalled: Recalled = NOTHING_RECALLED, at_most: int | None = None
    ) -> Fitted:
        offer = self.recall_tool and recalled.rounds < MAX_ROUNDS
        return await asyncio.to_thread(
            self.fitter.fit, route.dialect, raw, route.model, offer=offer, recalled=recalled, at_most=at_most
        )

    async def _adapt(self, route: Route, raw: bytes, fitted: Fitted, status: int, text: str) -> Fitted | None:
        """Learn from a refusal, and fit again; None if it is about something else."""
        dialect = dialects.dialect_named(route.dialect)
        model = route.model or dialect.model_of(raw)
        overflow = dialect.read_overflow(status, text)
        if overflow and fitted.receipt:
            return await self._shrink(route, raw, fitted, overflow)
        if fitted.offers_recall and "tool" in text.lower() and model not in self.fitter.refuses_tools:
            log.warning("%s takes no tools: what was folded cannot be opened by it", model)
            self.fitter.refuses_tools.add(model)
            self.metrics.count_attempt("tools")
            return await self._fit_again(route, raw, fitted)
        meant = dialect.read_role_refusal(status, text)
        if not (meant and self.fitter.learn_roles(route.dialect, model, fitted, meant)):
            return None
        self.metrics.count_attempt("roles")
        log.warning("the upstream refused the roles of a request to %s; it gets a stricter form", model)
        return await self._fit_again(route, raw, fitted)

    async def _shrink(
        self, route: Route, raw: bytes, fitted: Fitted, overflow: Overflow, *, silent: bool = False
    ) -> Fitted | None:
        """Learn a smaller window, and fit again; None if that is impossible.

        `silent`: an empty reply, which may have another reason: a smaller window is tried for this request alone.
        """
        model = route.model or dialects.dialect_named(route.dialect).model_of(raw)
        used = fitted.receipt.limit if fitted.receipt else 0
        limit = overflow.limit or int(used * SHRINK)
        if not limit:
            return None
        if silent:
            log.warning("an empty reply of %s: asked again with at most %s tokens", model, limit)
            return await self._fit_again(route, raw, fitted, limit)
        self.fitter.learn_window(model, limit)
        if overflow.limit:  # a guess is not worth remembering
            self.windows.learn(model, limit)
        self.metrics.count_attempt("too_long")
        log.warning("the upstream refused %s as too long; its window is taken as %s tokens", model, limit)
        return await self._fit_again(route, raw, fitted)

    async def _fit_again(self, route: Route, raw: bytes, before: Fitted, at_most: int | None = None) -> Fitted | None:
        try:
            return await self._fit(route, raw, before.recalled, at_most)
        except DoesNotFit:
            return None

    def _refuse(self, route: Route, error: DoesNotFit) -> Response:
        verdict = error.verdict
        body = dialects.dialect_named(route.dialect).too_long_body(str(error), verdict.needs, verdict.limit)
        return JSONResponse(body, 400)

    def _unreachable(self, route: Route | None, failed: Exception) -> Response:
        self.metrics.count_failure()
        message = f"yohaku could not reach the upstream: {type(failed).__name__}"
        return JSONResponse(_error_body(route, message, 502), 502)


def _bearer(request: Request) -> str:
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    return key if kind.lower() == "bearer" else ""


def _as_written(request: Request) -> tuple[str, str]:
    """Return the path and query of a request with their escapes, which `request.url` rewrites."""
    return request.scope["raw_path"].decode("latin-1"), request.scope["query_string"].decode("latin-1")


def _error_body(route: Route | None, message: str, status: int) -> Any:
    """Write an error of ours as a client of this path expects it."""
    if route is None:
        return {"error": {"message": message}}
    return dialects.dialect_named(route.dialect).error_body(message, status)


def _decode(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _log_folding(path: str, receipt: Receipt) -> None:
    """Log what this request added: the folds of earlier ones are logged already."""
    if receipt.reused:
        log.info("%s folded earlier, used again: %s -> %s tokens", path, receipt.unfolded, receipt.before)
    if receipt.outcome.folds:
        log.info("%s folded: %s -> %s tokens", path, receipt.before, receipt.after)


def _stream(
    metrics: Metrics, response: aiohttp.ClientResponse, stack: AsyncExitStack, held: bytes = b"", factor: float = 1.0
) -> Response:
    """Relay a reply; with `factor` its token counts are multiplied."""
    source = whole_stream(held, response)
    headers = reply_headers(response)
    if factor > 1:
        headers = [(name, value) for name, value in headers if name.lower() != "content-length"]
        whole = response.content_type == "application/json"
        source = scale_whole(source, factor) if whole else scale_stream(source, factor)

    async def pieces() -> AsyncIterator[bytes]:
        metrics.streams += 1
        try:
            async with stack:
                async for piece in source:
                    yield piece
        except (aiohttp.ClientError, ClientDisconnect) as broken:
            log.warning("a stream broke off: %s", type(broken).__name__)
            raise
        finally:
            metrics.streams -= 1

    relayed = StreamingResponse(pieces(), response.status)
    relayed.raw_headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    return relayed
