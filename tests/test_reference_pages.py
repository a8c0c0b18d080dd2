"""The reference pages are what the code says now, and nothing a user may meet lacks its line there. O7, K1, K10, S7."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from tests.config.test_options import DOCUMENTED
from tests.messages.test_messages import codes, error_classes, setting_codes
from yohaku.agent.commands.slash_commands import COMMANDS
from yohaku.agent.host.download import DownloadFailed
from yohaku.agent.host.embedded import CannotServe
from yohaku.agent.host.model_spec import ModelNotFound
from yohaku.cli.main import MODULES
from yohaku.client.errors import RequestFailed
from yohaku.config.keys import KEYS, find_key
from yohaku.core.errors import YohakuError
from yohaku.messages import sentences
from yohaku.recipes.auto import RECIPES
from yohaku.recipes.from_config import PASSES
from yohaku.recipes.options import option_kinds

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("settings", "commands", "errors", "windows")


@cache
def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{name}_page", ROOT / "scripts" / f"{name}_page.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def rows(page: str) -> dict[str, list[str]]:
    """The cells of each row, by the name that it begins with."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and (name := re.match(r"`([^`]+)`", cells[0])):
            found.setdefault(name[1], cells)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_a_reference_page_says_what_the_code_says(page: str) -> None:
    module = script(page)
    assert module.PAGE.read_text("utf-8") == module.page(), "python3 dev.py pages writes it again"


@pytest.mark.parametrize("name", KEYS)
def test_every_setting_has_its_line_with_its_variable_and_its_flag(name: str) -> None:
    key = KEYS[name]
    _, about, takes, _, variable, flag, aliases = rows("settings")[name]
    assert about and takes and (variable, flag) == (f"`{key.variable}`", f"`{key.flag}`")
    assert all(f"`{alias}`" in aliases for alias in key.aliases)


def test_every_option_of_a_recipe_and_every_pass_has_its_line() -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    assert {*option_kinds(), *PASSES} <= rows("settings").keys()
    assert all(f"`{recipe}`" in page for recipe in RECIPES)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_name_of_the_documents_is_on_the_page_of_settings(name: str) -> None:
    ours = find_key(name)
    assert ours
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    section = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.partition(".")[0]).lower()
    assert name in rows("settings") or f"`{name}`" in rows("settings")[ours][-1] or f"[{section}]" in page


@pytest.mark.parametrize("name", COMMANDS)
def test_every_slash_command_has_its_line(name: str) -> None:
    usage = COMMANDS[name].usage
    assert rows("commands")[usage][1] == COMMANDS[name].about("en")
    assert f"`{usage}`" in (ROOT / "docs" / "agent.md").read_text("utf-8")


@pytest.mark.parametrize(
    "name", [*sorted({name for names in MODULES.values() for name in names} - {"agent"}), "lab run", "lab exam"]
)
def test_every_command_of_the_command_line_has_its_heading_and_each_argument_its_line(name: str) -> None:
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")
    _, _, part = page.partition(f"### `yohaku {name}`\n")
    part = part.partition("\n### ")[0]
    lines = [line for line in part.splitlines() if line.startswith(("| `", "| …"))]
    assert part and all(cell.strip() for line in lines for cell in re.split(r"(?<!\\)\|", line)[1:-1])


@pytest.mark.parametrize("code", sorted({kind.code for kind in error_classes()} | setting_codes() | codes("error")))
def test_every_code_of_an_error_has_its_line_and_what_to_do_next(code: str) -> None:
    _, exception, english, japanese = rows("errors")[code]
    assert exception and len(english) > 20 and re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", japanese)


def test_every_error_of_a_server_and_of_finding_a_model_has_its_line() -> None:
    host = {ModelNotFound, CannotServe, DownloadFailed}
    assert {kind for kind in YohakuError.__subclasses__() if kind.__module__.startswith("yohaku.agent")} == host
    assert {"talk_too_long", "talk_truncated", "talk_stalled", "talk_cut_off"} <= rows("errors").keys()
    unlisted = {code for code in sentences("client") if code.startswith("talk_")} - rows("errors").keys()
    raised = {code for code in unlisted if not code.startswith("talk_why_")}
    assert raised == {"talk_again", "talk_loading"}, "these two are progress, not errors"
    assert issubclass(RequestFailed, YohakuError)
    assert all(code in rows("errors") for code in script("errors").host_codes())
