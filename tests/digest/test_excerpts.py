from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.folds import Cut, Gist, Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Opaque, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import Slot
from yohaku.core.view import View
from yohaku.digest.excerpts import (
    Excerpt,
    collect_excerpts,
    find_topic_words,
    find_visible_lines,
    find_visible_names,
    render_excerpts,
)
from yohaku.digest.select_lines import Source, choose_spans
from yohaku.digest.spans import Span
from yohaku.testing import histories


def use(tool: str, result: str, **arguments: object) -> ToolUse:
    return ToolUse(Call(tool, tool, json.dumps(arguments)), Result((Text(result),)))


READ = use("read_file", "def get_rows():\n    pass", path="src/rows.py")
RUN = use("bash", "2 passed\nin 0.1s", command="pytest -x")


def history() -> History:
    """A turn that reads and runs, and one that has only said something."""
    return history_of(
        [
            Turn((Text("Look at `late_rows`."),), (Step((Text("I read it."), READ)), Step((RUN,)))),
            Turn((Text("Mend new_rows."),), (Step((Text("Done with `set_rows`."),)),)),
        ],
        (Text("You are in /srv/app."),),
    )


# What is hidden


def hidden(h: History, cut: Cut) -> list[Excerpt]:
    turns = View(h).hidden(cut)
    return collect_excerpts(turns, len(h.steps) - sum(len(turn.steps) for turn in turns))


def test_scraps_are_what_was_asked_said_given_and_got_back_in_order_with_their_age() -> None:
    assert list(hidden(history(), Cut(1, 0))) == [
        Excerpt(None, "Look at `late_rows`.", 3, prompt=True),
        Excerpt(None, "I read it.", 2, own=True),
        Excerpt(READ, "src/rows.py", 2, own=True, quotes=frozenset(["src/rows.py"])),
        Excerpt(READ, "def get_rows():\n    pass", 2),
        Excerpt(RUN, "pytest -x", 1, own=True, quotes=frozenset(["pytest -x"])),
        Excerpt(RUN, "2 passed\nin 0.1s", 1),
    ]


def test_only_what_a_cut_hides_is_a_scrap() -> None:
    assert [scrap.age for scrap in hidden(history(), Cut(0, 1))] == [2, 2, 2]
    assert list(hidden(history(), Cut(0, 0))) == []


def test_arguments_that_are_no_text_stand_as_the_json_they_were() -> None:
    asked = use("edit", "ok", edits=[{"new": "値", "all": True}], line=7, why=None)
    h = history_of([Turn((Text("go"),), (Step((asked,)), Step((Text("done"),))))])
    given, _ = hidden(h, Cut(0, 1))
    assert given.text == '[{"new":"値","all":true}]\n7\nnull'


@pytest.mark.parametrize("depth", [900, 990, 998, 2_000, 100_000])
def test_arguments_nested_beyond_reading_are_left_out(depth: int) -> None:
    deep = ToolUse(Call("0", "edit", f'{{"value":{"[" * depth}{"]" * depth}}}'), Result((Text("get_rows"),)))
    view = View(history_of([Turn((Text("go"),), (Step((deep,)), Step((Text("done"),))))]))
    given, got = hidden(view.history, Cut(0, 1))
    assert set(given.text) <= {"[", "]"} and got.text == "get_rows"
    assert find_visible_names(view, None) == {"get_rows"}


def test_what_a_call_was_given_may_be_quoted_if_it_is_one_short_line() -> None:
    asked = use("make", "ok", path="a.py", mode="new", body="one\ntwo", note="n" * 101, last="l" * 100)
    h = history_of([Turn((Text("go"),), (Step((asked,)), Step((Text("done"),))))])
    given, _ = hidden(h, Cut(0, 1))
    assert given.quotes == {"a.py", "l" * 100}


def test_images_and_thoughts_are_no_scraps_and_results_without_text_are_empty_ones() -> None:
    seen = ToolUse(Call("0", "look", "{}"), Result((Opaque("image", "x"),)))
    step = Step((Opaque("thought", "hm"), Text("I look."), seen))
    h = history_of([Turn((Text("go"),), (step, Step((Text("done"),))))])
    assert [scrap.text for scrap in hidden(h, Cut(0, 1))] == ["I look.", "", ""]


