"""Hits of a search: source before logs and data, definitions first, a few of each file; all of them are kept.

Law: what is held in memory is bounded, whatever is searched.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from pathlib import PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, NamedTuple, cast

from yohaku.agent.toolkit.secrets import redact

MAX_HITS = 500
MAX_KEPT_BYTES = 16 * 1024 * 1024
"""Bytes of hits that are kept beyond those shown; they open by the ref in the note."""
MAX_LEFT_OUT_SECONDS = 5.0
"""Seconds to look for hits beyond those shown."""
MAX_HITS_IN_MEMORY = 1024 * 1024
"""Bytes; more go to a temporary file."""

_SOURCE = frozenset(
    "py pyi js jsx mjs cjs ts tsx go rs java kt kts scala c h cc cpp cxx hpp cs rb php lua swift m mm pl pm r jl ex "
    "exs erl hs ml clj sh bash zsh fish ps1 sql vue svelte dart zig nim asm proto".split()
)
_DATA = frozenset(
    "log out csv tsv json jsonl ndjson xml svg lock map min dump data dat ipynb po pot geojson har".split()
)
DEFINITIONS = r"^\s*(async |export |pub )*(def|class|func|fn|function|const) |^[A-Z_]{3,} ="
"""Pattern of the lines that define something, short enough to be shown as what was searched for."""
_DEFINITION = re.compile(
    r"\s*(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|internal|static|final|abstract|async|unsafe|"
    r"override|virtual|inline|const|extern|data|sealed|open)\s+)*"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|type|impl|module|namespace|protocol|object|record)\b"
    r"|[A-Z][A-Z0-9_]{2,}\s*(?::[^=]{1,60})?=[^=]"
)
"""A line that defines something; a constant in capitals too."""


class Hit(NamedTuple):
    number: int
    text: str


class _FileHits(NamedTuple):
    name: str
    hits: list[Hit]
    left_out: int
    defines: bool


def file_rank(name: str) -> int:
    """Return 0 for source, 2 for logs and data, 1 for everything else."""
    path = PurePosixPath(name)
    suffix = path.suffix.lstrip(".").lower()
    if suffix in _DATA or ".min." in path.name or path.name.endswith((".lock", "-lock.json", "-lock.yaml")):
        return 2
    return 0 if suffix in _SOURCE else 1


class FoundHits:
    """The hits that are shown, and all of them in a temporary file once they are many."""

    def __init__(self, size: int, per_file: int) -> None:
        """`size`: bytes that may be shown; `per_file`: hits of each file."""
        self.count = 0
        self.closed = False
        """True once no more are taken."""
        self._size, self._per_file = size, per_file
        self._files: list[_FileHits] = []
        self._chosen = self._bytes = 0
        """Hits that may be shown, and their bytes."""
        self._file = SpooledTemporaryFile(MAX_HITS_IN_MEMORY)  # noqa: SIM115
        self._end = 0.0

    def __enter__(self) -> FoundHits:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add_file(self, name: str, hits: Iterable[Hit]) -> None:
        """Take in the hits of one file: of many the definitions, then the first."""
        first: list[Hit] = []
        defining: list[Hit] = []
        count = 0
        for hit in hits:
            self._keep(name if not count else "", hit)
            count += 1
            if len(first) < self._per_file:
                first.append(hit)
            elif len(defining) < self._per_file and _DEFINITION.match(hit.text):
                defining.append(hit)
            if self.closed:
                break
        if not count:
            return
        known = [hit for hit in first if _DEFINITION.match(hit.text)]
        others = [hit for hit in first if hit not in known]
        chosen = sorted([*known, *defining, *others][: self._per_file])
        if not self._full or known or defining:
            self._files.append(_FileHits(name, chosen, count - len(chosen), bool(known or defining)))
            self._chosen += len(chosen)
            self._bytes += sum(len(hit.text.encode()) + 8 for hit in chosen)
        if self._full and not self._end:
            self._end = time.monotonic() + MAX_LEFT_OUT_SECONDS

    def select(self) -> tuple[list[str], bool]:
        """Return the lines to show, the best files first, and whether some hits are left out."""
        lines: list[str] = []
        hits, left, shown = 0, self._size, 0
        for file in sorted(self._files, key=lambda each: (file_rank(each.name), not each.defines)):
            lines.append(file.name)
            for hit in file.hits:
                if hits >= MAX_HITS or left < 0:
                    break
                lines.append(f"{hit.number}: {hit.text}")
                hits, shown, left = hits + 1, shown + 1, left - len(hit.text.encode()) - 8
            if file.left_out and shown:
                lines.append(f"… {file.left_out:,} more in this file")
            if hits >= MAX_HITS or left < 0:
                break
        return lines, shown < self.count

    def all(self) -> IO[bytes]:
        self._file.seek(0)
        return cast(IO[bytes], self._file)

    @property
    def _full(self) -> bool:
        return self._chosen >= MAX_HITS or self._bytes > self._size

    def _keep(self, name: str, hit: Hit) -> None:
        lines = [name] * bool(name) + [f"{hit.number}: {hit.text}"]
        self._file.write(redact("".join(f"{line}\n" for line in lines)).encode())
        self.count += 1
        over = self._end and time.monotonic() > self._end
        self.closed = bool(over) or self._file.tell() > MAX_KEPT_BYTES
