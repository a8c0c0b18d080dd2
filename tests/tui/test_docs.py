"""What docs/agent.md promises is there, and its pictures are drawn as the panel is."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import re
import shlex
from pathlib import Path

import pytest
from scripts import screen_matrix

from yohaku.agent.commands.slash_commands import COMMANDS
from yohaku.agent.events import Event, to_fields
from yohaku.agent.plain import EXIT_CODES
from yohaku.cli import parser
from yohaku.config.settings import KEYS

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE_JA = (ROOT / "docs" / "ja" / "agent.md").read_text("utf-8")
PAGE = (ROOT / "docs" / "agent.md").read_text("utf-8")


def pictures() -> dict[str, str]:
    found = importlib.util.spec_from_file_location("panel_pictures", ROOT / "scripts" / "panel_pictures.py")
    assert found and found.loader
    script = importlib.util.module_from_spec(found)
    found.loader.exec_module(script)
    return {name: asyncio.run(script.drawn(share, debug=debug)) for name, (share, debug) in script.names().items()}


def test_every_picture_of_the_matrix_is_there_and_shown() -> None:
    page = (ROOT / "docs" / "screens.md").read_text("utf-8")
    shown = set(re.findall(r"\(screens/matrix/([\w.-]+)\)", page))
    assert shown == {path.name for path in (ROOT / "docs" / "screens" / "matrix").iterdir()}
    assert shown == {picture.name for picture in screen_matrix.list_pictures()}


def test_every_command_is_told_as_it_is_written() -> None:
    assert [command.usage for command in COMMANDS.values() if f"`{command.usage}`" not in PAGE] == []


def test_every_setting_exit_code_and_event_is_told() -> None:
    told = set(re.findall(r"`(\w+)`", PAGE.partition("## Settings")[2]))
    assert {name for name in KEYS if "." not in name} - told == set()
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)} == {*EXIT_CODES.values(), 2}
    events = set(re.findall(r'"type": "(\w+)"', inspect.getsource(to_fields)))
    assert len(events) == len(Event.__args__)  # type: ignore[attr-defined]
    assert {name for name in events if f"`{name}`" not in PAGE} == set()


@pytest.mark.parametrize(
    "line", [line for line in re.findall(r"^.*yohaku.*$", PAGE, re.M) if line.startswith(("yohaku", "git"))]
)
def test_every_line_shown_is_understood(line: str) -> None:
    parser.parser().parse_args(shlex.split(line.rpartition("| ")[2])[1:])


def test_the_pictures_are_as_the_panel_is_drawn() -> None:
    drawn = pictures()
    shown = set(re.findall(r"\(panel/([\w.-]+)\)", PAGE))
    assert shown == set(drawn)
    stale = [name for name, svg in drawn.items() if (ROOT / "docs" / "panel" / name).read_text("utf-8") != svg]
    assert stale == [], "run scripts/panel_pictures.py"


def test_the_japanese_page_shows_the_same_code_commands_and_exit_codes() -> None:
    shown = [re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL) for page in (PAGE, PAGE_JA)]
    assert shown[0] == shown[1]
    assert [command.usage for command in COMMANDS.values() if f"`{command.usage}`" not in PAGE_JA] == []
    codes = [re.findall(r"^\| (\d+) \|", page, re.MULTILINE) for page in (PAGE, PAGE_JA)]
    assert codes[0] == codes[1]


@pytest.mark.parametrize(("page", "folder"), [(PAGE, "docs"), (PAGE_JA, "docs/ja")])
def test_each_picture_and_page_that_is_linked_is_there(page: str, folder: str) -> None:
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", page)]
    assert [link for link in links if link and not (ROOT / folder / link).resolve().is_file()] == []
