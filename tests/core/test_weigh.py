from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings

from yohaku.core.history_builder import history_of
from yohaku.core.meter import Overhead
from yohaku.core.model import Call, History, Opaque, Result, Step, Text, Tool, ToolUse, Turn
from yohaku.core.weigh import Ledger, Weigher, weigh
from yohaku.testing import ByteMeter, conversation, histories

METER = ByteMeter()  # a token a byte; request 3, message 4, result 4; 100 for what is not text


class Framed(ByteMeter):
    frame = Overhead(request=1_000, message=100, call=20, result=10, tools=5_000, tool=500, definition=1.5, system=7)


class Joined(ByteMeter):
    frame = Overhead(message=100, reply=30, joint=1, system=7)


class Counting(ByteMeter):
    """Remembers what it was asked to count."""

    def __init__(self) -> None:
        self.counted: list[str] = []

    def count(self, text: str) -> int:
        self.counted.append(text)
        return super().count(text)


def use(call_id: str, *texts: str) -> ToolUse:
    return ToolUse(Call(call_id, "bash", "{}"), Result(tuple(Text(text) for text in texts)))


def test_an_empty_conversation_weighs_its_frame() -> None:
    assert weigh(History(), METER) == Ledger(system=0, tools=0, turns=0, last=0, request=3)


def test_each_token_is_in_one_column_and_the_newest_results_in_last_as_well() -> None:
    history = history_of(
        [Turn((Text("0123456789"),), (Step((Text("abc"), use("1", "12345"))), Step((use("2", "xy", "z"), use("3")))))],
        [Text("be kind")],
        [Tool("bash", '{"name":"bash"}')],
    )
    calls = len("bash{}")
    first, second = 4 + 3 + calls + 4 + 5, 4 + calls + 4 + 3 + calls + 4
    ledger = weigh(history, METER)
    assert ledger == Ledger(system=4 + 7, tools=15, turns=4 + 10 + first + second, last=3, request=3)
    assert (ledger.total, ledger.fixed) == (11 + 15 + 14 + first + second + 3, 11 + 15 + 3)


def test_the_newest_results_are_those_of_the_newest_step_even_when_a_prompt_came_after() -> None:
    turns = [Turn((Text("a"),), (Step((use("1", "12345"),)),)), Turn((Text("b"),))]
    assert weigh(history_of(turns), METER).last == 5
    assert weigh(history_of([Turn((Text("b"),))]), METER).last == 0


def test_the_frame_is_added_once_for_each_thing_it_surrounds() -> None:
    meter = Framed()
    weigher = Weigher(meter)
    assert weigh(History(), meter).total == 1_000
    assert weigher.tools(()) == 0
    assert weigher.tools((Tool("a", "123"), Tool("b", "1"))) == 5_000 + 2 * 500 + 5 + 2  # 4.5 and 1.5, rounded up
    assert weigher.use(use("1", "xyz")) == 20 + 6 + 10 + 3
    assert weigher.step(Step((Text("ab"), use("1", "xyz")))) == 100 + 2 + 39
    assert weigher.entries((Text("ab"), Text("c"))) == 2 * 100 + 3


def test_parts_of_one_entry_share_its_frame_and_a_field_of_its_own_has_another() -> None:
    weigher = Weigher(METER)
    assert weigher.entries((Text("a", at=(1, "content", 0)), Text("b", at=(1, "content", 1)))) == 4 + 2
    assert weigher.entries((Text("a", at=(1, "content")), Text("b", at=(2, "content")))) == 4 + 4 + 2
    assert weigher.entries((Text("a", at=("system", 0)), Text("b", at=("system", 1)))) == 2
    assert Weigher(Framed()).entries((Text("a", at=("system", 0)), Text("b", at=("system", 1)))) == 7 + 2
    assert weigher.entries((Text("gist"), Text("b", at=(0, "content")))) == 4 + 4 + 5
    assert weigher.step(Step((Text("a", at=(1,)), Text("b", at=(2,))))) == 4 + 4 + 2


def test_what_the_model_said_may_have_a_frame_of_its_own() -> None:
    said = Step((Text("ab", at=(1,)),))
    turn = Turn((Text("a", at=(0,)),), (said,))
    assert [Weigher(meter).step(said) for meter in (METER, Joined())] == [4 + 2, 30 + 2]
    assert Weigher(Joined()).turn(turn) == 100 + 1 + 30 + 2


def test_texts_of_the_user_that_follow_each_other_share_a_frame_where_the_provider_joins_them() -> None:
    entries = Weigher(Joined()).entries
    one, two = Text("a", at=(1, "content", 0)), Text("b", at=(1, "content", 1))
    other, system = Text("c", at=(2, "content")), Text("d", "system", at=(3, "content"))
    picture = Opaque("image", "x", "base64", at=(1, "content", 2))
    assert entries((one, two)) == 100 + 1 + 2
    assert entries((one, two, other)) == 100 + 1 + 1 + 3
    assert entries((one, other, system)) == 100 + 1 + 100 + 3
    assert entries((one, picture)) == 100 + 1 + 100
    assert entries((one, picture, other)) == 100 + 100 + 2 + 100
    assert entries((Text("a", at=("system", 0)), Text("b", at=("system", 1)))) == 7 + 1 + 2


def test_a_gist_is_joined_to_the_prompt_after_it_as_it_will_be_when_it_is_sent() -> None:
    entries, prompt = Weigher(Joined()).entries, Text("b", at=(1, "content"))
    assert entries((Text("gist"), prompt)) == entries((Text("gist", at=(0, "content")), prompt)) == 100 + 1 + 5


def test_what_is_not_text_weighs_what_the_meter_says() -> None:
    assert Weigher(METER).parts((Text("abc"), Opaque("image", "x" * 10_000, "base64"))) == 103


def test_scales_know_a_step_they_have_weighed_before() -> None:
    meter = Counting()
    weigher, step = Weigher(meter), Step((Text("abc"),))
    assert [weigher.step(step), weigher.step(step)] == [7, 7]
    assert meter.counted == ["abc"]
    assert Weigher(meter).step(step) == 7 and meter.counted == ["abc", "abc"]


def test_equal_steps_that_stood_elsewhere_are_weighed_each_for_itself() -> None:
    weigher = Weigher(METER)
    one, two = Step((Text("a", at=(1,)), Text("b", at=(1,)))), Step((Text("a", at=(1,)), Text("b", at=(2,))))
    assert one == two and [weigher.step(one), weigher.step(two)] == [6, 10]


@pytest.mark.parametrize("meter", [METER, Joined()])
@given(history=histories(max_turns=3, max_steps=3, interleaved=True))
@settings(max_examples=50)
def test_a_weight_is_a_sum_over_what_was_said(meter: ByteMeter, history: History) -> None:
    weigher = Weigher(meter)
    ledger = weigher.ledger(history)
    assert ledger.turns == sum(weigher.turn(turn) for turn in history.turns)
    assert ledger.turns == sum(weigher.entries(turn.prompt) for turn in history.turns) + sum(
        weigher.step(step) for step in history.steps
    )
    assert ledger == weigh(history, meter)


def test_a_longer_conversation_weighs_what_was_added_more() -> None:
    history = conversation(Random(3), max_turns=5)
    weigher = Weigher(METER)
    for count in range(1, len(history.turns)):
        shorter, longer = (history_of(history.turns[:n], history.system) for n in (count, count + 1))
        more = weigher.turn(history.turns[count])
        assert weigher.ledger(longer).total == weigher.ledger(shorter).total + more
