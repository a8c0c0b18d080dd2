"""Replies to a client: relayed as they come, or written here in the dialect that the client speaks."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse

from yohaku import dialects
from yohaku.client.address import host_of
from yohaku.client.errors import Unreachable
from yohaku.client.faults import classify
from yohaku.core.errors import DoesNotFit
from yohaku.proxy.believed_window import scale_stream, scale_whole
from yohaku.proxy.first_events import whole_stream
from yohaku.proxy.metrics import Metrics
from yohaku.proxy.routes import Route
from yohaku.proxy.upstream import reply_headers

log = logging.getLogger("yohaku.proxy")

Watch = Callable[[AsyncIterator[bytes], bool], AsyncIterator[bytes]]
"""Reads along in a reply, before it is changed; told whether it is a stream."""


def error_body(route: Route | None, message: str, status: int) -> Any:
    """Write an error of ours as a client of this path expects it."""
    if route is None:
        return {"error": {"message": message}}
    return dialects.dialect_named(route.dialect).error_body(message, status)


def refuse(route: Route, error: DoesNotFit) -> Response:
    verdict = error.verdict
    body = dialects.dialect_named(route.dialect).too_long_body(str(error), verdict.needs, verdict.limit)
    return JSONResponse(body, 400)


def unreachable(route: Route | None, failed: Exception, metrics: Metrics, target: str) -> Response:
    metrics.count_failure()
    message = f"yohaku: {Unreachable(classify(failed), 'the upstream', host_of(target), local=True)}"
    log.warning("%s (%s)", message, type(failed).__name__)
    return JSONResponse(error_body(route, message, 502), 502)


def relay_reply(
    metrics: Metrics,
    response: aiohttp.ClientResponse,
    stack: AsyncExitStack,
    held: bytes = b"",
    factor: float = 1.0,
    watch: Watch | None = None,
) -> Response:
    """Relay a reply; with `factor` its token counts are multiplied."""
    source = whole_stream(held, response)
    headers = reply_headers(response)
    whole = response.content_type == "application/json"
    if watch and response.status == 200:
        source = watch(source, not whole)
    if factor > 1:
        headers = [(name, value) for name, value in headers if name.lower() != "content-length"]
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
