"""A long search tells how far it is, and ends when its call is stopped."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.agent.benches import ABench
from yohaku.agent.toolkit import long_search
from yohaku.agent.toolkit.long_search import LongSearch


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_search, "TELL_SECONDS", 0.01)


def test_the_files_are_told_while_it_searches(tmp_path: Path) -> None:
    bench, told = ABench(tmp_path), threading.Event()
    bench.tell_searched = lambda files, total=0: (bench.searched.append(files), told.set())  # type: ignore[method-assign,assignment]

    def find(search: LongSearch) -> str:
        for number in search.count(range(1_000)):
            if number == 600:
                told.wait(10)
        return "found"

    async def run() -> Any:
        search = LongSearch()
        return await search.run(bench, lambda: find(search))

    assert asyncio.run(run()) == "found"
    assert bench.searched and bench.searched[0] == 601


def test_a_stopped_search_ends_its_thread(tmp_path: Path) -> None:
    ended = threading.Event()

    async def run() -> None:
        search = LongSearch()

        def find() -> None:
            while not search.stopped:
                pass
            ended.set()

        running = asyncio.ensure_future(search.run(ABench(tmp_path), find))
        await asyncio.sleep(0.02)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(run())
    assert ended.wait(10)


def test_what_fails_in_the_thread_fails_the_call(tmp_path: Path) -> None:
    def find() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        asyncio.run(LongSearch().run(ABench(tmp_path), find))
