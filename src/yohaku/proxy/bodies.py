"""Read the bodies of requests within bounds: bytes of one body, bytes of all together, seconds between two pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import ClientDisconnect, Request

MAX_BODY_BYTES = 64 << 20
MAX_HELD_BYTES = 512 << 20
"""Of all bodies that are being read or fitted."""
PIECE_TIMEOUT = 60.0
"""Seconds between two pieces of a body."""


class BodyRefused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status, self.message = status, message

    def __str__(self) -> str:
        return self.message


class Bodies:
    def __init__(
        self, max_bytes: int = MAX_BODY_BYTES, max_held: int = MAX_HELD_BYTES, timeout: float = PIECE_TIMEOUT
    ) -> None:
        self.max_bytes, self.max_held, self.timeout = max_bytes, max_held, timeout
        self.held = 0

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """Yield a body and count it as held until the caller is done; raise `BodyRefused`."""
        pieces: list[bytes] = []
        size = 0
        stream = request.stream()
        try:
            while (piece := await self._next(stream)) is not None:
                size, self.held = size + len(piece), self.held + len(piece)
                if size > self.max_bytes:
                    raise BodyRefused(413, f"the body is larger than {self.max_bytes:,} bytes")
                if self.held > self.max_held:
                    raise BodyRefused(503, "too many large requests at once: try again in a moment")
                pieces.append(piece)
            yield b"".join(pieces)
        finally:
            self.held -= size

    async def _next(self, stream: AsyncIterator[bytes]) -> bytes | None:
        try:
            async with asyncio.timeout(self.timeout):
                return await anext(stream, None)
        except TimeoutError:
            raise BodyRefused(408, f"nothing of the body came for {self.timeout:g} seconds") from None
        except ClientDisconnect:
            raise BodyRefused(400, "the client went away") from None
