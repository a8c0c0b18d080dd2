"""Earlier sessions: those of a project, found by name, by the beginning of it, or by the file of another tool.

Law: no file is changed, and a file that cannot be read is skipped. A session that went on in another file, with another
model or window or after it was resumed, is listed once, by the newest.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.model_texts import prompt_for_people
from yohaku.messages import say

FOLDER = "transcripts"
MAX_HEAD_BYTES = 64 * 1024
"""Bytes of a transcript that are read for the first prompt."""
MAX_COUNTED_BYTES = 32 * 1024 * 1024
"""Bytes of a transcript in which messages are counted."""
MAX_TITLE_CHARS = 60
AGES = (("minutes", 60), ("hours", 3600), ("days", 86400))
"""Units of an age, with their seconds."""


class _Header(NamedTuple):
    root: str = ""
    """Folder of the project; empty where it is not known."""
    continues: str = ""
    """Id of the session that goes on here."""
    beside: bool = False
    """Whether it is a conversation that a sub-agent had."""


@dataclass(frozen=True, slots=True)
class StoredSession:
    path: Path
    at: float
    """Time of the last change, in seconds since the epoch."""
    title: str
    """The beginning of the first prompt."""
    root: str = ""
    """Folder of the project; empty where it is not known."""

    @property
    def id(self) -> str:
        return self.path.stem

    def describe(self, lang: str, now: float | None = None, *, with_folder: bool = False) -> str:
        """Return title, age and length; the id tells apart what looks the same."""
        age = format_age((now or time.time()) - self.at, lang)
        told = say("resume_row", lang, title=self.title, age=age, count=count_messages(self.path), id=self.id)
        return f"{told}  {self.root}" if with_folder and self.root else told


def list_sessions(data: Path, limit: int = 30, root: Path | None = None) -> list[StoredSession]:
    """Return sessions with a prompt, the newest first; with `root` only those of that project."""
    found: list[tuple[float, Path]] = []
    for path in (data / FOLDER).glob("*.jsonl"):
        try:
            found.append((path.stat().st_mtime, path))
        except OSError:
            continue
    headers = {path: _read_header(path) for _, path in found}
    continued = {header.continues for header in headers.values()}
    wanted = str(root.resolve()) if root else ""
    shown = (
        (at, path)
        for at, path in sorted(found, reverse=True)
        if path.stem not in continued and not headers[path].beside and wanted in ("", headers[path].root)
    )
    sessions = (StoredSession(path, at, title, headers[path].root) for at, path in shown if (title := _title(path)))
    return [session for session, _ in zip(sessions, range(limit), strict=False)]


def find_session(data: Path, name: str, root: Path | None = None) -> Path | None:
    """Return the file of this name, else the newest session whose id begins so; without a name the newest of `root`."""
    with suppress(OSError, RuntimeError):  # no valid file name, or an unknown `~user`
        if name and Path(name).expanduser().is_file():
            return Path(name).expanduser()
        if name and (data / FOLDER / f"{Path(name).name}.jsonl").is_file():  # also one that went on elsewhere
            return data / FOLDER / f"{Path(name).name}.jsonl"
    sessions = list_sessions(data, 10**6, None if name else root)
    return next((session.path for session in sessions if session.id.startswith(name)), None)


def refs_of_project(data: Path, root: Path) -> frozenset[str] | None:
    """Return the refs that the sessions of a project show: what was folded, and outputs that were kept.

    None where the project has no sessions: then there is nothing to go by.
    """
    from yohaku.core.errors import YohakuError
    from yohaku.session import transcript

    found: set[str] = set()
    known = False
    for path in (data / FOLDER).glob("*.jsonl"):
        if _read_header(path).root == str(root.resolve()):
            known = True
            with suppress(YohakuError, OSError):  # a broken one is for the doctor
                told = transcript.read(path)
                found.update(fold.ref for fold in told.folds)
                found.update(ref.id for ref in told.outputs.values())
    return frozenset(found) if known else None


def count_messages(path: Path) -> int:
    """Return the number of messages in a transcript."""
    count = 0
    try:
        with path.open("rb") as file:
            for line in file.read(MAX_COUNTED_BYTES).split(b"\n"):
                if line.startswith(b'{"entry":'):
                    count += 1
                elif line.startswith(b'{"back":'):
                    with suppress(ValueError, KeyError, TypeError):
                        count = min(count, int(json.loads(line)["back"]))
    except OSError:
        pass
    return count


def format_age(seconds: float, lang: str) -> str:
    """Return an age in its largest whole unit."""
    unit, size = next(((unit, size) for unit, size in reversed(AGES) if seconds >= size), ("", 1))
    count = int(seconds // size)
    return (
        say(f"age_{unit}" if count != 1 else f"age_{unit.removesuffix('s')}", lang, count=count)
        if unit
        else say("age_now", lang)
    )


def _read_header(path: Path) -> _Header:
    """Return what a transcript tells of its place; the first line never changes once it is there."""
    with suppress(OSError, ValueError, AttributeError, RecursionError):
        return _parse_header(str(path), path.stat().st_ino)
    return _Header()


@lru_cache(maxsize=10_000)
def _parse_header(path: str, inode: int) -> _Header:
    with Path(path).open("rb") as file:
        row = json.loads(file.readline(MAX_HEAD_BYTES))
    root, continues = (str(row.get(name) or "") for name in ("root", "continues"))
    return _Header(root, continues, bool(row.get("beside")))


def _title(path: Path) -> str:
    return next(_prompts(path), "")


def _prompts(path: Path) -> Iterator[str]:
    """Yield the prompts at the head of a transcript, in whatever dialect."""
    try:
        with path.open("rb") as file:
            lines = file.read(MAX_HEAD_BYTES).split(b"\n")
    except OSError:
        return
    for line in lines[1:]:
        try:
            entry = json.loads(line).get("entry")
        except (ValueError, AttributeError, RecursionError):
            continue
        if isinstance(entry, dict) and entry.get("role") == "user":
            text = " ".join(prompt_for_people(_text(entry)).split())
            if text:
                yield text[:MAX_TITLE_CHARS]


def _text(entry: dict[str, object]) -> str:
    content = entry.get("content", entry.get("parts", ""))
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return " ".join(str(block["text"]) for block in blocks if isinstance(block, dict) and "text" in block)
