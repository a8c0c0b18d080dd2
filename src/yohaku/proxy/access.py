"""Admit requests: an ASGI layer before everything else the proxy does.

Laws: on loopback no page in a browser gets an answer, neither by a name that it rebinds to our address nor by a request
from elsewhere. With a token nobody gets an answer without it, and it never reaches the upstream.
"""

from __future__ import annotations

import hmac
import logging
from urllib.parse import urlsplit

import aiohttp
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from yohaku import dialects
from yohaku.proxy.routes import find_route

log = logging.getLogger("yohaku.proxy")

TOKEN_HEADER = "x-yohaku-token"
TOKEN_PATH = "/token/"
"""Begins the path of clients that can be given an address and no header: `http://host:8787/token/TOKEN/v1/…`."""


class Access:
    def __init__(self, app: ASGIApp, hosts: frozenset[str] = frozenset(), token: str = "") -> None:
        """`hosts`: names by which the proxy may be addressed; empty for any. `token`: empty for none."""
        self.app, self.hosts, self.token = app, hosts, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "WebSockets are not served here"})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope, given = self._take_token(scope)
        if refusal := self._refuse(scope, given):
            await refusal(scope, receive, send)
            return
        try:
            await self.app(scope, receive, send)
        except (ClientDisconnect, aiohttp.ClientError) as broken:
            # The server closes the connection, so that the client does not take half a reply for a whole one.
            log.info("%s broke off: %s", scope["path"], type(broken).__name__)

    def _refuse(self, scope: Scope, given: str) -> Response | None:
        headers = Headers(scope=scope)
        if self.hosts and not self._is_local(headers):
            return _error(scope, 403, "requests from other sites are not served here")
        if self.token and not hmac.compare_digest(given.encode(), self.token.encode()):
            return _error(
                scope, 401, f"this proxy needs its token: in the header {TOKEN_HEADER}, or as /token/TOKEN/v1/…"
            )
        if headers.get("upgrade", "").lower() == "websocket":
            return _error(scope, 426, "WebSockets are not served here: use HTTP")
        return None

    def _is_local(self, headers: Headers) -> bool:
        hosts, origin = headers.getlist("host"), headers.get("origin")
        if len(hosts) > 1 or any(_host_of(f"http://{host}") not in self.hosts for host in hosts):
            return False
        if headers.get("sec-fetch-site") == "cross-site":
            return False
        return origin is None or _host_of(origin) in self.hosts

    def _take_token(self, scope: Scope) -> tuple[Scope, str]:
        """Return the request without the token, and the token; "" where there is none."""
        if not self.token:  # then such a path is the upstream's
            return scope, ""
        headers = MutableHeaders(scope={**scope, "headers": list(scope["headers"])})
        given = headers.get(TOKEN_HEADER, "")
        del headers[TOKEN_HEADER]
        scope = {**scope, "headers": headers.raw}
        if scope["path"].startswith(TOKEN_PATH):
            named, slash, rest = scope["path"].removeprefix(TOKEN_PATH).partition("/")
            raw = scope.get("raw_path") or scope["path"].encode()
            given = given or named
            scope |= {"path": slash + rest or "/", "raw_path": b"/" + raw.split(b"/", 3)[3] if slash else b"/"}
        return scope, given


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _error(scope: Scope, status: int, message: str) -> Response:
    route = find_route(scope["method"], scope["path"])
    body = (
        dialects.dialect_named(route.dialect).error_body(message, status) if route else {"error": {"message": message}}
    )
    return JSONResponse(body, status, {"Connection": "close"})
