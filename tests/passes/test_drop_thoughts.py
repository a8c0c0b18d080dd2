from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests import checkers

from yohaku import dialects
from yohaku.analysis.retention import survey_retention
from yohaku.core.budget import Budget
from yohaku.core.engine import plan
from yohaku.core.folds import Gist, Stub, Subject
from yohaku.core.history_builder import history_of
from yohaku.core.meter import Meter, Overhead
from yohaku.core.model import Call, History, Opaque, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import Slot, ref_of
from yohaku.core.pins import Pin, locate_pins
from yohaku.core.recipe import PassContext
from yohaku.core.shape import shape
from yohaku.core.verdict import Folded
from yohaku.core.view import View
from yohaku.core.weigh import Weigher, weigh
from yohaku.messages import describe
from yohaku.passes.drop_thoughts import WHY, drop_thoughts
from yohaku.recipes.auto import RECIPES
from yohaku.session.driver import drive
from yohaku.session.session import Session
from yohaku.testing import ByteMeter

METER = ByteMeter()
HM = Opaque("thought", "Hm, which port was it?")
USE = ToolUse(Call("1", "bash", "{}"), Result((Text("out"),)))


def thinking(*replies: Step, last: Step | None = None) -> History:
    turns = [Turn((Text(f"question {number}"),), (reply,)) for number, reply in enumerate(replies)]
    return history_of([*turns, Turn((Text("and now?"),), (last,) if last else ())])


def context(view: View, meter: Meter = METER) -> PassContext:
    weigher = Weigher(meter)
    return PassContext(Budget(10_000, 0), weigher, weigher.ledger(view.shown), 0)


def proposed(view: View, meter: Meter = METER) -> list[Stub]:
    found = drop_thoughts()(view, context(view, meter))
    assert isinstance(found, list)
    return [fold for fold in found if isinstance(fold, Stub)]


TWO = thinking(Step((HM, Text("8080."))), Step((Opaque("thought", "Easy."), Text("Yes."))))
FIRST = TWO.turns[0].steps[0]


# What is dropped


def test_the_thoughts_of_turns_that_are_over_are_dropped_and_the_newest_step_keeps_its_own() -> None:
    (stub,) = proposed(View(TWO))
    assert stub == Stub(FIRST.key, Slot("thought", 0), "", ref_of(HM.data), Subject("thought"), WHY, 100, 0)
    view = View(TWO).with_([stub])
    assert view.live == (stub,)
    assert [step.items for step in view.shown.steps] == [(Text("8080."),), TWO.steps[1].items]
    assert list(view.originals(stub)) == [(ref_of(HM.data), HM.data)]
    assert proposed(view) == []


@pytest.mark.parametrize(
    "history",
    [
        thinking(last=Step((HM, Text("8080.")))),
        thinking(Step((HM, USE)), Step((Text("ok"),))),
        thinking(Step((HM,)), Step((Text("ok"),))),
        thinking(Step((HM, Text(" "))), Step((Text("ok"),))),
        thinking(Step((replace(HM, hint="bound"), Text("8080."))), Step((Text("ok"),))),
        thinking(Step((replace(HM, hint="signature"), Text("8080."))), Step((Text("ok"),))),
    ],
    ids=["newest turn", "calls", "alone", "blank", "bound", "signature"],
)
def test_what_a_provider_may_want_again_stays(history: History) -> None:
    assert proposed(View(history)) == []


def test_one_step_with_a_call_keeps_all_thoughts_of_its_turn() -> None:
    turn = Turn((Text("go"),), (Step((HM, USE)), Step((HM, Text("8080.")))))
    history = history_of([turn, Turn((Text("on"),), (Step((Text("ok"),)),)), Turn((Text("now?"),))])
    assert proposed(View(history)) == []


def test_what_a_gist_hides_is_not_proposed() -> None:
    view = View(TWO).with_([Gist(TWO.turns[1].key, "[gist]", "b" * 12, "before", "why", 100, 6)])
    assert proposed(view) == []


