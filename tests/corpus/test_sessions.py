"""Every recorded session, at every window: read, written in each dialect, folded, judged from outside.

A test run writes each session in every dialect but folds it in one, at five windows; `python3 dev.py corpus` does all.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests import checkers
from tests.checkers import count, trajectory
from tests.corpus.recorded import ALL, DIALECTS, as_taken, read
from yohaku import DoesNotFit, Session, dialects, meters

WINDOWS = [2**power for power in range(11, 21)] if ALL else [2_048, 8_192, 32_768, 131_072, 1_048_576]
REF = re.compile(r"ref=([a-z2-7]{12})")

pytestmark = [pytest.mark.shared, pytest.mark.corpus]


def test_a_session_says_the_same_in_every_dialect(session_file: tuple[int, Path]) -> None:
    path = session_file[1]
    history = read(path)
    messages = trajectory.to_openai(path)
    assert [m["content"] or "" for m in messages if m["role"] == "tool"] == [
        use.result.text for step in history.steps for use in step.uses
    ], "read otherwise than by the independent reader"
    for name in DIALECTS:
        dialect = dialects.dialect_named(name)
        body = dialect.compose(history, "some-model")
        assert checkers.DIALECTS[name].problems(body) == []
        assert dialect.read(body).history() == as_taken(history, name), name


def test_a_session_fits_every_window_or_is_refused(session_file: tuple[int, Path]) -> None:
    number, path = session_file
    history = read(path)
    for name in DIALECTS if ALL else [DIALECTS[number % len(DIALECTS)]]:
        body = dialects.dialect_named(name).compose(history, "gpt-4o")
        sent = json.dumps(body, ensure_ascii=False)
        for window in WINDOWS:
            fits_or_is_refused(name, body, window)
        assert json.dumps(body, ensure_ascii=False) == sent, "the body given was changed"


def fits_or_is_refused(name: str, body: dict[str, Any], window: int) -> None:
    session = Session(window=window, model="gpt-4o", dialect=name)
    try:
        out = session.fit(body)
    except DoesNotFit as refusal:
        verdict = refusal.verdict
        assert verdict.needs > verdict.limit == session.budget.limit and verdict.what
        return
    assert session.receipt
    assert count.count(out, name) <= session.budget.limit, (name, window)
    assert checkers.DIALECTS[name].problems(out) == [], (name, window)
    assert checkers.DIALECTS[name].intact(body, out) == [], (name, window)
    if not session.receipt.folds:
        assert out is body
    before, after = json.dumps(body, ensure_ascii=False), json.dumps(out, ensure_ascii=False)
    for ref in set(REF.findall(after)) - set(REF.findall(before)):
        session.recall(ref)
    for fold in session.receipt.folds:
        if fold.kind == "stub" and isinstance(original := session.recall(fold.ref), str):
            assert json.dumps(original, ensure_ascii=False)[1:-1] in before or str(fold.what).count("argument")
    assert session.fit(body) == out, "planning again changed something"
    assert Session(window=window, model="gpt-4o", dialect=name, store=session.store).fit(body) == out


def test_the_counts_of_a_session_are_those_of_an_outsider(session_file: tuple[int, Path]) -> None:
    from yohaku.core.weigh import weigh

    dialect, meter = dialects.dialect_named("openai_chat"), meters.for_model("gpt-4o")
    history = read(session_file[1])
    body = dialect.compose(history)
    ours, theirs = weigh(dialect.read(body).history(), meter).total, count.count(body, "openai_chat")
    calls = sum(len(step.uses) for step in history.steps)
    each = meter.frame.call + meter.frame.parallel + meter.frame.result
    assert 0 <= ours - theirs <= calls * each, (ours, theirs)
