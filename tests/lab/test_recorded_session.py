from __future__ import annotations

from tests.lab.sessions import called, recorded, result, said, system, user
from yohaku.lab.recorded_session import evenly


def test_a_reply_needs_the_identifiers_it_uses_that_were_said_before_it() -> None:
    session = recorded(
        user("Look at src/app.py and max_size."),
        called("a", path="src/app.py"),
        result("a", "min_size = 10\nmax_size = 20"),
        said("In src/app.py min_size and max_size and new_size."),
    )
    first, second = session.targets
    assert (first.at, first.all, first.tool) == (1, {"src/app.py", "app.py"}, frozenset())
    assert (second.at, second.all) == (3, {"src/app.py", "app.py", "min_size", "max_size"})
    assert second.tool == {"min_size"}, "the others were in the prompt or in a call"
    assert second.far == set()


def test_far_is_more_than_three_steps_and_more_than_2048_tokens_ago() -> None:
    def needed(steps: int, size: int) -> frozenset[str]:
        between = [e for n in range(steps) for e in (called(f"c{n}"), result(f"c{n}", "x" * size))]
        last = recorded(user("go"), called("a"), result("a", "old_name"), *between, said("old_name")).targets[-1]
        assert last.all == {"old_name"}
        return last.far

    assert needed(3, 900) == {"old_name"}
    assert needed(2, 2_000) == set(), "three steps ago"
    assert needed(3, 500) == set(), "not enough in between"


def test_what_is_seen_again_is_not_far() -> None:
    far = [e for n in range(4) for e in (called(f"c{n}"), result(f"c{n}", "x" * 900))]
    seen = [called("z"), result("z", "old_name"), said("old_name")]
    assert recorded(user("old_name"), *far, *seen).targets[-1].far == set()
    assert recorded(user("old_name"), *far, seen[-1]).targets[-1].far == {"old_name"}


def test_only_a_sample_is_scored_and_every_step_is_there() -> None:
    steps = [entry for _ in range(9) for entry in (said("some_name"), user("go on"))]
    session = recorded(user("some_name"), *steps, sample=3)
    assert [target.at for target in session.targets if target.scored] == [1, 9, 17]
    assert [bool(target.all) for target in session.targets] == [target.scored for target in session.targets]
    assert len(session.targets) == 9


def test_places_are_taken_evenly() -> None:
    assert evenly([1, 2, 3, 4, 5], 2) == [1, 5]
    assert evenly([1, 2, 3], 1) == [3]
    assert evenly([1, 2], 5) == [1, 2]
    assert evenly([1, 2], None) == [1, 2]


def test_a_session_knows_its_rules_files_and_beginning() -> None:
    session = recorded(
        system("Never lie."), user("Only read. Go."), called("a", path="b.py"), result("a", ""), said("ok")
    )
    assert session.rules == [set(), {"Only read."}, set(), set(), set()]
    assert session.files == [set(), set(), {"b.py"}, set(), set()]
    assert (session.begins, session.empty, session.tools) == ("user", {"a"}, {"read_file"})
    assert session.system == len("Never lie.") + 4
