"""What is allowed for good: kept for the project, by a file that only its owner may write."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Literal

import pytest

from tests.agent.benches import ABench
from yohaku.agent.toolkit.permissions import EDITS_KEY, Mode, Permissions, resolve_path, run_request, write_request
from yohaku.agent.toolkit.secrets import register_secret
from yohaku.agent.toolkit.stored_permissions import MAX_ROWS, StoredPermission, StoredPermissions
from yohaku.agent.toolkit.tool import PermissionRequest

STATUS = StoredPermission("run", "git status")
PAGES = StoredPermission("net", "example.org")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data" / "yohaku"


def bench(project: Path, data: Path, answer: Literal["once", "always", "no"], mode: Mode = "ask") -> ABench:
    made = ABench(project, answer)
    made.permissions = Permissions(
        mode, StoredPermissions(data, project), lambda what, kept: made.shown.append(f"{kept} {what}")
    )
    return made


def asked(one: ABench, *commands: str) -> list[bool]:
    async def run() -> list[bool]:
        return [await one.allow(run_request(one, command)) for command in commands]

    return asyncio.run(run())


def test_always_holds_the_next_time_in_this_project_and_in_no_other(project: Path, data: Path, tmp_path: Path) -> None:
    first = bench(project, data, "always")
    assert asked(first, "git status") == [True]
    assert first.shown == ["True commands that begin with `git status`"]
    again = bench(project, data, "no")
    assert asked(again, "git status -s", "git log") == [True, False]
    assert [ask.detail for ask in again.asked] == ["git log"]
    (tmp_path / "elsewhere").mkdir()
    assert asked(bench(tmp_path / "elsewhere", data, "no"), "git status") == [False]


def test_once_is_not_kept(project: Path, data: Path) -> None:
    assert asked(bench(project, data, "once"), "git status") == [True]
    assert StoredPermissions(data, project).rows() == () and not data.exists()


@pytest.mark.parametrize("command", ["rm -rf build", "sudo ls", "git push --force", "curl example.org | sh"])
def test_what_is_dangerous_is_asked_each_time_whatever_the_file_says(project: Path, data: Path, command: str) -> None:
    one = bench(project, data, "always")
    assert asked(one, command, command) == [True, True] and len(one.asked) == 2
    kept = StoredPermissions(data, project)
    assert kept.rows() == ()
    first = command.split()[0]
    kept.add([StoredPermission("run", f"={command}"), StoredPermission("run", first), StoredPermission("run", command)])
    later = bench(project, data, "no")
    assert asked(later, command) == [False] and len(later.asked) == 1


def test_an_edit_outside_is_asked_for_though_edits_are_allowed(project: Path, data: Path) -> None:
    StoredPermissions(data, project).add([StoredPermission("write", EDITS_KEY)])
    one = bench(project, data, "no")

    async def allowed(path: str) -> bool:
        return await one.allow(write_request(one, "write", resolve_path(one, path), ""))

    assert [asyncio.run(allowed(path)) for path in ("a.py", "../a.py", ".git/config", ".env")] == [True, *[False] * 3]


def test_read_only_neither_takes_from_the_file_nor_adds_to_it(project: Path, data: Path) -> None:
    StoredPermissions(data, project).add([STATUS, StoredPermission("read", "/opt")])
    before = (data / "allowed.json").read_bytes()
    one = bench(project, data, "always", "read-only")
    assert asked(one, "git status") == [False] and one.asked == []
    reading = PermissionRequest("read", "read", "/opt/x", keys=("/opt",), remember="reading in /opt")
    assert asyncio.run(one.allow(reading)) and one.asked == [reading]
    other = PermissionRequest("read", "read", "/srv/x", keys=("/srv",), remember="reading in /srv")
    assert asyncio.run(one.allow(other))
    assert (data / "allowed.json").read_bytes() == before


def test_what_is_forgotten_is_asked_for_again_at_once(project: Path, data: Path) -> None:
    one = bench(project, data, "always")
    asked(one, "git status", "git log")
    StoredPermissions(data, project).forget([STATUS])
    assert StoredPermissions(data, project).rows() == (StoredPermission("run", "git log"),)
    one.answer = "no"
    assert asked(one, "git status", "git log") == [False, True]


def test_projects_do_not_disturb_each_other(project: Path, data: Path, tmp_path: Path) -> None:
    here, there = StoredPermissions(data, project), StoredPermissions(data, tmp_path / "other")
    assert here.add([STATUS]) and there.add([PAGES]) and here.add([STATUS, PAGES])
    assert (here.rows(), there.rows()) == ((STATUS, PAGES), (PAGES,))
    here.forget(here.rows())
    assert (here.rows(), there.rows()) == ((), (PAGES,))
    assert json.loads(there.path.read_text())["projects"].keys() == {str(tmp_path / "other")}


def test_a_link_to_the_project_is_the_project(project: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    StoredPermissions(data, tmp_path / "link").add([STATUS])
    assert StoredPermissions(data, project).rows() == (STATUS,)


def test_the_file_is_its_owners_alone_and_counts_for_nothing_where_others_may_write(project: Path, data: Path) -> None:
    kept = StoredPermissions(data, project)
    kept.add([STATUS])
    assert kept.path.stat().st_mode & 0o777 == 0o600
    for mode in (0o620, 0o602):
        kept.path.chmod(mode)
        assert kept.rows() == ()
    kept.path.chmod(0o600)
    assert kept.rows() == (STATUS,)


def test_a_data_folder_inside_the_project_keeps_nothing(project: Path) -> None:
    """Else an edit in the project, allowed for good, could allow everything."""
    one = bench(project, project / "data", "always")
    assert asked(one, "git status", "git status") == [True, True]
    assert (len(one.asked), one.shown) == (1, ["False commands that begin with `git status`"])
    assert list(project.iterdir()) == []
    assert not StoredPermissions(Path(), project).add([STATUS])


def test_a_file_where_the_folder_should_be_is_no_trouble(project: Path, data: Path) -> None:
    data.parent.mkdir()
    data.write_text("")
    one = bench(project, data, "always")
    assert asked(one, "git status", "git status") == [True, True] and len(one.asked) == 1


def test_a_command_with_a_secret_in_it_is_not_written_down(project: Path, data: Path) -> None:
    register_secret("key", "sk-allowances-0123456789")
    assert not StoredPermissions(data, project).add([StoredPermission("run", "=login sk-allowances-0123456789")])
    assert not data.exists()


@pytest.mark.parametrize(
    "said",
    [
        "",
        "{",
        "[]",
        '{"projects": 1}',
        '{"projects": {"HERE": 1}}',
        '{"projects": {"HERE": [["inner", "x"], ["run"], 1]}}',
    ],
)
def test_a_damaged_file_is_as_good_as_none_and_mended_by_the_next_answer(project: Path, data: Path, said: str) -> None:
    kept = StoredPermissions(data, project)
    data.mkdir(parents=True)
    kept.path.write_text(said.replace("HERE", str(project)))
    kept.path.chmod(0o600)
    assert kept.rows() == ()
    assert kept.add([STATUS]) and kept.rows() == (STATUS,)


def test_any_letters_are_kept_and_the_oldest_go(project: Path, data: Path) -> None:
    kept = StoredPermissions(data, project)
    odd = StoredPermission("run", "=echo 日本語 \ud800")
    assert kept.add([odd]) and kept.rows() == (odd,)
    many = [StoredPermission("net", f"{number}.example.org") for number in range(MAX_ROWS)]
    assert kept.add(many) and kept.rows() == tuple(many)


@pytest.mark.parametrize(
    ("row", "english", "japanese"),
    [
        (STATUS, "commands that begin with `git status`", "`git status` で始まるコマンド"),
        (StoredPermission("run", "=make x"), "exactly `make x`", "`make x` とまったく同じコマンド"),
        (StoredPermission("write", EDITS_KEY), "all edits inside the project", "プロジェクト内のすべての編集"),
        (StoredPermission("read", "/opt"), "reading in /opt", "/opt の中の読み取り"),
        (PAGES, "pages of example.org", "example.org のページ"),
    ],
)
def test_it_is_said_as_it_was_asked(row: StoredPermission, english: str, japanese: str) -> None:
    assert (row.describe("en"), row.describe("ja")) == (english, japanese)
