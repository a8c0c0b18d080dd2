from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from yohaku.agent.toolkit.bash_wildcards import match_files
from yohaku.agent.toolkit.dry_run.values import mark_wildcards
from yohaku.agent.toolkit.permission_patterns import permission_keys
from yohaku.analysis.bash_syntax import parse_bash

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
        "{cat,.env}",
        "cat a{,b}",
        "cat <<< x",
        "cat $'/etc/pass\\x77d'",
        "cat ~root/x",
        "cat x=~/y",
        "! git status",
        "time git status",
        "if true; then ls; fi",
        "ls() { rm x; }; ls",
        "git status 2> x",
        "git status >&3",
        "cat < .env",
        "ls |& tee x > y",
        "git status \\\n $(x)",
        'git status "$(x)"',
        'cat "`x`"',
        "cat @(a|b)",
        "l* src",
        "cat a://../../../../etc/passwd",
        "grep -vf/etc/passwd x",
        "grep -nf../x y",
        "diff --to-file=/etc/passwd x",
        "diff --label=a=/etc/passwd x",
        "git show HEAD:.env",
        "git show HEAD:./.env",
        "git show 'HEAD:.env'",
        "git show :.env",
        "git show stash@{0}:.env",
        "git log -p -- '.e*'",
        "git diff HEAD -- ':(glob)**/.env'",
        "git show HEAD:../x",
        "git blame .env",
        "git diff -- 'a/.en?'",
        "dotnet build /p:PreBuildEvent=x",
        "git diff --no-index / .",
        "./git status",
        "cd && cat notes",
        "cd - && cat notes",
        "cd -P . && cat ../notes",
        "pushd src && cat notes",
    ],
)
def test_what_may_hide_another_command_or_leave_the_project_is_never_remembered(command: str) -> None:
    assert permission_keys(command, ROOT) == ()


