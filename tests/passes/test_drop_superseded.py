from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given

from yohaku.analysis.file_showings import file_lines
from yohaku.core.budget import Budget
from yohaku.core.folds import Stub, Subject
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import Slot, ref_of
from yohaku.core.recipe import PassContext
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.clear_largest import clear_largest
from yohaku.passes.drop_superseded import drop_superseded
from yohaku.testing import ByteMeter, histories

METER = ByteMeter()


def use(tool: str, result: str, *, error: bool = False, **arguments: object) -> ToolUse:
    return ToolUse(Call("", tool, json.dumps(arguments)), Result((Text(result),), error))


def view(*uses: ToolUse | tuple[ToolUse, ...]) -> View:
    """One step for each use or batch of them, and a last step without any."""
    batches = [batch if isinstance(batch, tuple) else (batch,) for batch in uses]
    steps = [
        Step(
            tuple(replace(one, call=Call(f"{n}.{m}", one.call.name, one.call.arguments)) for m, one in enumerate(batch))
        )
        for n, batch in enumerate(batches)
    ]
    return View(history_of([Turn((Text("go"),), (*steps, Step((Text("done"),))))]))


def context(v: View, limit: int = 100_000) -> PassContext:
    weigher = Weigher(METER)
    return PassContext(Budget(limit, 0), weigher, weigher.ledger(v.shown), 0)


def proposed(v: View, limit: int = 100_000, least: float = 0) -> list[Stub]:
    found = drop_superseded(least)(v, context(v, limit))
    assert isinstance(found, list)
    return [fold for fold in found if isinstance(fold, Stub)]


def folded(*uses: ToolUse | tuple[ToolUse, ...]) -> list[tuple[int, str]]:
    """The number of each step something of which is folded, and by what."""
    v = view(*uses)
    keys = [step.key for step in v.history.steps]
    return sorted((keys.index(stub.key), stub.text.split("folded: ")[1].split(";")[0]) for stub in proposed(v))


def code(first: int, last: int, name: str = "value") -> str:
    return "".join(f"    {name}_{n} = compute({n})\n" for n in range(first, last + 1))


def numbered(text: str, first: int = 1, mark: str = "→") -> str:
    return "\n".join(f"{n:6}{mark}{line}" for n, line in enumerate(text.splitlines(), first))


READ = "superseded by a later read of src/a.py"
WROTE = "superseded by a later write of src/a.py"
MAKE = use("bash", "ok", command="make")


def read(text: str, **lines: int) -> ToolUse:
    return use("Read", text, file_path="src/a.py", **lines)  # type: ignore[arg-type]


def edit(new: str = "x = 1") -> ToolUse:
    return use("Edit", "edited", file_path="src/a.py", old_string="y", new_string=new)


# Files


def test_an_older_read_of_the_same_file_says_what_supersedes_it_and_how_much_it_was() -> None:
    text = code(1, 30)
    v = view(read(text), MAKE, read(text))
    (stub,) = proposed(v)
    line = f"[Read result folded: {READ}; 30 lines; ref={ref_of(text)}]"
    key = v.history.steps[0].key
    assert stub == Stub(
        key,
        Slot("result", 0, 0),
        line,
        ref_of(text),
        Subject("result", "Read"),
        "superseded",
        len(text),
        len(line.encode()),
    )


def test_a_file_that_is_shown_once_stays() -> None:
    assert folded(read(code(1, 30)), use("Read", code(1, 30, "other"), file_path="src/b.py"), MAKE) == []


def test_a_part_is_superseded_by_the_whole_but_not_the_whole_by_a_part() -> None:
    part, whole = read(numbered(code(11, 30), 11), offset=11, limit=20), read(numbered(code(1, 60)))
    assert folded(part, whole) == [(0, READ)]
    assert folded(whole, part) == []


def test_two_parts_together_supersede_what_they_cover() -> None:
    first, last = read(code(1, 30), offset=1, limit=30), read(code(31, 60), offset=31, limit=30)
    assert folded(read(code(1, 60)), first, last) == [(0, READ)]


def test_the_next_lines_of_a_file_supersede_nothing() -> None:
    assert folded(read(code(1, 30), offset=1, limit=30), read(code(31, 60), offset=31, limit=30)) == []


def test_a_read_that_the_tool_cut_short_supersedes_only_what_it_shows() -> None:
    cut = use("bash", "too long, try head\n" + code(1, 5), command="cat src/a.py")
    assert folded(read(code(1, 60)), cut) == []


