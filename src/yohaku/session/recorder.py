"""Recorder of a session's transcript.

Law: the entries of a body are in the file before any of them is folded; and a file that cannot be written never stops
the conversation: there is one notice, and another attempt at the next turn.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from yohaku.config.settings import Notice
from yohaku.core.errors import YohakuError
from yohaku.core.folds import Fold
from yohaku.core.originals import OutputRef
from yohaku.session.transcript import Transcript

_FILE_NUMBERS = itertools.count(1)


class TranscriptFolder(NamedTuple):
    """A directory in which each conversation gets a file, and the further fields of their first lines."""

    path: Path
    about: Mapping[str, object]


class TranscriptRecorder:
    def __init__(self, path: Path, model: str, warn: Callable[[Notice], None], *, folder: bool = False) -> None:
        """`path` is the file, or with `folder` the directory in which each conversation gets its own."""
        self.about: dict[str, object] = {}
        """Further fields of the file's first line; they count until it is open."""
        self.path: Path | None = None
        """The file, once it is open."""
        self._given, self._folder = path, folder
        self._model = model
        self._warn = warn
        self._transcript: Transcript | None = None
        self._dialect = ""
        self._warned = False
        self._missed = True
        """True if the file may lack entries of the last body."""

    def record(self, dialect: str, body: Any, known: int) -> None:
        """Record the entries that a body adds; its first `known` ones are as they were at the last call."""
        missed, self._missed = self._missed, True

        def write() -> None:
            self._open_transcript(dialect).record(body, 0 if missed else known)
            self._missed = False

        self._try(write)

    def record_folds(self, folds: Iterable[Fold]) -> None:
        self._try(lambda: self._transcript.record_folds(folds) if self._transcript else None)

    def record_undone(self, folds: Iterable[Fold]) -> None:
        self._try(lambda: self._transcript.record_undone(folds) if self._transcript else None)

    def record_outputs(self, outputs: Mapping[str, OutputRef]) -> None:
        self._try(lambda: self._transcript.record_outputs(outputs) if self._transcript else None)

    def close(self) -> None:
        if self._transcript is not None:
            self._transcript.close()
            self._transcript = None

    def _open_transcript(self, dialect: str) -> Transcript:
        if self._transcript is None or self._dialect != dialect:
            self.close()
            self._transcript = Transcript(self._choose_path(), dialect, self._model, about=self.about)
            self._dialect, self.path = dialect, self._transcript.path
        return self._transcript

    def _choose_path(self) -> Path:
        if not self._folder:
            return self._given
        missing = [folder for folder in (self._given, *self._given.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        return self._given / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{next(_FILE_NUMBERS)}.jsonl"

    def _try(self, write: Callable[[], object]) -> None:
        try:
            write()
        except (OSError, YohakuError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            if not self._warned:
                name = str(self.path or self._given)
                text = f"the transcript {name} cannot be written ({why}); the conversation goes on without it"
                self._warn(Notice("transcript_failed", text, {"name": name, "why": why}))
            self._warned = True
            return
        if self._transcript is not None:
            self._warned = False
