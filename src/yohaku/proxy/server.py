"""The HTTP server before the proxy's application: limits on slow clients, and a stop that lets streams end.

Law: a connection without a whole request head is closed after HEAD_TIMEOUT, so that silent clients do not use up the
connections of others, and so is one whose client reads nothing of its reply for SEND_TIMEOUT. After the first signal to
stop nothing new is accepted, and what is being relayed goes on to its end; the second signal, or STOP_TIMEOUT, ends it.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_TIMEOUT = 30.0
"""Seconds from the opening of a connection, or the first byte of a further request, to the end of its head."""
KEEP_ALIVE = 75
"""Seconds that an idle connection is kept: longer than most clients keep theirs, so that it is they who close it."""
SEND_TIMEOUT = 300.0
"""Seconds in which a client has to read some of what is waiting for it."""
STOP_TIMEOUT = 600
MAX_FILES = 65_536
BACKLOG = 2048


class TimedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Closes connections on which no request comes, or whose client does not read."""

    _timer: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        waiting = self._timer
        super().data_received(data)
        if not self._is_idle():
            self._stop_timer()
        elif waiting is None:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_waiting()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        # Closing would wait until the client has read the rest.
        self._unread = self.loop.call_later(SEND_TIMEOUT, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_waiting()
        super().resume_writing()

    def _is_idle(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEAD_TIMEOUT, self._close_if_idle)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None

    def _stop_waiting(self) -> None:
        if self._unread:
            self._unread.cancel()
        self._unread = None

    def _close_if_idle(self) -> None:
        self._timer = None
        if self._is_idle() and not self.transport.is_closing():
            self.transport.close()


def open_listeners(host: str, port: int) -> list[socket.socket]:
    """Listen on every address of a host; raise OSError where that is impossible. Port 0: one that is free."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    found: list[socket.socket] = []
    for family, _, _, _, address in dict.fromkeys(addresses):
        try:
            place = address[0], found[0].getsockname()[1] if found else port
            found.append(socket.create_server(place, family=family, backlog=BACKLOG))
        except OSError as failed:
            if found and failed.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):  # a name of both, on IPv4 alone
                continue
            for listener in found:
                listener.close()
            raise
    return found


class ProxyServer(uvicorn.Server):
    """Ends at the second signal, whichever it is, and tells how many requests the first one waits for."""

    on_wait: Callable[[int], None] | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if (waiting := len(self.server_state.tasks)) and self.on_wait and not self.force_exit:
            self.on_wait(waiting)
        await super().shutdown(sockets)


def build_server(app: Any, host: str, port: int, on_wait: Callable[[int], None] | None = None) -> uvicorn.Server:
    """Return a server for an ASGI application; `run` it, or `serve` it on sockets of your own.

    `on_wait`: called with the number of requests in work when the first signal to stop comes.
    """
    for name in ("uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    _raise_file_limit()
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=TimedProtocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=STOP_TIMEOUT,
        backlog=BACKLOG,
    )
    server = ProxyServer(config)
    server.on_wait = on_wait
    return server


CANCELLED = ("asyncio.exceptions.CancelledError", "KeyboardInterrupt")
EXPECTED = (
    "ASGI callable returned without completing response",
    "Unsupported upgrade request",
    "No supported WebSocket",
)


def _is_news(record: logging.LogRecord) -> bool:
    """Drop what the proxy logs itself, broken streams and refused upgrades, and what the second signal ended."""
    if record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError):
        return False
    said = record.getMessage()
    return not said.startswith(EXPECTED) and not said.rstrip().endswith(CANCELLED)


def _raise_file_limit() -> None:
    """Allow as many open files as the system lets us: every stream takes two."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(MAX_FILES, hard)
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
