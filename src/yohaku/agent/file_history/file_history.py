"""The history of a project's files: what each call changed, and how to take it back.

Law: a change is written down before it is made, so that a process that is killed in it, or in taking it back, loses
nothing: whoever comes next finishes what was begun. Nothing in the project but the files themselves is touched.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Literal, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from yohaku.agent.file_history.file_state import read_path
from yohaku.agent.file_history.kept_files import ChangedPath, FileChange, KeptFiles, RawPath, database_of
from yohaku.agent.file_history.restore import NotBroughtBack, PathPlan, merge_plans, restore
from yohaku.agent.file_history.scan import ProjectTooBig, full_path, raw_path, scan_project

Trouble: TypeAlias = Literal["", "no_folder", "inside", "too_big", "failed"]
"""Why files cannot be kept: there is no data folder, or it lies in the project, the project is too big, or the database
fails. Inside, and in a big project, what a tool changes is kept all the same."""

MAX_OPEN_SECONDS = 24 * 3600
"""Time after which a change that is still open counts as broken off."""


class UndoPlan(NamedTuple):
    """Plan of an undo or a redo: the recorded changes, and what would be done to each path."""

    changes: tuple[FileChange, ...]
    paths: tuple[PathPlan, ...]

    @property
    def touched(self) -> tuple[PathPlan, ...]:
        """Paths that somebody else has changed since."""
        return tuple(plan for plan in self.paths if plan.touched and plan.needed)

    @property
    def impossible(self) -> tuple[PathPlan, ...]:
        """Paths whose content was not kept."""
        return tuple(plan for plan in self.paths if not plan.possible and plan.needed)


class _Shared:
    """The part that all histories of one project share within a process, as those of two sessions in one editor."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.open: set[int] = set()
        """Changes that are being made."""


_shared: WeakValueDictionary[Path, _Shared] = WeakValueDictionary()


