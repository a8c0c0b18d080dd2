"""What the README and CONTRIBUTING promise is there: their code runs, their commands exist."""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from yohaku.cli import parser as cli_parser
from yohaku.cli.task_words import split_task

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
README_JA = (ROOT / "README.ja.md").read_text("utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def shell_lines(text: str) -> list[list[str]]:
    return [shlex.split(line, comments=True) for block in blocks(text, "sh") for line in block.splitlines() if line]


def subcommands() -> dict[str, argparse.ArgumentParser]:
    parser = cli_parser.parser()
    (action,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(action.choices)


def commands_shown(text: str) -> list[list[str]]:
    """Each `yohaku …` line of a shell block."""
    return [words[1:] for words in shell_lines(text) if words[:1] == ["yohaku"]]


def examples(command: argparse.ArgumentParser) -> list[list[str]]:
    _, _, told = command.format_help().partition("examples:\n")
    return [shlex.split(re.split(r"(?:^|\s)yohaku(?=\s|$)", line)[-1]) for line in told.splitlines() if line.strip()]


@pytest.mark.parametrize("code", blocks(README, "python"), ids=["first"])
def test_the_code_in_the_readme_runs(code: str) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "README.md", "exec"), {})
    assert said.getvalue().strip()


def test_the_japanese_readme_shows_the_same_code() -> None:
    for language in ("sh", "python"):
        english, japanese = ("\n".join(blocks(text, language)) for text in (README, README_JA))
        assert [line.partition("  #")[0].rstrip() for line in english.splitlines()] == [
            line.partition("  #")[0].rstrip() for line in japanese.splitlines()
        ]


def test_the_readme_shows_code_soon() -> None:
    assert len(README.partition("```")[0].split()) <= 65


@pytest.mark.parametrize("words", commands_shown(README), ids=" ".join)
def test_a_command_shown_in_the_readme_is_understood(words: list[str]) -> None:
    parser = cli_parser.parser()
    parser.parse_args(split_task(parser, words, "en").rest)


def test_every_command_of_dev_that_is_shown_exists_and_is_told_by_it() -> None:
    shown = {words[2] for words in shell_lines(README + CONTRIBUTING) if words[:2] == ["python3", "dev.py"]}
    source = (ROOT / "dev.py").read_text("utf-8")
    known = set(re.findall(r'^        case "(\w+)":', source, re.MULTILINE))
    assert shown == known
    told = subprocess.run([sys.executable, "dev.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {name for name in known if f"python3 dev.py {name}" in told} == known


def test_an_unknown_command_of_dev_is_misuse() -> None:
    done = subprocess.run([sys.executable, "dev.py", "tset"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "python3 dev.py test" in done.stdout


@pytest.mark.parametrize("name", subcommands())
def test_the_help_of_every_command_has_examples_that_are_understood(name: str) -> None:
    found = examples(subcommands()[name])
    assert found
    for words in found:
        assert words[0] == name
        cli_parser.parser().parse_args(words)


def test_the_help_of_yohaku_itself_has_examples_too() -> None:
    parser = cli_parser.parser()
    for words in examples(parser):
        parser.parse_args(split_task(parser, words, "en").rest)
    assert [name for name in subcommands() if name not in parser.format_help()] == []


@pytest.mark.parametrize("text", [README, README_JA, CONTRIBUTING], ids=["README", "README.ja", "CONTRIBUTING"])
def test_what_is_linked_or_named_as_a_file_is_there(text: str) -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    named = re.findall(
        r"`((?:core|dialects|meters|stores|catalog)/[\w./]*|\w+\.py|tests/[\w./]+|scripts/[\w./]+)`", text
    )
    places = (ROOT, ROOT / "src" / "yohaku")
    missing = [name for name in (*links, *named) if not any((place / name).exists() for place in places)]
    assert missing == []


def test_what_is_said_about_recipes_and_dialects_is_true() -> None:
    from yohaku.dialects import BUILT_IN
    from yohaku.recipes.auto import RECIPES

    assert all(f"`{name}`" in README for name in RECIPES)
    names = {"openai_chat": "OpenAI chat", "openai_responses": "OpenAI Responses", "anthropic": "Anthropic Messages"}
    assert all(names.get(name, name.capitalize()) in README for name in BUILT_IN)
