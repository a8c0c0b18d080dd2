from __future__ import annotations

from pathlib import Path

import pytest

from yohaku.agent.toolkit.permission_patterns import permission_keys

ROOT = Path("/project")


@pytest.mark.parametrize(
    ("command", "known"),
    [
        ("git status -s", ("git status",)),
        ("ls -la src 2>/dev/null", ("ls",)),
        ("pytest -q 2>&1 | tail", ("pytest", "tail")),
        ("cd src && npm run build", ("cd", "npm run build")),
        ("python -m pytest tests", ("python -m pytest",)),
        ("python make.py 'a b'", ("=python make.py 'a b'",)),
        ("rm a.txt", ("=rm a.txt",)),
        ("git -c core.pager=x status", ("=git -c core.pager=x status",)),
    ],
)
def test_a_command_is_known_by_its_first_words(command: str, known: tuple[str, ...]) -> None:
    assert permission_keys(command, ROOT) == known


@pytest.mark.parametrize(
    "command",
    [
        "git status $(touch x)",
        "git status `touch x`",
        "git status; $X",
        "git status\ntouch x",
        "git status & touch x",
        "git diff > x",
        "git diff <(touch x)",
        "LD_PRELOAD=./x.so git status",
        "{git,status}",
        "git status 'unclosed",
        "cat ../../x",
        "cat /etc/passwd",
        "cat ~/x",
        "cat $HOME/x",
        "cat --file=/etc/passwd",
        "(git status)",
        "git diff <<EOF\nx\nEOF",
        "$'git' status",
        "./git status",
        "cd && cat notes",
        "cd - && cat notes",
        "cd -P . && cat ../notes",
        "pushd src && cat notes",
    ],
)
def test_what_may_hide_another_command_or_leave_the_project_is_never_remembered(command: str) -> None:
    assert permission_keys(command, ROOT) == ()


@pytest.mark.parametrize(
    "command",
    ["cat way", "cat way/passwd", "cd way && cat passwd", "cd sub && cat way2", "cat w*", "cd sub | cat way3"],
)
def test_a_link_out_of_the_project_is_seen_through(tmp_path: Path, command: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "way").symlink_to("/etc")
    (tmp_path / "sub/way2").symlink_to("/etc/passwd")
    (tmp_path / "way3").symlink_to("/etc/passwd")
    assert permission_keys(command, tmp_path.resolve()) == ()


def test_wildcards_inside_the_project_are_everyday(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    assert permission_keys("wc -l *.py", tmp_path.resolve()) == ("wc",)


def test_a_wildcard_that_meets_a_file_of_secrets_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / ".env").touch()
    assert permission_keys("cat .e*", tmp_path.resolve()) == ()


@pytest.mark.parametrize(
    "command",
    [
        "python3.11 -c pass",
        "python -m coverage run -m timeit pass",
        "make --eval=x:",
        "make test",
        "fd -x rm",
        "sqlite3 a.db '.shell ls'",
        "sort -o a.py b.py",
        "aws s3 ls",
        "apt-get install x",
        "alias ls=rm",
        "go test -toolexec=x",
        "npm test --script-shell=x",
        "git remote -v",
        "nobody-knows it",
    ],
)
def test_of_a_program_that_could_do_anything_only_the_very_command_is_known(command: str) -> None:
    (known,) = permission_keys(command, ROOT)
    assert known.startswith("=")


def test_options_that_run_a_program_or_write_a_file_are_known_exactly() -> None:
    assert permission_keys("git fetch --upload-pack=./x .", ROOT) == ("=git fetch --upload-pack=./x .",)
    assert permission_keys("git diff --output=a.py", ROOT) == ("=git diff --output=a.py",)
    assert permission_keys("rg --pre ./x y", ROOT) == ("=rg --pre ./x y",)


def test_pathological_commands_are_judged_at_once() -> None:
    for command in ("a" * 1_000_000, "a " * 900, "*" * 1_999, "&& " * 600, "[" * 1_999, "a/" * 900):
        permission_keys(command, ROOT)
