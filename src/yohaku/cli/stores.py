"""Stores on the command line: where a fit keeps its originals, and what recall, receipts, why and collect say.

Law: a fit is a function of its file, its flags and what the user undid or pinned, unless it is told which store to go
on with; no store can fail it; a look at a store never makes one.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from yohaku import messages, stores
from yohaku.config.settings import Settings
from yohaku.core.errors import BadSetting, StoreFailed, YohakuError
from yohaku.core.folds import Fold
from yohaku.session.fold_log import FoldingRecord, FoldLog
from yohaku.stores import DAY, Store
from yohaku.stores.fallback import FallbackStore
from yohaku.stores.memory import MemoryStore


class RecordsOnlyStore(FallbackStore):
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

    def record(self, conversation: str, row: str) -> None:
        """A folding says that its folds are not to be found in the store, so that undoing it looks for none."""
        told = json.loads(row)
        super().record(conversation, json.dumps({**told, "apart": True}) if "folds" in told else row)

    def close(self) -> None:
        """Without another try of a store that failed: it may be slow to fail again."""
        self._store.close()


class _LazyStore:
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

    def recorded(self, conversation: str) -> list[str]:
        """A look makes no store, and loads none."""
        if self._opened is None and _missing(self._url):
            return []
        return list(self.__getattr__("recorded")(conversation))

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


def for_fit(url: str | None, settings: Settings, tell: Callable[[StoreFailed], None]) -> FallbackStore:
    """What the user names now must be a store, and is one session with all that is on it; what is merely set may turn
    out to be none, and keeps no folds."""
    return (
        FallbackStore(stores.open(url), tell)
        if url
        else RecordsOnlyStore(cast(Store, _LazyStore(url_of(None, settings))), tell)
    )


def url_of(url: str | None, settings: Settings) -> str:
    return url or settings.store or stores.url_in(settings.data)


@contextmanager
def opened(url: str | None, settings: Settings) -> Iterator[Store]:
    url = url_of(url, settings)
    store = MemoryStore() if _missing(url) else stores.open(url)
    try:
        yield store
    finally:
        store.close()


def _missing(url: str) -> bool:
    try:
        return url.lower().startswith("sqlite:") and not stores.path_of(url).exists()
    except (OSError, BadSetting):
        return False  # the store says what is the matter


def place_in(given: str) -> tuple[str, int | None]:
    """The ref, and the line it is shown with, however they were copied."""
    from yohaku.recall.ref import place_in

    return place_in(given)


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
        told.append(messages.say("search_late" if found.late else "search_more", lang))
    return "\n".join(told or [messages.say("search_none", lang, name=words)])


def receipts(store: Store, limit: int, name: str, lang: str) -> str:
    """The newest foldings, the newest last."""
    told = [_told(done, conversation, lang) for conversation, done in _foldings(store)[-limit:]]
    return "\n".join(told) or messages.say("receipts_none", lang, name=name)


def why(store: Store, ref: str, lang: str) -> str | None:
    """What the last fold with this ref did, and why; None where the original is kept and nothing is recorded."""
    for _, done in reversed(_foldings(store)):
        for fold in done.row["folds"]:
            if fold["ref"] == ref:
                return _reason(fold, _when(done.row["at"]), lang)
    for standing in store.standing(0):
        if standing.ref == ref:
            facts = {name: getattr(standing, name, "") for name in ("what", "why", "detail", "before", "after")}
            return _reason(facts, messages.say("unknown_time", lang), lang)
    store.about(ref)
    return None


def collect(store: Store, lang: str, *, days: int, size: int | None = None, dry_run: bool, transcripts: Path) -> str:
    """What the transcripts in a folder show stays, as they may be resumed."""
    from yohaku.session import transcript
    from yohaku.stores.collect import collect

    live: list[Fold] = []
    for path in sorted(transcripts.glob("*.jsonl")) if transcripts.is_dir() else ():
        with suppress(YohakuError, OSError):  # a broken one is for the doctor
            live += transcript.read(path).folds
    done = collect(store, age=days * DAY, size=size, dry_run=dry_run, live=live)
    facts = {"count": len(done.refs), "size": done.freed, "folds": done.folds, "after": done.left}
    facts["rows"] = done.records
    told = messages.say("collectable" if dry_run else "collected", lang, **facts)
    return f"{told}\n{messages.say('collect_over', lang, size=done.over)}" if done.over else told


def _foldings(store: Store) -> list[tuple[str, FoldingRecord]]:
    """What sessions recorded, the oldest first, each with the key of its session."""
    told = ((name, done) for name in store.conversations() for done in FoldLog.of(store.recorded(name)).done)
    return sorted(told, key=lambda one: int(one[1].row["at"]))


def _told(done: FoldingRecord, conversation: str, lang: str) -> str:
    kinds = Counter(": ".join(_in_words(fold, lang)) for fold in done.row["folds"])
    told = "; ".join(f"{count:,} × {kind}" for kind, count in kinds.most_common(4))
    facts = {name: done.row[name] for name in ("before", "after", "limit")}
    why = told + ("; …" if len(kinds) > 4 else "")
    why = why if done.standing else messages.say("was_undone", lang, why=why)
    name = f"{conversation[:8]} #{done.number} {done.id}".rstrip()
    count = len(done.row["folds"])
    return messages.say("receipt", lang, about=_when(done.row["at"]), name=name, count=count, why=why, **facts)


def _reason(fold: dict[str, Any], when: str, lang: str) -> str:
    what, why = _in_words(fold, lang)
    return messages.say("why_fold", lang, name=what, about=when, why=why, before=fold["before"], after=fold["after"])


def _in_words(fold: dict[str, Any], lang: str) -> tuple[str, str]:
    return messages.describe(fold["what"], fold["why"], lang, fold.get("detail", ""))


def _when(at: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
