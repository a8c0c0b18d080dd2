from __future__ import annotations

import pytest

from tests.lab.sessions import called, long_session, recorded, result, said, system, user
from yohaku import meters
from yohaku.lab.recorded_session import RecordedSession
from yohaku.lab.replay import ReplayTotals, replay

METER = meters.for_model("gpt-4o", "openai_chat")


def run(session: RecordedSession, window: int, recipe: str) -> ReplayTotals | None:
    return replay(session, window, recipe, METER, "gpt-4o")


def test_a_session_that_fits_loses_nothing_and_never_breaks_the_cache() -> None:
    for recipe in ("auto", "chat", "none", "sliding", "oracle"):
        tally = run(long_session(), 100_000, recipe)
        assert tally
        scores = tally.scores()
        assert [scores[name] for name in ("fits", "all", "tool", "rules", "breaks")] == [1.0, 1.0, 1.0, 1.0, 0.0]
        assert (scores["by_ref"], scores["fabricated"]) == (None, 0.0)


def test_without_folding_what_does_not_fit_recalls_nothing() -> None:
    entries = [user("go to first_name"), called("a"), result("a", "some words " * 2_000), said("first_name")]
    tally = run(recorded(*entries, meter=METER), 1_000, "none")
    assert tally
    assert (tally.steps, tally.sent, dict(tally.unsent)) == (2, 1, {"over": 1})
    assert tally.scores()["all"] == 0.0


def test_a_recipe_that_refuses_recalls_nothing() -> None:
    tally = run(recorded(user("big_name " * 2_000), said("big_name"), meter=METER), 1_000, "chat")
    assert tally
    assert dict(tally.unsent) == {"refused": 1} and tally.scores()["all"] == 0.0


def test_a_session_whose_system_prompt_does_not_fit_is_left_out() -> None:
    session = recorded(system("a rule " * 2_000), user("go"), said("ok"), meter=METER)
    assert run(session, 1_000, "auto") is None
    assert run(session, 100_000, "auto") is not None


def test_what_is_folded_is_within_the_limit_and_can_be_opened() -> None:
    session = long_session(steps=30, size=2_000)
    session = recorded(*session.entries, meter=METER)
    tally = run(session, 4_096, "auto")
    assert tally
    scores = tally.scores()
    assert scores["fits"] == 1.0 and scores["fabricated"] == 0.0
    assert scores["tokens"] is not None and scores["tokens"] <= 4_096 - 512
    assert scores["cost"] is not None and scores["cost"] < 1.25 * scores["tokens"]
    plain = run(session, 4_096, "sliding")
    assert plain and plain.scores()["by_ref"] in (0.0, None)


def test_scores_are_shares_of_the_sums() -> None:
    tally = ReplayTotals(steps=4, sent=3, tokens=30, cost=12.0, breaks=1, seconds=0.008)
    tally.hits["all"], tally.of["all"] = 1, 4
    assert tally.scores() == {
        "fits": 0.75, "all": 0.25, "tool": None, "far": None, "by_ref": None, "rules": None, "ledger_f1": None,
        "fabricated": 0.0, "tokens": 10.0, "cost": 4.0, "breaks": 50.0, "cpu_ms": pytest.approx(2.0),
    }  # fmt: skip
