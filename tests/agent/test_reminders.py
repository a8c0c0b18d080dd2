"""After a folding the model's plan and the files that changed come back, in every recipe (P4, P9, P10)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.agent.fakes import Answering, Asked, Played, spoken
from tests.agent.lines import once, typed
from tests.agent.test_foldings_told import newest_transcript, reads
from yohaku.agent.model_texts import CHANGED
from yohaku.agent.reminders import PLAN, TITLE, Reminders
from yohaku.agent.toolkit.seen_files import SeenFiles
from yohaku.recipes.auto import RECIPES

ITEMS = ["look at the parser first", "write the missing test", "tell what the numbers mean"]
TODO = ("todo", {"items": [{"text": text, "status": "pending"} for text in ITEMS]})
FOLDING = {"served": 32_768, "window": 32_768}
DONE = spoken("openai_chat", "Done.")


def work(folder: Path, count: int = 16) -> list[Answering]:
    """Replies that say much and read a file each, so that every recipe comes to a gist; and the files."""
    script: list[Answering] = []
    for number in range(count):
        rows = [f"line {row} of file {number} has words of its own: {row * 7919 % 1000}\n" for row in range(150)]
        (folder / f"f{number}.txt").write_text("".join(rows))
        said = "".join(f"I see in {number}.{row} that {row * 104729 % 10_007} is odd.\n" for row in range(120))
        script.append(spoken("openai_chat", said, calls=[("read", {"path": f"f{number}.txt"})]))
    return [*script, DONE]


def change_first(folder: Path, script: list[Answering]) -> list[Answering]:
    """The same script; while the second reply is written, somebody changes the file that the first one read."""
    played = script[1]
    assert isinstance(played, Played)

    def change(_: Asked) -> Played:
        (folder / "f0.txt").write_text("somebody else wrote this\n")
        return played

    return [script[0], change, *script[2:]]


def calls_of(body: Any) -> str:
    return json.dumps([entry.get("tool_calls") for entry in body["messages"]])


def shown(body: Any) -> str:
    return json.dumps(body["messages"], ensure_ascii=False)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_plan_survives_every_folding(recipe: str, tmp_path: Path) -> None:  # P10
    script = [spoken("openai_chat", calls=[TODO]), *work(tmp_path)]
    done = once(script, "read them all", tmp_path, recipe=recipe, **FOLDING)
    hidden = [shown(body) for body in done.bodies[1:] if '"todo"' not in calls_of(body)]
    assert done.code == 0 and hidden, "the call that wrote the plan was folded away"
    assert all(TITLE in text and f"[ ] {item}" in text for text in hidden for item in ITEMS)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_file_that_changed_on_disk_is_named_from_then_on(recipe: str, tmp_path: Path) -> None:  # P9, P10
    done = once(change_first(tmp_path, work(tmp_path)), "read them all", tmp_path, recipe=recipe, **FOLDING)
    told = [CHANGED.format(names="f0.txt") in shown(body) for body in done.bodies]
    assert told == [False, False, *[True] * (len(told) - 2)], "in every request, folded or not"
    assert any("f1.txt" not in calls_of(body) for body in done.bodies[3:]), "the first note was folded away"


@pytest.mark.parametrize("recipe", ["local", "cache", "layers"])
def test_a_note_stays_where_the_result_around_it_is_cleared(recipe: str, tmp_path: Path) -> None:  # P9
    script = change_first(tmp_path, list(reads(tmp_path, 14)))
    done = once(script, "read them all", tmp_path, recipe=recipe, **FOLDING)
    note, quiet = CHANGED.format(names="f0.txt"), "line 0 of file 1 has"
    assert all(note in shown(body) for body in done.bodies[2:]) and quiet not in shown(done.bodies[-1])


def test_a_file_that_was_read_again_is_no_longer_named(tmp_path: Path) -> None:
    again = spoken("openai_chat", calls=[("read", {"path": "f0.txt"})])
    script = change_first(tmp_path, work(tmp_path))
    done = once([*script[:3], again, *script[3:]], "read them all", tmp_path, **FOLDING)
    assert CHANGED.format(names="f0.txt") in shown(done.bodies[2])
    assert CHANGED.format(names="f0.txt") not in shown(done.bodies[-1])


def test_files_read_last_come_back_with_the_summary_of_layers(tmp_path: Path) -> None:  # P4
    done = once(reads(tmp_path, 10, 100), "read them all", tmp_path, recipe="layers", served=16_384, window=16_384)
    restored = [text for body in done.bodies if "Files as they are now:" in (text := shown(body))]
    assert restored and "### f" in restored[0]


def test_at_most_five_files_come_back_the_newest_ones_as_they_are_on_disk(tmp_path: Path) -> None:  # P4
    script = work(tmp_path, 12)
    for number in range(12):
        (tmp_path / f"f{number}.txt").write_text(f"the only line of file {number}\n")
    done = once(script, "read them all", tmp_path, recipe="layers", **FOLDING)
    restored = [text for body in done.bodies if "Files as they are now:" in (text := shown(body))]
    found = [re.findall(r"### f(\d+)\.txt\\nthe only line of file (\d+)", text) for text in restored]
    assert found and max(map(len, found)) == 5
    for files in found:
        newest = int(files[0][0])
        assert files == [(str(number), str(number)) for number in range(newest, max(-1, newest - 5), -1)]


def test_a_plan_is_known_again_in_a_resumed_session(tmp_path: Path) -> None:
    once([spoken("openai_chat", calls=[TODO]), DONE], "make a plan", tmp_path, **FOLDING)
    lines = ["/resume " + newest_transcript(tmp_path), "read them all"]
    done = typed(work(tmp_path), lines, tmp_path, **FOLDING)
    hidden = [shown(body) for body in done.bodies if '"todo"' not in calls_of(body)]
    assert hidden and all(f"[ ] {item}" in text for text in hidden for item in ITEMS)


def test_a_reminder_without_anything_to_say_is_empty(tmp_path: Path) -> None:
    assert Reminders([], SeenFiles(tmp_path)).write(8_000, len) == ""


def test_of_a_long_plan_the_open_items_stay(tmp_path: Path) -> None:
    items = [("done", f"done {number}") for number in range(40)] + [("doing", "the one that matters")]
    text = Reminders(items, SeenFiles(tmp_path)).write(16 * 200, len)
    assert PLAN in text and "[>] the one that matters" in text and "done 1" not in text and len(text) <= 200
