from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

import pytest

from tests.agent.benches import ABench
from yohaku.agent.toolkit.permissions import Permissions, read_request, resolve_path, run_request, write_request
from yohaku.agent.toolkit.tool import PermissionRequest


def test_reading_inside_the_project_is_free(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    assert read_request(bench, "read", resolve_path(bench, "src/a.py")) is None
    assert read_request(bench, "read", resolve_path(bench, str(tmp_path / "a"))) is None


@pytest.mark.parametrize("way", ["/etc/passwd", "../x", "src/../../x", "~/x", "link/x", "link2"])
def test_reading_outside_is_asked_for_however_it_is_written(tmp_path: Path, way: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "x").write_text("outside")
    (root / "link").symlink_to(tmp_path)
    (root / "link2").symlink_to(tmp_path / "x")
    bench = ABench(root)
    assert read_request(bench, "read", resolve_path(bench, way)) is not None


def test_a_file_that_may_hold_secrets_is_asked_for_and_never_remembered(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    ask = read_request(bench, "read", resolve_path(bench, ".env"))
    assert ask is not None
    assert (bool(ask.danger), ask.remember, ask.keys) == (True, "", ())


def test_always_covers_the_first_words_of_a_command(tmp_path: Path) -> None:
    bench = ABench(tmp_path, "always")

    async def run(*commands: str) -> list[bool]:
        return [await bench.allow(run_request(bench, command)) for command in commands]

    assert asyncio.run(run("git status", "git status -s", "git log", "git status && git log")) == [True] * 4
    assert [ask.detail for ask in bench.asked] == ["git status", "git log"]


def test_always_never_covers_what_hides_another_command_or_is_dangerous(tmp_path: Path) -> None:
    bench = ABench(tmp_path, "always")
    commands = ["git status", "git status; rm -rf x", "git status $(evil)", "rm -rf x", "rm -rf x"]

    async def run() -> None:
        for command in commands:
            await bench.allow(run_request(bench, command))

    asyncio.run(run())
    assert [ask.detail for ask in bench.asked] == commands


def test_compositions_are_not_offered_to_be_remembered(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    assert run_request(bench, "pytest | tail").remember == ""
    assert run_request(bench, "pytest").remember == "commands that begin with `pytest`"
    bench.lang = "ja"
    assert run_request(bench, "pytest").remember == "`pytest` で始まるコマンド"


def test_edits_inside_the_project_are_remembered_together(tmp_path: Path) -> None:
    bench = ABench(tmp_path, "always")
    bench.use("write", path="a.txt", content="1")
    bench.use("write", path="b.txt", content="2")
    assert [ask.title for ask in bench.asked] == ["write a.txt"]
    assert bench.asked[0].detail == "--- /dev/null\n+++ a.txt\n@@ -0,0 +1 @@\n+1\n"


@pytest.mark.parametrize("way", ["../out.txt", ".git/hooks/pre-commit", ".env", "/etc/hosts"])
def test_other_writes_are_asked_for_each_time_with_the_reason(tmp_path: Path, way: str) -> None:
    bench = ABench(tmp_path)
    ask = write_request(bench, "write", resolve_path(bench, way), "")
    assert ask.danger
    assert (ask.remember, ask.keys) == ("", ())


GRAVE = PermissionRequest("run", "bash", "rm", "rm -rf /", danger="x", grave=True)
WRITE = PermissionRequest("write", "edit", "a", "", "all edits", keys=("edits",))
READ = PermissionRequest("read", "read", "/etc/x", keys=("/etc",), remember="/etc")


def test_yolo_asks_only_for_what_is_grave() -> None:
    permissions = Permissions("yolo")
    assert [permissions.verdict(ask) for ask in (WRITE, READ, GRAVE)] == [True, True, None]
    assert asyncio.run(permissions.decide(GRAVE)) is False  # nobody is there


def test_read_only_refuses_writes_and_commands() -> None:
    permissions = Permissions("read-only")
    assert [permissions.verdict(ask) for ask in (WRITE, GRAVE, READ)] == [False, False, None]


def test_one_question_at_a_time_and_always_answers_the_next_one() -> None:
    permissions, open_now, most = Permissions(), 0, 0

    async def surface(ask: PermissionRequest) -> Literal["once", "always", "no"]:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0)
        open_now -= 1
        return "always"

    async def both() -> list[bool]:
        return await asyncio.gather(*(permissions.decide(WRITE, surface) for _ in range(3)))

    assert asyncio.run(both()) == [True, True, True]
    assert most == 1


def test_a_name_in_another_form_of_unicode_is_found(tmp_path: Path) -> None:
    apart = tmp_path / "カ\u3099.txt"
    apart.write_text("x")
    assert resolve_path(ABench(tmp_path), "ガ.txt") == apart


@pytest.mark.parametrize("said", ["", "  ", "a\0b"])
def test_what_cannot_be_a_path_is_refused(tmp_path: Path, said: str) -> None:
    assert ABench(tmp_path).use("read", path=said).error


def test_a_home_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no home folder ~nobody-of-this-name"):
        resolve_path(ABench(tmp_path), "~nobody-of-this-name/x")
