"""Sentences about what a command may do that no undo brings back, for the question before it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from yohaku.agent.file_history.file_state import MAX_FILE_BYTES
from yohaku.agent.toolkit.dry_run.program import StartedProgram
from yohaku.agent.toolkit.dry_run.values import is_unknown
from yohaku.agent.toolkit.dry_run.walker import DryRun
from yohaku.agent.toolkit.ordinary_files import show_name
from yohaku.agent.toolkit.output_budget import format_size
from yohaku.agent.toolkit.program_rules import READ_ONLY_PROGRAMS
from yohaku.agent.toolkit.project_files import is_left_out
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.messages import say

NETWORK_PROGRAMS = frozenset(
    "curl wget ssh scp sftp rsync nc ncat ftp telnet aws gcloud az kubectl helm terraform ansible docker podman gh "
    "glab psql mysql mongosh redis-cli twine mail sendmail flyctl vercel netlify heroku".split()
)
NETWORK_VERBS = {
    "git": "push fetch pull clone submodule",
    "npm": "publish install i ci unpublish", "pnpm": "publish install add", "yarn": "publish install add",
    "pip": "install download", "pip3": "install download", "uv": "publish", "cargo": "publish install",
    "poetry": "publish install", "gem": "push install", "go": "get install",
}  # fmt: skip
GIT_RECORDS = frozenset(
    "commit reset rebase merge stash branch tag checkout switch cherry-pick revert am gc filter-branch update-ref add "
    "rm mv restore clean worktree notes reflog".split()
)
SYSTEM_PROGRAMS = frozenset("apt apt-get brew dnf yum pacman systemctl kill pkill killall crontab sudo doas".split())
SIMPLE_PROGRAMS = READ_ONLY_PROGRAMS | frozenset(
    "rm rmdir mv cp ln mkdir touch sed tee truncate chmod find sort uniq patch ruff black isort prettier gofmt "
    "rustfmt clang-format cd git".split()
)
"""Programs that change nothing but the files they are given."""
MAX_NAMED = 3
"""Paths that are named."""


def describe_losses(request: PermissionRequest, root: Path, trouble: str, lang: str) -> str:
    """Return one sentence on what could not be brought back; empty where an undo brings back everything."""
    if trouble:
        return say(f"lost_{trouble}", lang)
    if request.kind != "run":
        return ""
    found = list(dict.fromkeys(_find_losses(request.detail, root, lang)))
    more = say("lost_more", lang, count=len(found) - MAX_NAMED) if len(found) > MAX_NAMED else ""
    return say("lost", lang, what=say("lost_join", lang).join(found[:MAX_NAMED]) + more) if found else ""


def acts_elsewhere(command: str, root: Path) -> bool:
    """Return whether a command is known to act on something else than the project's files."""
    unclear = say("lost_unclear", "en")
    return any(found != unclear for found in _find_losses(command, root, "en"))


def _find_losses(command: str, root: Path, lang: str) -> Iterator[str]:
    run = DryRun(str(root), str(Path.home()), os.environ)
    started = run.run(command)
    unclear = not run.complete
    for program in started:
        words = program.shown
        verb = next((word for word in words[1:] if not word.startswith("-")), "")
        if program.name in NETWORK_PROGRAMS or verb in NETWORK_VERBS.get(program.name, "").split():
            yield say("lost_network", lang)
        if program.name == "git" and verb in GIT_RECORDS:
            yield say("lost_git", lang)
        if program.name in SYSTEM_PROGRAMS:
            yield say("lost_system", lang)
        yield from _find_lost_paths(program, root, lang)
        unclear = unclear or bool(program.name and program.name not in SIMPLE_PROGRAMS | NETWORK_PROGRAMS)
    if unclear:
        yield say("lost_unclear", lang)


def _find_lost_paths(program: StartedProgram, root: Path, lang: str) -> Iterator[str]:
    changes = program.name not in READ_ONLY_PROGRAMS | {"cd", "git"}
    named = [word for word in program.shown[1:] if word and not word.startswith("-")] if changes else []
    for word in dict.fromkeys((*program.writes, *named)):
        if is_unknown(word) or "\0" in word or word == "/dev/null":
            continue
        path = Path(os.path.normpath(Path((program.folders or (str(root),))[0]) / os.path.expanduser(word)))  # noqa: PTH111  (may be no user's)
        shown = show_name(word if len(word) <= 60 else word[:59] + "…")
        if not path.is_relative_to(root):
            if os.path.lexists(path) or word in program.writes:
                yield say("lost_outside", lang, name=shown)
        elif os.path.lexists(path):
            if is_left_out(path, root):
                yield say("lost_ignored", lang, name=shown)
            elif path.is_file() and path.stat().st_size > MAX_FILE_BYTES:
                yield say("lost_big", lang, name=shown, size=format_size(path.stat().st_size))
