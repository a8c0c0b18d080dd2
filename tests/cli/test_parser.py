"""The parser made for one command line, against the one that has the arguments of every command."""

from __future__ import annotations

import argparse
import subprocess
import sys

import pytest

from yohaku.cli.parser import COMMANDS, parser


def command_of(program: argparse.ArgumentParser, name: str) -> argparse.ArgumentParser:
    (commands,) = (action for action in program._actions if isinstance(action, argparse._SubParsersAction))
    return commands.choices[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_given_has_all_its_arguments(name: str) -> None:
    some, every = (command_of(made, name) for made in (parser("en", [name]), parser()))
    assert some.format_help() == every.format_help()
    assert some._option_string_actions.keys() == every._option_string_actions.keys()


@pytest.mark.parametrize("words", [[], ["--help"], ["-c", "go on then"], ["--recipe", "chat"], ["two words"]])
def test_the_help_page_is_the_same_whatever_is_given(words: list[str]) -> None:
    assert parser("en", words).format_help() == parser().format_help()


def test_any_option_makes_the_settings_flags() -> None:
    assert parser("en", ["-c"])._option_string_actions.keys() == parser()._option_string_actions.keys()


def test_the_first_screen_does_not_wait_for_what_it_does_not_show() -> None:
    code = "import sys; import yohaku.cli.main, yohaku.cli.agent, yohaku.tui.app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    not_shown = (
        "gzip httpx markdown_it rich.markdown yohaku.agent.agent yohaku.analysis.secret_formats yohaku.config.catalog "
        "yohaku.core.model yohaku.session yohaku.stores"
    )
    assert [name for name in not_shown.split() if name in loaded] == []
