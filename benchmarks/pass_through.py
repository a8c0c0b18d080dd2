"""The least that a proxy on our stack can be. `pass_through.py URL PORT`"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

UPSTREAM, PORT = sys.argv[1], int(sys.argv[2])
clients: list[aiohttp.ClientSession] = []


async def relay(request: Request) -> StreamingResponse:
    body = await request.body()
    response = await clients[0].post(
        UPSTREAM + request.url.path, data=body, headers={"Content-Type": "application/json"}
    )
    return StreamingResponse(response.content.iter_any(), response.status)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    async with aiohttp.ClientSession() as client:
        clients.append(client)
        yield


app = Starlette(routes=[Route("/{path:path}", relay, methods=["POST"])], lifespan=lifespan)
uvicorn.run(app, port=PORT, log_level="error", access_log=False)
