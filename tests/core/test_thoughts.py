from __future__ import annotations

import pytest

from yohaku.core.model import Call, Opaque, Result, Step, Text, ToolUse, Turn
from yohaku.core.view import droppable_thoughts, thoughts_are_spent

HM = Opaque("thought", "Hm.", at=(1, "reasoning_content"))
SAID = Text("Yes.", at=(1, "content"))
USE = ToolUse(Call("1", "bash", "{}"), Result((Text("out"),)))


def turn(*steps: Step) -> Turn:
    return Turn((Text("go"),), steps)


def test_a_turn_in_which_the_model_only_spoke_needs_no_thoughts() -> None:
    assert thoughts_are_spent(turn(Step((HM, SAID)))) and thoughts_are_spent(turn())
    assert not thoughts_are_spent(turn(Step((HM, USE)), Step((HM, SAID)))), "a call without its thought is refused"


@pytest.mark.parametrize("kind", ["server_tool_use", "web_search_call", "executableCode", "image", "audio_reply"])
def test_what_the_provider_did_by_itself_keeps_the_thoughts_of_its_turn(kind: str) -> None:
    assert not thoughts_are_spent(turn(Step((HM, Opaque(kind, "{}"), SAID))))


def test_a_thought_goes_only_where_its_entry_goes_on_saying_something() -> None:
    other, blank = Text("Yes.", at=(2, "content")), Text(" \n", at=(1, "content"))
    assert list(droppable_thoughts(Step((HM, SAID)))) == [(0, HM)]
    assert list(droppable_thoughts(Step((HM, other)))) == [], "the entry that it alone stands in would be empty"
    assert (
        list(droppable_thoughts(Step((HM, blank))))
        == list(droppable_thoughts(Step((HM,))))
        == list(droppable_thoughts(Step((SAID,))))
        == []
    )


def test_what_something_is_bound_to_stays_and_keeps_its_number() -> None:
    bound = [Opaque("thought", "{}", hint=hint, at=(1,)) for hint in ("bound", "signature")]
    assert list(droppable_thoughts(Step((*bound, HM, SAID)))) == [(2, HM)]
