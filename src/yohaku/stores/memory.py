"""A store that lives as long as its process."""

from __future__ import annotations

from collections.abc import Iterable

from yohaku.core.errors import UnknownRef
from yohaku.core.fold import Fold, Gist


class MemoryStore:
    def __init__(self) -> None:
        self.version = 0
        self._originals: dict[str, str | bytes] = {}
        self._folds: dict[str, dict[object, Fold]] = {}

    def put(self, ref: str, original: str | bytes) -> None:
        self._originals.setdefault(ref, original)

    def get(self, ref: str) -> str | bytes:
        try:
            return self._originals[ref]
        except KeyError:
            raise UnknownRef(ref) from None

    def keep(self, folds: Iterable[Fold]) -> None:
        self.version += 1
        for fold in folds:
            slot = None if isinstance(fold, Gist) else fold.slot
            self._folds.setdefault(fold.key, {})[slot] = fold

    def folds(self, keys: Iterable[str]) -> list[Fold]:
        if not self._folds:
            return []
        return [fold for key in keys if key in self._folds for fold in self._folds[key].values()]