def test_what_was_edited_since_is_stale_once_it_is_read_again() -> None:
    now = code(1, 20) + code(1, 10, "changed") + code(31, 60)
    assert folded(read(code(1, 60)), edit(), read(now)) == [(0, READ)]
    assert folded(read(code(1, 60)), edit()) == []
    assert folded(read(code(1, 60)), edit(), read(code(21, 30), offset=21, limit=10)) == []


def test_without_an_edit_only_a_few_lines_may_differ() -> None:
    few, many = code(1, 57) + code(1, 3, "changed"), code(1, 40) + code(1, 20, "changed")
    assert folded(read(code(1, 60), offset=1, limit=60), read(few)) == [(0, READ)]
    assert folded(read(code(1, 60), offset=1, limit=60), read(many)) == []


def test_numbers_before_lines_do_not_matter_nor_does_what_stands_around_them() -> None:
    plain = use("bash", code(1, 30), command="cat src/a.py")
    for mark in ("→", "\t", ": ", "| "):
        shown = "Here is the file:\n" + numbered(code(1, 30), mark=mark)
        assert folded(read(shown), plain) == [(0, READ)]
        assert file_lines(shown) == file_lines(code(1, 30))


def test_a_command_that_does_more_than_read_is_no_read() -> None:
    both = use("bash", code(1, 30) + "cc -o a a.c\nld a.o\n", command="cat src/a.py && make")
    assert folded(both, read(code(1, 30))) == []
    assert folded(read(code(1, 30)), edit(), use("bash", code(1, 20), command="cat src/a.py | grep '[12]'")) == []


def test_a_read_that_failed_supersedes_nothing() -> None:
    assert folded(read(code(1, 30)), use("Read", "Error: " + code(1, 30), error=True, file_path="src/a.py")) == []


def test_what_is_folded_already_supersedes_nothing() -> None:
    v = view(read(code(1, 30)), read(code(1, 40)))
    cleared = clear_largest("result", keep=0, least=0)(v, context(v, 100))
    assert isinstance(cleared, list)
    (newer,) = [stub for stub in cleared if stub.before == len(code(1, 40))]
    assert len(proposed(v)) == 1
    assert proposed(v.with_([newer])) == []


def test_what_was_shown_shorter_gives_way_too_and_opens_to_the_same_original() -> None:
    text = code(1, 200)
    v = view(read(text), read(text))
    stub = proposed(v)[0]
    shorter = replace(stub, text=text[:400], after=400, why="outsized")
    (again,) = proposed(v.with_([shorter]))
    assert (again.before, again.text, again.ref) == (400, stub.text, ref_of(text))


# What was written


def test_what_was_written_is_shown_by_a_later_read_or_writing() -> None:
    wrote = use("Write", "ok", file_path="src/a.py", content=code(1, 30))
    assert folded(wrote, read(numbered(code(1, 30)))) == [(0, READ)]
    assert folded(wrote, use("Write", "ok", file_path="src/a.py", content=code(1, 30, "new"))) == [(0, WROTE)]
    assert folded(wrote, read(code(1, 9), offset=1, limit=9)) == []
    assert folded(wrote, use("Write", "Error: disk full", file_path="src/a.py", content=code(1, 30, "new"))) == []


def test_a_file_written_anew_leaves_nothing_of_an_older_read() -> None:
    anew = use("write_file", "ok", file_path="src/a.py", content=code(1, 9, "new"))
    assert folded(read(code(1, 30)), anew) == [(0, WROTE)]
    added = use("append_file", "ok", file_path="src/a.py", content=code(1, 9, "new"))
    assert folded(read(code(1, 30)), added) == []


def test_the_new_text_of_an_edit_goes_once_it_is_shown() -> None:
    v = view(edit(code(1, 20)), read(numbered(code(1, 60))))
    (stub,) = proposed(v)
    assert (stub.slot, str(stub.what)) == (Slot("argument", 0, "new_string"), "Edit argument new_string")
    assert json.loads(v.with_([stub]).shown.steps[0].uses[0].call.arguments)["old_string"] == "y"
    assert folded(edit(code(1, 20)), read(code(21, 60))) == []


# Commands


@pytest.mark.parametrize(
    "command", ["ls -la src", "rg -n compute src | head -50", "git status --short", "find . -name '*.py' | sort"]
)
def test_a_listing_or_search_is_superseded_when_it_ran_again(command: str) -> None:
    older, newer = use("bash", code(1, 30), command=command), use("bash", code(2, 9, "b"), command=command)
    assert folded(older, MAKE, newer) == [(0, f"superseded by a later run of {command}")]
    assert folded(older, use("bash", code(2, 9, "b"), command=f"{command} -x")) == []


