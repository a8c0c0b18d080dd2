"""Where repaired files go: beside the original, never over it, and all of it or nothing."""

from __future__ import annotations

from itertools import count
from pathlib import Path


def beside(path: Path) -> Path:
    """`session.jsonl.gz` becomes `session.repaired.jsonl.gz`, or the next such name that is free."""
    name, endings = path.name, ""
    for ending in (".gz", "".join(Path(path.name.removesuffix(".gz")).suffixes[-1:])):
        if ending and name.endswith(ending) and name != ending:
            name, endings = name.removesuffix(ending), ending + endings
    for number in count(1):
        place = path.with_name(f"{name}.repaired{'' if number == 1 else f'-{number}'}{endings}")
        if not place.exists():
            return place
    raise AssertionError


def same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)