@given(histories(interleaved=True), st.data())
def test_the_age_of_a_scrap_is_counted_from_the_newest_step(h: History, data: st.DataObject) -> None:
    turn = data.draw(st.integers(0, len(h.turns) - 1))
    cut = Cut(turn, data.draw(st.integers(0, len(h.turns[turn].steps))))
    found = list(hidden(h, cut))
    total = len(h.steps)
    assert [scrap.age for scrap in found] == sorted((scrap.age for scrap in found), reverse=True)
    least = total - sum(len(t.steps) for t in View(h).hidden(cut))
    assert all(least <= scrap.age < total + scrap.prompt for scrap in found)


# How it is shown


def spans_of(*scraps: Excerpt) -> list[list[Span]]:
    sources = [Source(scrap.text, max(1, scrap.age), 1.0, scrap.own, scrap.quotes) for scrap in scraps]
    return choose_spans(sources, (), 1_000_000)[0]


def test_lines_stand_under_the_call_they_came_from_with_numbers_if_it_printed_them() -> None:
    found = [
        Excerpt(None, "I read `get_rows`.", 3, own=True),
        Excerpt(READ, "src/rows.py", 2, own=True, quotes=frozenset(["src/rows.py"])),
        Excerpt(READ, "plain\nanother_row = 1", 2),
        Excerpt(RUN, "nothing here", 1),
        Excerpt(None, "Now `put_rows`.", 1, own=True),
    ]
    assert render_excerpts(found, spans_of(*found)) == [
        "[assistant]",
        " I read `get_rows`.",
        "[read_file src/rows.py]",
        "2: another_row = 1",
        "[assistant]",
        " Now `put_rows`.",
    ]


def test_what_the_title_says_is_not_said_again() -> None:
    run = use("bash", "row_1", command="pytest row_2.py")
    found = [Excerpt(run, "pytest row_2.py\nrow_2.py", 1, own=True), Excerpt(run, "pytest row_2.py", 1)]
    every = [[Span(1, 0, 15), Span(2, 16, 24)], [Span(1, 0, 15)]]
    assert render_excerpts(found, every) == ["[pytest row_2.py]", "1: pytest row_2.py"]
    search = use("grep", "", pattern="get_rows", path="src", mode="files_only")
    asked = Excerpt(search, "get_rows\nsrc\nfiles_only", 1, own=True)
    assert render_excerpts([asked], [[Span(1, 0, 8), Span(3, 13, 23)]]) == ["[grep get_rows src]", " files_only"]


def test_a_long_path_stands_whole_in_its_title_and_not_again_below() -> None:
    path = f"/home/somebody/{'deep/' * 15}rows.py".rjust(100, "/")
    h = history_of([Turn((Text("go"),), (Step((use("read_file", "", path=path),)), Step((Text("done"),))))])
    found = hidden(h, Cut(0, 1))
    assert render_excerpts(found, spans_of(*found)) == [f"[read_file {path}]"]


def test_a_long_path_is_told_whole_once_and_then_by_its_end() -> None:
    first, other = "/srv/one/app/src/rows.py", "/srv/two/app/src/rows.py"
    calls = [use(tool, "", path=path) for tool, path in [("read", first), ("edit", first), ("read", other)]]
    found = [Excerpt(call, f"row_{n}", 1) for n, call in enumerate(calls)]
    assert render_excerpts(found, spans_of(*found)) == [
        f"[read {first}]",
        "1: row_0",
        "[edit …/src/rows.py]",
        "1: row_1",
        f"[read {other}]",
        "1: row_2",
    ]


def test_what_follows_under_the_same_title_does_not_repeat_it() -> None:
    found = [Excerpt(RUN, "row_1", 2), Excerpt(RUN, "plain", 2), Excerpt(RUN, "row_2", 1)]
    assert render_excerpts(found, spans_of(*found)) == ["[pytest -x]", "1: row_1", "1: row_2"]


