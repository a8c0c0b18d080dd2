"""Number of the format in which stores keep what they are given; the same for every kind of store.

1 had no joined originals, 2 had one fold for a place whatever it was made for, and 3 checksums of chunks only. A store
of an older format is read as it is, and gets the number of this one; a store of a newer format is refused.
"""

from __future__ import annotations

from yohaku.core.errors import StoreFailed

FORMAT = 4


def is_older(number: int, where: str) -> bool:
    """Return True for an older format than this one; raise `StoreFailed` for a newer one."""
    if number > FORMAT:
        raise StoreFailed(where, "a newer yohaku wrote it", "update yohaku, or choose another store", "newer_version")
    return number < FORMAT
