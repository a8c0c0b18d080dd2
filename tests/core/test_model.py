from __future__ import annotations

import dataclasses

import pytest

from yohaku.core.errors import Malformed
from yohaku.core.model import Call, History, Opaque, Reply, Result, Step, Text, Tool, ToolUse, Turn, canonical


def call(call_id: str = "1", arguments: str = '{"path":"a.py","n":3}') -> Call:
    return Call(call_id, "read", arguments)


def result(text: str) -> Result:
    return Result((Text(text),))


def test_a_settled_reply_is_a_step_with_its_items_in_the_order_they_were_said() -> None:
    thought, first, second = Opaque("thought", "hm"), Text("I look."), Text("And there.")
    reply = Reply((thought, first, call("1"), second, call("2")))

    step = reply.settle({"2": result("two"), "1": result("one")})

    assert step == Step((thought, first, ToolUse(call("1"), result("one")), second, ToolUse(call("2"), result("two"))))


def test_a_reply_without_calls_settles_without_results() -> None:
    assert Reply((Text("done"),)).settle({}) == Step((Text("done"),))


def test_a_call_without_its_result_cannot_become_a_step() -> None:
    with pytest.raises(Malformed) as raised:
        Reply((call("1"), call("2"))).settle({"1": result("one")})
    assert str(raised.value) == "call '2' has no result"


def test_results_nobody_asked_for_are_left_out_by_settling() -> None:
    assert Reply((call("1"),)).settle({"1": result("one"), "9": result("?")}) == Step(
        (ToolUse(call("1"), result("one")),)
    )


def test_the_calls_of_a_reply_are_its_open_ones_in_order() -> None:
    assert Reply((Text("a"), call("2"), call("1"))).calls == (call("2"), call("1"))


def test_the_uses_of_a_step_leave_its_texts_out() -> None:
    use = ToolUse(call(), result("one"))
    assert Step((Text("a"), use, Text("b"))).uses == (use,)


def test_the_steps_of_a_history_are_those_of_its_turns() -> None:
    one, two, three = (Step((Text(word),)) for word in ("one", "two", "three"))
    history = History(turns=(Turn((Text("a"),), (one, two)), Turn((Text("b"),)), Turn((Text("c"),), (three,))))
    assert history.steps == (one, two, three)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"path":"a.py","n":3}', '{ "n": 3,\n  "path": "a.py" }'),
        ('{"t":"\\u65e5"}', '{"t":"日"}'),
        ("", ""),
        ("not JSON", "not JSON"),
    ],
)
def test_calls_that_ask_the_same_are_equal_however_their_json_is_written(one: str, other: str) -> None:
    assert call(arguments=one) == call(arguments=other)
    assert hash(call(arguments=one)) == hash(call(arguments=other))


@pytest.mark.parametrize(
    "other",
    [
        call(arguments='{"path":"b.py","n":3}'),
        call(arguments='{"path":"a.py","n":3'),
        call("2"),
        Call("1", "write", '{"path":"a.py","n":3}'),
        Text("1"),
    ],
)
def test_calls_that_ask_something_else_differ(other: object) -> None:
    assert call() != other


def test_a_call_keeps_its_arguments_as_they_were_sent() -> None:
    assert call(arguments='{ "n": 3 }').arguments == '{ "n": 3 }'
    assert call(arguments='{ "n": 3 }').asked == '{"n":3}'


@pytest.mark.parametrize("arguments", ["", "{", "rm -rf", '{"a": "\ud800"}', "[" * 100_000])
def test_arguments_that_are_not_json_are_canonical_as_they_are(arguments: str) -> None:
    assert canonical(arguments) == arguments


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (Text("a", at=(1, "content")), Text("a", at=(7,))),
        (Text("a", by="system"), Text("a")),
        (Opaque("image", "x", at=(1,)), Opaque("image", "x")),
        (Call("1", "read", "{}", (1,)), Call("1", "read", "{}")),
        (Result((Text("a"),), True, (3,)), Result((Text("a"),))),
        (Tool("bash", "{}", ("tools", 0)), Tool("bash", "{}")),
        (Step((Text("a"),), "key"), Step((Text("a"),))),
        (Turn((Text("a"),), (), "key"), Turn((Text("a"),))),
    ],
)
def test_where_a_value_stood_is_no_part_of_what_it_says(here: object, there: object) -> None:
    assert here == there and hash(here) == hash(there)


@pytest.mark.parametrize(
    "other", [Opaque("image", "x", "url"), Opaque("image", "x", mime="image/png"), Opaque("image", "x", hint="low")]
)
def test_blocks_we_do_not_read_differ_by_everything_that_was_sent(other: Opaque) -> None:
    assert Opaque("image", "x") != other


def test_values_cannot_be_changed() -> None:
    for value in (Text("a"), Opaque("image", "x"), call(), Result(), Step(()), Turn(()), Reply(()), History()):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, dataclasses.fields(value)[0].name, "other")


def test_the_text_of_a_result_is_its_texts_without_its_images() -> None:
    assert Result((Text("a"), Opaque("image", "x"), Text("b"))).text == "ab"
