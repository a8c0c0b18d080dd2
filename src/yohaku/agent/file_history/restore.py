"""Bringing paths back to earlier states.

Law: what somebody else has changed since is left as it is unless the user said so; nothing is written through a link
that stands where a folder was; doing it twice does no more than doing it once. What is too big to be kept and was moved
is moved back, never deleted.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

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
    """It holds what was moved here, which is moved back, and never deleted or replaced."""

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


Step: TypeAlias = Callable[[Path, KeptFiles, PathPlan], None]


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
    """Note for each path whose content was not kept where that has been moved to.

    Where it has been moved to nowhere we know, what was not kept is replaced nowhere: it may be that content, changed.
    """
    holders = {plan.now: plan.path for plan in plans if plan.needed and plan.now and not plan.now.kept}
    sources: dict[RawPath, RawPath] = {}
    lost = False
    for plan in plans:
        if plan.needed and plan.target and not plan.target.kept:
            source = None if plan.now and plan.now.kind == "folder" else holders.pop(plan.target, None)
            if source is not None:
                sources[plan.path] = source
            lost = lost or source is None
    stay = {*sources.values()}
    stay |= {plan.path for plan in plans if lost and plan.now and not plan.now.kept and plan.target is not None}
    return [plan._replace(source=sources.get(plan.path), stays=plan.path in stay) for plan in plans]


def restore(root: Path, kept: KeptFiles, plans: Iterable[PathPlan]) -> list[NotBroughtBack]:
    """Bring paths to their targets and return those where it failed."""
    failures: list[NotBroughtBack] = []
    blocked: list[PathPlan] = []
    shallow_first = sorted((plan for plan in plans if plan.possible), key=lambda plan: plan.path.count(b"/"))

    def attempt(step: Step, plan: PathPlan) -> None:
        try:
            _take(step, root, kept, plan)
        except (OSError, KeyError) as why:
            failures.append(NotBroughtBack(plan.path, getattr(why, "strerror", "") or str(why)))

    for plan in reversed(shallow_first):
        try:
            _take(_make_way, root, kept, plan)
        except OSError:  # a folder that still holds what is to be moved out of it
            blocked.append(plan)
    for plan in _order_moves(shallow_first):
        attempt(_move_back, plan)
    for plan in shallow_first:
        attempt(_put_back, plan)
    for plan in blocked:
        attempt(_make_way, plan)
    for plan in reversed(shallow_first):
        if plan.target and plan.target.kind == "folder":
            attempt(_set_mode, plan)
    return failures


def _take(step: Step, root: Path, kept: KeptFiles, plan: PathPlan) -> None:
    """Take a step, also in a folder of ours that may not be written; it keeps its mode."""
    try:
        step(root, kept, plan)
    except PermissionError:
        folder = full_path(root, plan.path).parent
        mode = stat.S_IMODE(folder.lstat().st_mode)
        if folder.is_symlink() or mode & stat.S_IRWXU == stat.S_IRWXU:
            raise
        folder.chmod(mode | stat.S_IRWXU)
        try:
            step(root, kept, plan)
        finally:
            folder.chmod(mode)


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


def _order_moves(plans: list[PathPlan]) -> list[PathPlan]:
    """Return the moves, each after the one that makes its place free."""
    left = {plan.path: plan for plan in plans if plan.source is not None}
    ordered: list[PathPlan] = []
    while ready := [path for path in left if path not in {plan.source for plan in left.values()}]:
        ordered += [left.pop(path) for path in ready]
    return [*ordered, *left.values()]


def _move_back(root: Path, kept: KeptFiles, plan: PathPlan) -> None:
    assert plan.source is not None
    path, source = full_path(root, plan.path), full_path(root, plan.source)
    found, there = read_path(source), read_path(path)
    if there and there.state == plan.target:  # an undo that was killed has moved it
        return
    if _leads_elsewhere(root, path) or not found or found.state != plan.target or (there and not there.state.kept):
        raise OSError(0, "another file stands in its place", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    source.replace(path)


def _put_back(root: Path, kept: KeptFiles, plan: PathPlan) -> None:
    path, target = full_path(root, plan.path), plan.target
    if target is None or not target.kept:
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
    if plan.stays and found and not found.state.kept:
        raise OSError(0, "it holds a file that could not be moved back", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
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
