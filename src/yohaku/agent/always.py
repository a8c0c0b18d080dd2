"""Which commands a user's "always" covers.

Law: a command is known by its first words only where nothing in it can hide another one or lead out of the project;
of a program that could do anything, given other words, only the very command is known. When in doubt it is asked.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from yohaku.agent.danger import LAUNCHERS, RAISE, RUNNERS

LONGEST = 2_000
"""Characters of a command that can be remembered."""

_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]*$")
_QUIET = re.compile(r"(?:^|(?<=\s))(?:[12&]?>[ ]?/dev/null|2>&1)(?=[\s;|]|$)")
_HIDES = re.compile(r"[\n\r`\0]|\$[({'\"]|<<|[<>(){}]|[^&]&(?![&])$|(?<!&)&(?!&)")
SUBCOMMANDS = frozenset(
    "git npm pnpm yarn cargo go pip pip3 uv poetry brew gh glab dotnet mvn gradle bundle composer conda rustup "
    "docker podman kubectl terraform aws gcloud az rails mix hatch pdm nox tox".split()
)
EXACT = (
    RUNNERS
    | LAUNCHERS
    | RAISE
    | frozenset(
        "awk gawk sed eval source . npx uvx bunx pipx tar rsync vim vi emacs gdb rm mv cp dd chmod chown chgrp tee ln "
        "curl wget touch mkdir install kill scp sftp telnet nc open start osascript expect script screen tmux".split()
    )
)
"""What could do anything, given other words: of these a user allows only the very command."""
_RUNS = frozenset(
    tuple(pair.split())
    for pair in (
        "uv run,uv tool,go run,go generate,poetry run,cargo install,pip install,pip3 install,npm install,npm exec,"
        "yarn dlx,pnpm dlx,conda run,bundle exec,hatch run,pdm run,gh api,mix run"
    ).split(",")
)
_GIT = frozenset(
    "status log diff show add commit ls-files blame rev-parse describe branch switch tag stash shortlog remote".split()
)
_RUNNING = (
    "--output", "--exec", "--upload-pack", "--receive-pack", "--pre", "--to-command", "--use-compress", "--rsh",
    "--ext-diff", "--open-files", "--checkpoint", "--config", "-exec", "-c=",
)  # fmt: skip
"""Options that write a file or run a program."""
_MODULES = frozenset("pytest unittest mypy ruff black isort flake8 pylint coverage doctest".split())


def keys(command: str, root: Path) -> tuple[str, ...]:
    """What must have been allowed for good for this command to need no question; nothing where that cannot be told."""
    bare = _QUIET.sub(" ", command.strip())
    if len(bare) > LONGEST or _HIDES.search(bare):
        return ()
    reader = shlex.shlex(bare, posix=True, punctuation_chars=True)
    reader.commenters = ""
    reader.whitespace_split = True
    try:
        words = list(reader)
    except ValueError:
        return ()
    found: list[str] = []
    here = root
    for part in _parts(words):
        key = _key(part, root, here)
        if not key:
            return ()
        found.append(key)
        here = (here / part[1]).resolve() if part[0] == "cd" and len(part) > 1 else here
    return tuple(dict.fromkeys(found))


def _parts(words: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word in ("&&", "||", ";", "|"):
            yield part
            part = []
        else:
            part.append(word)
    yield part


def _key(words: list[str], root: Path, here: Path) -> str:
    if not words or not _WORD.match(words[0]) or any(_outside(word, root, here) for word in words[1:]):
        return ""
    name, second, third = (*words, "", "")[:3]
    if name in ("python", "python3") and second == "-m" and third in _MODULES:
        return f"{name} -m {third}"
    known = second in _GIT if name == "git" else name in SUBCOMMANDS and (name, second) not in _RUNS
    if any(word.startswith(_RUNNING) for word in words):
        return "=" + shlex.join(words)
    if known and name not in LAUNCHERS and _WORD.match(second):
        deeper = second in ("run", "run-script", "stash", "remote", "pr", "issue", "repo")
        return f"{name} {second} {third}" if deeper and _WORD.match(third) else f"{name} {second}"
    return "=" + shlex.join(words) if name in EXACT or name in SUBCOMMANDS else name


def _outside(word: str, root: Path, here: Path) -> bool:
    """Whether a word names something outside the project, also through a link or a wildcard."""
    for path in {word, word.rpartition("=")[2], *re.findall(r"^-\w(.+)", word)}:
        if path.startswith("~") or "$" in path or "**" in path:
            return True
        if not path or "://" in path:
            continue
        found = _matching(here, path) if any(mark in path for mark in "*?[") else [here / path]
        if not all(each.resolve().is_relative_to(root) for each in found):
            return True
    return False


def _matching(here: Path, pattern: str) -> list[Path]:
    try:
        return [here / pattern, *islice(here.glob(pattern), 1_000)]
    except (ValueError, NotImplementedError, OSError, IndexError):  # no pattern of a path: a regular expression
        return [here / pattern]
