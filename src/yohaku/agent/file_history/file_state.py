"""The state of one path: a file, a link, a folder, or nothing; read from disk and put back."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from yohaku.agent.toolkit.ordinary_files import open_ordinary

MAX_FILE_BYTES = 16 * 1024 * 1024
"""Size up to which a file's content is kept."""
TEMPORARY_PREFIX = ".yohaku-undo-"
"""Begin of the names of files that are being brought back."""

PathKind: TypeAlias = Literal["file", "link", "folder", "big", "special"]
Stamp: TypeAlias = tuple[int, int, int, int, int]
"""Time of content, time of anything, size, number and mode of a file."""


class PathState(NamedTuple):
    kind: PathKind
    mode: int
    hash: bytes = b""
    """Of the content of a file or the target of a link; of time and size where the content is not kept."""

    @property
    def kept(self) -> bool:
        """True where it can be brought back."""
        return self.kind in ("file", "link", "folder")


class FoundPath(NamedTuple):
    state: PathState
    content: bytes | None
    stamp: Stamp


def stamp_of(about: os.stat_result) -> Stamp:
    return about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino, about.st_mode


def state_without_content(about: os.stat_result) -> PathState | None:
    """Return the state of a path whose content is not read; None for an ordinary file or a link."""
    mode = stat.S_IMODE(about.st_mode)
    if stat.S_ISDIR(about.st_mode):
        return PathState("folder", mode)
    size_and_time = f"{about.st_size} {about.st_mtime_ns}".encode()
    if stat.S_ISREG(about.st_mode):
        return PathState("big", mode, size_and_time) if about.st_size > MAX_FILE_BYTES else None
    return None if stat.S_ISLNK(about.st_mode) else PathState("special", mode, size_and_time)


def read_path(path: Path) -> FoundPath | None:
    """Read a path as it is, links not followed; None where nothing is."""
    try:
        about = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:  # its folder may not be entered
        return FoundPath(PathState("special", 0, b"unreadable"), None, (0, 0, 0, 0, 0))
    stamp = stamp_of(about)
    if state := state_without_content(about):
        return FoundPath(state, None, stamp)
    if stat.S_ISLNK(about.st_mode):
        content = os.fsencode(os.readlink(path))  # noqa: PTH115  (a Path would tidy the target)
        return FoundPath(PathState("link", 0, sha256(content).digest()), content, stamp)
    try:
        with open_ordinary(path, follow=False) as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError:
        size_and_time = f"unreadable {about.st_size} {about.st_mtime_ns}".encode()
        return FoundPath(PathState("special", stat.S_IMODE(about.st_mode), size_and_time), None, stamp)
    return FoundPath(PathState("file", stat.S_IMODE(about.st_mode), sha256(content).digest()), content, stamp)


def remove_path(path: Path, kind: PathKind) -> None:
    """Remove a file, a link, or a folder that is empty."""
    if kind == "folder":
        path.rmdir()
    else:
        path.unlink()


def write_path(path: Path, state: PathState, content: bytes) -> None:
    """Put a file or link in its place, in one step. Its folder must exist."""
    beside = temporary_of(path)
    with suppress(FileNotFoundError):
        beside.unlink()
    try:
        if state.kind == "link":
            beside.symlink_to(os.fsdecode(content))
        else:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(descriptor, "wb") as out:
                out.write(content)
            beside.chmod(state.mode)
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def temporary_of(path: Path) -> Path:
    return path.with_name(TEMPORARY_PREFIX + sha256(os.fsencode(path.name)).hexdigest()[:16])
