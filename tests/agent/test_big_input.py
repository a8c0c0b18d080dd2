"""More than the window holds, as a user meets it: part by part with the question, notes, one answer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.agent.fakes import Answering, Asked, Played, spoken, whole
from tests.agent.lines import once, typed
from tests.agent.scripted import agent, ended, play, says, sent
from yohaku.agent.events import Event, ToolFinished, ToolStarted
from yohaku.session.session import Session
from yohaku.testing import ByteMeter

LOG = "".join(f"{number:05d} request served in {number % 90} ms\n" for number in range(1, 3_001))
NEEDLE = LOG.replace("01777 request served", "01777 ERROR disk full while request served")
PART = re.compile(r'<part number="(\d+)" of="(\d+)" lines="(\d+)-(\d+)">\n(.*?)\n</part>', re.DOTALL)


def text_of(body: Any) -> str:
    return str(body["messages"][-1]["content"])


def reader(asked: Asked) -> Played:
    """A model that notes what is in the part before it, and answers from the notes it is shown."""
    text = text_of(asked.body)
    if part := PART.search(text):
        found = re.search(r"(\d+) ERROR [a-z ]+full", part[5])
        return spoken("openai_chat", f"Line {found[1]}: disk full." if found else "nothing")
    noted = re.search(r"Line \d+: disk full\.", text)
    return spoken("openai_chat", f"The cause: {noted[0]}" if noted else "I found no cause.")


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("window", [4_096, 8_192, 40_000])
def test_a_big_text_is_read_part_by_part_with_the_question_and_answered_once(
    tmp_path: Path, chat: bool, window: int
) -> None:
    text = NEEDLE if window < 40_000 else NEEDLE * 3
    done = once(reader, f"Why did it fail?\n\n{text}", tmp_path, chat=chat, window=window, served=window)
    assert (done.code, done.out) == (0, "The cause: Line 01777: disk full.\n")
    parts = [found for body in done.bodies if (found := PART.search(text_of(body)))]
    assert len(parts) == len(done.asked) - 1 > 1
    assert [int(found[1]) for found in parts] == list(range(1, len(parts) + 1))
    assert {int(found[2]) for found in parts} == {len(parts)}
    shown = "\n".join(found[5].strip("\n") for found in parts)
    assert text.strip() in shown, "every line was read"
    assert all("Why did it fail?" in text_of(body) and not body.get("tools") for body in done.bodies[:-1])
    assert f"read in {len(parts)} parts" in done.err
    assert [f"Part {n} of {len(parts)}: lines" in done.err for n in (1, len(parts))] == [True, True]
    last = text_of(done.bodies[-1])
    assert "Why did it fail?" in last and re.search(r"ref=[a-z2-7]{12}", last) and len(last) < len(text)


def test_the_whole_text_can_be_opened_and_the_reason_is_said(tmp_path: Path) -> None:
    done = typed(reader, [f"Why did it fail? {NEEDLE}", "/why", "/recall 01776 request"], tmp_path, chat=True)
    assert "read part by part, and shown by the notes" in done.err
    assert re.search(r"ref=\w{12}:1776: 01776 request", done.err)


def test_it_can_be_stopped_and_the_notes_so_far_are_kept(tmp_path: Path) -> None:
    session = Session(4_000, dialect="openai_chat", meter=ByteMeter())
    one = agent(tmp_path, *[says("noted this")] * 3, says("Answer."), window=4_000, session=session, tools=())

    def stop(event: Event) -> None:
        if isinstance(event, ToolFinished) and event.call.id == "part_2":
            one.stop()

    events = play(one, f"What is it?\n\n{NEEDLE[:20_000]}", on=stop)
    assert ended(events).why == "stopped" and len(sent(one)) < 4
    started = [event.title for event in events if isinstance(event, ToolStarted)]
    assert started[0].startswith("Part 1 of ")
    events = play(one, "Go on.")
    assert ended(events).why == "done"
    view = json.dumps(sent(one)[-1])
    assert "noted this" in view and "where it was stopped" in view


def test_the_chat_recipe_refuses_and_sends_nothing(tmp_path: Path) -> None:  # C5
    prompt = f"Why did it fail?\n\n{NEEDLE}"
    done = once(reader, prompt, tmp_path, chat=True, recipe="chat")
    assert (done.code, done.out, done.asked) == (3, "", [])
    assert "does not fit" in done.err and "part" not in done.err.replace("parts of it", "")


def test_what_would_take_too_many_parts_is_said_to_be_hard_here(tmp_path: Path) -> None:
    done = once(spoken("openai_chat", "I saw the ends."), f"What is it?\n\n{LOG * 8}", tmp_path, window=4_096)
    assert len(done.asked) == 1 and done.out == "I saw the ends.\n"
    assert "hard here" in done.err and "in parts" not in done.err and "--model" in done.err


def test_a_server_that_takes_less_than_it_says_gets_smaller_parts(tmp_path: Path) -> None:
    def strict(asked: Asked) -> Played:
        if len(json.dumps(asked.body)) > 16_000:
            error = "This model's maximum context length is 4096 tokens. However, you requested 6000 tokens."
            return whole({"error": {"message": error, "code": "context_length_exceeded"}}, 400)
        return reader(asked)

    done = once(strict, f"Why did it fail?\n\n{NEEDLE}", tmp_path, chat=True)
    assert (done.code, done.out) == (0, "The cause: Line 01777: disk full.\n")


def source(functions: int) -> str:
    body = "".join(f"    total += {number}  # add {number}\n" for number in range(30))
    return "".join(f"def step_{n}(total):\n{body}    return total\n\n\n" for n in range(functions))


def by_function(asked: Asked) -> Played:
    text = text_of(asked.body)
    if part := PART.search(text):
        return spoken("openai_chat", "Returns total." if "return total" in part[5] else "nothing")
    return spoken("openai_chat", "Read it all." if "step_0" in text and "Returns total." in text else "I saw little.")


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_big_file_is_worked_on_function_by_function(tmp_path: Path, lang: str) -> None:  # L17
    (tmp_path / "big.py").write_text(source(24))
    done = once(by_function, "Review big.py", tmp_path, lang=lang)
    assert (done.code, done.out) == (0, "Read it all.\n")
    said = "function by function" if lang == "en" else "関数ごとに"
    assert said in done.err and "step_0()" in done.err
    parts = [found for body in done.bodies if (found := PART.search(text_of(body)))]
    assert len(parts) > 1 and all(found[5].startswith("def step_") for found in parts), "no function is torn"


def test_a_big_file_that_the_model_reads_by_itself_is_said_to_be_worked_on_so(tmp_path: Path) -> None:  # L17
    (tmp_path / "big.py").write_text(source(24))
    script: list[Answering] = [
        spoken("openai_chat", calls=[("read", {"path": "big.py"})]),
        spoken("openai_chat", calls=[("read", {"path": "big.py", "offset": 1, "limit": 20})]),
        spoken("openai_chat", "Done."),
    ]
    done = once(script, "Where is the total returned?", tmp_path)
    assert done.out == "Done.\n" and "big.py (816 lines)" in done.err and "function by function" in done.err


def test_a_file_that_fits_is_read_as_ever(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(source(1))
    done = once(spoken("openai_chat", "Fine."), "Review small.py", tmp_path)
    assert len(done.asked) == 1 and "function by function" not in done.err