def test_a_model_that_forgets_by_itself_has_nothing_to_drop() -> None:
    class Forgetful(ByteMeter):
        frame = Overhead(forgets=True)

    assert proposed(View(TWO), Forgetful()) == []


# Where a fold that was made meets another conversation under the same keys


def test_a_fold_does_not_stand_on_another_thought_or_on_none() -> None:
    stubs = proposed(View(TWO))
    for items in ((Opaque("thought", "Other."), Text("8080.")), (Text("8080."),)):
        history = thinking(Step(items), TWO.steps[1])
        assert history.steps[0].key == FIRST.key
        view = View(history).with_(stubs)
        assert (view.live, view.shown, list(view.originals(stubs[0]))) == ((), history, [])
        assert list(shape(view)) == list(shape(View(history)))
        assert survey_retention(view) == survey_retention(View(history))


def test_a_fold_does_not_stand_in_a_turn_that_is_the_newest_again() -> None:
    stubs = proposed(View(TWO))
    back = history_of(TWO.turns[:1])
    assert back.steps[0].key == FIRST.key
    assert View(back).with_(stubs).shown == back and View(back).with_(stubs).live == ()
    onward = history_of([*TWO.turns[:1], Turn((Text("or else?"),))])
    assert View(onward).with_(stubs).live == tuple(stubs)


def test_a_fold_does_not_stand_where_the_turn_went_on_with_a_call() -> None:
    turn = Turn(TWO.turns[0].prompt, (Step((HM, Text("8080."), USE)),))
    history = history_of([turn, *TWO.turns[1:]])
    stubs = [replace(stub, key=history.steps[0].key) for stub in proposed(View(TWO))]
    assert View(history).with_(stubs).shown == history


# Thoughts that are told in the text


def test_a_thought_at_the_beginning_of_a_text_is_folded_and_its_ref_opens_the_whole_reply() -> None:
    said = "<think>\n" + "Let me see.\n" * 20 + "</think>\n\n  The port is 8080.\nBye."
    history = thinking(Step((Text(said),)), Step((Text("ok"),)))
    (stub,) = proposed(View(history))
    hidden = said[: said.index("\n\n")]
    told = f"[thought folded: 22 lines, {len(hidden)} characters; ref={ref_of(said)}]"
    assert (stub.slot, stub.text) == (Slot("item", 0), f"{told}\n  The port is 8080.\nBye.")
    assert list(View(history).originals(stub)) == [(ref_of(said), said)]
    assert proposed(View(history).with_([stub])) == []


@pytest.mark.parametrize(
    "said",
    [
        "<think>" + "Hm. " * 90 + "</think>\n\n \n",
        "<think>" + "Hm. " * 90,
        "First. <think>" + "Hm. " * 90 + "</think> 8080.",
        "<think>\n\n</think>\n\n8080.",
    ],
    ids=["nothing else is said", "it has no end", "it is not the beginning", "the stub would be longer"],
)
def test_other_texts_stay(said: str) -> None:
    assert proposed(View(thinking(Step((Text(said),)), Step((Text("ok"),))))) == []


def test_of_the_newest_step_and_of_turns_with_calls_thoughts_told_in_texts_stay_too() -> None:
    said = Text("<think>" + "Hm. " * 90 + "</think>8080.")
    assert proposed(View(thinking(Step((said, USE)), Step((said,))))) == []


# Pins, receipts


def test_a_thought_stays_where_it_or_its_step_is_pinned() -> None:
    for pin in (Pin("key", FIRST.key), Pin("ref", ref_of(HM.data))):
        view = View(TWO, pins=locate_pins(TWO, [pin]))
        assert view.with_(proposed(view)).live == ()
        outcome = drive(plan(view, Budget(300, 0), RECIPES["auto"], METER))
        assert outcome.view.dropped == {}
    assert not locate_pins(thinking(Step((Text("8080."),))), [Pin("ref", ref_of(HM.data))])


