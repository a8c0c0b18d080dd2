from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yohaku.core.errors import Malformed
from yohaku.core.history_builder import HistoryBuilder, history_of
from yohaku.core.model import Call, History, Opaque, Part, Reply, Result, Step, Text, Tool, ToolUse, Turn
from yohaku.testing import conversation, histories


def use(call_id: str = "1", text: str = "out", arguments: str = '{"a":1,"b":2}') -> ToolUse:
    return ToolUse(Call(call_id, "bash", arguments), Result((Text(text),)))


def turn(prompt: str, *steps: Step) -> Turn:
    return Turn((Text(prompt),), steps)


def keys(history: History) -> list[str]:
    return [key for turn in history.turns for key in (turn.key, *(step.key for step in turn.steps))]


def builder_at(where: str) -> HistoryBuilder:
    builder = HistoryBuilder()
    builder.prompt(Text("go"))
    builder.where = where
    return builder


def take(builder: HistoryBuilder, history: History) -> None:
    """Says a history to a builder, asking for what it has so far wherever that is well formed."""
    for turn in history.turns:
        for part in turn.prompt:
            builder.prompt(part)
            builder.history()
        for step in turn.steps:
            builder.reply()
            for item in step.items:
                builder.say(item.call if isinstance(item, ToolUse) else item)
            builder.history()
            for use in step.uses:
                builder.answer(use.call.id, use.result)
            builder.history()


# What is malformed, and where


def test_a_call_that_is_never_answered_is_named_with_the_entry_that_made_it() -> None:
    builder = builder_at("messages[1]")
    builder.say(Call("1", "bash", "{}"))
    builder.where = "messages[2]"
    with pytest.raises(Malformed) as raised:
        builder.prompt(Text("and now?"))
    assert (raised.value.where, raised.value.what) == ("messages[1]", "call '1' has no result")
    assert str(raised.value) == "messages[1]: call '1' has no result"


def test_a_reply_may_not_begin_while_a_call_is_open() -> None:
    builder = builder_at("messages[1]")
    builder.say(Call("1", "bash", "{}"))
    builder.where = "messages[2]"
    with pytest.raises(Malformed) as raised:
        builder.reply()
    assert (raised.value.where, raised.value.what) == ("messages[1]", "call '1' has no result")


def test_half_a_batch_of_results_is_not_a_history() -> None:
    builder = builder_at("messages[1]")
    builder.say(Call("1", "bash", "{}"))
    builder.say(Call("2", "bash", "{}"))
    builder.where = "messages[2]"
    builder.answer("1", Result())
    with pytest.raises(Malformed) as raised:
        builder.history()
    assert (raised.value.where, raised.value.what) == ("messages[1]", "call '2' has no result")


def test_a_call_id_may_be_used_once_in_a_step() -> None:
    builder = builder_at("messages[1]")
    builder.say(Call("1", "bash", "{}"))
    with pytest.raises(Malformed) as raised:
        builder.say(Call("1", "bash", "{}"))
    assert (raised.value.where, raised.value.what) == ("messages[1]", "call id '1' is used twice")


def test_a_later_step_may_use_an_id_again_as_some_servers_do() -> None:
    again = [turn("a", Step((use("1"),)), Step((use("1"),))), turn("b", Step((use("1"),)))]
    assert history_of(again) == History(turns=tuple(again))
    assert len(set(keys(history_of(again)))) == 5


def test_where_ids_must_be_unique_a_later_step_may_not_use_one_again() -> None:
    builder = builder_at("input[1]")
    builder.unique_ids = True
    builder.say(Call("1", "bash", "{}"))
    builder.answer("1", Result())
    builder.prompt(Text("again"))
    builder.where = "input[4]"
    with pytest.raises(Malformed) as raised:
        builder.say(Call("1", "bash", "{}"))
    assert (raised.value.where, raised.value.what) == ("input[4]", "call id '1' is used twice")


def test_a_result_needs_a_call() -> None:
    builder = builder_at("messages[1]")
    with pytest.raises(Malformed) as raised:
        builder.answer("7", Result())
    assert (raised.value.where, raised.value.what) == (
        "messages[1]",
        "this is a result for call '7', which was never made",
    )


