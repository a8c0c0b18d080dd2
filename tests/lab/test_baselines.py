from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lab.sessions import METER, called, long_session, recorded, result, said, system, user
from yohaku.lab.baselines import REMOVED, BaselineInput
from yohaku.lab.entries import Entry, problem, weigh
from yohaku.lab.recorded_session import RecordedSession, union
from yohaku.lab.replay import BASELINES

SESSION = long_session()


def fitted(name: str, session: RecordedSession, limit: int, target: int = -1) -> list[Entry]:
    return BASELINES[name](BaselineInput(session, METER, limit), session.targets[target])


def texts(entries: list[Entry]) -> list[str | None]:
    return [entry["content"] for entry in entries]


@settings(max_examples=60)
@given(st.sampled_from([name for name in BASELINES if name != "none"]), st.integers(150, 20_000), st.integers(0, 12))
def test_a_control_gives_something_sound_within_the_limit(name: str, limit: int, target: int) -> None:
    shown = fitted(name, SESSION, limit, target)
    assert problem(shown) == ""
    assert sum(weigh(entry, METER) for entry in shown) <= limit


@pytest.mark.parametrize("name", BASELINES)
def test_nothing_is_touched_while_everything_fits(name: str) -> None:
    assert fitted(name, SESSION, 10**6) == SESSION.entries[:-1]


def test_none_folds_nothing() -> None:
    assert fitted("none", SESSION, 10) == SESSION.entries[:-1]


TURNS = recorded(
    system("sys"),
    user("first"),
    called("a"),
    result("a", "A" * 50),
    said("one"),
    user("second"),
    called("b"),
    result("b", "B" * 50),
    called("c"),
    result("c", "C" * 50),
    said("end"),
)
WHOLE = sum(TURNS.weights[:-1])


def test_sliding_drops_the_oldest_steps_and_a_prompt_with_the_last_of_its_steps() -> None:
    assert texts(fitted("sliding", TURNS, WHOLE - 1)) == [
        "sys",
        "first",
        "one",
        "second",
        None,
        "B" * 50,
        None,
        "C" * 50,
    ]
    assert texts(fitted("sliding", TURNS, WHOLE - 80)) == ["sys", "second", None, "B" * 50, None, "C" * 50]
    assert texts(fitted("sliding", TURNS, 20)) == ["sys", "second"]


def test_the_newest_results_stay_and_the_others_become_one_line() -> None:
    entries = [user("go")]
    for number in range(5):
        entries += [called(f"c{number}"), result(f"c{number}", f"{number}" * 90)]
    session = recorded(*entries, said("end"))
    shown = fitted("last3", session, sum(session.weights[:-1]) - 100)
    results = [entry["content"] for entry in shown if entry["role"] == "tool"]
    assert results == [REMOVED, REMOVED, "2" * 90, "3" * 90, "4" * 90]


def test_a_cap_cuts_the_middle_of_what_is_larger() -> None:
    session = recorded(
        user("go"), called("a"), result("a", "x" * 400 + "y" * 400), called("b"), result("b", "b" * 60), said(".")
    )
    shown = fitted("cap", session, 400)
    big, small = (entry["content"] for entry in shown if entry["role"] == "tool")
    assert small == "b" * 60
    assert big.startswith("xxx") and big.endswith("yyy") and "[…]" in big and 200 < len(big) < 320


def test_random_drops_the_same_steps_each_time_and_no_recent_ones() -> None:
    shown = fitted("random", SESSION, 6_000)
    assert shown == fitted("random", SESSION, 6_000)
    assert shown[-6:] == SESSION.entries[-7:-1]
    assert len(shown) < len(SESSION.entries) - 1


def test_the_oracle_keeps_the_results_that_hold_what_is_needed() -> None:
    session = recorded(
        user("go"),
        called("a", path="p1.py"),
        result("a", "the_needed = 1 " + "x" * 100),
        called("b", path="p2.py"),
        result("b", "the_other = 1 " + "x" * 100),
        said("the_needed"),
    )
    shown = fitted("oracle", session, sum(session.weights[:-1]) - 50)
    assert [e["content"] for e in shown if e["role"] == "tool"] == ["the_needed = 1 " + "x" * 100, REMOVED]


def test_the_oracle_sees_no_less_than_any_other_control() -> None:
    target = SESSION.targets[-1]
    assert target.all
    places = {id(entry): at for at, entry in enumerate(SESSION.entries)}

    def seen(name: str) -> int:
        shown = fitted(name, SESSION, 3_000)
        return len(target.all & union(SESSION.seen[places[id(e)]] for e in shown if id(e) in places))

    assert all(seen("oracle") >= seen(name) for name in BASELINES if name != "none")
