"""The gap between our token counts and the tokens that providers bill, by model, in a file of the data folder.

Law: writing never raises. Processes share the file: each line is appended whole, and stands for the replies since the
one before it. A start that is tuned by the gap stays on the safe side of everything that was seen.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import msgspec

from yohaku.config.settings import Notice
from yohaku.meters.calibration import MAX_HIDDEN, Calibration, clamp

log = logging.getLogger("yohaku.counts")

FILE_NAME = "counts.jsonl"
REPLIES_PER_LINE = 20
"""Replies after which a line is written and logged; the first reply of a run, and its end, write one too."""
MAX_FILE_BYTES = 128_000
"""Beyond this the lines of each model but the newest become one."""
NEWEST_LINES = 10
"""Lines of a model that tune the next start."""
MIN_ADDED_TOKENS = 500
"""Tokens added between replies from which their ratio means something."""
MIN_REPLIES = 5
"""Replies after which a start may count fewer tokens than the meter does."""

WAYS_TO_EXACT = {
    "install": "pip install 'yohaku[claude]' (Python 3.12 or newer)",
    "name": "name the model with its version",
    "file": "give its tokenizer.json or GGUF file with --tokenizer FILE (or YOHAKU_TOKENIZER), or register a meter",
}


def notice_of_estimate(model: str | None, meter: str, way: str) -> Notice:
    """Return the notice that counts are estimates: the risk, and the way to exact ones."""
    text = (
        f"token counts for {model or 'this model'} are estimates: they may be off, and the API may still refuse a "
        f"request that fits by our count. For exact counts: {WAYS_TO_EXACT[way]}"
    )
    return Notice(f"estimate_{way}", text, {"model": model or "", "meter": meter})


class CountedModel(NamedTuple):
    model: str
    provider: str
    meter: str


class CountLine(msgspec.Struct, omit_defaults=True, frozen=True):
    """Replies of one model between two lines, or `told`: the user was told that its counts are estimates."""

    at: int
    model: str
    provider: str = ""
    meter: str = ""
    told: bool = False
    replies: int = 0
    counted: int = 0
    """Tokens of the prompts by our meter."""
    billed: int = 0
    """Tokens of the same prompts as reported."""
    added: int = 0
    """Tokens, by our meter, by which prompts grew between replies."""
    added_billed: int = 0
    worst: float = 0.0
    """The largest shortfall of one count, as a share of what was billed."""

    @property
    def key(self) -> CountedModel:
        return CountedModel(self.model, self.provider, self.meter)

    def plus(self, other: CountLine) -> CountLine:
        return msgspec.structs.replace(
            other,
            told=self.told or other.told,
            replies=self.replies + other.replies,
            counted=self.counted + other.counted,
            billed=self.billed + other.billed,
            added=self.added + other.added,
            added_billed=self.added_billed + other.added_billed,
            worst=max(self.worst, other.worst),
        )

    @property
    def gap(self) -> float:
        """Share of the billed tokens; over 0 where we counted more, which is the safe side."""
        return (self.counted - self.billed) / self.billed if self.billed else 0.0


@dataclass
class CountGaps:
    path: Path | None = None
    """None keeps it in memory."""
    _pending: dict[CountedModel, CountLine] = field(default_factory=dict)
    _written: list[CountLine] = field(default_factory=list)
    """What a file would hold, without one or where it cannot be written."""
    _begun: set[CountedModel] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def in_folder(cls, data: Path) -> CountGaps:
        """Keep them in the data folder; a bare `Path()` is none."""
        return cls(data / FILE_NAME if data != Path() else None)

    def record(self, key: CountedModel, before: Calibration, after: Calibration) -> None:
        """Add one reply: the calibration before and after it was learned from."""
        if not (key.model and after.last and after.last.heeded):
            return
        counted, billed = after.last.weight, after.last.reported
        grew = before.anchor is not None and counted > before.anchor[0] and billed > before.anchor[1]
        line = CountLine(
            int(time.time()),
            *key,
            replies=1,
            counted=counted,
            billed=billed,
            added=counted - before.anchor[0] if grew and before.anchor else 0,
            added_billed=billed - before.anchor[1] if grew and before.anchor else 0,
            worst=max(0.0, round((billed - counted) / billed, 4)),
        )
        with self._lock:
            pending = self._pending.get(key)
            self._pending[key] = pending.plus(line) if pending else line
            if key not in self._begun or self._pending[key].replies >= REPLIES_PER_LINE:
                self._begun.add(key)
                self._flush(key)

    def flush(self) -> None:
        """Write and log what has not been written yet."""
        with self._lock:
            for key in list(self._pending):
                self._flush(key)

    def tell_once(self, key: CountedModel) -> bool:
        """Return True the first time it is asked for a model."""
        with self._lock:
            if any(line.told and line.model == key.model for line in self._lines()):
                return False
            self._write(CountLine(int(time.time()), *key, told=True))
            return True

    def totals(self) -> list[CountLine]:
        """Return the sum of each model that has been billed, the newest first."""
        with self._lock:
            sums: dict[CountedModel, CountLine] = {}
            for line in (*self._lines(), *self._pending.values()):
                sums[line.key] = sums[line.key].plus(line) if line.key in sums else line
        return sorted((line for line in sums.values() if line.replies), key=lambda line: -line.at)

    def tuned(self, key: CountedModel) -> Calibration:
        """Return the calibration to start with."""
        with self._lock:
            lines = [line for line in self._lines() if line.key == key and line.replies]
        return tune(lines[-NEWEST_LINES:])

    def _flush(self, key: CountedModel) -> None:
        if line := self._pending.pop(key, None):
            self._write(line)
            log.info("%s", format_line(line))

    def _lines(self) -> Iterable[CountLine]:
        if self.path is None:
            return list(self._written)
        return [*read_lines(self.path), *self._written]

    def _write(self, line: CountLine) -> None:
        if self.path is None:
            self._written.append(line)
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(self.path, "ab", opener=_open_private) as file:
                file.write(_encode(line))
                size = file.tell()
            if size > MAX_FILE_BYTES:
                _shorten(self.path)
        except OSError:
            self._written.append(line)


def tune(lines: list[CountLine]) -> Calibration:
    """Return the calibration that the newest lines teach, on the safe side where the meter counts too many."""
    if not lines:
        return Calibration()
    whole = lines[0]
    for line in lines[1:]:
        whole = whole.plus(line)
    ratio = 1.0
    if whole.added >= MIN_ADDED_TOKENS:
        ratio = clamp(whole.added_billed / whole.added)
    elif whole.billed - whole.counted > MAX_HIDDEN * whole.replies:
        ratio = clamp(whole.billed / max(1, whole.counted))
    if ratio < 1.0:
        largest = max(line.added_billed / line.added for line in lines if line.added)
        ratio = clamp(min(1.0, largest)) if whole.replies >= MIN_REPLIES else 1.0
    hidden = round((whole.billed - ratio * whole.counted) / whole.replies)
    return Calibration.starting(ratio, min(MAX_HIDDEN, max(0, hidden)))


def format_line(line: CountLine) -> str:
    return (
        f"counts for {line.model} by {line.meter}: {line.replies} replies, counted {line.counted:,}, "
        f"billed {line.billed:,} tokens ({line.gap:+.1%})"
    )


def _encode(line: CountLine) -> bytes:
    try:
        return msgspec.json.encode(line) + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair in a model's name: such a line is not read again
        return json.dumps(msgspec.to_builtins(line)).encode() + b"\n"


def read_lines(path: Path) -> list[CountLine]:
    """Return the lines of the file; those that cannot be read are left out."""
    try:
        raw = path.read_bytes()
    except OSError:
        return []
    lines = []
    for row in raw.splitlines():
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            lines.append(msgspec.json.decode(row, type=CountLine))
    return lines


def _shorten(path: Path) -> None:
    """Write the file anew with the older lines of each model as one."""
    by_model: dict[CountedModel, list[CountLine]] = {}
    for line in read_lines(path):
        by_model.setdefault(line.key, []).append(line)
    kept: list[CountLine] = []
    for lines in by_model.values():
        old, new = lines[:-NEWEST_LINES], lines[-NEWEST_LINES:]
        if old:
            first = old[0]
            for line in old[1:]:
                first = first.plus(line)
            new = [first, *new]
        kept += new
    kept = sorted(kept, key=lambda line: line.at)
    while len(kept) > 1 and sum(len(_encode(line)) for line in kept) > MAX_FILE_BYTES // 2:
        kept = kept[len(kept) // 4 or 1 :]  # many models: the oldest go
    scratch = path.with_suffix(f".{os.getpid()}.new")
    try:
        with open(scratch, "wb", opener=_open_private) as file:
            file.write(b"".join(map(_encode, kept)))
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def _open_private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)
