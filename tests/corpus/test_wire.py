"""Every recorded exchange: read, left alone while it fits, folded and still accepted, its answer read with its bill."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import checkers
from tests.corpus.wire import Exchange, exchanges
from yohaku import DoesNotFit, Session, dialects
from yohaku.core.verdict import LeftAlone
from yohaku.dialects.detect import detect
from yohaku.dialects.overflow import recognise

pytestmark = pytest.mark.shared

SHARES = (0.9, 0.6, 0.3)


def session(exchange: Exchange, window: int) -> Session:
    return Session(window=window, reserve=0, model=exchange.model, dialect=exchange.dialect)


def test_every_request_is_taken_for_what_it_is(shared: Path) -> None:
    taken = Counter((exchange.dialect, detect(exchange.request)) for exchange in exchanges(shared))
    assert all(recorded == found for recorded, found in taken) and sum(taken.values()) == 807


def test_every_request_leaves_unchanged_while_it_fits(shared: Path) -> None:
    for exchange in exchanges(shared):
        sent = json.dumps(exchange.request)
        fitting = session(exchange, 10_000_000)
        assert fitting.fit(exchange.request) is exchange.request, exchange.number
        assert json.dumps(exchange.request) == sent


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("recipe", ["auto", "chat"])
def test_every_request_is_still_accepted_when_it_is_folded(shared: Path, share: float, recipe: str) -> None:
    outcomes: Counter[str] = Counter()
    for exchange in exchanges(shared):
        if exchange.status == 200:
            outcomes[folded(exchange, share, recipe)] += 1
    assert outcomes["folded"] > 0
    print(f"\n{recipe} at {share:.0%}: {dict(outcomes)}")


def folded(exchange: Exchange, share: float, recipe: str) -> str:
    full = session(exchange, 10_000_000)
    full.fit(exchange.request)
    assert full.receipt
    fitting = Session(
        window=max(1, int(full.receipt.after * share)),
        reserve=0,
        recipe=recipe,
        model=exchange.model,
        dialect=exchange.dialect,
    )
    try:
        out = fitting.fit(exchange.request)
    except DoesNotFit as refusal:
        assert refusal.verdict.needs > refusal.verdict.limit
        return "refused"
    assert fitting.receipt
    if isinstance(fitting.receipt.verdict, LeftAlone):
        assert out is exchange.request and exchange.request[fitting.receipt.verdict.field]
        return "left alone"
    assert fitting.receipt.after <= fitting.budget.limit
    judge: Any = checkers.DIALECTS[exchange.dialect]
    assert judge.problems(out) == [], exchange.number
    assert judge.intact(exchange.request, out) == [], exchange.number
    for fold in fitting.receipt.folds:
        assert fitting.recall(fold.ref)
    return "folded"


def test_every_answer_is_read_with_its_usage(shared: Path) -> None:
    without: list[int] = []
    for exchange in exchanges(shared):
        if exchange.status != 200:
            continue
        answer = exchange.answer
        raw = exchange.stream or json.dumps(exchange.response)
        if answer.usage is None:
            without.append(exchange.number)
            assert not any(f'"{name}": 1' in raw for name in ("prompt_tokens", "input_tokens", "promptTokenCount"))
        else:
            assert answer.usage.total == answer.usage.prompt + answer.usage.output > 0
    assert len(without) <= 30, f"{len(without)} answers bill nothing"


def test_an_error_is_an_overflow_only_when_it_is_one(shared: Path) -> None:
    refused = [exchange for exchange in exchanges(shared) if exchange.status != 200]
    assert len(refused) == 21
    for exchange in refused:
        body = exchange.stream or json.dumps(exchange.response)
        assert recognise(exchange.status, body) is None, body[:200]


def test_a_reply_settles_into_a_step_of_the_next_request(shared: Path) -> None:
    """What the model said is said again by clients: its calls are the same in the reply and in the history."""
    told = {
        call.id: call
        for exchange in exchanges(shared)
        if exchange.status == 200 and exchange.dialect in ("openai_chat", "anthropic")
        for call in exchange.answer.reply.calls
    }
    seen = 0
    for exchange in exchanges(shared):
        if exchange.dialect not in ("openai_chat", "anthropic"):
            continue
        history = dialects.dialect_named(exchange.dialect).read(exchange.request).history()
        for use in (use for step in history.steps for use in step.uses):
            if use.call.id in told:
                assert use.call.name == told[use.call.id].name
                seen += 1
    assert seen > 50
