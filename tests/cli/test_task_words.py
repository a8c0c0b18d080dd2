"""`yohaku "two or more words"` is a task, one word is a command, and `-c` goes on in this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.agent.fakes import FakeServer, spoken

from yohaku.cli import main
from yohaku.cli.files import InputError
from yohaku.cli.parser import parser
from yohaku.cli.task_words import split_task

pytestmark = pytest.mark.usefixtures("project")


@pytest.mark.parametrize(
    ("arguments", "task", "rest"),
    [
        (["find the slow test"], "find the slow test", []),
        (["--model", "a b", "find it now", "--yolo"], "find it now", ["--model", "a b", "--yolo"]),
        (["遅いテストを直して"], "遅いテストを直して", []),
        (["-c", "go on then"], "go on then", ["-c"]),
        (["-p", "two words"], None, ["-p", "two words"]),
        (["--json", "two words"], "two words", ["--json"]),
        (["fit", "my file.json"], None, ["fit", "my file.json"]),
        ([], None, []),
    ],
)
def test_words_in_one_argument_are_a_task(arguments: list[str], task: str | None, rest: list[str]) -> None:
    assert split_task(parser(), arguments, "en") == (task, rest)


def test_a_misspelt_command_is_never_a_task_and_the_right_one_is_suggested() -> None:
    with pytest.raises(InputError, match=r"no command shwo\. Did you mean yohaku show\?"):
        split_task(parser(), ["shwo", "a.json"], "en")


@pytest.mark.parametrize(
    ("arguments", "rest"),
    [(["help"], ["--help"]), (["help", "fit"], ["fit", "--help"]), (["version"], ["--version"])],
)
def test_help_and_version_are_what_people_type_first(arguments: list[str], rest: list[str]) -> None:
    assert split_task(parser(), arguments, "en") == (None, rest)


@pytest.mark.parametrize(("lang", "near"), [("en", "Did you mean --model?"), ("ja", "--model のことですか?")])
def test_a_misspelt_option_is_told_and_its_value_is_no_command(lang: str, near: str) -> None:
    with pytest.raises(InputError) as told:
        split_task(parser(), ["--modl", "qwen3", "find it now"], lang)
    assert "--modl" in str(told.value) and near in str(told.value)


def test_a_word_that_is_no_command_is_an_error_of_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main.main(["fix", "the", "test"])
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and 'yohaku "fix the test"' in err


def test_a_task_without_a_terminal_is_done_as_with_p(
    serve: Callable[..., FakeServer], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(spoken("openai_chat", "Hello."))
    assert main.main(["--model", f"{server.url}/v1#m", "say hello to me"]) == 0
    assert capfd.readouterr().out == "Hello.\n"
    assert server.asked[0].body["messages"][-1]["content"].startswith("say hello to me")


def test_continue_takes_the_last_conversation_of_this_folder_and_of_no_other(
    serve: Callable[..., FakeServer],
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    server = serve(*(spoken("openai_chat", f"answer {number}") for number in range(3)))
    run = lambda *words: main.main(["--model", f"{server.url}/v1#m", *words])  # noqa: E731
    assert run("-p", "the first question") == 0
    monkeypatch.chdir(other)
    assert run("-p", "another question elsewhere") == 0
    monkeypatch.chdir(project)
    assert run("-c", "-p", "and now") == 0
    asked = [message["content"] for message in server.asked[-1].body["messages"] if message["role"] == "user"]
    assert asked == ["the first question", "and now"]
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    capfd.readouterr()
    assert run("-c", "-p", "and now") == 2
    assert "no earlier session of this folder" in capfd.readouterr().err
