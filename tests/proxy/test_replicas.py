"""Two proxy processes on one Redis or PostgreSQL, and two tenants of one store."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.proxy.fakes import STREAM, StrictUpstream, conversation
from tests.proxy.processes import ProxyProcess, proxy_process, upstream_at
from tests.proxy.test_app import PATHS, post
from tests.stores import servers

SERVERS = {"redis": servers.redis, "postgresql": servers.postgres}
KEYS = {name: {"Authorization": f"Bearer key-of-{name}"} for name in ("ann", "ben")}


@asynccontextmanager
async def replicas(
    server: Callable[[], AbstractContextManager[str]], upstream: StrictUpstream, *options: str, **environment: str
) -> AsyncIterator[tuple[ProxyProcess, ProxyProcess]]:
    with ExitStack() as stack:
        store = stack.enter_context(server())
        async with upstream_at(upstream.handle) as url:
            started = [
                await asyncio.to_thread(
                    stack.enter_context,
                    proxy_process(url, "--window", "8192", "--store", store, *options, **environment),
                )
                for _ in range(2)
            ]
            yield started[0], started[1]
            await asyncio.to_thread(stack.close)


async def view(
    proxy: ProxyProcess, upstream: StrictUpstream, body: dict[str, Any], dialect: str, **headers: str
) -> bytes:
    """Send a body through a proxy, and return what reached the upstream."""
    status, data, _ = await post(proxy.url + PATHS[dialect], body, **headers)
    assert (status, data) == (200, b"".join(STREAM)), data
    return upstream.sent[-1][2]


def refs_in(sent: bytes) -> list[str]:
    return sorted(set(re.findall(r"ref=([0-9a-z]+)", sent.decode())))


@pytest.mark.parametrize(("server", "dialect"), [("redis", "openai_chat"), ("postgresql", "anthropic")])
def test_two_proxies_on_one_store_give_the_same_views_and_one_goes_on_alone(server: str, dialect: str) -> None:
    async def run() -> None:
        upstream = StrictUpstream(dialect, 8192)
        chance = random.Random(7)
        async with replicas(SERVERS[server], upstream) as proxies:
            folded = 0
            for steps in range(8, 60, 6):
                body = conversation(steps, dialect=dialect)
                if chance.random() < 0.4:  # one of them never sees this request
                    await view(chance.choice(proxies), upstream, body, dialect)
                    continue
                first, second = chance.sample(proxies, 2)
                one = await view(first, upstream, body, dialect)
                assert one == await view(second, upstream, body, dialect)
                folded += b"ref=" in one
            assert folded > 2
            last = await view(proxies[0], upstream, conversation(60, dialect=dialect), dialect)
            proxies[0].kill()
            assert await view(proxies[1], upstream, conversation(60, dialect=dialect), dialect) == last
            assert refs_in(last)
            for ref in refs_in(last):
                status, original = await get(f"{proxies[1].url}/yohaku/recall/{ref}")
                assert status == 200 and original
            await view(proxies[1], upstream, conversation(64, dialect=dialect), dialect)
        assert upstream.refused == 0

    asyncio.run(run())


@pytest.mark.parametrize("server", SERVERS)
def test_what_one_tenant_folds_opens_to_no_other_on_either_proxy(server: str) -> None:
    async def run() -> None:
        upstream = StrictUpstream("openai_chat", 8192)
        shared, environment = ("--tenant", "credential"), {"YOHAKU_TENANT_KEY": "the same in both"}
        async with replicas(SERVERS[server], upstream, *shared, **environment) as proxies:
            body = conversation(40)
            sent = {
                name: await view(proxies[number], upstream, body, "openai_chat", **KEYS[name])
                for number, name in enumerate(KEYS)
            }
            refs = refs_in(sent["ann"])
            secret = conversation(40)
            secret["messages"][5]["content"] += "the word of ann is quince " * 30
            refs += refs_in(await view(proxies[0], upstream, secret, "openai_chat", **KEYS["ann"]))
            only_ann = set(refs) - set(refs_in(sent["ben"]))
            assert only_ann
            for ref in only_ann:
                for proxy in proxies:
                    assert (await get(f"{proxy.url}/yohaku/recall/{ref}", **KEYS["ann"]))[0] == 200
                    for other in (KEYS["ben"], {}, {"x-api-key": "key-of-ann"}):
                        status, data = await get(f"{proxy.url}/yohaku/recall/{ref}", **other)
                        assert status == 404 and b"quince" not in data
            log = proxies[0].log + proxies[1].log
            assert "key-of-" not in log and "quince" not in log

    asyncio.run(run())


async def get(url: str, **headers: str) -> tuple[int, bytes]:
    async with aiohttp.ClientSession() as client, client.get(url, headers=headers) as response:
        return response.status, await response.read()
