"""Parser for a ref as it was copied from a text, maybe with a line: `[ref=abcdefgh2345:12]`."""

from __future__ import annotations

import re
from typing import NamedTuple

_PREFIX = re.compile(r"ref[=:]\s*")
_REF_AND_LINE = re.compile(r"([a-z2-7]{12}):([1-9][0-9]{0,8}):?")


class RefAndLine(NamedTuple):
    ref: str
    line: int | None = None


def parse_ref(given: str) -> RefAndLine:
    given = given.strip().strip("[]'\"`")
    prefix = _PREFIX.match(given)
    bare = given[prefix.end() :] if prefix else given
    found = _REF_AND_LINE.fullmatch(bare)
    return RefAndLine(found[1], int(found[2])) if found else RefAndLine(bare)
