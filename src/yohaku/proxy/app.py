"""The ASGI application: read a request, fit it, relay the reply as it comes.

An upstream that refuses a fitted request as too long, or because of its roles, is asked again with a smaller view or in
the form it wants; the client sees only the last answer. What cannot be rescued is answered in the client's own dialect.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route as Path

from yohaku import dialects
from yohaku.analysis.secret_formats import hide_formats
from yohaku.core.errors import BadSetting, DoesNotFit
from yohaku.proxy.fitting import Fitted, Fitter
from yohaku.proxy.routes import Route, find_route
from yohaku.proxy.upstream import Upstream, reply_headers
from yohaku.session.receipt import Receipt

log = logging.getLogger("yohaku.proxy")


def hide_secrets(record: logging.LogRecord) -> bool:
    """Replace keys and passwords in a log record, as a filter: error messages may quote requests."""
    record.msg, record.args = hide_formats(record.getMessage()), ()
    return True


log.addFilter(hide_secrets)

MAX_BODY_BYTES = 64 << 20
SHRINK = 0.8
"""Share of our window to use after a refusal that names no limit."""
MAX_ATTEMPTS = 5
"""Requests to the upstream for one of the client: there are three rules about roles, and windows."""
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class Proxy:
    def __init__(self, fitter: Fitter, upstream: Upstream, *, hosts: frozenset[str] = frozenset()) -> None:
        """`hosts`: names by which the proxy may be addressed; empty for any."""
        self.fitter, self.upstream, self.hosts = fitter, upstream, hosts

    def app(self) -> Starlette:
        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            yield
            await self.upstream.close()

        return Starlette(routes=[Path("/{path:path}", self.handle, methods=METHODS)], lifespan=lifespan)

    async def handle(self, request: Request) -> Response:
        if self.hosts and not self._is_local(request):
            return JSONResponse({"error": "requests from other sites are not served here"}, 403)
        raw = await self._read(request)
        if raw is None:
            return JSONResponse({"error": f"the body is larger than {MAX_BODY_BYTES:,} bytes"}, 413)
        route = find_route(request.method, request.url.path)
        target = self.upstream.url_for(route.dialect if route else None, request.url.path, request.url.query)
        if target is None:
            return JSONResponse(
                {"error": "there is no upstream for this path; start yohaku proxy with --upstream"}, 404
            )
        if route is None:
            return await self._relay(request, target, raw)
        if route.counts:
            return await self._count(request, target, route, raw)
        return await self._generate(request, target, route, raw)

    def _is_local(self, request: Request) -> bool:
        """Reject pages in a browser: those that rebind a name to our address, and those that post from elsewhere."""
        origin = request.headers.get("origin")
        return request.url.hostname in self.hosts and (origin is None or urlsplit(origin).hostname in self.hosts)

    async def _read(self, request: Request) -> bytes | None:
        pieces: list[bytes] = []
        size = 0
        async for piece in request.stream():
            size += len(piece)
            if size > MAX_BODY_BYTES:
                return None
            pieces.append(piece)
        return b"".join(pieces)

    async def _count(self, request: Request, target: str, route: Route, raw: bytes) -> Response:
        tokens = await asyncio.to_thread(self.fitter.count, route.dialect, raw, route.model)
        if tokens is None:
            return await self._relay(request, target, raw)
        return JSONResponse(dialects.dialect_named(route.dialect).count_body(tokens))

    async def _generate(self, request: Request, target: str, route: Route, raw: bytes) -> Response:
        try:
            fitted = await asyncio.to_thread(self.fitter.fit, route.dialect, raw, route.model)
        except DoesNotFit as error:
            return self._refuse(route, error)
        except BadSetting as error:
            log.warning("not fitted: %s", error)
            fitted = Fitted(raw, unread=str(error))
        if fitted.unread:
            log.info("%s left alone: %s", request.url.path, fitted.unread)
        elif fitted.receipt:
            _log_folding(request.url.path, fitted.receipt)
        return await self._relay(request, target, fitted.body, route if fitted.receipt else None, raw, fitted)

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
            response = await stack.enter_async_context(
                self.upstream.send(request.method, target, request.headers.items(), body or None)
            )
            if route and fitted and attempt < MAX_ATTEMPTS and response.status in (400, 413, 422, 500):
                data = await response.read()
                again = await self._adapt(route, raw, fitted, response.status, data.decode("utf-8", "replace"))
                await stack.aclose()
                if again is None:
                    return Response(data, response.status, dict(reply_headers(response)))
                return await self._relay(request, target, again.body, route, raw, again, attempt + 1)
        except (aiohttp.ClientError, TimeoutError, OSError) as failed:
            await stack.aclose()
            return self._unreachable(route, failed)
        return _stream(response, stack)

    async def _adapt(self, route: Route, raw: bytes, fitted: Fitted, status: int, text: str) -> Fitted | None:
        """Learn from a refusal, and fit again; None if it is about something else."""
        dialect = dialects.dialect_named(route.dialect)
        model = route.model or dialect.model_of(raw)
        overflow = dialect.read_overflow(status, text)
        if overflow and fitted.receipt:
            limit = overflow.limit or int(fitted.receipt.limit * SHRINK)
            self.fitter.learn_window(model, limit)
            log.warning("the upstream refused %s as too long; its window is taken as %s tokens", model, limit)
        else:
            meant = dialect.read_role_refusal(status, text)
            if not (meant and self.fitter.learn_roles(route.dialect, model, fitted, meant)):
                return None
            log.warning("the upstream refused the roles of a request to %s; it gets a stricter form", model)
        try:
            return await asyncio.to_thread(self.fitter.fit, route.dialect, raw, route.model)
        except DoesNotFit:
            return None

    def _refuse(self, route: Route, error: DoesNotFit) -> Response:
        verdict = error.verdict
        body = dialects.dialect_named(route.dialect).too_long_body(str(error), verdict.needs, verdict.limit)
        return JSONResponse(body, 400)

    def _unreachable(self, route: Route | None, failed: Exception) -> Response:
        message = f"yohaku could not reach the upstream: {type(failed).__name__}"
        if route is None:
            return JSONResponse({"error": {"message": message}}, 502)
        return JSONResponse(dialects.dialect_named(route.dialect).error_body(message, 502), 502)


def _log_folding(path: str, receipt: Receipt) -> None:
    """Log what this request added: the folds of earlier ones are logged already."""
    if receipt.reused:
        log.info("%s folded earlier, used again: %s -> %s tokens", path, receipt.unfolded, receipt.before)
    if receipt.outcome.folds:
        log.info("%s folded: %s -> %s tokens", path, receipt.before, receipt.after)


def _stream(response: aiohttp.ClientResponse, stack: AsyncExitStack) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        async with stack:
            try:
                async for piece in response.content.iter_any():
                    yield piece
            except (aiohttp.ClientError, ClientDisconnect) as broken:
                log.warning("a stream broke off: %s", type(broken).__name__)
                raise

    relayed = StreamingResponse(pieces(), response.status)
    relayed.raw_headers = [(name.lower().encode(), value.encode()) for name, value in reply_headers(response)]
    return relayed
