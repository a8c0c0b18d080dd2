from __future__ import annotations

import pytest

from tests.lab import sessions
from tests.lab.sessions import called, long_session, recorded, result, said, system, user
from yohaku import meters
from yohaku.lab.recorded_session import RecordedSession
from yohaku.lab.replay import ReplayTotals, RequestLog, SentRequest, common_prefix, replay
from yohaku.lab.report import score

METER = meters.for_model("gpt-4o", "openai_chat")


def run(session: RecordedSession, window: int, recipe: str) -> ReplayTotals | None:
    return replay(session, window, recipe, METER, "gpt-4o")


def test_a_session_that_fits_loses_nothing_and_never_breaks_the_cache() -> None:
    for recipe in ("auto", "chat", "none", "sliding", "oracle"):
        totals = run(long_session(), 100_000, recipe)
        assert totals
        scores = score(totals)
        assert [scores[name] for name in ("fits", "all", "tool", "rules", "breaks")] == [1.0, 1.0, 1.0, 1.0, 0.0]
        assert (scores["by_ref"], scores["fabricated"]) == (None, 0.0)


def test_without_folding_what_does_not_fit_recalls_nothing() -> None:
    entries = [user("go to first_name"), called("a"), result("a", "some words " * 2_000), said("first_name")]
    totals = run(recorded(*entries, meter=METER), 1_000, "none")
    assert totals
    assert (totals.steps, totals.sent, dict(totals.unsent)) == (2, 1, {"over": 1})
    assert score(totals)["all"] == 0.0


def test_a_recipe_that_refuses_recalls_nothing() -> None:
    totals = run(recorded(user("big_name " * 2_000), said("big_name"), meter=METER), 1_000, "chat")
    assert totals
    assert dict(totals.unsent) == {"refused": 1} and score(totals)["all"] == 0.0


def test_a_session_whose_system_prompt_does_not_fit_is_left_out() -> None:
    session = recorded(system("a rule " * 2_000), user("go"), said("ok"), meter=METER)
    assert run(session, 1_000, "auto") is None
    assert run(session, 100_000, "auto") is not None


def test_what_is_folded_is_within_the_limit_and_can_be_opened() -> None:
    session = long_session(steps=30, size=2_000)
    session = recorded(*session.entries, meter=METER)
    totals = run(session, 4_096, "auto")
    assert totals
    scores = score(totals)
    assert scores["fits"] == 1.0 and scores["fabricated"] == 0.0
    assert scores["tokens"] is not None and scores["tokens"] <= 4_096 - 512
    assert scores["cost"] is not None and scores["cost"] < 1.25 * scores["tokens"]
    plain = run(session, 4_096, "sliding")
    assert plain and score(plain)["by_ref"] in (0.0, None)


def test_scores_are_shares_of_the_sums() -> None:
    totals = ReplayTotals(steps=4, sent=3, tokens=30, cost=12.0, breaks=1, seconds=0.008)
    totals.hits["all"], totals.of["all"] = 1, 4
    assert score(totals) == {
        "fits": 0.75, "all": 0.25, "tool": None, "far": None, "by_ref": None, "rules": None, "ledger_f1": None,
        "fabricated": 0.0, "tokens": 10.0, "cost": 4.0, "breaks": 50.0, "cpu_ms": pytest.approx(2.0),
    }  # fmt: skip


SESSION = recorded(user("0123456789"), said("a"), user("b"), said("c"))
FIRST, A, B = SESSION.entries[:3]


def requests(limit: int = 100) -> RequestLog:
    return RequestLog(SESSION, sessions.METER, limit)


def test_a_first_request_is_all_written() -> None:
    assert requests().send([FIRST]) == SentRequest(3 + 14, 1.25 * 17, False)


def test_what_was_sent_before_is_read_from_the_cache() -> None:
    log = requests()
    log.send([FIRST])
    assert log.send([FIRST, A, B]) == SentRequest(27, pytest.approx(0.1 * 17 + 1.25 * 10), False)
    assert log.send([FIRST, A, B]) == SentRequest(27, pytest.approx(0.1 * 27), False)


def test_a_change_breaks_the_cache_from_where_the_text_differs() -> None:
    log = requests()
    log.send([FIRST, A, B])
    sent = log.send([user("0123x"), A, B])
    assert sent == SentRequest(22, pytest.approx(0.1 * (3 + 4) + 1.25 * (22 - 7)), True)
    assert log.send([user("0123x")]) == SentRequest(12, pytest.approx(0.1 * 12), True)


def test_what_is_over_the_limit_or_malformed_is_not_sent() -> None:
    log = requests(20)
    log.send([FIRST])
    assert log.send([FIRST, A, B]) == "over"
    assert log.send([A]) == "malformed"
    assert log.send([FIRST]) == SentRequest(17, pytest.approx(1.7), False), "what was not sent is not in the cache"


def test_texts_share_their_beginning() -> None:
    assert [
        common_prefix("abcd", "abxd"),
        common_prefix("", "a"),
        common_prefix("abc", "abc"),
        common_prefix("abc", "abcd"),
    ] == [2, 0, 3, 3]
