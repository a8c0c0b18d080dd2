from __future__ import annotations

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