class FileHistory:
    def __init__(self, data: Path, root: Path) -> None:
        self.root = root.resolve()
        self.run = f"{os.getpid()}-{token_hex(6)}"
        """Name of this run of the agent, by which its changes are found."""
        inside = data.resolve().is_relative_to(self.root)
        self.trouble: Trouble = "no_folder" if data == Path() else "inside" if inside else ""
        self._path = database_of(data, root)
        self._kept: KeptFiles | None = None
        self._shared = _shared.setdefault(self._path.absolute(), _Shared())
        self._lock, self._open = self._shared.lock, self._shared.open

    @property
    def exists(self) -> bool:
        """True where something has been kept of this project."""
        return self._kept is not None or self._path.exists()

    def close(self) -> None:
        with self._lock:
            if self._kept:
                self._kept.close()
                self._kept = None

    # -- Before and after a change

    def prepare(self) -> Trouble:
        """Keep the project's files as they are now; return why that cannot be done."""
        with self._lock:
            if not self.trouble:
                try:
                    self._settle()
                    scan_project(self.root, self._database())
                except ProjectTooBig:
                    self.trouble = "too_big"
                except (OSError, sqlite3.Error):
                    self.trouble = "failed"
            return self.trouble

    def begin(self, title: str, paths: Iterable[Path] = ()) -> int:
        """Keep what is about to change: these paths, or the whole project. Return the number of the change, or 0."""
        named = [*paths]
        with self._lock:
            if self.trouble in ("no_folder", "failed") or (not named and self.prepare()):
                return 0
            try:
                self._settle()
                return self._begin(title, named)
            except (OSError, sqlite3.Error):
                self.trouble = "failed"
                return 0

    def end(self, change: int) -> list[ChangedPath]:
        """Write down what has changed since `begin`."""
        with self._lock:
            self._open.discard(change)
            found = [each for each in self._database().changes("open") if each.id == change] if change else []
            try:
                return self._finish(found[0]) if found else []
            except (OSError, sqlite3.Error):
                return []

    def _begin(self, title: str, named: list[Path]) -> int:
        kept = self._database()
        raws = [raw_path(self.root, each) for path in named for each in (*_missing_parents(path), path)]
        with kept.writing():
            change = kept.add_change(self.run, title, time.time_ns(), "\n".join(raw.hex() for raw in raws))
            for raw in raws:
                found = read_path(full_path(self.root, raw))
                if found:
                    kept.keep(found)
                kept.add_part(change, ChangedPath(raw, found.state if found else None, None))
        self._open.add(change)
        return change

    def _finish(self, change: FileChange) -> list[ChangedPath]:
        kept = self._database()
        with kept.writing():
            try:
                parts = self._named_parts(change) if change.named else scan_project(self.root, kept, change.began)
            except ProjectTooBig:
                self.trouble, parts = "too_big", []
            if not parts:
                kept.drop(change.id)
            for part in parts:
                kept.add_part(change.id, part)
            kept.set_status(change.id, "done")
        kept.trim()
        return parts

    def _named_parts(self, change: FileChange) -> list[ChangedPath]:
        kept = self._database()
        parts: list[ChangedPath] = []
        befores = {part.path: part.before for part in kept.parts(change.id)}
        for raw in (*befores, *_leftovers(self.root, [*befores])):
            found = read_path(full_path(self.root, raw))
            if found:
                kept.keep(found)
            if (found.state if found else None) != befores.get(raw):
                parts.append(ChangedPath(raw, befores.get(raw), found.state if found else None))
        kept.clear_parts(change.id)
        return parts

    def _settle(self) -> None:
        """Finish what processes that are gone have begun, a change or an undo."""
        kept = self._database()
        for change in reversed(kept.changes("open")):
            if change.id not in self._open and _is_broken_off(change):
                kept.mark_broken(change.id)
                self._finish(change)
        for status in ("undoing", "redoing"):
            broken = [each for each in kept.changes(status) if _is_broken_off(each)]
            if broken:
                self._restore(tuple(broken if status == "undoing" else broken[::-1]), back=status == "undoing")

    # -- Looking back

    def changes(self, *, own: bool = False) -> list[FileChange]:
        """Return what can be taken back, the newest first. `own`: only changes of this run."""
        with self._lock:
            if not self.exists:
                return []
            self._settle()
            return self._database().changes("done", run=self.run if own else None)

    def parts(self, change: FileChange) -> list[ChangedPath]:
        return self._database().parts(change.id)

    def content(self, part: PathPlan | ChangedPath, which: Literal["before", "after"]) -> bytes:
        """Return the content before or after a change; empty where there was none or it was not kept."""
        ends = (part.target, part.now) if isinstance(part, PathPlan) else (part.before, part.after)
        state = ends[0] if which == "before" else ends[1]
        if state is None or state.kind not in ("file", "link"):
            return b""
        try:
            return self._database().content(state)
        except KeyError:
            found = read_path(full_path(self.root, part.path))
            return found.content or b"" if found and found.state == state else b""

    @property
    def newest(self) -> int:
        """Number of the newest change of this run; 0 where there is none."""
        return max((change.id for change in self.changes(own=True)), default=0)

    def net_changes(self, since: int = 0) -> list[ChangedPath]:
        """Return for each path what this run has made of it, all changes after number `since` together."""
        first: dict[RawPath, ChangedPath] = {}
        for change in reversed([each for each in self.changes(own=True) if each.id > since]):
            for part in self.parts(change):
                begun = first.get(part.path)
                first[part.path] = begun._replace(after=part.after) if begun else part
        return [part for _, part in sorted(first.items()) if part.before != part.after]

    # -- Taking back

    def plan_undo(self, count: int = 1) -> UndoPlan:
        """Say what taking back the last changes would do."""
        with self._lock:
            return self._plan(tuple(self.changes()[:count]), back=True)

    def plan_redo(self, count: int = 1) -> UndoPlan:
        with self._lock:
            newest = max((change.id for change in self.changes()), default=0)
            undone = self._database().changes("undone") if self.exists else []
            return self._plan(tuple([each for each in reversed(undone) if each.id > newest][:count]), back=False)

    def undo(self, plan: UndoPlan, *, overwrite: bool = False) -> list[NotBroughtBack]:
        """Do what was planned. `overwrite`: also where somebody else has changed a file since."""
        return self._carry_out(plan, overwrite, back=True)

    def redo(self, plan: UndoPlan, *, overwrite: bool = False) -> list[NotBroughtBack]:
        return self._carry_out(plan, overwrite, back=False)

    def _plan(self, changes: tuple[FileChange, ...], *, back: bool) -> UndoPlan:
        parts = [part if back else _reverse(part) for change in changes for part in self.parts(change)]
        return UndoPlan(changes, tuple(merge_plans(self.root, parts)))

    def _carry_out(self, plan: UndoPlan, overwrite: bool, *, back: bool) -> list[NotBroughtBack]:
        with self._lock:
            kept = self._database()
            known, overwritten = {each.path: each for each in plan.paths}, set[RawPath]()
            with kept.writing():
                for change in plan.changes:
                    for part in kept.parts(change.id):
                        path = known[part.path]
                        kept.add_part(change.id, part._replace(skipped=path.touched and not overwrite))
                        if path.touched and overwrite and part.path not in overwritten:
                            overwritten.add(part.path)
                            self._keep_overwritten(change, part, path, back)
                    kept.set_status(change.id, "undoing" if back else "redoing")
            return self._restore(plan.changes, back=back)

    def _keep_overwritten(self, change: FileChange, part: ChangedPath, plan: PathPlan, back: bool) -> None:
        """Remember what somebody else made of a file as the state to which a redo, or an undo, leads back."""
        kept, found = self._database(), read_path(full_path(self.root, part.path))
        if (found.state if found else None) != plan.now:  # not what the user has been told of
            return
        if found:
            kept.keep(found)
        kept.add_part(change.id, part._replace(after=plan.now) if back else part._replace(before=plan.now))

    def _restore(self, changes: tuple[FileChange, ...], *, back: bool) -> list[NotBroughtBack]:
        kept = self._database()
        parts = [part for change in changes for part in kept.parts(change.id)]
        skipped = {part.path for part in parts if part.skipped}
        plans = [plan for plan in self._plan(changes, back=back).paths if plan.path not in skipped]
        known = {(part.path, state) for part in parts for state in (part.before, part.after)}
        known |= {(plan.path, plan.now) for plan in plans if plan.now is None or plan.now.kind == "folder"}
        left = {plan.path for plan in plans if plan.needed and (plan.path, plan.now) not in known}
        failures = restore(self.root, kept, [plan for plan in plans if plan.path not in left])
        failures += [NotBroughtBack(path, "") for path in sorted(left)]
        with kept.writing():
            for change in changes:
                kept.set_status(change.id, "undone" if back else "done")
        return failures

    def _database(self) -> KeptFiles:
        if self._kept is None:
            self._kept = KeptFiles(self._path)
        return self._kept


def _reverse(part: ChangedPath) -> ChangedPath:
    return part._replace(before=part.after, after=part.before)


def _missing_parents(path: Path) -> list[Path]:
    return [parent for parent in reversed(path.parents) if not os.path.lexists(parent)]


def _leftovers(root: Path, raws: list[RawPath]) -> list[RawPath]:
    """Return the temporary files that a killed edit has left beside its file."""
    found: list[RawPath] = []
    for raw in raws:
        path = full_path(root, raw)
        pattern = re.compile(re.escape(f".{path.name[:40]}.") + "[0-9a-f]{8}")
        with suppress(OSError):
            found += [raw_path(root, each) for each in path.parent.iterdir() if pattern.fullmatch(each.name)]
    return found


def _is_broken_off(change: FileChange) -> bool:
    if change.process == os.getpid() or time.time() - change.at > MAX_OPEN_SECONDS:
        return True
    try:
        os.kill(change.process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
