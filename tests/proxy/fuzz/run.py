"""Run cases through proxies with different settings.

python3 -m tests.proxy.fuzz.run [N] [--first NUMBER] [--only NUMBER]
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from tests.proxy.fakes import served
from tests.proxy.fuzz.cases import Case, make_case
from tests.proxy.fuzz.judge import problems
from tests.proxy.fuzz.wire import Answered, Arrived, FuzzUpstream, send
from tests.proxy.processes import upstream_at
from yohaku import stores
from yohaku.config.settings import Settings
from yohaku.proxy.app import Proxy
from yohaku.proxy.fitting import Fitter
from yohaku.proxy.model_routes import build_routes
from yohaku.proxy.tenants import BY_CREDENTIAL, Tenants
from yohaku.proxy.upstream import Upstream
from yohaku.proxy.windows import UpstreamWindows

AT_ONCE = 16
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {"window": 8192},
    "small": {"window": 1500},
    "helpful": {"window": 3000, "squeeze": True, "recall_tool": True, "believed": 200_000},
    "tenants": {"window": 4096, "tenants": Tenants(BY_CREDENTIAL, "key")},
    "asking": {},
    "routes": {"routes": {"gpt-*": {"window": 2000, "model": "renamed"}, "/v1/messages": {"window": 1500}}},
}


class Errors(logging.Handler):
    """Collects what is logged as an error: exceptions nobody caught."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        told = "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else ""
        self.found.append(f"{record.name}: {record.getMessage()}\n{told}")


def build_proxy(url: str, options: dict[str, Any]) -> Proxy:
    options = dict(options)
    ours = {name: options.pop(name) for name in ("recall_tool", "believed", "tenants") if name in options}
    tables = options.pop("routes", {})
    upstream = Upstream(url, {})
    fitter = Fitter(stores.open("memory:"), Settings(), **options)
    routes = build_routes(tables, fitter, upstream, None)
    windows = UpstreamWindows(upstream, None, options.get("window"))
    return Proxy(fitter, upstream, windows=windows, routes=routes, **ours)


@asynccontextmanager
async def proxies(upstream: FuzzUpstream) -> AsyncIterator[dict[str, str]]:
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(upstream_at(upstream.handle))
        yield {
            name: await stack.enter_async_context(served(build_proxy(url, options)))
            for name, options in SETTINGS.items()
        }


async def run(numbers: Iterable[int]) -> tuple[list[str], Counter[str]]:
    """Run these cases; return what was wrong, and how often what happened."""
    wrong: list[str] = []
    seen: Counter[str] = Counter()
    upstream, errors, waiting = FuzzUpstream(), Errors(), iter(numbers)
    loggers = [logging.getLogger(name) for name in ("", "uvicorn.error")]
    for logger in loggers:
        logger.addHandler(errors)

    async def work(urls: dict[str, str]) -> None:
        for number in waiting:
            case = make_case(number, tuple(SETTINGS))
            upstream.cases[number] = case
            seen.update(await one(case, urls[case.proxy], upstream, wrong))
            wrong.extend(f"case {number} or one beside it: {error}" for error in errors.found)
            errors.found.clear()

    try:
        async with proxies(upstream) as urls:
            await asyncio.gather(*(work(urls) for _ in range(AT_ONCE)))
    finally:
        for logger in loggers:
            logger.removeHandler(errors)
    return wrong, seen


async def one(case: Case, url: str, upstream: FuzzUpstream, wrong: list[str]) -> list[str]:
    try:
        answered = await send(url, case)
    except TimeoutError:
        wrong.append(f"case {case.number}: no answer in time")
        return ["hangs"]
    arrived = upstream.arrived.pop(case.number, [])
    found = problems(case, SETTINGS[case.proxy], arrived, answered)
    wrong.extend(f"case {case.number} ({case.proxy}): {each}" for each in found)
    return list(what_happened(case, arrived, answered))


def what_happened(case: Case, arrived: list[Arrived], answered: Answered) -> Iterator[str]:
    yield f"status {answered.status}" if b"x-upstream" in answered.headers else f"status {answered.status} of ours"
    if case.broken:
        yield "broken on purpose"
    elif not arrived:
        yield "not sent on"
    else:
        sent = arrived[-1].body
        yield "unchanged" if sent == case.body else "folded" if b"ref=" in sent else "changed"
    if len(arrived) > 1:
        yield "more than one attempt"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    numbers = [given.only] if given.only is not None else range(given.first, given.first + given.count)
    begun, wrong, seen = time.monotonic(), [], Counter[str]()
    for at in range(0, len(numbers), 5000):
        found, what = asyncio.run(run(numbers[at : at + 5000]))
        wrong, seen = wrong + found, seen + what
        done = min(at + 5000, len(numbers))
        print(f"{done:,} cases, {len(wrong)} problems, {time.monotonic() - begun:.0f} s", flush=True)
        for each in found[:20]:
            print(f"  {each[:2000]}", flush=True)
    for what, count in sorted(seen.items()):
        print(f"{count:9,} {what}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
