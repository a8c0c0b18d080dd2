"""A ref as it was copied from where it is shown, maybe with the line to open it at: `[ref=abcdefgh2345:12]`."""

from __future__ import annotations

import re
from typing import NamedTuple

_SAID = re.compile(r"ref[=:]\s*")
_SHOWN = re.compile(r"([a-z2-7]{12}):([1-9][0-9]{0,8}):?")


class RefAndLine(NamedTuple):
    ref: str
    line: int | None = None


def place_in(given: str) -> RefAndLine:
    given = given.strip().strip("[]'\"`")
    said = _SAID.match(given)
    bare = given[said.end() :] if said else given
    shown = _SHOWN.fullmatch(bare)
    return RefAndLine(shown[1], int(shown[2])) if shown else RefAndLine(bare)
