"""A task on the command line, `yohaku "find the slow test"`, told from a command.

Law: one word is a command, two or more in one argument are a task; a misspelt command never becomes a task.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NamedTuple

from yohaku.cli.files import InputError
from yohaku.messages import say


class SplitArguments(NamedTuple):
    task: str | None
    rest: list[str]
    """Arguments without the task."""


def split_task(program: argparse.ArgumentParser, arguments: Sequence[str], lang: str) -> SplitArguments:
    """Take the task out of the arguments. `InputError` for a word that is no command."""
    at = _first_word(program, arguments)
    commands = _commands_of(program)
    if at is None or arguments[at] in commands:
        return SplitArguments(None, list(arguments))
    word = arguments[at]
    if word == "help":
        return SplitArguments(None, [*[each for each in arguments[at + 1 :] if each in commands][:1], "--help"])
    if word == "version":
        return SplitArguments(None, ["--version"])
    _refuse_unknown_option(program, arguments[:at], lang)
    if len(word.split()) < 2 and word.isascii():
        raise InputError(_explain_unknown(word, arguments[at + 1 :], commands, lang))
    return SplitArguments(word, [*arguments[:at], *arguments[at + 1 :]])


def _refuse_unknown_option(program: argparse.ArgumentParser, before: Sequence[str], lang: str) -> None:
    """Raise `InputError` for a misspelt option, which would be taken for one without a value."""
    known = [name for name in program._option_string_actions if name.startswith("--")]
    for option in before:
        name = option.partition("=")[0]
        if name.startswith("--") and name != "--" and not any(each.startswith(name) for each in known):
            near = get_close_matches(name, known, n=1)
            hint = say("cli_near_option", lang, name=near[0]) if near else ""
            raise InputError(say("cli_unknown_option", lang, name=name, near=hint).rstrip())


def _first_word(program: argparse.ArgumentParser, arguments: Sequence[str]) -> int | None:
    """Return the place of the first argument that is neither an option nor the value of one."""
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word == "--":
            return at + 1 if at + 1 < len(arguments) else None
        if not word.startswith("-") or word == "-":
            return at
        action = program._option_string_actions.get(word)
        takes_value = action is not None and action.nargs in (None, "?") and "=" not in word
        followed = at + 1 < len(arguments) and not arguments[at + 1].startswith("-")
        at += 2 if takes_value and action is not None and (action.nargs is None or followed) else 1
    return None


def _commands_of(program: argparse.ArgumentParser) -> list[str]:
    return [
        name for action in program._actions if isinstance(action, argparse._SubParsersAction) for name in action.choices
    ]


def _explain_unknown(word: str, more: Sequence[str], commands: Sequence[str], lang: str) -> str:
    near = get_close_matches(word.lower(), commands, n=1)
    hint = say("cli_near", lang, name=near[0]) if near else ""
    told = [each for each in more if not each.startswith("-")]
    task = " ".join([word, *told]) if told else say("cli_example_task", lang)
    return say("cli_unknown_command", lang, name=word, near=hint, task=task)
