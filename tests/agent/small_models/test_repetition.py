from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.small_models.repetition import RepetitionGuard, cut_repetition, is_endless
from yohaku.core.model import Call, Result, Text, ToolUse

LOOK = Call("1", "read", '{"path": "a.py"}')


def result(text: str, error: bool = False) -> Result:
    return Result((Text(text),), error)


def step(
    seen: RepetitionGuard, text: str, *calls: Call, said: str = "", changed: bool = False, error: bool = False
) -> None:
    calls = calls or (LOOK,)
    seen.add_step([ToolUse(call, result(text, error)) for call in calls], said, changed=changed)


def test_the_same_call_with_the_same_result_three_times_is_a_circle() -> None:
    seen = RepetitionGuard()
    for number in range(2):
        step(seen, "x", Call(str(number), "read", '{"path":"a.py"}'))
        assert not seen.circling
    step(seen, "x")
    assert seen.circling


def test_in_between_other_calls_it_is_one_all_the_same() -> None:
    seen = RepetitionGuard()
    for number in range(3):
        step(seen, "x")
        step(seen, str(number), Call("2", "grep", "{}"))
    assert seen.circling


def test_the_same_call_with_other_results_is_waiting_for_something() -> None:
    seen = RepetitionGuard()
    for number in range(9):
        step(seen, str(number))
    assert not seen.circling


def test_looking_again_after_a_change_is_no_circle() -> None:
    seen = RepetitionGuard(strict=True)
    for _ in range(5):
        step(seen, "still red")
        step(seen, "done", Call("2", "edit", "{}"), changed=True)
        assert not seen.circling and not seen.repeats_newest((LOOK,))


def test_nor_is_looking_again_at_what_was_folded_away() -> None:
    seen = RepetitionGuard(strict=True)
    for _ in range(5):
        step(seen, "x")
        seen.forget()
        assert not seen.circling and not seen.repeats_newest((LOOK,))


def test_but_for_ever_it_is_also_across_foldings() -> None:
    seen = RepetitionGuard()
    for _ in range(6):
        assert not seen.circling
        step(seen, "x")
        seen.forget()
    assert seen.circling
    seen.warn((LOOK,))
    assert not seen.circling
    for _ in range(2):
        step(seen, "x")
        seen.forget()
    assert seen.circling, "after a warning it is noticed sooner"


def test_a_change_that_failed_changes_nothing() -> None:
    seen = RepetitionGuard()
    for _ in range(3):
        step(seen, "no such text", Call("2", "edit", "{}"), changed=True, error=True)
    assert seen.circling


def test_a_small_model_need_not_make_the_call_again_that_it_has_just_made() -> None:
    seen = RepetitionGuard(strict=True)
    assert not seen.repeats_newest((LOOK,))
    step(seen, "x")
    assert seen.repeats_newest((Call("9", "read", '{"path":"a.py"}'),))
    assert not seen.repeats_newest((LOOK, Call("3", "grep", "{}")))
    step(seen, "y", Call("3", "grep", "{}"))
    assert not seen.repeats_newest((LOOK,)), "there was something else in between"
    patient = RepetitionGuard()
    step(patient, "x")
    assert not patient.repeats_newest((LOOK,))


def test_long_words_three_times_are_a_circle_and_short_ones_are_not() -> None:
    seen = RepetitionGuard()
    for number in range(9):
        step(seen, str(number), said="Let me look.")
    assert not seen.circling
    for number in range(3):
        step(
            seen, f"{number}!", said="I will now look into the file that holds the handler, and change the port in it."
        )
    assert seen.circling


@pytest.mark.parametrize("piece", ["no ", "ない。", "I will fix it now. Let me look at the file.\n", "x" * 80 + "\n"])
def test_one_piece_over_and_over_has_no_end(piece: str) -> None:
    text = "Here is the answer.\n" + piece * 800
    assert is_endless(text)
    cut = cut_repetition(text)
    assert text.startswith(cut) and len(cut) <= len("Here is the answer.\n") + 2 * len(piece) + 1


def test_a_line_of_code_over_and_over_is_noticed_early() -> None:
    line = "obj['function']['arguments'] = None\n"
    assert is_endless("```\n" + line * 18) and not is_endless("```\n" + line * 12)
    assert not is_endless("0, " * 300)


def test_text_that_goes_on_is_none() -> None:
    assert not is_endless("".join(f"| {number} | value {number * 7} |\n" for number in range(2_000)))
    assert not is_endless("=" * 500)
    assert not is_endless("")


@given(st.text(), st.integers(0, 50))
def test_anything_can_be_looked_at(text: str, times: int) -> None:
    is_endless(text * times)
    assert (text * times).startswith(cut_repetition(text * times))
