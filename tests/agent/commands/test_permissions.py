"""/permissions, typed at a desk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.commands.test_slash_commands import Desk, run
from tests.tui.fake import FakeAgent, begins
from yohaku.agent.commands.slash_commands import CommandResult, complete
from yohaku.agent.toolkit.stored_permissions import StoredPermission, StoredPermissions

ROWS = (
    StoredPermission("run", "git status"),
    StoredPermission("write", "edits in the project"),
    StoredPermission("net", "example.org"),
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "project").mkdir()
    agent = FakeAgent(root=tmp_path / "project")
    return Desk(begins(tmp_path / "data", agent), agent)


@pytest.fixture
def kept(desk: Desk) -> StoredPermissions:
    assert desk.agent
    found = StoredPermissions(desk.begin.settings.data, desk.agent.root)
    assert found.add(ROWS)
    return found


def test_nothing_allowed_is_said(desk: Desk) -> None:
    assert run(desk, "/permissions").text.startswith("Nothing is allowed for good in this project.")
    assert run(desk, "/permissions forget all").kind == "error"


def test_what_is_allowed_is_listed_by_number(desk: Desk, kept: StoredPermissions) -> None:
    assert run(desk, "/permissions") == CommandResult(
        "Allowed for good in this project:\n"
        "  1  commands that begin with `git status`\n"
        "  2  all edits inside the project\n"
        "  3  pages of example.org\n"
        "/permissions forget <number>, or forget all: it is asked for again"
    )
    desk.lang = "ja"
    assert "  1  `git status` で始まるコマンド\n" in run(desk, "/permissions").text


def test_one_is_forgotten_by_its_number_or_all_of_it(desk: Desk, kept: StoredPermissions) -> None:
    assert run(desk, "/permissions forget 2") == CommandResult(
        "Asked for again from now on: all edits inside the project"
    )
    assert kept.rows() == (ROWS[0], ROWS[2])
    desk.lang = "ja"
    assert run(desk, "/permissions forget all").text == (
        "これからはまた確認します: `git status` で始まるコマンド, example.org のページ"
    )
    assert kept.rows() == ()


@pytest.mark.parametrize(
    "asked", ["forget", "forget 0", "forget 4", "forget git", "remember 1", "1", "forget -1", "forget ²"]
)
def test_what_names_nothing_forgets_nothing(desk: Desk, kept: StoredPermissions, asked: str) -> None:
    assert run(desk, f"/permissions {asked}").kind == "error"
    assert kept.rows() == ROWS


def test_it_is_said_where_it_does_not_count(desk: Desk, kept: StoredPermissions, tmp_path: Path) -> None:
    desk.begin = begins(tmp_path / "data", FakeAgent(), permissions="read-only")
    assert "These do not count in this run (read-only)." in run(desk, "/permissions").text


def test_what_can_be_forgotten_is_completed(desk: Desk, kept: StoredPermissions) -> None:
    assert desk.agent
    where = desk.begin.settings.data, desk.agent.root
    assert complete("/perm", *where) == ["/permissions"]
    assert complete("/permissions f", *where) == [f"/permissions forget {each}" for each in ("1", "2", "3", "all")]
    assert complete("/permissions forget a", *where) == ["/permissions forget all"]
    assert complete("/permissions x", *where) == [] and complete("/permissions forget ") == []
    kept.forget(ROWS)
    assert complete("/permissions ", *where) == []