def test_a_call_has_one_result() -> None:
    builder = builder_at("messages[1]")
    builder.say(Call("1", "bash", "{}"))
    builder.where = "messages[2]"
    builder.answer("1", Result())
    builder.where = "messages[3]"
    with pytest.raises(Malformed) as raised:
        builder.answer("1", Result())
    assert (raised.value.where, raised.value.what) == (
        "messages[3]",
        "this is a result for call '1', which has two results",
    )


def test_a_history_made_by_hand_is_checked_too() -> None:
    with pytest.raises(Malformed, match="call id '1' is used twice"):
        history_of([turn("a", Step((use("1"), use("1"))))])


# What a builder hands out


def test_prompts_in_a_row_are_one_turn_and_a_prompt_after_a_step_begins_the_next() -> None:
    builder = HistoryBuilder()
    for part in (Text("a"), Text("b")):
        builder.prompt(part)
    builder.say(Text("c"))
    builder.prompt(Text("d"))
    assert builder.history() == History(turns=(Turn((Text("a"), Text("b")), (Step((Text("c"),)),)), turn("d")))


def test_replies_without_calls_in_a_row_are_one_step() -> None:
    builder = HistoryBuilder()
    builder.prompt(Text("a"))
    for word in ("b", "c"):
        builder.reply()
        builder.say(Text(word))
    assert builder.history() == History(turns=(turn("a", Step((Text("b"), Text("c")))),))


def test_what_the_model_says_after_its_results_is_the_next_step() -> None:
    builder = HistoryBuilder()
    builder.prompt(Text("a"))
    builder.say(Call("1", "bash", "{}"))
    builder.answer("1", Result())
    builder.say(Text("b"))
    assert builder.history() == History(
        turns=(turn("a", Step((ToolUse(Call("1", "bash", "{}"), Result()),)), Step((Text("b"),))),)
    )


def test_a_conversation_the_model_begins_has_a_turn_without_a_prompt() -> None:
    builder = HistoryBuilder()
    builder.say(Text("Welcome."))
    assert builder.history() == History(turns=(Turn((), (Step((Text("Welcome."),)),)),))


def test_nothing_said_is_an_empty_history() -> None:
    assert HistoryBuilder().history() == History()
    assert not HistoryBuilder().began


def test_calls_at_the_very_end_are_pending_with_the_text_before_them() -> None:
    builder = builder_at("messages[1]")
    said = (Text("I look."), Call("1", "bash", "{}"))
    for item in said:
        builder.say(item)
    assert builder.history() == History(turns=(turn("go"),), pending=Reply(said))
    assert (builder.open_reply(), builder.open_calls) == (Reply(said), (said[1],))
    builder.answer("1", Result())
    assert builder.history() == history_of([turn("go", Reply(said).settle({"1": Result()}))])


def test_a_pending_reply_made_by_hand_is_kept() -> None:
    pending = Reply((Call("9", "bash", "{}"),))
    history = history_of([turn("go", Step((use(),)))], [Text("be kind")], [Tool("bash", "{}")], pending)
    assert history == History((Text("be kind"),), (Tool("bash", "{}"),), (turn("go", Step((use(),))),), pending)


# Keys


@given(histories(max_turns=3, max_steps=4, interleaved=True))
@settings(max_examples=60)
def test_no_two_places_of_a_conversation_have_the_same_key(history: History) -> None:
    found = keys(history)
    assert len(set(found)) == len(found) and all(found)


