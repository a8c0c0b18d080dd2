"""Parser for a ref as it was copied from a text, maybe with a line or lines: `[ref=abcdefgh2345:12-40]`."""

from __future__ import annotations

import re
from typing import NamedTuple

_PREFIX = re.compile(r"ref[=:]\s*")
_REF_AND_LINE = re.compile(r"([a-z2-7]{12}):([1-9][0-9]{0,8})(?:[-–]([1-9][0-9]{0,8}))?:?")


class RefAndLine(NamedTuple):
    ref: str
    line: int | None = None
    last: int | None = None
    """Last line of a range; None for all that follows."""


def parse_ref(given: str) -> RefAndLine:
    given = given.strip().strip("[]'\"`")
    prefix = _PREFIX.match(given)
    bare = given[prefix.end() :] if prefix else given
    found = _REF_AND_LINE.fullmatch(bare)
    if not found:
        return RefAndLine(bare)
    line, last = int(found[2]), int(found[3]) if found[3] else None
    return RefAndLine(found[1], line, last if last is None else max(line, last))
