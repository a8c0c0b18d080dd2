"""Streams at once with faults behind them, and memory over many requests; `dev.py load` is the long run."""

from __future__ import annotations

import asyncio

import pytest

from tests.proxy.load import FAULTS, soak, streams

MAX_GROWTH = 150
"""Megabytes in a short run, in which readings of conversations are still being collected."""


@pytest.mark.slow
def test_no_stream_is_crossed_with_another_or_harmed_by_faults_beside_it() -> None:
    wrong, proxy = asyncio.run(streams(8 * len(FAULTS)))
    assert wrong == [] and proxy.process.returncode is not None


@pytest.mark.slow
def test_many_requests_come_back_right_in_bounded_memory() -> None:
    wrong, memory = asyncio.run(soak(400))
    assert wrong == [] and memory[-1] < memory[0] + MAX_GROWTH
