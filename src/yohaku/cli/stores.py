"""Opening the store of a command.

Law: a fit depends only on its file, its flags and what the user undid or pinned, unless --store names a store to go on
with. No store can make a fit fail, and reading from a store never creates one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from yohaku import stores
from yohaku.config.settings import Settings
from yohaku.core.errors import BadSetting, StoreFailed
from yohaku.core.folds import Fold
from yohaku.stores import Store
from yohaku.stores.fallback import FallbackStore
from yohaku.stores.memory import MemoryStore


class RecordsOnlyStore(FallbackStore):
    """Originals and records go to the store; folds stay here.

    Otherwise a fit would depend on those before it, and those made by hand would show in the sessions of a program on
    the same store.
    """

    def __init__(self, store: Store, tell: Callable[[StoreFailed], None]) -> None:
        super().__init__(store, tell)
        self._own = MemoryStore()

    @property
    def version(self) -> int:
        return self._own.version

    def keep(self, folds: Iterable[Fold]) -> None:
        self._own.keep(folds)

    def forget(self, folds: Iterable[Fold]) -> None:
        self._own.forget(folds)

    def folds(self, keys: Iterable[str]) -> list[Fold]:
        return self._own.folds(keys)

    def record(self, conversation: str, row: str) -> None:
        """Mark a folding whose folds are not in the store, so that undoing it looks for none."""
        entry = json.loads(row)
        super().record(conversation, json.dumps({**entry, "apart": True}) if "folds" in entry else row)

    def close(self) -> None:
        """Close without retrying a store that failed: it may be slow to fail again."""
        self._store.close()


class _LazyStore:
    """A store that is opened on first use. A URL that names no store becomes a store that fails."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: Store | None = None

    def __getattr__(self, name: str) -> Any:
        if self._opened is None:
            try:
                self._opened = stores.open(self._url)
            except (BadSetting, ValueError) as error:
                remedy = "set YOHAKU_STORE or use --store"
                raise StoreFailed(stores.redact(self._url), str(error), remedy) from error
        return getattr(self._opened, name)

    def recorded(self, conversation: str) -> list[str]:
        """Read without creating or loading a store that does not exist."""
        if self._opened is None and _is_missing(self._url):
            return []
        return list(self.__getattr__("recorded")(conversation))

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


def open_for_fit(url: str | None, settings: Settings, tell: Callable[[StoreFailed], None]) -> FallbackStore:
    """Open the store of a fit. One named by --store must exist, and the fit goes on with its folds; the configured one
    may fail, and gets no folds."""
    if url:
        return FallbackStore(stores.open(url), tell)
    return RecordsOnlyStore(cast(Store, _LazyStore(url_of(None, settings))), tell)


def url_of(url: str | None, settings: Settings) -> str:
    return url or settings.store or stores.default_url(settings.data)


@contextmanager
def open_store(url: str | None, settings: Settings) -> Iterator[Store]:
    url = url_of(url, settings)
    store = MemoryStore() if _is_missing(url) else stores.open(url, settings.variable("YOHAKU_TENANT") or "")
    try:
        yield store
    finally:
        store.close()


def _is_missing(url: str) -> bool:
    try:
        return url.lower().startswith("sqlite:") and not stores.sqlite_path(url).exists()
    except (OSError, BadSetting):
        return False  # opening it will raise the right error