@given(histories(max_turns=3, max_steps=4), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_a_key_hangs_on_everything_said_before_it_and_on_nothing_after(history: History, chance: Random) -> None:
    place = chance.randrange(len(history.turns))
    turns = list(history.turns)
    turns[place] = replace(turns[place], prompt=(Text("something else"), *turns[place].prompt))
    changed = keys(history_of(turns))
    before = len(keys(History(turns=history.turns[:place])))
    assert changed[:before] == keys(history)[:before]
    assert not set(changed[before:]) & set(keys(history)[before:])


@given(histories(max_turns=3, max_steps=4, interleaved=True))
@settings(max_examples=60)
def test_reading_on_gives_the_same_history_and_keys_as_reading_at_once(history: History) -> None:
    builder = HistoryBuilder()
    builder.system, builder.tools = list(history.system), list(history.tools)
    take(builder, history)
    assert builder.history() == history
    assert keys(builder.history()) == keys(history)


def test_a_longer_reading_keeps_the_keys_of_what_was_settled() -> None:
    whole = conversation(Random(5), max_turns=5)
    for count in range(1, len(whole.turns) + 1):
        part = keys(history_of(whole.turns[:count]))
        assert keys(whole)[: len(part)] == part


def test_the_same_words_at_two_places_have_two_keys() -> None:
    found = keys(history_of([turn("again", Step((use("1"),)), Step((use("2"),))), turn("again", Step((use("3"),)))]))
    assert len(set(found)) == 5


THOUGHT: Part = Opaque("thought", "sealed")


@pytest.mark.parametrize(
    ("why", "other"),
    [
        ("ids", Step((Text("look"), use("other id")))),
        ("places", Step((Text("look", at=(5, "content")), use()))),
        ("thoughts", Step((THOUGHT, Text("look"), use(), THOUGHT))),
        ("JSON", Step((Text("look"), use(arguments='{"b": 2, "a": 1}')))),
        ("marks of errors", Step((Text("look"), ToolUse(use().call, Result((Text("out"),), error=True))))),
    ],
)
def test_what_clients_change_between_requests_is_no_part_of_a_key(why: str, other: Step) -> None:
    assert keys(history_of([turn("go", other)])) == keys(history_of([turn("go", Step((Text("look"), use())))])), why


@pytest.mark.parametrize(
    "other",
    [
        Step((Text("look "), use())),
        Step((use(), Text("look"))),
        Step((Text("look"), use(text="out."))),
        Step((Text("look"), use(arguments='{"a":1,"b":3}'))),
        Step((Text("look"), ToolUse(Call("1", "read", '{"a":1,"b":2}'), Result((Text("out"),))))),
        Step((Text("look"), ToolUse(use().call, Result((Text("o"), Text("ut")))))),
        Step((Text("look"), ToolUse(use().call, Result()))),
        Step((Text("look"), use(), Opaque("image", "x", "base64"))),
    ],
)
def test_whatever_was_said_otherwise_gives_another_key(other: Step) -> None:
    mine, theirs = (keys(history_of([turn("go", step)])) for step in (Step((Text("look"), use())), other))
    assert mine[0] == theirs[0] and mine[1] != theirs[1]


def test_system_and_tools_are_no_part_of_a_key() -> None:
    turns = [turn("go", Step((use(),)))]
    assert keys(history_of(turns, [Text("be kind")], [Tool("bash", "{}")])) == keys(history_of(turns))


def test_keys_are_the_same_in_every_process() -> None:
    code = (
        "from yohaku.core.model import *; from yohaku.core.history_builder import history_of; "
        "use = ToolUse(Call('1', 'bash', '{\"a\":1,\"b\":2}'), Result((Text('out'),))); "
        "turn = history_of([Turn((Text('go'),), (Step((Text('look'), use)),))]).turns[0]; "
        "print(turn.key, turn.steps[0].key)"
    )
    for seed in ("1", "2"):
        environ = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
        assert told.stdout.split() == keys(history_of([turn("go", Step((Text("look"), use())))]))


def test_a_pending_reply_does_not_change_the_keys() -> None:
    turns = [turn("a", Step((Text("b"),))), turn("c")]
    assert keys(history_of(turns, pending=Reply((Call("1", "bash", "{}"),)))) == keys(history_of(turns))


def test_the_same_words_by_the_user_and_by_the_model_have_different_keys() -> None:
    asked = history_of([turn("go", Step((use(),))), turn("ok")])
    said = history_of([turn("go", Step((use(),)), Step((Text("ok"),)))])
    assert asked.turns[1].key != said.turns[0].steps[1].key
