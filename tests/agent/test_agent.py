"""The loop, with a model that follows a script: what comes in, what goes out, and what is left of what goes wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import checkers
from tests.agent.scripted import READ, agent, calls, ended, play, says, sent, told, tool
from yohaku.agent.events import (
    ConversationFolded,
    Event,
    Gauge,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnEnded,
)
from yohaku.agent.model_texts import STOPPED
from yohaku.agent.small_models.assistance import JAPANESE, REPETITION_NUDGES, SPEAK
from yohaku.agent.toolkit.tool import Arguments, ToolContext, ToolResult
from yohaku.client.errors import Busy, CutOff, TooLong, Truncated, Unreachable
from yohaku.core.errors import BadSetting, DoesNotFit
from yohaku.core.model import Text
from yohaku.dialects.answer import Answer
from yohaku.dialects.overflow import Overflow
from yohaku.session.session import Session
from yohaku.testing import ByteMeter


def roles(body: Any) -> list[str]:
    return [entry["role"] for entry in body["messages"]]


def test_a_prompt_is_answered(tmp_path: Path) -> None:
    one = agent(tmp_path, says("Hello."))
    events = play(one, "Hi.")
    assert ended(events) == TurnEnded("done", "Hello.")
    assert [event for event in events if isinstance(event, TextDelta)] == [TextDelta("Hello.")]
    assert roles(sent(one)[0]) == ["system", "user"]
    assert [turn.steps[0].items for turn in one.conversation.history.turns] == [(Text("Hello."),)]


def test_calls_are_run_and_their_results_sent(tmp_path: Path) -> None:
    one = agent(tmp_path, says("I look.", calls("read", path="a.py")), says("It holds x."))
    events = play(one, "What is in a.py?")
    kinds = [type(event).__name__ for event in events if not isinstance(event, Gauge)]
    assert kinds == [
        "TextDelta", "ReplyFinished", "ToolStarted", "ToolFinished", "TextDelta", "ReplyFinished", "TurnEnded",
    ]  # fmt: skip
    assert [event.title for event in events if isinstance(event, ToolStarted)] == ["read a.py"]
    assert roles(sent(one)[1]) == ["system", "user", "assistant", "tool"]
    assert sent(one)[1]["messages"][-1]["content"] == "the content of a.py"
    assert checkers.DIALECTS["openai_chat"].problems(sent(one)[1]) == []


def test_reads_run_together_and_other_calls_one_after_the_other(tmp_path: Path) -> None:
    log: list[str] = []

    def logging(name: str) -> Callable[[ToolContext, Arguments], Any]:
        async def run(bench: ToolContext, arguments: Arguments) -> ToolResult:
            log.append(f"+{name}{arguments['path']}")
            await asyncio.sleep(0.01)
            log.append(f"-{name}{arguments['path']}")
            return ToolResult("ok")

        return run

    tools = (tool("read", logging("r")), tool("write", logging("w"), "write"))
    made = [calls(name, number, path=str(number)) for number, name in enumerate(("read", "read", "write", "write"), 1)]
    play(agent(tmp_path, says("", *made), says("Done."), tools=tools), "Go.")
    assert log == ["+r1", "+r2", "-r1", "-r2", "+w3", "-w3", "+w4", "-w4"]


def test_a_tool_that_is_not_there_is_told_to_the_model(tmp_path: Path) -> None:
    one = agent(tmp_path, says("", calls("fly")), says("Sorry."))
    play(one, "Go.")
    assert sent(one)[1]["messages"][-1]["content"] == "There is no tool 'fly'. Take one of: read."


def test_a_tool_that_breaks_is_told_to_the_model(tmp_path: Path) -> None:
    async def breaks(bench: ToolContext, arguments: Arguments) -> ToolResult:
        raise ZeroDivisionError("by zero")

    one = agent(tmp_path, says("", calls("read")), says("Sorry."), tools=(tool("read", breaks),))
    events = play(one, "Go.")
    assert ended(events).why == "done"
    assert "ZeroDivisionError" in sent(one)[1]["messages"][-1]["content"]


def test_what_a_tool_prints_reaches_the_screen_at_once(tmp_path: Path) -> None:
    async def prints(bench: ToolContext, arguments: Arguments) -> ToolResult:
        bench.show("half")
        return ToolResult("whole")

    one = agent(tmp_path, says("", calls("bash")), says("Done."), tools=(tool("bash", prints, "run"),))
    assert ToolOutput("call_1", "half") in play(one, "Go.")


def test_a_huge_output_of_a_tool_that_knows_no_room_is_cut_and_can_be_opened(tmp_path: Path) -> None:
    async def floods(bench: ToolContext, arguments: Arguments) -> ToolResult:
        return ToolResult("ぬるぽ\n" * 500_000)

    one = agent(tmp_path, says("", calls("read")), says("Done."), window=8_192, tools=(tool("read", floods),))
    events = play(one, "Go.")
    (called,) = [event for event in events if isinstance(event, ToolFinished)]
    text = called.result.text
    assert len(text.encode()) < 8_192 * 0.6
    ref = text.partition("ref=")[2].partition(" ")[0]
    assert one.session.recall(ref) == "ぬるぽ\n" * 500_000
    assert one.gauge.cuts == 1


def test_what_was_said_goes_on_in_the_next_prompt(tmp_path: Path) -> None:
    one = agent(tmp_path, says("Hello."), says("Fine."))
    play(one, "Hi.", "How are you?")
    assert roles(sent(one)[1]) == ["system", "user", "assistant", "user"]


def test_a_long_conversation_folds_and_says_so(tmp_path: Path) -> None:
    async def pages(bench: ToolContext, arguments: Arguments) -> ToolResult:
        return ToolResult(f"line of {arguments['path']}\n" * 60)

    lines: list[Answer] = []
    for number in range(40):
        lines += [says("", calls("read", number, path=f"file{number}.py"))]
    one = agent(tmp_path, *lines, says("Done."), window=8_192, tools=(tool("read", pages),))
    events = play(one, "Read them all.")
    assert ended(events) == TurnEnded("done", "Done.")
    folds = [event for event in events if isinstance(event, ConversationFolded)]
    assert folds and all(event.receipt.after < event.receipt.before for event in folds)
    assert all(len(str(body).encode()) < 12_000 for body in sent(one))
    assert all(checkers.DIALECTS["openai_chat"].problems(body) == [] for body in sent(one))
    assert max(event.receipt.after for event in folds) <= one.gauge.limit  # between two foldings it may be over it


# -- too long


def test_an_overflow_teaches_the_window_and_is_tried_again_once(tmp_path: Path) -> None:
    one = agent(tmp_path, TooLong(Overflow(limit=8_192, needs=9_000)), says("Done."), window=30_000)
    events = play(one, "Go.")
    assert ended(events) == TurnEnded("done", "Done.")
    assert one.window == 8_192 and one.gauge.limit == 8_192 - 1_024
    assert "8,192" in told(events)[0]
    assert len(sent(one)) == 2


def test_a_second_overflow_is_told_with_what_to_do_and_nothing_is_lost(tmp_path: Path) -> None:
    one = agent(tmp_path, TooLong(Overflow(8_192)), TooLong(Overflow(8_192)), says("Done."), lang="ja", window=30_000)
    events = play(one, "Go.")
    assert ended(events) == TurnEnded("too_big")
    assert "/compact" in told(events)[-1] and "失われたものはありません" in told(events)[-1]
    assert ended(play(one, "Again.")) == TurnEnded("done", "Done.")


def test_a_server_that_drops_part_of_the_prompt_is_noticed_and_given_less(tmp_path: Path) -> None:
    one = agent(tmp_path, Truncated(4_096, 9_000), says("Done."), window=30_000)
    events = play(one, "Go.")
    assert ended(events) == TurnEnded("done", "Done.")
    assert one.window == 4_096


def test_a_prompt_that_cannot_be_sent_is_taken_back(tmp_path: Path) -> None:
    one = agent(tmp_path, says("Done."), window=2_048)
    events = play(one, "Hi.")
    assert ended(events).why == "too_big" and sent(one) == []
    assert not one.conversation.began
    (why,) = told(events)
    assert why.startswith("This window is too small for the agent")


def test_a_prompt_that_was_taken_back_weighs_nothing_any_more(tmp_path: Path) -> None:
    session = Session(8_192, recipe="chat", dialect="openai_chat", meter=ByteMeter())
    one = agent(tmp_path, says("Hello."), says("Done."), window=8_192, session=session)
    play(one, "Hi.")
    before = one.gauge
    events = play(one, "y" * 50_000)
    assert ended(events) == TurnEnded("too_big") and len(sent(one)) == 1
    assert one.gauge == before
    assert [event for event in events if isinstance(event, Gauge)][-1] == before
    assert ended(play(one, "Again.")) == TurnEnded("done", "Done.")


def test_a_gauge_over_the_window_is_the_truth_and_the_folding_it_tells_of_follows(tmp_path: Path) -> None:
    async def floods(bench: ToolContext, arguments: Arguments) -> ToolResult:
        return ToolResult("line of output\n" * 400)

    lines = [says("", calls("read", number, path=str(number))) for number in range(12)]
    one = agent(tmp_path, *lines, says("Done."), window=8_192, tools=(tool("read", floods),))
    seen = [event for event in play(one, "Go.") if isinstance(event, Gauge | ConversationFolded)]
    over = [number for number, event in enumerate(seen) if isinstance(event, Gauge) and event.used > event.limit]
    assert any(isinstance(event, Gauge) and event.share > 1 for event in seen)
    for number in over:
        now, folded, after = seen[number : number + 3]
        assert isinstance(now, Gauge) and isinstance(folded, ConversationFolded) and isinstance(after, Gauge)
        assert f"before it is sent, as it is {now.used - now.limit:,} tokens more than fit" in now.coming
        assert (folded.receipt.before, folded.receipt.after) == (now.used, after.used)
        assert after.used <= after.limit


# -- cut off


def test_a_reply_that_was_cut_off_is_asked_for_again_with_more_room(tmp_path: Path) -> None:
    one = agent(tmp_path, says("This is half", stop="length"), says("This is whole."))
    events = play(one, "Tell me.")
    assert ended(events) == TurnEnded("done", "This is whole.")
    assert [turn.steps[0].items for turn in one.conversation.history.turns] == [(Text("This is whole."),)]
    assert one.context.client.reserve == one.session.budget.reserve


def test_one_that_is_cut_off_twice_is_kept_as_it_is(tmp_path: Path) -> None:
    torn = calls("read", path="a.py")
    half = type(torn)("call_2", "read", '{"path": "b')
    one = agent(tmp_path, says("half", stop="length"), says("half", torn, half, stop="length"), says("Done."))
    events = play(one, "Go.")
    assert [event.call.id for event in events if isinstance(event, ToolStarted)] == ["call_1"]
    assert ended(events) == TurnEnded("done", "Done.")


def test_a_stream_that_breaks_is_asked_for_again(tmp_path: Path) -> None:
    one = agent(tmp_path, CutOff(says("Hal")), says("Hello."))
    assert ended(play(one, "Hi.")) == TurnEnded("done", "Hello.")


@pytest.mark.parametrize("error", [Busy(30.0), Unreachable("refused", "Ollama")])
def test_a_server_that_does_not_answer_is_told_and_the_prompt_is_kept(tmp_path: Path, error: Exception) -> None:
    one = agent(tmp_path, error, says("Hello."))
    events = play(one, "Hi.")
    assert ended(events).why == "failed" and len(told(events)) == 1
    assert ended(play(one, "Again.")) == TurnEnded("done", "Hello.")
    assert roles(sent(one)[1]) == ["system", "user", "user"]


# -- circles


def test_a_small_model_that_makes_the_same_call_again_is_told_so_and_then_asked_for_words(tmp_path: Path) -> None:
    again = [says("", calls("read", number, path="a.py")) for number in range(3)]
    one = agent(tmp_path, *again, says("It holds x."), window=8_192)
    events = play(one, "What is in it?")
    assert ended(events) == TurnEnded("done", "It holds x.")
    assert [body.get("tool_choice") for body in sent(one)] == [None, None, None, "none"]
    before, *urged = sent(one)[1:]
    assert all(body["messages"][:-1] == before["messages"] for body in urged), "what the server has cached is of use"
    assert all(body["tools"] == before["tools"] for body in urged)
    assert [body["messages"][-1]["content"] for body in urged] == [nudge.text for nudge in REPETITION_NUDGES]
    assert len([event for event in events if isinstance(event, ToolStarted)]) == 1


def test_one_that_cannot_stop_is_stopped_kindly(tmp_path: Path) -> None:
    again = [says("", calls("read", number, path="a.py")) for number in range(9)]
    one = agent(tmp_path, *again, window=60_000)
    events = play(one, "Go.")
    assert ended(events).why == "failed" and len(sent(one)) == 6
    assert "/model" in told(events)[-1]


def test_one_that_goes_on_after_it_was_told_is_let_go_on(tmp_path: Path) -> None:
    again = [says("", calls("read", number, path="a.py")) for number in range(2)]
    one = agent(tmp_path, *again, says("", calls("read", 3, path="b.py")), says("Done."), window=8_192)
    events = play(one, "Go.")
    assert ended(events) == TurnEnded("done", "Done.")
    assert not any(nudge.text in str(sent(one)[-1]) for nudge in REPETITION_NUDGES), (
        "it was said once, and is no part of the conversation"
    )


def test_words_without_end_are_cut_short(tmp_path: Path) -> None:
    async def babbles(hear: Callable[[TextDelta], None]) -> Answer:
        for _ in range(100_000):
            hear(TextDelta("and so on, and so forth, "))
            await asyncio.sleep(0)
        raise AssertionError("it was not stopped")

    one = agent(tmp_path, babbles)
    events = play(one, "Go.")
    assert ended(events).why == "failed" and len(ended(events).text) < 100
    assert roles(one.conversation.body) == ["system", "user", "assistant"]


def test_a_prompt_may_take_so_many_steps(tmp_path: Path) -> None:
    endlessly = [says("", calls("read", number, path=f"{number}.py")) for number in range(9)]
    events = play(agent(tmp_path, *endlessly, max_steps=5), "Go.")
    assert ended(events).why == "steps" and "5" in told(events)[-1]


def test_a_model_that_says_nothing_is_asked_once_more(tmp_path: Path) -> None:
    one = agent(tmp_path, says(), says("Hello."))
    events = play(one, "Hi.")
    assert ended(events) == TurnEnded("done", "Hello.") and told(events) == []
    assert sent(one)[1]["messages"][-1]["content"] == f"Hi.\n\n{SPEAK.text}" and SPEAK.text not in str(
        one.conversation.body
    )


def test_one_that_says_nothing_twice_is_told(tmp_path: Path) -> None:
    one = agent(tmp_path, says(), says(" "), says("Hello."))
    events = play(one, "Hi.")
    assert ended(events) == TurnEnded("done", " ") and len(told(events)) == 1
    assert ended(play(one, "Hi?")) == TurnEnded("done", "Hello.")


# -- stopping


def stopping(one: Any, at: type) -> Callable[[Event], None]:
    return lambda event: one.stop() if isinstance(event, at) else None


def test_stopping_a_tool_leaves_a_result_that_says_so(tmp_path: Path) -> None:
    killed: list[bool] = []

    async def hangs(bench: ToolContext, arguments: Arguments) -> ToolResult:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            killed.append(True)
            raise
        return ToolResult("")

    tools = (READ, tool("bash", hangs, "run"))
    made = (calls("read", 1, path="a.py"), calls("bash", 2, path="sleep"), calls("bash", 3, path="never"))
    one = agent(tmp_path, says("", *made), says("Fine."), tools=tools)
    seen: list[str] = []

    def on(event: Event) -> None:
        if isinstance(event, ToolStarted) and event.call.name == "bash":
            seen.append(event.call.id)
            one.stop()

    events = play(one, "Go.", on=on)
    assert ended(events).why == "stopped" and killed == [True] and seen == ["call_2"]
    results = [entry["content"] for entry in one.conversation.body["messages"] if entry["role"] == "tool"]
    assert results == ["the content of a.py", STOPPED, STOPPED]
    assert ended(play(one, "Go on.")) == TurnEnded("done", "Fine.")
    assert checkers.DIALECTS["openai_chat"].problems(sent(one)[1]) == []


def test_stopping_a_reply_keeps_what_was_said(tmp_path: Path) -> None:
    async def slowly(hear: Callable[[TextDelta], None]) -> Answer:
        hear(TextDelta("I think that"))
        await asyncio.sleep(3_600)
        raise AssertionError("it was not stopped")

    one = agent(tmp_path, slowly, says("Fine."))
    events = play(one, "Go.", on=stopping(one, TextDelta))
    assert ended(events) == TurnEnded("stopped", "I think that")
    assert one.conversation.body["messages"][-1]["content"] == f"I think that\n{STOPPED}"
    assert ended(play(one, "Go on.")) == TurnEnded("done", "Fine.")


def test_closing_the_events_stops_the_work(tmp_path: Path) -> None:
    async def leaves() -> bool:
        async def slowly(hear: Callable[[TextDelta], None]) -> Answer:
            hear(TextDelta("I think"))
            await asyncio.sleep(3_600)
            raise AssertionError("it was not stopped")

        one = agent(tmp_path, slowly)
        events = one.work("Go.")
        async for event in events:
            if isinstance(event, TextDelta):
                break
        await events.aclose()
        return one.busy

    assert asyncio.run(leaves()) is False


def test_it_does_one_thing_at_a_time(tmp_path: Path) -> None:
    async def twice() -> None:
        one = agent(tmp_path, says("Hello."))
        async for _ in one.work("Hi."):
            async for _ in one.work("And?"):
                pass

    with pytest.raises(BadSetting, match="queue"):
        asyncio.run(twice())


# -- what the user types meanwhile, and what others change


def test_what_is_typed_while_it_works_goes_in_at_the_next_step(tmp_path: Path) -> None:
    one = agent(tmp_path, says("", calls("read", path="a.py")), says("Done."))
    play(one, "Go.", on=lambda event: one.queue("Only look.") if isinstance(event, ToolStarted) else None)
    assert roles(sent(one)[1]) == ["system", "user", "assistant", "tool", "user"]
    assert sent(one)[1]["messages"][-1]["content"] == "Only look." and one.queued == ()


def test_what_is_typed_during_the_last_reply_is_not_lost(tmp_path: Path) -> None:
    one = agent(tmp_path, says("Done."))
    play(one, "Go.", on=lambda event: one.queue("And then?") if isinstance(event, TextDelta) else None)
    assert one.queued == ("And then?",)
    assert one.unqueue() == "And then?" and one.unqueue() is None


def test_a_file_that_somebody_else_changed_is_announced(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1")

    async def reads(bench: ToolContext, arguments: Arguments) -> ToolResult:
        bench.files.saw(path)
        return ToolResult(path.read_text())

    one = agent(tmp_path, says("", calls("read")), says("Done."), says("I see."), tools=(tool("read", reads),))
    play(one, "Look.")
    path.write_text("x = 2000")
    play(one, "And now?")
    said = sent(one)[2]["messages"][-1]["content"]
    assert said.startswith("And now?\n\n[changed on disk since you read it: a.py")


# -- folding by hand, another model, an earlier session


def test_folding_by_hand(tmp_path: Path) -> None:
    one = agent(tmp_path, *(says(f"The answer to number {number}.\n" * 60) for number in range(4)))
    assert asyncio.run(one.compact()) is None
    play(one, *(f"Question {number}.\n" * 60 for number in range(4)))
    folded = asyncio.run(one.compact("keep the port"))
    assert folded and folded.manual and folded.receipt.after < folded.receipt.before
    assert one.gauge.foldings == 1


def test_a_window_it_cannot_work_in_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    one = agent(tmp_path, says("Hello."), says("Fine."))
    play(one, "Hi.")
    before = one.endpoint, one.context.client, one.session, one.window
    with pytest.raises(DoesNotFit):
        asyncio.run(one.switch(one.endpoint, 100))
    assert (one.endpoint, one.context.client, one.session, one.window) == before
    assert ended(play(one, "Go on.")) == TurnEnded("done", "Fine.")


def test_an_earlier_session_is_gone_on_with(tmp_path: Path) -> None:
    recording = tmp_path / "old.json"
    said = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    recording.write_text(json.dumps({"messages": said}))
    one = agent(tmp_path, says("Fine."))
    one.resume(recording)
    play(one, "How are you?")
    assert [entry["content"] for entry in sent(one)[0]["messages"][1:]] == ["Hi.", "Hello.", "How are you?"]


def test_the_gauge_says_what_is_coming(tmp_path: Path) -> None:
    one = agent(tmp_path, says("Hello."), lang="ja")
    before = one.gauge
    assert before.window == 20_000 and before.used > 0 and before.system > 1_000 and before.tools > 0
    events = play(one, "Hi.")
    gauges = [event for event in events if isinstance(event, Gauge)]
    assert gauges[-1].used > gauges[0].used >= before.used
    assert gauges[-1].coming == "99 % までは圧縮しません (17,325 トークン)。そのあと古いステップを要点と抜粋にします"


def test_what_the_provider_reports_is_what_the_gauge_shows(tmp_path: Path) -> None:
    one = agent(tmp_path, says("Hello.", prompt=5_000))
    play(one, "Hi.")
    assert 5_000 <= one.gauge.used <= 5_050


def test_everything_is_kept_in_the_store_it_is_given(tmp_path: Path) -> None:
    session = Session(20_000, dialect="openai_chat", meter=ByteMeter(), store=f"sqlite:///{tmp_path / 'store.db'}")
    one = agent(tmp_path, *(says(f"The answer to number {number}.\n" * 60) for number in range(4)), session=session)
    play(one, *(f"Question {number}.\n" * 60 for number in range(4)))
    folded = asyncio.run(one.compact())
    assert folded and all(session.recall(fold.ref) for fold in folded.receipt.folds)


def test_what_is_taken_back_is_in_the_gauge_at_once(tmp_path: Path) -> None:
    one = agent(tmp_path, *(says(f"The answer {number}.\n" * 60) for number in range(4)))
    play(one, *(f"Question {number}.\n" * 60 for number in range(4)))
    before = one.gauge.used
    asyncio.run(one.compact())
    small = one.gauge.used
    assert small < before
    done, folded = asyncio.run(one.undo())
    assert (len(done), folded) == (1, None)
    assert one.gauge.used == before
    asyncio.run(one.redo())
    assert one.gauge.used == small


def test_who_writes_japanese_is_answered_in_japanese_by_a_small_model_too(tmp_path: Path) -> None:
    one = agent(tmp_path, says("The test passed!"), says("テストは成功しました。"), window=8_192)
    assert ended(play(one, "テストを実行してください。")).text == "テストは成功しました。"
    first, again = sent(one)
    *before, prompt = first["messages"]
    assert again["messages"] == [*before, {"role": "user", "content": f"{prompt['content']}\n\n{JAPANESE.text}"}]
    assert again["tool_choice"] == "none"


def test_one_that_calls_instead_of_answering_in_japanese_has_answered_already(tmp_path: Path) -> None:
    one = agent(tmp_path, says("The test passed!"), says("", calls("read", path="a.py")), window=8_192)
    events = play(one, "テストを実行してください。")
    assert ended(events).text == "The test passed!"
    assert not any(isinstance(event, ToolFinished) for event in events)


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        ("Run the tests.", "The test passed!"),
        ("「成功」を英語にしてください。", "success"),
        ("実行してください。", "```\nprint(1)\n```"),
        ("実行してください。", "OK です。"),
    ],
)
def test_what_may_be_meant_so_is_left_as_it_is(tmp_path: Path, prompt: str, reply: str) -> None:
    one = agent(tmp_path, says(reply), window=8_192)
    assert ended(play(one, prompt)).text == reply
