"""How far a failing command got, so that a change can be told from one that helps.

Law: a change helps if fewer tests fail, or if the same test file fails further down; it did not help where the command
fails at the same place, or with the same words, as before. Where neither is known, nothing is claimed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.small_models.failure_trail import PLACE
from yohaku.agent.small_models.word_search import TEST_FILE

_COUNTS = re.compile(
    r"\b(\d{1,6}) (?:tests? )?fail(?:ed|ures?|ing)\b|\b(?:failures|errors)=(\d{1,6})|^(?:# |ℹ )fail (\d{1,6})$"
    r"|(\d{1,6}) errors?\b(?= in |,|$)",
    re.MULTILINE,
)
_ERROR = re.compile(r"(?:E\s+)?(?:[\w.]*(?:Error|Exception|Failure)\b|thread '.*' panicked|error(?:\[\w+\])?:)")
_NOT_LOADED = re.compile(r"\b(?:SyntaxError|IndentationError|ImportError|ModuleNotFoundError|ReferenceError)\b")


class CommandFailure(NamedTuple):
    failed: int | None = None
    """Tests that failed, where the output counts them."""
    places: tuple[tuple[str, int], ...] = ()
    """Lines of test files in the output, by the names of the files."""
    why: str = ""
    """The last line of the output."""
    not_loaded: bool = False


def read_failure(output: str) -> CommandFailure:
    """Read what a command that failed printed."""
    counts = [int(next(filter(None, found))) for found in _COUNTS.findall(output)]
    found = [(Path(first or third).name, int(line or other)) for first, line, third, other in PLACE.findall(output)]
    places = tuple(dict.fromkeys(place for place in found if TEST_FILE.search(place[0])))
    return CommandFailure(sum(counts) if counts else None, places, last_line(output), bool(_NOT_LOADED.search(output)))


def has_helped(before: CommandFailure, after: CommandFailure) -> bool | None:
    """Return whether a change between two failures was for the better; None where that cannot be told."""
    if after.not_loaded != before.not_loaded:
        return before.not_loaded
    if before.failed is not None and after.failed is not None and before.failed != after.failed:
        return after.failed < before.failed
    old, new = dict(before.places), dict(after.places)
    for name in old.keys() & new.keys():
        if old[name] != new[name]:
            return new[name] > old[name]
    if old.keys() & new.keys() or before.why == after.why:
        return False
    return None


def last_line(output: str) -> str:
    """Return the last line that names an error, else the last that says something; not that with the exit code."""
    lines = [line.strip() for line in output.split("\n") if line.strip() and line[:1] != "["]
    errors = [number for number, line in enumerate(lines) if _ERROR.match(line)]
    if not errors:
        return lines[-1] if lines else ""
    line = lines[errors[-1]]
    return f"{line} {lines[errors[-1] + 1]}" if line.endswith(":") and errors[-1] + 1 < len(lines) else line
