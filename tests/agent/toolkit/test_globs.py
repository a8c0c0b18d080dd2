from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from yohaku.agent.toolkit.globs import compile_glob, parse_gitignore


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "deep/er/a.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/x/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("src/**", "src/x/y", True),
        ("**/test_*.{py,ts}", "a/test_x.ts", True),
        ("**/test_*.{py,ts}", "a/test_x.js", False),
        ("a/**/b/**/c", "a/x/b/y/z/c", True),
        ("a/**/b/**/c", "a/x/c", False),
        ("[ab]?.txt", "a1.txt", True),
        ("資料/*.txt", "資料/一.txt", True),
        ("./a.py", "a.py", True),
    ],
)
def test_a_pattern_matches_paths_as_shells_do(pattern: str, path: str, matches: bool) -> None:
    assert compile_glob(pattern)(path.split("/")) is matches


def test_a_pattern_cannot_stall() -> None:
    assert not compile_glob("*a" * 200 + "b")(["a" * 4_000])
    assert not compile_glob("**/" * 100 + "x")(["a"] * 200)
    assert compile_glob("{a,b}" * 30)(["a"]) is False


def test_the_last_line_of_a_gitignore_decides() -> None:
    last, first = parse_gitignore("# notes\n*.log\n!keep.log\n\n")
    assert (last.keeps, last.matches(["keep.log"]), first.keeps, first.matches(["x", "a.log"])) == (
        True,
        True,
        False,
        True,
    )


def test_braces_are_letters_in_a_gitignore_as_they_are_for_git(tmp_path: Path) -> None:
    git = shutil.which("git")
    assert git
    names = ["a.py", "b.py", "{a,b}.py", "build/x", "{build,dist}/x", "dist/x", "q{1}.txt", "q1.txt"]
    patterns = "{a,b}.py\n/{build,dist}/x\nq{1}.txt\n"
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text(patterns)
    run = partial(subprocess.run, cwd=tmp_path, capture_output=True, text=True)
    run([git, "init", "-q"])
    ignored = run([git, "check-ignore", *names]).stdout.split("\n")[:-1]
    rules = parse_gitignore(patterns)
    assert [name for name in names if any(rule.matches(name.split("/")) for rule in rules)] == ignored
    assert ignored == ["{a,b}.py", "{build,dist}/x", "q{1}.txt"]
