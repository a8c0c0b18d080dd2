"""Bringing paths back to earlier states.

Law: what somebody else has changed since is left as it is unless the user said so; nothing is written through a link
that stands where a folder was; doing it twice does no more than doing it once. What is too big to be kept and was moved
is moved back, never deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.file_history.file_state import PathState, read_path, remove_path, temporary_of, write_path
from yohaku.agent.file_history.kept_files import ChangedPath, KeptFiles, RawPath
from yohaku.agent.file_history.scan import full_path


class PathPlan(NamedTuple):
    """How one path is to be brought back."""

    path: RawPath
    now: PathState | None
    target: PathState | None
    touched: bool = False
    """Somebody else has changed it since."""
    source: RawPath | None = None
    """Where its content has been moved to, if it was not kept: from there it comes back."""
    stays: bool = False
    """It holds what was moved here, which goes back and is not deleted."""

    @property
    def possible(self) -> bool:
        return self.target is None or self.target.kept or self.source is not None

    @property
    def needed(self) -> bool:
        return self.now != self.target


class NotBroughtBack(NamedTuple):
    path: RawPath
    why: str
    """Empty: somebody else has changed it, and it was left."""


def merge_plans(root: Path, parts: Iterable[ChangedPath]) -> list[PathPlan]:
    """Return one plan for each path that has changed, from its changes, the newest first."""
    targets: dict[RawPath, tuple[PathState | None, bool]] = {}
    now: dict[RawPath, PathState | None] = {}
    for part in parts:
        if part.path not in targets:
            found = read_path(full_path(root, part.path))
            now[part.path] = found.state if found else None
            targets[part.path] = part.before, now[part.path] not in (part.after, part.before)
        else:
            target, touched = targets[part.path]
            targets[part.path] = part.before, touched or target not in (part.after, part.before)
    plans = [PathPlan(path, now[path], target, touched) for path, (target, touched) in sorted(targets.items())]
    return _pair_moves(plans)


def _pair_moves(plans: list[PathPlan]) -> list[PathPlan]:
    """Note for each path whose content was not kept where that has been moved to."""
    moved = {plan.now: plan.path for plan in plans if plan.now and not plan.now.kept and plan.target is None}
    sources = {
        plan.path: moved.pop(plan.target)
        for plan in plans
        if plan.needed and plan.target in moved and not (plan.now and plan.now.kind == "folder")
    }
    stay = set(sources.values())
    return [plan._replace(source=sources.get(plan.path), stays=plan.path in stay) for plan in plans]


def restore(root: Path, kept: KeptFiles, plans: Iterable[PathPlan]) -> list[NotBroughtBack]:
    """Bring paths to their targets and return those where it failed."""
    failures: list[NotBroughtBack] = []
    blocked: list[PathPlan] = []
    shallow_first = sorted((plan for plan in plans if plan.possible), key=lambda plan: plan.path.count(b"/"))

    def attempt(step: object, plan: PathPlan) -> None:
        try:
            step(root, kept, plan)  # type: ignore[operator]
        except (OSError, KeyError) as why:
            failures.append(NotBroughtBack(plan.path, getattr(why, "strerror", "") or str(why)))

    for plan in reversed(shallow_first):
        try:
            _make_way(root, kept, plan)
        except OSError:  # a folder that still holds what is to be moved out of it
            blocked.append(plan)
    for plan in shallow_first:
        attempt(_put_back, plan)
    for plan in blocked:
        attempt(_make_way, plan)
    for plan in reversed(shallow_first):
        if plan.target and plan.target.kind == "folder":
            attempt(_set_mode, plan)
    return failures


def _make_way(root: Path, kept: KeptFiles, plan: PathPlan) -> None:
    path = full_path(root, plan.path)
    if _leads_elsewhere(root, path):
        return  # what leads elsewhere has changed too, and is made way for later: it lies above
    with suppress(FileNotFoundError, NotADirectoryError):
        temporary_of(path).unlink()
    found = read_path(path)
    if (
        found
        and not plan.stays
        and (plan.target is None or (plan.target.kind == "folder") != (found.state.kind == "folder"))
    ):
        remove_path(path, found.state.kind)


def _put_back(root: Path, kept: KeptFiles, plan: PathPlan) -> None:
    path, target = full_path(root, plan.path), plan.target
    if target is None:
        return
    if _leads_elsewhere(root, path):
        raise OSError(0, "a link stands where its folder was", str(path))
    found = read_path(path)
    if target.kind == "folder":
        if not found:
            path.mkdir(0o700, parents=True)
        return
    if found and found.state == target:
        return
    if found and found.state.kind == target.kind == "file" and found.state.hash == target.hash:
        path.chmod(target.mode)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if plan.source is not None:
        full_path(root, plan.source).replace(path)
        return
    write_path(path, target, kept.content(target))


def _set_mode(root: Path, kept: KeptFiles, plan: PathPlan) -> None:
    assert plan.target is not None
    path = full_path(root, plan.path)
    if not path.is_symlink() and path.is_dir():
        path.chmod(plan.target.mode)


def _leads_elsewhere(root: Path, path: Path) -> bool:
    """Return whether a folder between the project and this path is a link."""
    if not path.is_relative_to(root):
        return False
    return any(parent.is_symlink() for parent in path.parents if parent != root and parent.is_relative_to(root))
