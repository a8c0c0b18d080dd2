from __future__ import annotations

from pathlib import Path

from tests.agent.benches import ABench


def test_all_edits_are_made_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntwo\nthree\n")
    edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "1\ntwo", "new_string": "1\n2"}]
    bench = ABench(tmp_path)
    assert bench.use("multi_edit", path="a", edits=edits).text == "Edited a: 2 edits (+2 -2 lines)."
    assert (tmp_path / "a").read_text() == "1\n2\nthree\n"
    assert len(bench.asked) == 1


def test_none_is_made_if_one_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntwo\n")
    edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "four", "new_string": "4"}]
    given = ABench(tmp_path).use("multi_edit", path="a", edits=edits)
    assert given.error
    assert given.text.startswith("Edit 2 of 2: old_string is not in a.")
    assert given.text.endswith("Nothing was changed.")
    assert (tmp_path / "a").read_text() == "one\ntwo\n"


def test_edits_without_their_strings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n")
    for edits in ([], ["x"], [{"old_string": "one"}], "nonsense"):
        assert ABench(tmp_path).use("multi_edit", path="a", edits=edits).error
    assert (tmp_path / "a").read_text() == "one\n"
