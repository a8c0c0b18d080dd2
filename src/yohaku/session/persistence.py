"""Persistence of a conversation: originals, folds, receipts, pins, and the transcript.

Law: nothing is folded before its original is stored. The store's version is read before anything else, so that the
next fit notices what another process kept, undid or pinned meanwhile.
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
from yohaku.core.folds import Cut, Fold, Gist, MadeFor
from yohaku.core.model import History
from yohaku.core.originals import ref_of
from yohaku.core.pins import Known, Pin, locate_pins
from yohaku.core.shape import shape
from yohaku.core.view import View
from yohaku.session import fold_log
from yohaku.session.diff import diff
from yohaku.session.fold_log import FoldingRecord, FoldLog
from yohaku.session.incremental import keys_since, settled_mark
from yohaku.session.receipt import Receipt
from yohaku.session.recorder import TranscriptFolder, TranscriptRecorder
from yohaku.session.stored_folds import Select, StoredFolds
from yohaku.stores import Store
from yohaku.stores.fallback import FallbackStore
from yohaku.stores.memory import MemoryStore

_REF = re.compile(r"(?:ref=)?([a-z2-7]{12})")
_KEY = re.compile(r"[0-9a-f]{30}")


class Persistence:
    def __init__(self, given: Store | str | None, warn: Callable[[Notice], None]) -> None:
        store = stores.open(given) if isinstance(given, str) else given if given is not None else MemoryStore()
        never_fails = isinstance(store, MemoryStore | FallbackStore)
        self.store = store if never_fails else FallbackStore(store, lambda why: warn(in_memory_notice(why)))
        self._owns_store = isinstance(given, str)
        self._warn = warn
        self._eviction_checked = False
        self.recorder: TranscriptRecorder | None = None
        self.log = FoldLog()
        self.conversation = ""
        self._history = History()
        self._known: Known = {}
        self._pending_pins: list[Pin] = []
        """Pins made before there was a conversation."""

    def switch_to(self, history: History) -> int:
        """Take this history as the current one; return the store's version, before anything is read from it."""
        conversation = history.turns[0].key if history.turns else ""
        if conversation != self.conversation:
            self.conversation, self.log, self._known = conversation, FoldLog(), {}
        self._history = history
        for pin in self._pending_pins if conversation else ():
            fold_log.pin(self.store, conversation, pin, time.time())
        self._pending_pins = [] if conversation else self._pending_pins
        return self.store.version

    def build_view(
        self, before: View | None, history: History, stored: StoredFolds, select: Select
    ) -> tuple[View, StoredFolds]:
        """Return the history with those folds made on it earlier, here or in another process, that `select` chooses.

        `before`: the view of the history that this one extends, unless others have kept something since; `stored`: the
        folds that were read for it.
        """
        if before is None:
            self.log = FoldLog.of(self.store.recorded(self.conversation)) if self.conversation else FoldLog()
            fold_log.touch(self.store, self.conversation, self.log, time.time())
            stored = StoredFolds()
        mark = settled_mark(before.history) if before else Cut(0, 0)
        stored.add(self.store.folds(keys_since(history, mark)), self.log)
        view = View(history, pins=locate_pins(history, self.log.pins, self._known, describe_call))
        return stored.view_on(view, select, before), stored

    def keep(self, outcome: Outcome, receipt: Receipt, before: View, source_of: Callable[[Fold, View], View]) -> None:
        view, folds = outcome.view, outcome.folds
        self._store_originals(folds, view, source_of)
        serialised = fold_log.serialise_folding(folds, (list(shape(before)), list(shape(view))))
        ref = ref_of(serialised)
        self.store.put(ref, serialised.encode())  # as bytes, which are not searched
        facts = {name: getattr(receipt, name) for name in fold_log.RECEIPT_FIELDS}
        # Recorded first: a fold without a record could not be undone.
        self.store.record(self.conversation, fold_log.build_row(facts, ref, folds, time.time()))
        self.store.keep(folds)
        self._warn_of_eviction()
        if self.recorder:
            self.recorder.record_folds(folds)

    def _warn_of_eviction(self) -> None:
        """Warn, once, of a server that may drop what was kept on it just now."""
        if not self._eviction_checked and (policy := stores.eviction_policy(self.store)):
            self._warn(eviction_notice(policy))
        self._eviction_checked = True

    def _store_originals(self, folds: tuple[Fold, ...], view: View, source_of: Callable[[Fold, View], View]) -> None:
        pairs: list[tuple[str, str | bytes]] = []
        for fold in folds:
            source = source_of(fold, view)
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

    def version_after(self, version: int, kept: bool) -> int:
        """Return the version to continue from; if others kept folds while we did, the next fit has to read them."""
        now = self.store.version if kept else version
        return now if now == version + 1 else version

    def undo(self, count: int, shows: Callable[[MadeFor], bool]) -> tuple[FoldingRecord, ...]:
        """Undo the last foldings of this history among those with folds that show."""
        if not self.conversation:
            return ()
        gone = fold_log.undo(self.store, self.conversation, count, time.time(), self._are_ours(shows))
        if self.recorder:
            for done in gone:
                with suppress(UnknownRef):
                    self.recorder.record_undone(fold_log.read_folds(self.store, done).values())
        return tuple(gone)

    def redo(self, count: int, shows: Callable[[MadeFor], bool]) -> tuple[FoldingRecord, ...]:
        if not self.conversation:
            return ()
        back = fold_log.redo(self.store, self.conversation, count, time.time(), self._are_ours(shows))
        if self.recorder:
            for done in back:
                self.recorder.record_folds(fold_log.read_folds(self.store, done).values())
        return tuple(back)

    def _are_ours(self, shows: Callable[[MadeFor], bool]) -> Callable[[FoldingRecord], bool]:
        keys = self._history_keys()
        return lambda done: done.touches(keys) and any(shows(made_for) for *_, made_for in done.fold_ids)

    def _history_keys(self) -> frozenset[str]:
        """Return the keys that tell our foldings from those of a conversation that began with the same prompt."""
        return frozenset(keys_since(self._history, Cut(0, 0)))

    def diff(self, one: str | int | None, other: str | int | None) -> list[str]:
        log, keys = FoldLog.of(self.store.recorded(self.conversation)), self._history_keys()
        ours = replace(log, done=tuple(done for done in log.done if done.touches(keys)))
        return diff(self.store, ours, one, other)

    def pins(self) -> tuple[Pin, ...]:
        stored = FoldLog.of(self.store.recorded(self.conversation)).pins if self.conversation else ()
        return (*stored, *(pin for pin in self._pending_pins if pin not in stored))

    def pin(self, what: str) -> Pin:
        pin = parse_pin(what)
        if self.conversation and not locate_pins(self._history, [pin]):
            raise unknown_pin(what)
        if self.conversation:
            fold_log.pin(self.store, self.conversation, pin, time.time())
        else:
            self._pending_pins.append(pin)
        return pin

    def unpin(self, what: str) -> Pin:
        pin = parse_pin(what)
        if pin in self._pending_pins:
            self._pending_pins.remove(pin)
        elif pin in self.pins():
            fold_log.pin(self.store, self.conversation, pin, time.time(), on=False)
        else:
            raise unknown_pin(what)
        return pin

    def close(self) -> None:
        """Close the transcript, and the store if it was opened here."""
        if self.recorder:
            self.recorder.close()
        if self._owns_store:
            self.store.close()
        elif isinstance(self.store, FallbackStore):
            self.store.settle()


