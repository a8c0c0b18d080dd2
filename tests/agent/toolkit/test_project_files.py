from __future__ import annotations

import subprocess
from pathlib import Path

from yohaku.agent.toolkit.project_files import walk_files

FILES = (
    "a.log src/a.log src/b.py build/x out/build/y keep/a.log docs/a.txt docs/sub/b.txt foo/bar/baz/q deep/x/y.tmp "
    "日本.txt sub/only.dat sub/in/only.dat #hash spaced\\name"
).split()
IGNORE = "*.log\n!keep/a.log\n/build\ndocs/*.txt\nfoo/**/q\n*.tmp\n# note\n\\#hash\nsub/\n!sub/\n"


def names(top: Path, root: Path) -> list[str]:
    return [found.name for found in walk_files(top, root)]


def make(root: Path) -> None:
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (root / ".gitignore").write_text(IGNORE)
    (root / "sub/.gitignore").write_text("/only.dat\n")


def test_what_git_ignores_is_left_out(tmp_path: Path) -> None:
    make(tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    git = ["git", "-c", "core.quotepath=false", "ls-files", "-o", "-z", "--exclude-standard"]
    listed = subprocess.run(git, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert sorted(names(tmp_path, tmp_path)) == sorted(listed.strip("\0").split("\0"))


def test_a_folder_below_obeys_the_files_above_it(tmp_path: Path) -> None:
    make(tmp_path)
    assert names(tmp_path / "sub", tmp_path) == [".gitignore", "in/only.dat"]
    assert names(tmp_path / "src", tmp_path) == ["b.py"]


def test_who_asks_for_an_ignored_folder_gets_it(tmp_path: Path) -> None:
    make(tmp_path)
    assert names(tmp_path / "build", tmp_path) == ["x"]


def test_environments_and_caches_are_not_entered(tmp_path: Path) -> None:
    for name in ("node_modules/a.js", "__pycache__/a.pyc", ".git/config", "env/pyvenv.cfg", "env/lib/x.py", "a.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert names(tmp_path, tmp_path) == ["a.py"]


def test_links_to_folders_are_not_entered(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "a").mkdir(parents=True)
    (root / "a/f").write_text("x")
    (root / "loop").symlink_to(root)
    (root / "out").symlink_to(tmp_path)
    (root / "broken").symlink_to(tmp_path / "nothing")
    assert names(root, root) == ["a/f"]


def test_a_link_that_leads_in_a_circle_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "c").touch()
    assert [found.name for found in walk_files(tmp_path, tmp_path)] == ["c"]