def test_a_search_tool_with_the_same_arguments_too() -> None:
    older, newer = use("Grep", code(1, 30), pattern="def"), use("Grep", code(1, 9, "b"), pattern="def")
    assert folded(older, newer) == [(0, "superseded by a later call with the same arguments")]
    assert folded(older, use("Grep", code(1, 9, "b"), pattern="class")) == []
    assert folded(older, use("Grep", "Error: no index" + code(1, 9), pattern="def", error=False)) == []


def test_what_shows_something_else_each_time_stays() -> None:
    first, second = code(1, 30), code(1, 30, "b")
    assert folded(use("search_next", first, pattern="def"), use("search_next", second, pattern="def")) == []
    assert folded(use("browser", first, do="scroll"), use("browser", second, do="scroll")) == []
    assert folded(use("wait", first), use("wait", second)) == []
    assert folded(use("bash", first, command="python main.py"), use("bash", second, command="python main.py")) == []


def test_a_test_run_is_superseded_by_the_next_one_whatever_came_out() -> None:
    red = use("bash", code(1, 30) + "==== 2 failed, 3 passed in 0.1s ====\n[exit code: 1]", command="pytest -q")
    green = use("bash", "==== 5 passed in 0.1s ====", command="pytest -q")
    by = "superseded by a later run of pytest -q"
    assert folded(red, green) == [(0, by)]
    assert folded(red, edit(), red) == [(0, by)]


def test_an_error_stays_until_the_same_command_ran_again() -> None:
    wrong = code(1, 30) + "[exit code: 2]"
    assert folded(use("bash", wrong, command="make all"), use("bash", wrong, command="make")) == []
    by = "superseded by a later run of make all"
    assert folded(use("bash", wrong, command="make all"), use("bash", "ok", command="make all")) == [(0, by)]


def test_the_same_command_in_another_folder_is_another_command() -> None:
    first, second = use("bash", code(1, 30), command="ls"), use("bash", code(1, 30, "b"), command="ls")
    assert folded(first, use("bash", "", command="cd src"), second) == []
    assert folded(first, use("bash", "", command="make"), second) == [(0, "superseded by a later run of ls")]


# The same text


def test_a_result_that_comes_again_is_shown_once() -> None:
    older, newer = use("fetch", code(1, 30), url="a"), use("get_page", code(1, 30), url="b")
    assert folded(older, MAKE, newer) == [(0, "same as a later get_page result")]
    assert folded(use("fetch", "x" * 40, url="a"), use("fetch", "x" * 40, url="b")) == []


def test_the_one_that_stays_is_not_itself_superseded() -> None:
    same = code(1, 30)
    other = use("bash", same, command="ls a")
    assert folded(use("bash", same, command="ls b"), other, use("bash", code(1, 9, "c"), command="ls a")) == [
        (1, "superseded by a later run of ls a")
    ]


# What is never touched


def test_the_newest_step_stays_whole() -> None:
    batch = tuple(replace(read(code(1, 30)), call=Call(f"{n}", "Read", '{"file_path":"src/a.py"}')) for n in range(2))
    assert proposed(View(history_of([Turn((Text("go"),), (Step(batch),))]))) == []
    assert folded(batch) == [(0, READ)]


def test_nothing_is_done_for_too_little_unless_it_is_over_the_limit() -> None:
    v = view(read(code(1, 30)), read(code(1, 30)))
    saved = sum(stub.before - stub.after for stub in proposed(v))
    assert len(proposed(v, saved * 50, 0.02)) == 1
    assert proposed(v, saved * 50 + 50, 0.02) == []
    assert len(proposed(v, context(v).ledger.total - 1, 5)) == 1


@given(histories(max_turns=5, max_steps=6))
def test_every_fold_shrinks_opens_and_is_the_last_word(history: History) -> None:
    v = View(history_of([*history.turns, *(replace(turn, key="") for turn in history.turns)]))
    stubs = proposed(v)
    newest = v.history.steps[-1].key if v.history.steps else ""
    after = v.with_(stubs)
    for stub in stubs:
        assert stub.after < stub.before and stub.key != newest
        assert "folded" in stub.text and f"ref={stub.ref}" in stub.text
        assert [ref_of(original) for _, original in after.originals(stub)] == [stub.ref]
    assert proposed(after) == []


@pytest.mark.parametrize(
    "text",
    ["a" * 1_000_000, " " * 1_000_000, '"' * 500_000, "1:" * 500_000, "\n" * 1_000_000],
    ids=["letters", "spaces", "quotes", "numbers", "lines"],
)
def test_odd_texts_take_no_longer_than_others(text: str) -> None:
    assert len(folded(read(text), use("bash", text, command=f"ls {text}"), read(text))) <= 2
