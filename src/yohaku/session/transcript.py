"""Transcript: a file to which a conversation is written as it goes on, so that it can be resumed after a crash.

Law: when a method returns, its lines are in the file, whole, and no later failure changes them. The file only grows:
going back is a line of its own, and earlier lines stay. A line that broke off is left as it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from yohaku.core.errors import BadSetting, Malformed, Unreadable
from yohaku.core.folds import Fold
from yohaku.core.model import History, Reply, Result, Text, Turn
from yohaku.core.originals import OutputRef
from yohaku.dialects import dialect_named
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.load import MAX_BYTES, Request, load
from yohaku.dialects.recordings import transcript
from yohaku.dialects.recordings.transcript import NAME, Transcribed, fold_row

DIALECT_OF_TOOL = {"claude-code": "anthropic", "codex": "openai_responses", "gemini-cli": "gemini"}
"""The dialect each tool holds its conversations in; others are written as OpenAI chat."""


class Transcript:
    """A transcript open for writing. Several threads may share one; several processes should not."""

    def __init__(
        self,
        path: str | Path,
        dialect: str = "openai_chat",
        model: str = "",
        *,
        resume: bool = True,
        sync: bool = False,
        about: Mapping[str, object] | None = None,
    ) -> None:
        """Open the file, or continue one that exists if `resume`. `sync` waits until each line is on the disk.

        `about`: further fields of the first line, such as the folder of the project.
        """
        self.path = Path(path)
        self._sync = sync
        self._lock = threading.Lock()
        header = _encode_line({"format": NAME, "dialect": dialect_named(dialect).name, "model": model, **(about or {})})
        if not _create(self.path, header, sync) and not resume:
            text = f"{self.path}: is there already; resume it, or use another name"
            raise BadSetting(text, "taken_name", name=str(self.path))
        data = self.path.read_bytes()
        self.found = transcript.transcribed(data)
        """The conversation in the file when it was opened."""
        if self.found.dialect.name != dialect:
            raise BadSetting(f"{self.path}: was written in {self.found.dialect.name}, not {dialect}; use that")
        self._beside, self._entries = self.found.beside, list(self.found.entries)
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        self._torn = _is_torn(data)
        self._failed = False
        """True if lines of a call that failed may be in the file."""

    @property
    def length(self) -> int:
        """Entries of the conversation so far."""
        return len(self._entries)

    def record(self, body: Any, known: int = 0) -> None:
        """Write the entries of a body that the file lacks; to be called before any of them is folded.

        Its first `known` entries are in the file, and not compared again.
        """
        dialect = self.found.dialect
        beside = _without(body, dialect.entries, "model") if isinstance(body, dict) else self._beside
        entries = dialect.entries_of(body)
        with self._lock:
            self._bring_up_to_date(beside, entries, known)

    def add(self, *entries: dict[str, Any]) -> None:
        """Write entries that follow the ones in the file."""
        with self._lock:
            self._bring_up_to_date(self._beside, [*self._entries, *entries], self.length)

    def back(self, count: int) -> None:
        """Go back to the first `count` entries of the conversation."""
        if not 0 <= count <= self.length:
            raise BadSetting(f"cannot go back to {count:,} of {self.length:,} entries")
        with self._lock:
            self._bring_up_to_date(self._beside, self._entries[:count], count)

    def record_folds(self, folds: Iterable[Fold]) -> None:
        """Write the folds of one folding; to be called before the folded request is sent."""
        self._write_folds("folds", folds)

    def record_undone(self, folds: Iterable[Fold]) -> None:
        self._write_folds("undone", folds)

    def record_outputs(self, outputs: Mapping[str, OutputRef]) -> None:
        """Write the refs of tool outputs, by the ids of their calls: some messages show only a part of theirs."""
        if outputs:
            with self._lock:
                self._write([{"outputs": {call: ref._asdict() for call, ref in outputs.items()}}])

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _bring_up_to_date(self, beside: Any, entries: list[Any], known: int) -> None:
        """Write the lines that make these the entries of the conversation."""
        if self._failed:
            found = transcript.transcribed(self.path.read_bytes())
            self._beside, self._entries, known = found.beside, list(found.entries), 0
            self._failed = False
        same = _count_common(self._entries, entries, min(known, len(self._entries), len(entries)))
        rows: list[Any] = [{"beside": beside}] if beside != self._beside else []
        rows += [{"back": same}] if same < len(self._entries) else []
        rows += [{"entry": entry} for entry in entries[same:]]
        self._write(rows)
        # Copies that share their texts: a client may edit its own, and the next call must notice.
        self._beside = msgspec.to_builtins(beside)
        self._entries[same:] = msgspec.to_builtins(entries[same:])

    def _write_folds(self, name: str, folds: Iterable[Fold]) -> None:
        if rows := [fold_row(fold) for fold in folds]:
            with self._lock:
                self._write([{name: rows}])

    def _write(self, rows: list[Any]) -> None:
        """Write lines; one that a full disk cut short is ended by the next call."""
        if not rows:
            return
        data = b"".join(map(_encode_line, rows))
        if self._torn:
            data = b"\n" + _encode_line({"torn": True}) + data
        self._torn = self._failed = True
        left = memoryview(data)
        while left:
            left = left[os.write(self._file, left) :]
        if self._sync:
            os.fsync(self._file)
        self._torn = self._failed = False


def read(path: str | Path) -> Transcribed:
    """Read a transcript with its folds; `load` reads it too, as a recording."""
    return transcript.transcribed(_read_bytes(Path(path)))


def import_session(source: str | Path, path: str | Path, dialect: str | None = None) -> Transcribed:
    """Convert a session of another tool, or a request body, to a new transcript in `dialect`, or in its own."""
    loaded = load(_read_bytes(Path(source)), str(source))
    if isinstance(loaded, Request) and dialect in (None, loaded.dialect):
        body, dialect = loaded.value, loaded.dialect
        model = str(body.get("model") or "") if isinstance(body, dict) else ""
    else:
        history, model = history_and_model(loaded)
        name = "" if isinstance(loaded, Request) else loaded.format
        dialect = dialect or DIALECT_OF_TOOL.get(name, "openai_chat")
        body = compose_with_open_reply(dialect_named(dialect), history, model)
    with Transcript(path, dialect, model, resume=False, sync=True) as written:
        written.record(body)
    return read(path)


def export(source: str | Path, dialect: str) -> dict[str, Any]:
    """Convert a session or request body to a request body of any dialect."""
    loaded = load(_read_bytes(Path(source)), str(source))
    history, model = history_and_model(loaded)
    return dialect_named(dialect).compose(history, model)


def history_and_model(loaded: Any) -> tuple[History, str]:
    if not isinstance(loaded, Request):
        return loaded.history, loaded.model
    model = loaded.value.get("model") if isinstance(loaded.value, dict) else None
    history = dialect_named(loaded.dialect).read(loaded.value).history()
    return history, model if isinstance(model, str) else ""


def compose_with_open_reply(dialect: Dialect, history: History, model: str = "") -> dict[str, Any]:
    """Compose a body with the open reply of `history` at its end: one to record, not to send."""
    body = dialect.compose(history, model)
    if history.pending:
        body[dialect.entries] += _compose_open_reply(dialect, history.pending)
    return body


def _compose_open_reply(dialect: Dialect, reply: Reply) -> list[Any]:
    """Return the entries of a reply without its results: as many as still read as an open reply."""
    step = reply.settle({call.id: Result() for call in reply.calls})
    entries = dialect.compose(History(turns=(Turn((Text("."),), (step,)),)))[dialect.entries]
    for count in range(len(entries), 1, -1):
        try:
            if dialect.read({dialect.entries: entries[:count]}).history().pending:
                return list(entries[1:count])
        except Malformed:  # some of its calls have a result, and some not
            continue
    return []


def _create(path: Path, header: bytes, sync: bool) -> bool:
    """Create the file with its header in one go, so that there is never one without; return False if it exists."""
    with contextlib.suppress(FileNotFoundError):
        if not path.is_file() and path.stat():
            raise BadSetting(f"{path}: is not a file; use another name")  # a device or a folder must not be replaced
        if path.stat().st_size:
            return False
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name[:200]}.{os.getpid()}.{threading.get_ident()}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(header)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(beside, path)
        beside.unlink()
    except FileExistsError:
        beside.unlink()
        return False
    except OSError:  # a file system without links
        beside.replace(path)
    if sync and hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)
    return True


def _is_torn(data: bytes) -> bool:
    """Return whether the last line lacks its end or cannot be parsed: the next one then needs a mark before it."""
    if not data.endswith(b"\n"):
        return True
    try:
        msgspec.json.decode(data[data.rfind(b"\n", 0, -1) + 1 :])
    except (ValueError, RecursionError):
        return True
    return False


def _read_bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise Unreadable(f"{path}: larger than {MAX_BYTES:,} bytes")
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from None


def _encode_line(row: Any) -> bytes:
    try:
        return msgspec.json.encode(row) + b"\n"
    except (UnicodeEncodeError, OverflowError):  # half a surrogate pair, a number of many digits
        return json.dumps(row, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    except TypeError:
        raise Malformed("this holds something that is not JSON") from None


def _count_common(old: list[Any], new: list[Any], known: int) -> int:
    """Return the number of entries that both begin with; the first `known` are not compared."""
    shorter = min(len(old), len(new))
    if old[known:shorter] == new[known:shorter]:
        return shorter
    return next(place for place in range(known, shorter) if old[place] != new[place])


def _without(body: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in names}
