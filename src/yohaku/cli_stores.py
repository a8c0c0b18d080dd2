"""Stores on the command line: where a fit keeps its originals, and what recall, receipts, why and collect say.

Law: a fit is a function of its file and its flags, and no store can fail it; a look at a store never makes one.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from yohaku import phrases, stores
from yohaku.core.errors import BadSetting, StoreFailed
from yohaku.core.fold import Fold
from yohaku.settings import Settings
from yohaku.stores import DAY, Store
from yohaku.stores.memory import MemoryStore
from yohaku.stores.sheltered import Sheltered


class Apart(Sheltered):
    """Originals and records go to the store; folds stay here.

    Folds found again would leave a file folded in a larger window, and those made for a small one would show in the
    sessions of a program on the same store.
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

    def close(self) -> None:
        """Without another try of a store that failed: it may be slow to fail again."""
        self._store.close()


class _Later:
    """A store that is opened when it is first needed, and a URL that names none is a store that fails."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: Store | None = None

    def __getattr__(self, name: str) -> Any:
        if self._opened is None:
            try:
                self._opened = stores.open(self._url)
            except (BadSetting, ValueError) as why:
                raise StoreFailed(stores.redacted(self._url), str(why), "set YOHAKU_STORE or use --store") from why
        return getattr(self._opened, name)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


def for_fit(url: str | None, settings: Settings, tell: Callable[[StoreFailed], None]) -> Apart:
    """What the user names now must be a store; what is merely set may turn out to be none."""
    return Apart(stores.open(url) if url else cast(Store, _Later(url_of(None, settings))), tell)


def url_of(url: str | None, settings: Settings) -> str:
    return url or settings.store or stores.url_in(settings.data)


@contextmanager
def opened(url: str | None, settings: Settings) -> Iterator[Store]:
    url = url_of(url, settings)
    missing = url.lower().startswith("sqlite:") and not _is_there(url)
    store = MemoryStore() if missing else stores.open(url)
    try:
        yield store
    finally:
        store.close()


def _is_there(url: str) -> bool:
    try:
        return stores.path_of(url).exists()
    except OSError:
        return True  # the store says what is the matter


def ref_in(given: str) -> str:
    """The ref, however it was copied from where it is shown."""
    return given.strip().strip("[]'\"`").removeprefix("ref=")


def lines(store: Store, ref: str, offset: int, limit: int | None, pattern: str | None) -> str:
    from yohaku import recall
    from yohaku.recall.lines import ROOM

    room = ROOM if limit is None else 1 << 40  # who says how many wants that many
    if pattern is not None:
        return str(recall.grep(store, ref, pattern, limit=limit or 50, offset=offset, room=room))
    return str(recall.read(store, ref, offset, limit or 200, room=room))


def raw(store: Store, ref: str) -> Iterator[bytes]:
    return (piece.data for piece in store.open(ref).pieces)


def search(store: Store, words: str, limit: int | None, lang: str) -> str:
    from yohaku import recall

    found = recall.search(store, words, limit or 20)
    told = [f"ref={hit.ref}:{hit.number}: {hit.text}" for hit in found.hits]
    if not found.complete:
        told.append(phrases.say("search_more", lang))
    return "\n".join(told or [phrases.say("search_none", lang, name=words)])


def receipts(store: Store, limit: int, name: str, lang: str) -> str:
    """The newest foldings, the newest last."""
    rows = _rows(store)[-limit:]
    return "\n".join(_told(row, lang) for row in rows) or phrases.say("receipts_none", lang, name=name)


def why(store: Store, ref: str, lang: str) -> str | None:
    """What the last fold with this ref did, and why; None where the original is kept and nothing is recorded."""
    for row in reversed(_rows(store)):
        for fold in row["folds"]:
            if fold["ref"] == ref:
                return _reason(fold, _when(row["at"]), lang)
    for standing in store.standing(0):
        if standing.ref == ref:
            facts = {name: getattr(standing, name) for name in ("what", "why", "before", "after")}
            return _reason(facts, phrases.say("unknown_time", lang), lang)
    store.about(ref)
    return None


def collect(store: Store, days: int, lang: str, *, dry_run: bool) -> str:
    from yohaku.collect import collect

    done = collect(store, age=days * DAY, dry_run=dry_run)
    facts = {"count": len(done.refs), "size": done.freed, "folds": done.folds, "after": done.left}
    return phrases.say("collectable" if dry_run else "collected", lang, **facts)


def _rows(store: Store) -> list[dict[str, Any]]:
    """What sessions recorded, the oldest first."""
    told = (row for conversation in store.conversations() for row in store.recorded(conversation))
    rows = [row for each in told if (row := _receipt(each)) is not None]
    return sorted(rows, key=lambda row: int(row["at"]))


def _receipt(told: str) -> dict[str, Any] | None:
    """None for what another program recorded for itself."""
    try:
        row = json.loads(told)
    except ValueError:
        return None
    ours = isinstance(row, dict) and {"at", "before", "after", "limit", "folds"} <= row.keys()
    return row if ours else None


def _told(row: dict[str, Any], lang: str) -> str:
    kinds = Counter(f"{fold['what']}: {fold['why']}" for fold in row["folds"])
    told = "; ".join(f"{count:,} × {kind}" for kind, count in kinds.most_common(4))
    facts = {name: row[name] for name in ("before", "after", "limit")}
    why = told + ("; …" if len(kinds) > 4 else "")
    return phrases.say("receipt", lang, about=_when(row["at"]), count=len(row["folds"]), why=why, **facts)


def _reason(fold: dict[str, Any], when: str, lang: str) -> str:
    facts = {"why": fold["why"], "before": fold["before"], "after": fold["after"]}
    return phrases.say("why_fold", lang, name=fold["what"], about=when, **facts)


def _when(at: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
