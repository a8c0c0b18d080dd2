"""Keys of a shell command, by which a user's "always" is remembered.

Law: the key is the first words only where nothing in the command can hide another one or lead out of the project, and
only for programs that are harmless with any arguments; else it is the exact command. When in doubt there is none.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from yohaku.agent.toolkit.secrets import holds_secrets

MAX_COMMAND_CHARS = 2_000

_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]*$")
_DISCARDED_OUTPUT = re.compile(r"(?:^|(?<=\s))(?:[12&]?>[ ]?/dev/null|2>&1)(?=[\s;|]|$)")
_MAY_HIDE = re.compile(r"[\n\r`\0]|\$[({'\"]|<<|[<>(){}]|[^&]&(?![&])$|(?<!&)&(?!&)")
READ_ONLY_PROGRAMS = frozenset(
    "ls cat head tail wc grep egrep fgrep rg pwd echo printf true false test which type stat file du df diff cmp cut "
    "tr nl od basename dirname realpath readlink md5sum sha1sum sha256sum cksum jq column comm paste fold seq uname id "
    "whoami nproc free uptime ps".split()
)
CHECK_PROGRAMS = frozenset(
    "pytest mypy pyright ruff black isort flake8 yamllint shellcheck tsc eslint prettier jest vitest mocha rspec "
    "phpunit".split()
)
"""Programs that run no code but the project's own, whatever the arguments."""
_VERBS = {
    name: frozenset(verbs.split())
    for names, verbs in (
        (
            "git",
            "status log diff show add commit ls-files blame rev-parse describe branch switch tag stash shortlog remote",
        ),
        ("npm pnpm yarn", "test run run-script ls list outdated why view"),
        ("cargo", "build check test clippy fmt doc tree bench"),
        ("go", "build test vet fmt list version doc"),
        ("pip pip3", "list show freeze check"),
        ("uv", "pip tree"),
        ("poetry conda composer bundle brew", "show list info check validate search"),
        ("dotnet", "build test"),
        ("mix rails", "test compile format"),
        ("gh glab", "pr mr issue repo run release workflow"),
    )
    for name in names.split()
}
_NESTED_VERBS = frozenset("run run-script stash remote pip pr mr issue repo release workflow".split())
"""Verbs whose key includes the next word: `npm run build`, `gh pr list`."""
_UNSAFE_OPTIONS = (
    "--output", "--exec", "--upload-pack", "--receive-pack", "--pre", "--to-command", "--use-compress", "--rsh",
    "--ext-diff", "--open-files", "--checkpoint", "--config", "-exec", "-c=", "-toolexec", "--toolexec", "-vettool",
    "--vettool", "--script-shell", "--hostname-bin", "--log-file", "--junit", "--basetemp",
)  # fmt: skip
"""Options that write a file or run a program."""
_MODULES = frozenset("pytest unittest mypy ruff black isort flake8".split())
_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?$")


def permission_keys(command: str, root: Path) -> tuple[str, ...]:
    """Return the keys that must all be allowed for this command to need no question; empty where it must be asked."""
    bare = _DISCARDED_OUTPUT.sub(" ", command.strip())
    if len(bare) > MAX_COMMAND_CHARS or _MAY_HIDE.search(bare):
        return ()
    reader = shlex.shlex(bare, posix=True, punctuation_chars=True)
    reader.commenters = ""
    reader.whitespace_split = True
    try:
        words = list(reader)
    except ValueError:
        return ()
    found: list[str] = []
    places = [root]
    """Folders a part may run in: a `cd` before it may have failed."""
    for part in _split_commands(words):
        key = _key(part, root, places)
        if not key:
            return ()
        found.append(key)
        if part[0] == "cd":
            places.append((places[-1] / part[1]).resolve())
    return tuple(dict.fromkeys(found))


def _split_commands(words: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word in ("&&", "||", ";", "|"):
            yield part
            part = []
        else:
            part.append(word)
    yield part


def _key(words: list[str], root: Path, places: list[Path]) -> str:
    if not words or not _WORD.match(words[0]):
        return ""
    if any(_leaves_project(word, root, here) for word in words[1:] for here in places):
        return ""
    name, second, third = (*words, "", "")[:3]
    if name in ("cd", "pushd", "popd"):
        return name if name == "cd" and len(words) == 2 and not second.startswith("-") else ""
    if any(word.startswith(_UNSAFE_OPTIONS) for word in words):
        return "=" + shlex.join(words)
    if _PYTHON.match(name) and second == "-m" and third in _MODULES:
        return f"{name} -m {third}"
    if second in _VERBS.get(name, ()):
        if second not in _NESTED_VERBS or not third:
            return f"{name} {second}"
        return f"{name} {second} {third}" if _WORD.match(third) else "=" + shlex.join(words)
    return name if name in READ_ONLY_PROGRAMS | CHECK_PROGRAMS else "=" + shlex.join(words)


def _leaves_project(word: str, root: Path, here: Path) -> bool:
    """Return whether a word names something outside the project, or secrets, also through a link or a wildcard."""
    for path in {word, word.rpartition("=")[2], *re.findall(r"^-\w(.+)", word)}:
        if path.startswith("~") or "$" in path or "**" in path:
            return True
        if not path or "://" in path:
            continue
        found = _expand_wildcard(here, path) if any(mark in path for mark in "*?[") else [here / path]
        if not all(each.resolve().is_relative_to(root) and not holds_secrets(str(each)) for each in found):
            return True
    return False


def _expand_wildcard(here: Path, pattern: str) -> list[Path]:
    try:
        return [here / pattern, *islice(here.glob(pattern), 1_000)]
    except (ValueError, NotImplementedError, OSError, IndexError):  # not a path pattern: a regular expression
        return [here / pattern]