def test_of_nothing_chosen_nothing_is_shown() -> None:
    assert render_excerpts([Excerpt(RUN, "row_1", 1)], [[]]) == []
    assert render_excerpts([], []) == []


# What is covered


def test_all_that_stays_covers_what_it_names() -> None:
    assert find_visible_names(View(history()), None) == {
        "srv/app", "late_rows", "src/rows.py", "rows.py", "get_rows", "0.1s", "new_rows", "set_rows",
    }  # fmt: skip


def test_what_a_cut_hides_covers_nothing_but_the_prompt_that_is_being_answered_does() -> None:
    assert find_visible_names(View(history()), Cut(1, 0)) == {"srv/app", "new_rows", "set_rows"}
    assert find_visible_names(View(history()), Cut(0, 1)) == {
        "srv/app",
        "late_rows",
        "0.1s",
        "new_rows",
        "set_rows",
    }


def test_lines_that_stay_are_known_without_their_numbers_and_those_that_do_not_are_not() -> None:
    shown = use("cat", "    12→  set_rows(2)\nnew_rows", path="a.py")
    h = history_of([Turn((Text("go"),), (Step((Text("the first"),)), Step((Text("the\nlast"), shown))))])
    assert find_visible_lines(View(h), None) == {"go", "the first", "the", "last", "a.py", "set_rows(2)", "new_rows"}
    assert "the first" not in find_visible_lines(View(h), Cut(0, 1))


def test_what_is_folded_already_covers_only_what_it_still_shows() -> None:
    h = history()
    stub = Stub(h.steps[0].key, Slot("result", 1, 0), "[folded: see few_rows]", "r", "what", "why", 9, 1)
    view = View(h).with_([stub])
    assert find_visible_names(View(h), None) - find_visible_names(view, None) == {"get_rows"}
    assert find_visible_names(view, None) - find_visible_names(View(h), None) == {"few_rows"}
    assert "get_rows" not in find_visible_names(view, Cut(0, 0))


def test_what_a_gist_hides_already_covers_nothing() -> None:
    h = history()
    view = View(h).with_([Gist(h.steps[0].key, "[folded]", "r", "what", "why", 9, 1)])
    left = {"srv/app", "late_rows", "0.1s", "new_rows", "set_rows"}
    assert find_visible_names(view, None) == left
    assert find_visible_names(view, Cut(0, 2)) == left - {"0.1s"}
    assert find_visible_names(view, Cut(1, 0)) == {"srv/app", "new_rows", "set_rows"}


# What it is about


def test_the_topic_is_the_words_of_the_newest_prompt_and_of_what_the_model_said_last() -> None:
    words = ("alpha", "beta", "gamma", "delta", "omega")
    steps = [Step((Text(f"saying {word}"), use("bash", "printed", command=f"run {word}"))) for word in words]
    asked = Turn((Text("Why getRows?"), Opaque("image", "x")), tuple(steps))
    h = history_of([Turn((Text("first"),), (Step((Text("old"),)),)), asked])
    assert find_topic_words(View(h), steps=2) == {"why", "get", "rows", "saying", "run", "delta", "omega"}
    assert find_topic_words(View(h)) == find_topic_words(View(h), steps=2) | {"old", "alpha", "beta", "gamma"}


def test_only_the_beginning_of_a_long_text_tells_the_topic() -> None:
    h = history_of([Turn((Text("about rows " + "x" * 50 + " cells"),))])
    assert find_topic_words(View(h), max_chars=10) == {"about", "rows"}


def test_a_result_that_only_says_that_a_file_was_written_is_no_scrap() -> None:
    done = use("Write", "File created successfully at: /src/a.py", file_path="/src/a.py", content="x = 1")
    told = use("bash", "File created successfully at: /src/a.py", command="make a")
    turns = [Turn((), (Step((done,)), Step((told,))))]
    assert [scrap.use for scrap in collect_excerpts(turns) if not scrap.own] == [told]
