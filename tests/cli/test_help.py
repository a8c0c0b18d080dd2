"""Help pages and usage errors, in English as they always were and in Japanese without an English sentence."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts.freeze import COMMANDS

from yohaku.cli.main import main
from yohaku.cli.parser import parser
from yohaku.dialects import DIALECTS
from yohaku.lab.run import _parser as lab_parser
from yohaku.messages import sentences
from yohaku.messages.help_pages import NOT_FIRST, HelpParser, wrap_columns

pytestmark = pytest.mark.usefixtures("project")
JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
ENGLISH = re.compile(r"[A-Za-z]{2,}(?:[,;:]? [A-Za-z]{2,})+")
"""Two words in a row."""
LIST = re.compile(r"[a-z_]+(?:[-a-z0-9]+)?(?:, [a-z_][-a-z0-9_]+)+")
"""Names with commas between them: recipes, dialects, clients."""
OPTION = re.compile(r"(?<![\w-])--?[\w-]+(?:[ =](?:\[[A-Z|# .,…]+\]|[A-Z][A-Z|#,]*))?")
MISUSE = {
    "no such option": ["demo", "--nonsense"],
    "no such command": ["nonsense"],
    "no such choice": ["fit", "--dialect", "nonsense"],
    "not positive": ["fit", "--window", "-5"],
    "not a number": ["fit", "--reserve", "x"],
    "not a size": ["collect", "--size", "x"],
    "not a number of days": ["collect", "--older-than", "x"],
    "no value": ["fit", "--out"],
    "a value too many": ["demo", "--fast=3"],
    "missing": ["why"],
    "one of two missing": ["pin"],
    "two at once": ["recall", "--grep", "a", "--raw"],
    "ambiguous": ["fit", "--re"],
    "an argument too many": ["demo", "a"],
    "lab: missing": ["lab", "run"],
    "lab: no such command": ["lab", "nonsense"],
    "lab: not a number": ["lab", "exam", "x", "--window", "x"],
}


def run(*argv: str) -> None:
    with pytest.raises(SystemExit):
        main([*argv])


@pytest.fixture
def japanese(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    monkeypatch.setenv("COLUMNS", "80")


def parsers() -> Iterator[HelpParser]:
    for one in (parser(), lab_parser("yohaku lab", "en")):
        yield one
        for action in one._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from action.choices.values()


def english_in(text: str) -> list[str]:
    """English sentences of a page, without names: of options, values, commands, files."""
    text = re.sub(r"tokenizer\.json|yohaku( lab)?( run| exam)?|  run PATH…", "", text)
    plain = LIST.sub("", OPTION.sub("", text))
    return [found for found in ENGLISH.findall(plain) if not found.isupper()]


@pytest.mark.usefixtures("japanese")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_english_sentence_is_left_on_a_japanese_page(
    command: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    run(*command, "--help")
    usage, _, rest = capfd.readouterr().out.partition("\n\n")
    assert usage.startswith("使い方: yohaku")
    about, _, rest = rest.partition("\n\n")
    assert JAPANESE.search(about) and english_in(about) == []
    explained, found, examples = rest.partition("\n例:\n")
    assert english_in(explained) == [] and len(JAPANESE.findall(explained)) > 20
    assert found or command == ("lab",)
    for line in examples.splitlines():
        assert JAPANESE.search(line) or '"' not in line, "a task in quotes is in Japanese too"
        assert JAPANESE.search(line) or re.match(r"  (yohaku|cat|claude)\b", line)


@pytest.mark.usefixtures("japanese")
@pytest.mark.parametrize("case", MISUSE)
def test_misuse_is_one_japanese_line(case: str, capfd: pytest.CaptureFixture[str]) -> None:
    run(*MISUSE[case])
    error = capfd.readouterr().err
    assert error.count("\n") == 1 and error.startswith("yohaku") and JAPANESE.search(error)
    assert english_in(re.sub(r"'[^']*'(, )?", "", error)) == []


@pytest.mark.parametrize("case", MISUSE)
def test_misuse_is_one_english_line_elsewhere(case: str, capfd: pytest.CaptureFixture[str]) -> None:
    run(*MISUSE[case])
    error = capfd.readouterr().err
    assert error.count("\n") == 1 and "; see yohaku" in error and not JAPANESE.search(error)


def test_argparse_speaks_english_again_afterwards(capfd: pytest.CaptureFixture[str]) -> None:
    before = argparse._, argparse.ngettext  # type: ignore[attr-defined]
    with pytest.raises(SystemExit):
        parser("ja").parse_args(["why"])
    assert "次の引数が必要です" in capfd.readouterr().err
    assert (argparse._, argparse.ngettext) == before  # type: ignore[attr-defined]


def test_every_help_text_is_a_sentence_of_the_catalogue_and_none_is_left_over() -> None:
    found = set()
    for one in parsers():
        found |= {one.code, f"{one.code}_examples"}
        found |= {action.help for action in one._actions if action.help != argparse.SUPPRESS}
        found |= {str(group.title) for group in one._action_groups}
        for action in one._actions:
            if isinstance(action, argparse._SubParsersAction):
                found |= {choice.help for choice in action._choices_actions}
    codes = {code.removeprefix("help.") for code in sentences("help") if code.startswith("help.")}
    ours = {each["en"] for code, each in sentences("help").items() if code.startswith("argparse.")}
    assert found - codes - ours == {None, "lab_program_examples"}
    assert {code for code in codes - found if not code.startswith("type_")} == {"misuse"}
    assert all(JAPANESE.search(each["ja"]) for each in sentences("help").values())


def test_a_terminal_that_has_no_japanese_letters_shows_their_numbers() -> None:
    environment = {**os.environ, "LANG": "ja_JP.UTF-8", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "yohaku", "why", "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False, cwd=Path(__file__).parent)
    assert done.returncode == 0 and b"\\u" in done.stdout and b"Traceback" not in done.stderr


@given(st.text(alphabet="abc de 、。あいう日本語ー", max_size=120), st.integers(8, 40))
def test_lines_are_as_wide_as_there_is_room_for_and_nothing_is_lost(text: str, width: int) -> None:
    lines = list(wrap_columns(" ".join(text.split()), width))
    assert "".join(lines).replace(" ", "") == "".join(text.split())
    for line in lines:
        columns = sum(2 if ord(letter) > 0x2FFF else 1 for letter in line.rstrip(NOT_FIRST))
        assert columns <= width or " " not in line.strip()


def test_the_names_that_pages_list_are_known_here() -> None:
    assert LIST.fullmatch(", ".join(DIALECTS))