def test_each_line_of_a_command_has_its_own_key() -> None:
    assert permission_keys("git status\ntouch x", ROOT) == ("git status", "=touch x")
    assert permission_keys("git status # $(x)", ROOT) == ("git status",)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with secrets, and links that lead out of it and back."""
    root = (tmp_path / "app").resolve()
    for folder in ("sub", "src/deep", "keys", "clean/in/deep/er", ".git"):
        (root / folder).mkdir(parents=True)
    (tmp_path / "x").write_text("outside")
    for name in (".env", "keys/server.key", "src/a.py", "src/deep/b.py", "clean/c.py", "clean/in/d.txt", "x.txt"):
        (root / name).write_text("x")
    (root / "sub/l").symlink_to(root / "clean/in/deep/er")
    (root / "innocent").symlink_to(".env")
    (root / "out").symlink_to(tmp_path)
    (root / "src/out").symlink_to("/etc")
    return root


@pytest.mark.parametrize(
    "command",
    [
        "cat .[^a]nv",
        "cat .[!a]nv",
        "cat .[[:alpha:]]nv",
        "cat .[e]nv",
        "cat .e?v",
        "cat .e''*",
        "cat .e'n'*",
        "cat .??*",
        "cat ./.e*",
        "cat */server.k*",
        "cat k*/*",
        "cat .*/x",
        "head -c100 .e*",
        "cat innocent",
        "cat i*",
        "wc -c < .env",
        "grep x .e*",
        "grep -r . .",
        "grep -rn x",
        "grep -R x src",
        "grep -nR x src",
        "grep --dereference-recursive x src",
        "grep -d recurse . .",
        "grep --directories=recurse . .",
        "grep --recurs . .",
        "egrep -r . keys",
        "fgrep -ri x k*",
        "grep -r --include='*.key' x .",
        "grep -r --include='[s]*' x .",
        "rg x keys",
        "rg -uu x",
        "rg --hidden x",
        "rg -. x",
        "rg --no-ignore x",
        "rg -g '.env' x",
        "rg -L x src",
        "rg --follow x src",
        "rg --pre cat x src",
        "diff keys sub",
        "diff -r keys sub",
        "diff -r src clean",
        "cd sub/l/../../.. && cat x",
        "cd sub/l && cat ../../x.txt",
        "cd sub/l && cd .. && cat x",
        "cd out && cat x",
        "cd sub && cat ../../x",
        "cd s*/l",
        "cat out/x",
        "cat o*/x",
        "ls src/out/",
        "git -C .. log",
        "git --git-dir=../.git log",
        "ls -R -L .",
        "wc --files0-from=/etc/list",
    ],
)
def test_always_never_reads_secrets_or_leaves_the_project(project: Path, command: str) -> None:
    keys = permission_keys(command, project)
    assert not keys or any(key.startswith("=") for key in keys)


@pytest.mark.parametrize(
    ("command", "known"),
    [
        ("cat *.txt", ("cat",)),
        ("cat x.*", ("cat",)),
        ("wc -l *", ("wc",)),
        ("grep -rn x clean", ("grep",)),
        ("grep -rn 'a$|b{2}' clean", ("grep",)),
        ("grep -rn --include='*.py' x .", ("grep",)),
        ("grep -rn --exclude-dir=keys --include=*.py x src", ("grep",)),
        ("rg x clean", ("rg",)),
        ("diff clean/c.py src/a.py", ("diff",)),
        ("cd clean && cat c.py", ("cd", "cat")),
        ("cd ./clean/in/.. && ls", ("cd", "ls")),
        ("cat src/a.py | head -5", ("cat", "head")),
        ("git log --pretty=oneline -5", ("git log",)),
        ("git show HEAD@{1}", ("git show",)),
        ("git diff HEAD -- src/a.py", ("git diff",)),
        ("prettier --check src", ("prettier",)),
        ("ruff check --output-format=json", ("ruff check",)),
        ("ls -R", ("ls",)),
    ],
)
def test_always_covers_what_stays_among_ordinary_files(project: Path, command: str, known: tuple[str, ...]) -> None:
    if command.startswith("wc"):
        (project / "innocent").unlink()
        (project / "out").unlink()
    assert permission_keys(command, project) == known


def test_a_search_by_rg_heeds_what_git_ignores(project: Path) -> None:
    (project / ".gitignore").write_text("keys/\n")
    assert permission_keys("rg x", project) == ("rg",)
    assert permission_keys("grep -r x .", project) == ()


def test_contents_shown_by_git_are_asked_about_where_it_tracks_secrets(tmp_path: Path) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("needs git")

    def run(*words: str) -> None:
        subprocess.run(
            [git, "-c", "user.name=a", "-c", "user.email=a@b.c", *words], cwd=tmp_path, check=True, capture_output=True
        )

    for version in ("2", "4"):
        run("init", "-q")
        run("config", "index.version", version)
        for name in (".editorconfig", ".env", "a.py", "tests/key.pem"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("x")
        run("add", "a.py", ".editorconfig", "tests")
        assert permission_keys("git diff", tmp_path.resolve()) == ("git diff",)
        run("add", "-f", ".env")
        for command in (
            "git diff", "git show", "git log -p", "git stash show -p", "git stash list -p", "git stash list --patch",
            "git stash push -p", "git log --binary", "git log --remerge-diff", "git log --diff-merges=first-parent",
            "git log --color-words", "git status -v", "git status -sv", "git status --verb", "git commit -v --dry-run",
            "git commit --verbose", "git commit -qv", "git commit -p", "git commit --inter", "git add -p", "git add -i",
            "git add --patc", "git add --edit",
        ):  # fmt: skip
            assert permission_keys(command, tmp_path.resolve()) == (), command
        for command in ("git log --oneline", "git log --stat -5", "git log --pretty=oneline"):
            assert permission_keys(command, tmp_path.resolve()) == ("git log",)
        for command in ("git commit -m x --no-verify", "git commit -am x", "git commit --amend"):
            assert permission_keys(command, tmp_path.resolve()) == ("git commit",)
        assert permission_keys("git add -A --pathspec-file-nul", tmp_path.resolve()) == ("git add",)
        assert permission_keys("git status -sb", tmp_path.resolve()) == ("git status",)
        run("commit", "-qm", "one")
        run("rm", "-q", "--cached", ".env")
        for command in ("git diff --cached", "git diff --staged a.py", "git status -v", "git commit -v"):
            assert permission_keys(command, tmp_path.resolve()) == (), command  # its removal shows its lines
        run("commit", "-qm", "two")
        for command in ("git show", "git log -p", "git diff HEAD~1", "git stash list -p"):
            assert permission_keys(command, tmp_path.resolve()) == (), command  # the past still has it
        for command in ("git diff", "git diff --", "git diff -U5 -- a.py"):
            assert permission_keys(command, tmp_path.resolve()) == ("git diff",), command  # what is there now
        shutil.rmtree(tmp_path / ".git")


def test_the_environment_can_make_cd_and_wildcards_mean_more(project: Path) -> None:
    assert permission_keys("cd clean && ls", project, {"CDPATH": "/etc"}) == ()
    assert permission_keys("cd ./clean && ls", project, {"CDPATH": "/etc"}) == ("cd", "ls")
    assert permission_keys("grep x *v", project, {}) == ("grep",)
    assert permission_keys("grep x *v", project, {"BASHOPTS": "dotglob:extglob"}) == ()
    assert permission_keys("grep x *v", project, {"GLOBIGNORE": "a"}) == ()


def test_the_very_same_words_with_other_input_or_in_another_folder_are_another_command(project: Path) -> None:
    assert permission_keys("psql app", project) == ("=psql app",)
    assert permission_keys("echo 'drop table a' | psql app", project) == ()
    assert permission_keys("cd clean && make", project) == ()


def test_a_quoted_wildcard_is_not_the_same_command() -> None:
    assert permission_keys("rm '*.log'", ROOT) != permission_keys("rm *.log", ROOT)
    assert permission_keys("make 'a > /dev/null b'", ROOT) != permission_keys("make 'a   b'", ROOT)


def test_too_many_files_for_a_wildcard_are_asked_about(tmp_path: Path) -> None:
    for number in range(5_001):
        (tmp_path / f"{number}.txt").touch()
    assert permission_keys("cat *", tmp_path.resolve()) == ()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_all_that_bash_matches_is_matched(tmp_path: Path) -> None:
    names = ["a", "b", "ab", ".a", ".ab", "A", "[a", "a]", "a-b", "é", "*", "]", "a b", "\\a", ".env", "!a", "^"]
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a").touch()
    pieces = ["*", "?", "[a]", "[!a]", "[^a]", "[a-z]", "[[:alpha:]]", "[]a]", "[", "]", "a", ".", "'*'", "\\[",
              "[\\]]", "b", "[[.a.]]", "[[=a=]]", "d/", "-", "é", "[a'-'z]", "e", "!"]  # fmt: skip
    chosen = random.Random(3)
    for _ in range(40):
        patterns = ["".join(chosen.choices(pieces, k=chosen.randint(1, 4))) for _ in range(12)]
        told = subprocess.run(
            ["bash", "--norc", "-c", "\n".join(f"printf '%s\\0' {pattern}; echo" for pattern in patterns)],
            cwd=tmp_path, capture_output=True, check=True,
        )  # fmt: skip
        for pattern, line in zip(patterns, told.stdout.decode().split("\n"), strict=False):
            word = parse_bash(f"x {pattern}").items[0].node.words[1]  # type: ignore[union-attr]
            marked = "".join(mark_wildcards(p.value) if p.kind == "text" else p.value for p in word)
            ours = match_files(tmp_path, marked, {})
            assert ours is not None
            missed = {tmp_path / name for name in line.split("\0")[:-1]} - set(ours)
            assert not missed, pattern


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
        "find . -name x",
        "find . -exec rm x +",
        "find . -fprint x",
        "sed -i s/a/b/ x",
        "sed -n 'w x' y",
        "awk 'BEGIN{system(1)}'",
        "tar --to-command=x -xf a.tar",
        "xargs rm",
        "env ls",
        "tee x",
        "less x",
        "man ls",
        "git grep x",
        "git diff --outp=x",
        "git diff --out x",
        "git diff --no-index a b",
        "git log --ext-diff",
        "rg --pre=x y",
        "rg --hostname-bin=x y",
        "ruff check --fix",
        "ruff check -o x",
        "eslint --fix x",
        "eslint -o x y",
        "prettier --write x",
        "prettier -w x",
        "file -C -m x",
        "go build -o x",
        "go test -exec x",
        "go test --exec=x",
        "go build -ldflags=-extld=x",
        "dotnet build -p:PreBuildEvent=x",
        "cargo build --config x",
        "npm test --node-options=x",
        "mypy --python-executable=x y",
        "pip list --log x",
        "pytest --basetemp=x",
        "pytest --paste=all",
        "jq -n env",
        "jq -n '$ENV'",
        "jq -f x y",
        "gh pr list --jq env",
        "ps auxe",
        "ps eww",
        "test -v 'a[$(touch x)]'",
        "printf -v 'a[$(touch x)]' y",
        "shellcheck -x y",
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
