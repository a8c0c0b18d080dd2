"""Every sentence is there in both languages, and both say the same facts."""

from __future__ import annotations

import string

import pytest

from yohaku.messages.agent import say, table


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("name", sorted(table()))
def test_both_languages_name_the_same_facts(name: str) -> None:
    english, japanese = table()[name]
    assert english and japanese
    assert fields(english) == fields(japanese)


def test_a_language_we_do_not_speak_is_english() -> None:
    assert say("cmd_quit", "fr") == "leave"
    assert say("cmd_quit", "ja") == "終了"