def test_what_is_known_of_pins_is_not_taken_for_thoughts_that_a_client_left_out() -> None:
    known: dict[Any, Any] = {}
    pins = [Pin("ref", ref_of(HM.data)), Pin("key", FIRST.key)]
    assert Slot("thought", 0) in locate_pins(TWO, pins, known).whole[FIRST.key]
    without = thinking(Step((Text("8080."),)), TWO.steps[1])
    assert locate_pins(without, pins, known).whole == {FIRST.key: {Slot("item", 0): pins[1]}}


def test_a_pinned_thought_that_a_gist_hides_stands_in_the_gist() -> None:
    gist = Gist(TWO.turns[1].key, "[gist]", "b" * 12, "before", "why", 100, 6)
    view = View(TWO, pins=locate_pins(TWO, [Pin("ref", ref_of(HM.data))])).with_([gist])
    assert view.gist and view.gist.text.endswith(f"- assistant:\n{HM.data}")


def test_the_shape_says_what_is_not_sent() -> None:
    view = View(TWO).with_(proposed(View(TWO)))
    assert list(shape(view))[1] == f"assistant  (thought, not sent) | ref={ref_of(HM.data)}"
    assert list(shape(view, METER))[1] == f"assistant         0  (thought, not sent) | ref={ref_of(HM.data)}"
    assert len(list(shape(view))) == len(list(shape(View(TWO))))


def test_it_is_said_in_japanese() -> None:
    assert describe(Subject("thought"), WHY, "ja") == ("思考", "終わったやり取りでの思考のため")


# On the wire

LONG = "Which port was it? " * 60


def chat(**thought: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Which port?"},
            {"role": "assistant", "content": "8080.", "custom": {"kept": 1}, **thought},
            {"role": "user", "content": "Sure?"},
            {"role": "assistant", "content": "Yes.", **thought},
            {"role": "user", "content": "Thanks."},
        ],
    }


def blocks(*content: Any) -> dict[str, Any]:
    body = chat()
    for place in (1, 3):
        body["messages"][place]["content"] = [*content]
    return body


def gemini(*parts: Any) -> dict[str, Any]:
    said = [("user", [{"text": "Which port?"}]), ("model", [*parts]), ("user", [{"text": "Sure?"}])]
    said += [("model", [{"text": "Yes."}]), ("user", [{"text": "Thanks."}])]
    return {"contents": [{"role": role, "parts": content} for role, content in said]}


def seal(number: int) -> dict[str, Any]:
    return {"type": "thinking", "thinking": f"{number} {LONG}", "signature": "c2ln"}


def said(number: int) -> dict[str, Any]:
    return {"type": "text", "text": f"{number}.", "citations": []}


THOUGHT = {"text": LONG, "thought": True}
SIGNED = {"text": "8080.", "thoughtSignature": "c2ln"}
CASES: dict[str, tuple[str, dict[str, Any], Callable[[dict[str, Any]], Any], Any]] = {
    "chat": (
        "openai_chat",
        chat(reasoning_content=LONG, reasoning=LONG, reasoning_details=[{"text": LONG}]),
        lambda body: body["messages"][1],
        {"role": "assistant", "content": "8080.", "custom": {"kept": 1}},
    ),
    "ollama": (
        "ollama",
        chat(thinking=LONG),
        lambda body: body["messages"][1],
        {"role": "assistant", "content": "8080.", "custom": {"kept": 1}},
    ),
    "anthropic": (
        "anthropic",
        blocks(seal(1), said(1), seal(2), seal(3), said(2)),
        lambda body: body["messages"][1]["content"],
        [said(1), said(2)],
    ),
    "gemini": ("gemini", gemini(THOUGHT, THOUGHT, SIGNED), lambda body: body["contents"][1]["parts"], [SIGNED]),
}


class Plain(ByteMeter):
    """Weighs a thought by its length."""

    def weigh(self, part: Opaque) -> int:
        return len(part.data)


def session(name: str, body: dict[str, Any], store: str | None = None) -> Session:
    """In which the body fits, and is folded all the same, as it leaves no room."""
    weight = weigh(dialects.dialect_named(name).read(body).history(), Plain()).total
    return Session(weight + 100, 100, dialect=name, meter=Plain(), store=store)


