"""Help for a model, hook by hook: what is decided about a reply, without a server or a loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.scripted import HERE, READ, agent, calls, ended, play, says, sent
from yohaku.agent.events import TextDelta, ThoughtDelta
from yohaku.agent.host.local_servers import BILLIONS_KEY
from yohaku.agent.reply import LOW_TEMPERATURE, VARYING_TEMPERATURE
from yohaku.agent.small_models.assistance import (
    ACT,
    ANSWER,
    JAPANESE,
    SPEAK,
    Assistance,
    Finish,
    GiveUp,
    Retry,
    RunCalls,
    SmallModelAssistance,
    assist,
    follow_tier,
    is_foreign,
)
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.agent.tools import tools_for
from yohaku.core.budget import Budget
from yohaku.core.model import Reply, Result, Text, ToolUse
from yohaku.dialects.answer import Answer

LOOK = calls("read", path="a.py")


async def run_nothing(reply: Reply) -> tuple[ToolUse, ...]:
    raise AssertionError("no call was expected")


def help_for(root: Path, prompt: str = "Hi.", window: int = 8_192) -> Assistance:
    return assist(agent(root, window=window), prompt)


def use(helping: Assistance, text: str = "") -> None:
    uses = (ToolUse(LOOK, Result((Text("x"),))),)
    asyncio.run(helping.after_tools(uses, text, run_nothing))


@pytest.mark.parametrize(("window", "kind"), [(8_192, SmallModelAssistance), (60_000, Assistance)])
def test_the_window_decides_how_much_help_there_is(tmp_path: Path, window: int, kind: type) -> None:
    assert type(help_for(tmp_path, window=window)) is kind


def test_an_answer_finishes_and_calls_are_run(tmp_path: Path) -> None:
    helping, answer, call = help_for(tmp_path), Reply((Text("Hello."),)), Reply((LOOK,))
    assert helping.after_reply(call, folded=False) == RunCalls(call)
    assert helping.after_reply(answer, folded=False) == Finish(answer)


SMALL_MODEL = replace(HERE, info={BILLIONS_KEY: 1.5})


def test_a_small_model_is_told_the_task_again_behind_results_until_something_is_changed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    edit = calls("edit", 2, path="a.py", old_string="x = 1", new_string="x = 2")
    script = (says("", calls("read", path="a.py")), says("", edit), says("Done."))

    async def yes(ask: PermissionRequest) -> Any:
        return "once"

    one = agent(tmp_path, *script, endpoint=SMALL_MODEL, tools=tools_for("small"), allow=yes)
    play(one, "Let x be 2 here.")
    last = [body["messages"][-1] for body in sent(one)]
    assert [(entry["role"], entry["content"] == "[The task: Let x be 2 here.]") for entry in last] == [
        ("user", False), ("user", True), ("tool", False),
    ]  # fmt: skip
    assert not any("The task" in str(turn) for turn in one.conversation.history.turns), "it is part of one request"
    other = agent(tmp_path, *script[:1], says("Well."), tools=tools_for("small"))
    play(other, "Let x be 2 here.")
    assert sent(other)[1]["messages"][-1]["role"] == "tool"


def test_a_model_that_says_nothing_is_nudged_once_in_a_row(tmp_path: Path) -> None:
    helping = help_for(tmp_path)
    assert helping.after_reply(Reply(()), folded=False) == Retry(SPEAK)
    assert helping.after_reply(Reply(()), folded=False) == Finish(Reply(()))


def test_one_that_repeats_itself_is_nudged_twice_and_given_up(tmp_path: Path) -> None:
    helping, again = help_for(tmp_path), Reply((LOOK,))
    assert helping.after_reply(again, folded=False) == RunCalls(again)
    use(helping)
    found = [helping.after_reply(again, folded=False) for _ in range(3)]
    assert found == [Retry(ACT, circling=True), Retry(ANSWER, circling=True), GiveUp()]


def test_after_a_folding_it_may_look_again(tmp_path: Path) -> None:
    helping, again = help_for(tmp_path), Reply((LOOK,))
    helping.after_reply(again, folded=False)
    use(helping)
    assert helping.after_reply(again, folded=True) == RunCalls(again)


def test_japanese_is_answered_in_japanese_or_as_it_was(tmp_path: Path) -> None:
    helping, first = help_for(tmp_path, "実行してください。"), Reply((Text("It passed!"),))
    assert helping.after_reply(first, folded=False) == Retry(JAPANESE)
    assert helping.after_reply(Reply((LOOK,)), folded=False) == Finish(first)
    assert not is_foreign("英語で答えてください。", "It passed!")


def test_in_the_middle_of_a_turn_a_window_that_turns_out_small_brings_more_help(tmp_path: Path) -> None:
    one = agent(tmp_path, window=60_000)
    helping = assist(one, "Hi.")
    assert follow_tier(helping) is helping
    helping.changed = True
    one.context.session.budget = Budget(8_192, 1_024)
    one.context._equip()
    more = follow_tier(helping)
    assert isinstance(more, SmallModelAssistance) and more.guard is helping.guard and more.changed
    assert follow_tier(more) is more


def test_files_are_opened_only_for_a_model_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Tea is sold on Mondays.\n")
    opened: list[Reply] = []

    async def run(reply: Reply) -> tuple[ToolUse, ...]:
        opened.append(reply)
        return ()

    for local in (True, False):
        one = agent(tmp_path, window=8_192, tools=(READ,), endpoint=replace(HERE, local=local))
        asyncio.run(assist(one, "See notes.txt.").before_first_request(run))
    assert [[call.name for call in reply.calls] for reply in opened] == [["read"]]


def test_a_reply_without_end_is_asked_for_once_more_at_another_temperature(tmp_path: Path) -> None:
    async def endless(hear: Callable[[TextDelta | ThoughtDelta], None]) -> Answer:
        while True:
            hear(TextDelta("I will fix it now. Let me look at the file.\n"))
            await asyncio.sleep(0)

    one = agent(tmp_path, endless, says("It is fine."), window=8_192, endpoint=SMALL_MODEL)
    assert ended(play(one, "Is it fine?")).text == "It is fine."
    assert [body["temperature"] for body in sent(one)] == [LOW_TEMPERATURE, VARYING_TEMPERATURE]
    again = agent(tmp_path, endless, endless, window=8_192, endpoint=SMALL_MODEL)
    assert ended(play(again, "Is it fine?")).why == "failed"
