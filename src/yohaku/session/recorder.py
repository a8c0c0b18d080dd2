"""The transcript a session keeps of its conversation, whatever becomes of it.

Law: what a body says is in the file before anything of it is folded; and no trouble with the file is the
conversation's: it is told once, and tried again at the next turn.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from yohaku.config.settings import Notice
from yohaku.core.errors import YohakuError
from yohaku.core.folds import Fold
from yohaku.session.transcript import Transcript

_NUMBERS = itertools.count(1)


class TranscriptRecorder:
    def __init__(self, path: Path, model: str, tell: Callable[[Notice], None], *, folder: bool = False) -> None:
        """`path` is the file, or with `folder` where each conversation gets one of its own."""
        self.path: Path | None = None
        """The file, once something is in it."""
        self._given, self._folder = path, folder
        self._model = model
        self._tell = tell
        self._open: Transcript | None = None
        self._dialect = ""
        self._told = False
        self._missed = True
        """Whether the file may lack what the last body said."""

    def record(self, dialect: str, body: Any, known: int) -> None:
        """What a body adds; its first `known` entries are as they were at the last call."""
        missed, self._missed = self._missed, True

        def write() -> None:
            self._opened(dialect).record(body, 0 if missed else known)
            self._missed = False

        self._try(write)

    def folded(self, folds: Iterable[Fold]) -> None:
        self._try(lambda: self._open.folded(folds) if self._open else None)

    def undone(self, folds: Iterable[Fold]) -> None:
        self._try(lambda: self._open.undone(folds) if self._open else None)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _opened(self, dialect: str) -> Transcript:
        if self._open is None or self._dialect != dialect:
            self.close()
            self._open = Transcript(self._file(), dialect, self._model)
            self._dialect, self.path = dialect, self._open.path
        return self._open

    def _file(self) -> Path:
        if not self._folder:
            return self._given
        missing = [folder for folder in (self._given, *self._given.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        return self._given / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{next(_NUMBERS)}.jsonl"

    def _try(self, write: Callable[[], object]) -> None:
        try:
            write()
        except (OSError, YohakuError) as wrong:
            why = (wrong.strerror if isinstance(wrong, OSError) else None) or str(wrong)
            if not self._told:
                name = str(self.path or self._given)
                text = f"the transcript {name} cannot be written ({why}); the conversation goes on without it"
                self._tell(Notice("transcript_failed", text, {"name": name, "why": why}))
            self._told = True
            return
        if self._open is not None:
            self._told = False
