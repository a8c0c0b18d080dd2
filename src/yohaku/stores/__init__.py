"""Where originals and folds are kept. One small protocol; one store a file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from yohaku.core.fold import Fold


class Store(Protocol):
    @property
    def version(self) -> int:
        """Grows whenever folds were kept, by whomever."""
        ...

    def put(self, ref: str, original: str | bytes) -> None:
        """Keep an original under its ref. Putting the same again is free."""
        ...

    def get(self, ref: str) -> str | bytes:
        """The original, or `UnknownRef`."""
        ...

    def keep(self, folds: Iterable[Fold]) -> None: ...

    def folds(self, keys: Iterable[str]) -> list[Fold]:
        """The folds that stand on any of these keys."""
        ...