@pytest.mark.parametrize("case", CASES)
def test_exactly_the_thought_leaves_the_body(case: str) -> None:
    name, body, where, left = CASES[case]
    fitting, before = session(name, body), json.dumps(body)
    out = fitting.fit(body)
    assert (where(out), json.dumps(body)) == (left, before)
    assert checkers.DIALECTS[name].problems(out) == checkers.DIALECTS[name].intact(body, out) == []
    field = dialects.dialect_named(name).entries
    assert out[field][:1] + out[field][2:] == body[field][:1] + body[field][2:], "the newest step is as it was"
    assert fitting.fit(body) == out


@pytest.mark.parametrize("case", CASES)
def test_the_receipt_tells_of_it_and_its_ref_opens_it(case: str) -> None:
    name, body, *_ = CASES[case]
    fitting = session(name, body)
    fitting.fit(body)
    receipt = fitting.receipt
    assert receipt and receipt.verdict == Folded()
    rows = receipt.report()["folds"]
    assert rows and {(row["kind"], row["what"], row["after"], row["why"]) for row in rows} == {
        ("stub", "thought", 0, WHY)
    }
    assert all(LONG in str(fitting.recall(fold.ref)) for fold in receipt.folds)
    assert (receipt.survived.by_ref, receipt.survived.lost) == (len(rows), 0)
    assert receipt.facts.lost == 0


@pytest.mark.parametrize("case", CASES)
def test_another_process_drops_the_same_and_undo_brings_it_back(case: str, tmp_path: Path) -> None:
    name, body, *_ = CASES[case]
    with session(name, body, f"sqlite:///{tmp_path}/store.db") as one:
        out = one.fit(body)
    with session(name, body, f"sqlite:///{tmp_path}/store.db") as other:
        assert other.fit(json.loads(json.dumps(body))) == out
        assert other.undo() and other.fit(body) == body
        assert other.redo() and other.fit(body) == out


def test_a_pin_by_the_ref_of_the_receipt_brings_a_thought_back() -> None:
    name, body, *_ = CASES["anthropic"]
    fitting = session(name, body)
    fitting.fit(body)
    assert fitting.receipt
    fitting.pin(fitting.receipt.folds[0].ref)
    out = fitting.fit(body)
    assert out["messages"][1]["content"] == [seal(1), said(1), said(2)]
    assert checkers.DIALECTS[name].intact(body, out) == []


def test_a_client_that_goes_back_and_on_again_gets_the_thought_again_and_loses_it_again() -> None:
    name, body, where, left = CASES["chat"]
    fitting = session(name, body)
    assert where(fitting.fit(body)) == left
    back = {**body, "messages": body["messages"][:2]}
    assert fitting.fit(back) == back
    onward = {**body, "messages": body["messages"][:3]}
    assert fitting.fit(onward) == onward, "there is room for it again"
    assert where(fitting.fit(body)) == left, "also where only what was added is read"


def test_a_client_that_leaves_thoughts_out_itself_is_left_alone() -> None:
    name, body, *_ = CASES["chat"]
    fitting = session(name, body)
    fitting.fit(body)
    assert fitting.fit(chat()) == chat()


def test_reasoning_of_openai_responses_stays_with_the_item_it_led_to() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": LONG}]}
    reply = {"type": "message", "role": "assistant", "id": "msg_1", "content": "8080."}
    asked = [{"role": "user", "content": text} for text in ("Which port?", "Sure?", "Thanks.")]
    body = {"input": [asked[0], thought, reply, asked[1], {**reply, "id": "msg_2"}, asked[2]]}
    history = dialects.dialect_named("openai_responses").read(body).history()
    assert proposed(View(history)) == []


def test_a_thought_alone_in_its_message_is_not_taken_from_it() -> None:
    body = chat()
    body["messages"][1:2] = [
        {"role": "assistant", "content": "", "reasoning_content": LONG},
        {"role": "assistant", "content": "8080.", "reasoning_content": "Yes, 8080."},
    ]
    history = dialects.dialect_named("openai_chat").read(body).history()
    assert [stub.slot for stub in proposed(View(history))] == [Slot("thought", 1)]
