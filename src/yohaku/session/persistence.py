"""What a session keeps of its conversation, and finds again: originals, folds, receipts, pins, and the transcript.

Law: nothing is folded before its original is stored. What another process kept, undid or pinned meanwhile is seen at
the next look, since the store's version is read before anything else is.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from yohaku import stores
from yohaku.analysis.tool_calls import describe_call
from yohaku.config.settings import Notice
from yohaku.core.engine import Outcome
from yohaku.core.errors import BadSetting, StoreFailed, UnknownRef
from yohaku.core.folds import Cut, Fold, Gist, place_of
from yohaku.core.model import History
from yohaku.core.originals import ref_of
from yohaku.core.pins import Known, Pin, locate_pins
from yohaku.core.shape import shape
from yohaku.core.view import View
from yohaku.session import fold_log
from yohaku.session.diff import diff
from yohaku.session.fold_log import FoldingRecord, FoldLog
from yohaku.session.incremental import keys_since, settled
from yohaku.session.receipt import Receipt
from yohaku.session.recorder import TranscriptRecorder
from yohaku.stores import Store
from yohaku.stores.fallback import FallbackStore
from yohaku.stores.memory import MemoryStore

_REF = re.compile(r"(?:ref=)?([a-z2-7]{12})")
_KEY = re.compile(r"[0-9a-f]{30}")


class Persistence:
    def __init__(self, given: Store | str | None, tell: Callable[[Notice], None]) -> None:
        store = stores.open(given) if isinstance(given, str) else given if given is not None else MemoryStore()
        sheltered = isinstance(store, MemoryStore | FallbackStore)
        self.store = store if sheltered else FallbackStore(store, lambda why: tell(in_memory(why)))
        self._closes = isinstance(given, str)
        self.minutes: TranscriptRecorder | None = None
        self.past = FoldLog()
        self.conversation = ""
        self._history = History()
        self._known: Known = {}
        self._waiting: list[Pin] = []
        """Pinned before there was a conversation."""

    def look(self, history: History) -> int:
        """The version of the store, to be asked for before anything is read from it."""
        conversation = history.turns[0].key if history.turns else ""
        if conversation != self.conversation:
            self.conversation, self.past, self._known = conversation, FoldLog(), {}
        self._history = history
        for pin in self._waiting if conversation else ():
            fold_log.pin(self.store, conversation, pin, time.time())
        self._waiting = [] if conversation else self._waiting
        return self.store.version

    def view(self, before: View | None, history: History) -> View:
        """The history with the folds that were made on it before, here or in another process.

        `before`: the view of what this history adds to, if nothing was kept by others since.
        """
        if before is None:
            self.past = FoldLog.of(self.store.recorded(self.conversation)) if self.conversation else FoldLog()
            fold_log.touch(self.store, self.conversation, self.past, time.time())
            view = View(history, pins=locate_pins(history, self.past.pins, self._known, describe_call))
            return view.with_(self._standing(history, Cut(0, 0)))
        view = View(
            history, before.stubs, before.gists, locate_pins(history, self.past.pins, self._known, describe_call)
        )
        found = self._standing(history, settled(before.history))
        return view.with_(found) if found else view

    def _standing(self, history: History, mark: Cut) -> list[Fold]:
        """A fold that is written down as undone does not stand, though it may not be forgotten yet."""
        found = self.store.folds(keys_since(history, mark))
        return [fold for fold in found if place_of(fold) not in self.past.held] if self.past.held else found

    def keep(self, outcome: Outcome, receipt: Receipt, before: View, origin: Callable[[Fold, View], View]) -> None:
        view, folds = outcome.view, outcome.folds
        self._put(folds, view, origin)
        told = fold_log.told(folds, (list(shape(before)), list(shape(view))))
        name = ref_of(told)
        self.store.put(name, told.encode())  # as bytes, which nobody searches
        facts = {name: getattr(receipt, name) for name in fold_log.FACTS}
        # Written down first: a fold that stood without would be out of reach of every undo.
        self.store.record(self.conversation, fold_log.row_of(facts, name, folds, time.time()))
        self.store.keep(folds)
        if self.minutes:
            self.minutes.folded(folds)

    def _put(self, folds: tuple[Fold, ...], view: View, origin: Callable[[Fold, View], View]) -> None:
        pairs: list[tuple[str, str | bytes]] = []
        for fold in folds:
            source = origin(fold, view)
            if isinstance(fold, Gist):
                parts = source.segments(fold)
                if len(parts) > 1:
                    self.store.put_joined(fold.ref, parts)
                else:
                    pairs.append((fold.ref, "".join(parts)))
                pairs += source.beside(fold)
            else:
                pairs += source.originals(fold)
        self.store.put_all(pairs)

    def seen(self, version: int, kept: bool) -> int:
        """The version to go on from: what others kept while we did must not be taken for seen."""
        now = self.store.version if kept else version
        return now if now == version + 1 else version

    def undo(self, count: int) -> tuple[FoldingRecord, ...]:
        gone = (
            fold_log.undo(self.store, self.conversation, count, time.time(), self._keys()) if self.conversation else []
        )
        if self.minutes:
            for done in gone:
                with suppress(UnknownRef):
                    self.minutes.undone(fold_log.folds_of(self.store, done).values())
        return tuple(gone)

    def redo(self, count: int) -> tuple[FoldingRecord, ...]:
        back = (
            fold_log.redo(self.store, self.conversation, count, time.time(), self._keys()) if self.conversation else []
        )
        if self.minutes:
            for done in back:
                self.minutes.folded(fold_log.folds_of(self.store, done).values())
        return tuple(back)

    def _keys(self) -> frozenset[str]:
        """Another conversation that began with the same prompt has its foldings recorded beside ours."""
        return frozenset(keys_since(self._history, Cut(0, 0)))

    def diff(self, one: str | int | None, other: str | int | None) -> list[str]:
        found, keys = FoldLog.of(self.store.recorded(self.conversation)), self._keys()
        return diff(self.store, replace(found, done=tuple(done for done in found.done if done.on(keys))), one, other)

    def pins(self) -> tuple[Pin, ...]:
        stored = FoldLog.of(self.store.recorded(self.conversation)).pins if self.conversation else ()
        return (*stored, *(pin for pin in self._waiting if pin not in stored))

    def pin(self, what: str) -> Pin:
        pin = pin_of(what)
        if self.conversation and not locate_pins(self._history, [pin]):
            raise unknown_pin(what)
        if self.conversation:
            fold_log.pin(self.store, self.conversation, pin, time.time())
        else:
            self._waiting.append(pin)
        return pin

    def unpin(self, what: str) -> Pin:
        pin = pin_of(what)
        if pin in self._waiting:
            self._waiting.remove(pin)
        elif pin in self.pins():
            fold_log.pin(self.store, self.conversation, pin, time.time(), on=False)
        else:
            raise unknown_pin(what)
        return pin

    def close(self) -> None:
        """A store that was given is its owner's to close."""
        if self.minutes:
            self.minutes.close()
        if self._closes:
            self.store.close()
        elif isinstance(self.store, FallbackStore):
            self.store.settle()


def pin_of(what: str) -> Pin:
    """A ref as it is shown, the key of a prompt or step, or words as they were said."""
    if not what.strip():
        raise BadSetting("give a ref, a key, or words as they were said", "unknown_pin", name=what)
    if ref := _REF.fullmatch(what.strip().strip("[]'\"`")):
        return Pin("ref", ref[1])
    return Pin("key", what.strip()) if _KEY.fullmatch(what.strip()) else Pin("text", what)


def unknown_pin(what: str) -> BadSetting:
    name = what if len(what) <= 60 else what[:59] + "…"
    text = f"nothing to pin or unpin is {name!r}: give a ref that is shown, a key, or words as they were said"
    return BadSetting(text, "unknown_pin", name=name)


def in_memory(why: StoreFailed) -> Notice:
    text = f"{why}; going on in memory: what is folded now cannot be opened later"
    return Notice("store_failed", text, {name: str(fact) for name, fact in why.facts.items()})


def minutes_of(
    given: str | Path | bool, data: Path, model: str | None, tell: Callable[[Notice], None]
) -> TranscriptRecorder:
    if isinstance(given, bool):
        return TranscriptRecorder(data / "transcripts", model or "", tell, folder=True)
    return TranscriptRecorder(Path(given), model or "", tell)
