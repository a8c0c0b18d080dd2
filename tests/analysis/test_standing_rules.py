from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.test_rules import prompts

from yohaku.analysis.rules import find_rules
from yohaku.analysis.standing_rules import (
    MAX_COMPARED_RULES,
    RuleChoice,
    StandingRule,
    choose_rules,
    find_standing_rules,
    read_standing_rules,
)
from yohaku.analysis.withdrawals import content_words, count_needed, find_withdrawals

FILLER = "\n".join("A line of a long document." for _ in range(50))


def test_all_rules_stand_however_many_there_are() -> None:
    long = [f"{FILLER}\nYou must never change {'the very important ' * 10}table number {n}." for n in range(40)]
    assert len(find_standing_rules(prompts("Never push.", *long))) == 41


def test_a_withdrawal_reaches_a_rule_behind_thousands_of_others() -> None:
    others = [f"Never touch module_{n} of the importer." for n in range(3 * MAX_COMPARED_RULES)]
    found = find_standing_rules(prompts("Never touch the lexer.", *others, "You may now touch the lexer again."))
    assert len(found) == len(others) and "Never touch the lexer." not in found


def test_one_withdrawal_takes_back_all_rules_that_it_means() -> None:
    stated = [f"Never touch module_{n} of the importer." for n in range(2 * MAX_COMPARED_RULES)]
    assert find_standing_rules(prompts(*stated, "Forget the rule about the importer.")) == ()


@pytest.mark.parametrize(
    "ban",
    [
        "Never ignore rate limits.",
        "Don't forget the rule about rate limits.",
        "Do not drop the rate limits.",
    ],
)
def test_a_ban_on_ignoring_a_rule_is_a_rule_and_withdraws_none(ban: str) -> None:
    assert find_standing_rules(prompts("Always respect rate limits.", ban)) == ("Always respect rate limits.", ban)


words = st.sampled_from("parser lexer importer database tests cache logs server".split())
statements = st.one_of(
    st.builds("Never touch the {} and the {}.".format, words, words),
    st.builds("You may now touch the {} again.".format, words),
    st.builds("Forget the rules about the {}, the {} and the {}.".format, words, words, words),
)


@given(st.lists(statements, max_size=12))
def test_the_index_finds_what_comparing_each_withdrawal_with_each_rule_finds(texts: list[str]) -> None:
    standing: dict[str, None] = {}
    for text in texts:
        for meant in find_withdrawals(text):
            for rule in list(standing):
                if len(content_words(rule.lower()) & meant) >= count_needed(meant):
                    del standing[rule]
        for rule in find_rules(text):
            standing.pop(rule, None)
            standing[rule] = None
    assert find_standing_rules(prompts(*texts)) == tuple(standing)


# The choice


def test_rules_that_fit_are_all_shown_in_their_order() -> None:
    rules = read_standing_rules(prompts("Never push.", "Only edit a.py.", "No new dependencies."))
    assert choose_rules(rules, 1_000, len) == RuleChoice(("Never push.", "Only edit a.py.", "No new dependencies."))


def test_typed_rules_come_before_pasted_ones_and_lasting_before_others() -> None:
    pasted = f"{FILLER}\nYou must never delete the backup of a customer."
    texts = ["Hello, fix the parser.", pasted, "Always sign commits.", "Use tabs, not spaces.", "Only edit a.py."]
    rules = read_standing_rules(prompts(*texts))
    assert len(rules) == 4
    assert choose_rules(rules, 60, len).shown == ("Always sign commits.", "Only edit a.py.")
    assert choose_rules(rules, 30, len).shown == ("Always sign commits.",)
    assert choose_rules(rules, 90, len) == RuleChoice(
        ("Always sign commits.", "Use tabs, not spaces.", "Only edit a.py."), left_out=1
    )


def test_rules_of_the_first_prompt_are_as_lasting_as_those_that_say_so() -> None:
    texts = ["Use tabs, not spaces.", *(f"Only edit file_{n}.py." for n in range(9))]
    assert choose_rules(read_standing_rules(prompts(*texts)), 60, len).shown[0] == "Use tabs, not spaces."


@pytest.mark.parametrize(("japanese", "last"), [(False, "[7 more: ref=abc]"), (True, "[ほかに決まり 7 件: ref=abc]")])
def test_rules_left_out_are_counted_with_the_ref_that_opens_them(japanese: bool, last: str) -> None:
    assert RuleChoice(("Never push.",), 7).lines("abc", japanese) == ("Never push.", last)
    assert RuleChoice(("Never push.",)).lines("abc", japanese) == ("Never push.",)


@given(st.lists(st.builds(StandingRule, st.text(min_size=1), st.booleans(), st.booleans())), st.integers(0, 300))
def test_a_choice_fits_and_counts_what_it_leaves_out(rules: list[StandingRule], tokens: int) -> None:
    choice = choose_rules(rules, tokens, len)
    assert sum(len(f"- {text}\n") for text in choice.shown) <= tokens
    assert len(choice.shown) + choice.left_out == len(rules)
    left = iter(rule.text for rule in rules)
    assert all(text in left for text in choice.shown)  # in order