def parse_pin(what: str) -> Pin:
    """Parse a ref, the key of a prompt or step, or words of the conversation."""
    if not what.strip():
        raise BadSetting("give a ref, a key, or words as they were said", "unknown_pin", name=what)
    if ref := _REF.fullmatch(what.strip().strip("[]'\"`")):
        return Pin("ref", ref[1])
    return Pin("key", what.strip()) if _KEY.fullmatch(what.strip()) else Pin("text", what)


def unknown_pin(what: str) -> BadSetting:
    name = what if len(what) <= 60 else what[:59] + "…"
    text = f"nothing to pin or unpin is {name!r}: give a ref that is shown, a key, or words as they were said"
    return BadSetting(text, "unknown_pin", name=name)


def in_memory_notice(why: StoreFailed) -> Notice:
    text = f"{why}; going on in memory: what is folded now cannot be opened later"
    return Notice("store_failed", text, {name: str(fact) for name, fact in why.facts.items()})


def eviction_notice(policy: str) -> Notice:
    text = f"the store's server may drop what is folded (maxmemory-policy {policy}): set maxmemory-policy noeviction"
    return Notice("store_evicts", text, {"policy": policy})


def open_recorder(
    given: str | Path | bool | TranscriptFolder, data: Path, model: str | None, warn: Callable[[Notice], None]
) -> TranscriptRecorder:
    if isinstance(given, TranscriptFolder):
        recorder = TranscriptRecorder(given.path, model or "", warn, folder=True)
        recorder.about |= given.about
        return recorder
    if isinstance(given, bool):
        return TranscriptRecorder(data / "transcripts", model or "", warn, folder=True)
    return TranscriptRecorder(Path(given), model or "", warn)
