"""Damaged requests and replies through the real proxy; `dev.py fuzz` is the long run."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dialects.wire import near_misses
from tests.proxy.fakes import conversation
from tests.proxy.fuzz.cases import make_case
from tests.proxy.fuzz.run import SETTINGS, run
from tests.proxy.test_app import PATHS
from yohaku import stores
from yohaku.config.settings import Settings
from yohaku.core.errors import DoesNotFit
from yohaku.proxy.fitting import Fitter

COUNT = int(os.environ.get("YOHAKU_FUZZ", "400"))


@pytest.mark.slow
def test_damaged_requests_and_replies_are_answered_and_what_cannot_be_read_is_untouched() -> None:
    wrong, seen = asyncio.run(run(range(COUNT)))
    assert wrong == []
    assert {"folded", "unchanged", "not sent on", "broken on purpose", "more than one attempt"} <= seen.keys()


def test_a_number_always_makes_the_same_case() -> None:
    assert [make_case(n, tuple(SETTINGS)) for n in range(30)] == [make_case(n, tuple(SETTINGS)) for n in range(30)]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", PATHS)
def test_a_body_that_is_nearly_right_is_fitted_refused_or_left_alone(dialect: str) -> None:
    @settings(max_examples=100)
    @given(body=near_misses(conversation(6, dialect=dialect)), helped=st.booleans())
    def check(body: Any, helped: bool) -> None:
        raw = json.dumps(body).encode()
        try:
            fitted = fitters[helped].fit(dialect, raw, offer=helped)
        except DoesNotFit:
            return
        assert fitted.receipt or fitted.body is raw

    fitters = {helped: Fitter(stores.open("memory:"), Settings(), window=1500, squeeze=helped) for helped in (0, 1)}
    check()
