from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from yohaku.agent.toolkit.harmless_commands import is_harmless
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.agent.toolkit.tool import PermissionRequest


@pytest.mark.parametrize(
    "command",
    ["ls -la", "git status", "git log --oneline | head -5", "cat a.py && wc -l a.py", "grep -n x a.py 2>/dev/null"],
)
def test_a_command_that_only_prints_is_harmless(command: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    assert is_harmless(command, tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        "rm a.py", "echo x > a.py", "ls; touch b", "cat $(touch b)", "git commit -m x", "git branch -D main",
        "git diff --output=a.py", "pytest", "python -c 'open(1)'", "sed -i s/1/2/ a.py", "ls `touch b`", "X=1 ls",
        "cat ~/.ssh/id_rsa", "cat /etc/passwd", "ls & ", "find . -delete", "tee a.py", "git stash", "xargs rm",
        "git -c core.pager=touch log", "env touch b", "bash -c ls", "",
    ],
)  # fmt: skip
def test_everything_else_is_not(command: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    assert not is_harmless(command, tmp_path)


def test_in_plan_mode_nothing_is_written_whoever_allows_it_and_only_harmless_commands_run() -> None:
    permissions = Permissions("plan")

    async def yes(request: PermissionRequest) -> str:
        return "always"

    def allowed(request: PermissionRequest) -> bool:
        return asyncio.run(permissions.decide(request, yes))  # type: ignore[arg-type]

    assert not allowed(PermissionRequest("write", "edit", "edit a.py", remember="edits", keys=("edits",)))
    assert not allowed(PermissionRequest("run", "bash", "make", keys=("make",)))
    assert allowed(PermissionRequest("run", "bash", "ls", harmless=True))
    permissions.mode = "ask"
    assert allowed(PermissionRequest("write", "edit", "edit a.py"))
    permissions.mode = "read-only"
    assert not allowed(PermissionRequest("run", "bash", "ls", harmless=True))
