"""How well it is told that a prompt wants a change, on labelled prompts, and that a reply claims one."""

from __future__ import annotations

import pytest
from tests.analysis.change_prompts import CHANGE, FRESH_CHANGE, FRESH_NO_CHANGE, NO_CHANGE, OTHER_NO_CHANGE

from yohaku.analysis.change_requests import asks_for_change, claims_change, is_continuation, is_question


def test_prompts_that_want_a_change_are_nearly_all_recognised() -> None:
    missed = [prompt for prompt in CHANGE if not asks_for_change(prompt)]
    assert len(missed) <= len(CHANGE) // 20, missed


def test_prompts_that_want_none_are_not_taken_for_one() -> None:
    wrong = [prompt for prompt in (*NO_CHANGE, *OTHER_NO_CHANGE) if asks_for_change(prompt)]
    assert not wrong


def test_of_other_wishes_six_in_ten_are_recognised_and_no_question_is_taken_for_one() -> None:
    told = [prompt for prompt in FRESH_CHANGE if asks_for_change(prompt)]
    assert len(told) >= 0.6 * len(FRESH_CHANGE)
    assert not [prompt for prompt in FRESH_NO_CHANGE if asks_for_change(prompt)]


@pytest.mark.parametrize(
    "reply",
    [
        "I have fixed the bug in money.py.",
        "Done. I've added a docstring.",
        "The function has been updated.",
        "money.py を修正しました。",
        "関数を追加しました。",
        "バグを直しました。",
    ],
)
def test_a_reply_that_says_it_changed_something_is_recognised(reply: str) -> None:
    assert claims_change(reply)


@pytest.mark.parametrize(
    "reply", ["It adds two numbers.", "You could fix it by adding 1.", "1 を足すと直ります。", "変更は不要です。", ""]
)
def test_other_replies_claim_nothing(reply: str) -> None:
    assert not claims_change(reply)


def test_a_question_is_told_from_a_polite_request() -> None:
    assert is_question("What did you change?") and is_question("何を変更しましたか")
    assert not is_question("Can you fix a.py?") and not is_question("a.py を直してもらえますか")


def test_a_prompt_that_only_says_to_go_on_is_known() -> None:
    assert all(map(is_continuation, ("go on", "Yes, please.", "ok do it", "はい、お願いします。", "続けてください")))
    assert not any(map(is_continuation, ("yes, but in Rust", "fix it", "thanks", "", "hello", "やめて")))
