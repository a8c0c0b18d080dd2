"""Relay requests to the upstream and its replies back, as bytes.

Law: headers and bodies pass unchanged but for hop-by-hop headers, the host, and the length of a body that was folded.
Credentials are forwarded and never stored or logged; none is added from ~/.netrc. HTTPS_PROXY, HTTP_PROXY and NO_PROXY
are honoured, and SSL_CERT_FILE and SSL_CERT_DIR by the TLS library.
"""

from __future__ import annotations

import asyncio
import io
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from urllib.parse import urlsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from yohaku.client.address import proxy_for

HOP_BY_HOP = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade".split()
)
NOT_SENT = HOP_BY_HOP | {"host", "content-length", "expect"}
"""`Expect` is answered by our server, which has read the body before it is sent on."""
MAX_DEAD_CONNECTIONS = 16
"""Reused connections that are tried for one request: an upstream that was restarted leaves many dead."""
CONNECT_TIMEOUT = 15.0
"""Seconds. There is no limit on the whole reply: a model may think for minutes."""
NOT_READY = (502, 503, 504)
"""Statuses of a server that is loading, and of a gateway or forward proxy before one that is not there."""
MAX_FACTS_BYTES = 64_000_000
"""Of an answer to a question beside the conversation."""


class Upstream:
    def __init__(self, url: str | None, by_dialect: Mapping[str, str]) -> None:
        """`url` serves every path; without it each dialect goes to its own provider."""
        self.url, self.by_dialect = url, by_dialect
        self._client: aiohttp.ClientSession | None = None
        self._tls: ssl.SSLContext | None = None

    def url_for(self, dialect: str | None, path: str, query: str) -> str | None:
        base = self.url or self.by_dialect.get(dialect or "")
        if base is None:
            return None
        parts = urlsplit(base)
        prefix = parts.path.rstrip("/")
        head, _, last = prefix.rpartition("/")
        if last and path.startswith(f"/{last}/"):  # a base that ends in /v1, and a path that begins with it
            prefix = head
        target = f"{parts.scheme}://{parts.netloc}{prefix}{path}"
        return f"{target}?{query}" if query else target

    def url_at_root(self, path: str) -> str:
        """Return the address of a path of the one upstream that stands beside its `/v1`."""
        return (self.url or "").rstrip("/").removesuffix("/v1") + path

    @asynccontextmanager
    async def send(
        self, method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send once. Where a reused connection turns out dead before any byte came, it is sent on another.

        A new connection that breaks is not tried again: the upstream may be at work on the request.
        """
        forwarded = CIMultiDict((name, _text(value)) for name, value in headers if name.lower() not in NOT_SENT)
        client = self._open()
        for left in reversed(range(MAX_DEAD_CONNECTIONS)):
            used = SimpleNamespace(again=False)
            try:
                response = await client.request(
                    method,
                    URL(url, encoded=True),
                    headers=forwarded,
                    data=io.BytesIO(body) if body else None,
                    allow_redirects=False,
                    skip_auto_headers=SKIPPED,
                    proxy=proxy_for(url),
                    ssl=self._trust() if url.startswith("https:") else True,
                    trace_request_ctx=used,
                )
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                if not (used.again and left):
                    raise
                continue
            break
        try:
            yield response
        finally:
            response.close()

    async def ask(
        self, path: str, headers: Iterable[tuple[str, str]], body: bytes | None, timeout: float
    ) -> bytes | None:
        """Ask the one upstream for facts about itself; empty where it tells none, None where it is not there yet.

        Law: this takes the way of the conversations. It raises TimeoutError, and nothing else.
        """
        try:
            async with asyncio.timeout(timeout):
                method, named = ("GET", []) if body is None else ("POST", [("Content-Type", "application/json")])
                url, accepted = self.url_at_root(path), [("Accept", "application/json"), *named]
                async with self.send(method, url, [*headers, *accepted], body) as response:
                    if response.status != 200:
                        return None if response.status in NOT_READY else b""
                    return await _read_at_most(response, MAX_FACTS_BYTES)
        except TimeoutError:
            raise
        except (aiohttp.ClientError, OSError, ValueError):
            return None

    def _open(self) -> aiohttp.ClientSession:
        if self._client is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT)
            connector = aiohttp.TCPConnector(limit=0)
            trace = aiohttp.TraceConfig()
            trace.on_connection_reuseconn.append(_note_reuse)
            self._client = aiohttp.ClientSession(
                timeout=timeout, connector=connector, auto_decompress=False, trace_configs=[trace]
            )
        return self._client

    def _trust(self) -> ssl.SSLContext:
        """Return the certificates that are trusted, read when a server first has to show its own."""
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    async def close(self) -> None:
        if self._client:
            await self._client.close()


async def _read_at_most(response: aiohttp.ClientResponse, limit: int) -> bytes:
    received = bytearray()
    async for piece in response.content.iter_any():
        received += piece
        if len(received) > limit:
            return b""
    return bytes(received)


async def _note_reuse(session: aiohttp.ClientSession, context: SimpleNamespace, params: object) -> None:
    context.trace_request_ctx.again = True


SKIPPED = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""Headers that the HTTP client would add where the caller sent none."""


def _text(value: str) -> str:
    """Return a header that our server read as Latin-1 so that the client of the upstream writes the same bytes.

    It writes UTF-8 only: what is not is sent as the same characters in that.
    """
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError:
        return value


def reply_headers(response: aiohttp.ClientResponse) -> list[tuple[str, str]]:
    """Return the headers for the client, as text in Latin-1, which is how servers write them."""
    return [
        (name, value.encode("utf-8", "surrogateescape").decode("latin-1"))
        for name, value in response.headers.items()
        if name.lower() not in HOP_BY_HOP | {"date", "server"}
    ]
