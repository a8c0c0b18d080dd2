"""What a session keeps: foldings to undo, pins, and what others did meanwhile."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.session.test_session import agent, session
from tests.stores.conformance import Clock

from yohaku import Session
from yohaku.core.engine import AGAIN
from yohaku.core.errors import BadSetting, DoesNotFit, StoreFailed, UnknownRef
from yohaku.core.folds import Fold, Gist, id_of
from yohaku.core.originals import ref_of, render_turns
from yohaku.core.pins import Pin
from yohaku.session.collect import collect
from yohaku.session.fold_log import FoldLog
from yohaku.stores import DAY
from yohaku.stores.fallback import FallbackStore
from yohaku.stores.memory import MemoryStore
from yohaku.stores.sqlite import SQLiteStore


def said(body: Any) -> str:
    return "\n".join(str(entry.get("content")) for entry in body)


def big(store: Any) -> Session:
    """One with room for everything: it shows what was folded by hand and folds nothing of its own."""
    return session(1_000_000, store=store)


# What others do meanwhile


def test_what_another_keeps_while_folds_are_read_is_seen_at_the_next_fit() -> None:
    class Busy(MemoryStore):
        def folds(self, keys: Iterable[str]) -> list[Fold]:
            found = super().folds(keys)
            if self.meanwhile:
                self.meanwhile.pop()()
            return found

        meanwhile: list[Any] = []  # noqa: RUF012

    store = Busy()
    one = big(store)
    messages = agent(30)
    store.meanwhile = [lambda: session(4_000, store=store).fit(messages, fold=True)]
    assert one.fit(messages) is messages
    assert one.fit(messages) == big(store).fit(messages) != messages


def test_what_another_keeps_beside_us_is_seen_at_the_next_fit() -> None:
    class Busy(MemoryStore):
        def keep(self, folds: Iterable[Fold]) -> None:
            super().keep(folds)
            if self.meanwhile:
                self.meanwhile.pop()()

        meanwhile: list[Any] = []  # noqa: RUF012

    store = Busy()
    one = session(9_000, store=store)
    messages = agent(40)
    store.meanwhile = [lambda: session(4_000, store=store).fit(messages, fold=True)]
    folded = one.fit(messages)
    assert one.fit(messages) == session(9_000, store=store).fit(messages) != folded


# Undo


def test_an_undone_folding_is_left_open_by_later_fits_and_the_receipt_says_when_it_is_not() -> None:
    s = session(4_000)
    s.fit(agent(14))
    assert s.receipt and s.receipt.folds
    s.undo()
    whys: set[str] = set()
    for steps in range(14, 40):
        s.fit(agent(steps))
        assert s.receipt.after <= s.receipt.limit
        whys |= {fold.why for fold in s.receipt.outcome.folds}
    assert AGAIN in whys


def test_undo_before_any_fit_and_of_nothing_is_nothing() -> None:
    s = session(4_000)
    assert (s.undo(), s.redo()) == ((), ())
    s.fit(agent(2))
    assert (s.undo(), s.redo()) == ((), ())


def test_undo_of_a_stub_brings_back_the_one_that_stood_there_before() -> None:
    store = MemoryStore()
    large, small = session(4_000, store=store), session(1_500, store=store)
    messages = agent(12)
    large.fit(messages, fold=True)
    small.fit(messages, fold=True)
    first = large.receipt
    assert first and small.receipt and first.folds != small.receipt.folds
    s = big(store)
    s.fit(messages)
    s.undo()
    s.fit(messages)
    assert s.receipt and s.receipt.folds == first.folds


def test_who_is_stopped_while_undoing_has_undone_it_all_the_same() -> None:
    class Stopped(MemoryStore):
        def forget(self, folds: Iterable[Fold]) -> None:
            raise KeyboardInterrupt

    store = Stopped()
    s = session(4_000, store=store)
    s.fit(agent(14))
    with pytest.raises(KeyboardInterrupt):
        s.undo()
    messages = agent(14)
    assert big(store).fit(messages) is messages


def test_who_is_stopped_while_folding_leaves_no_fold_that_cannot_be_undone() -> None:
    class Stopped(MemoryStore):
        def record(self, conversation: str, row: str) -> None:
            raise KeyboardInterrupt

    store = Stopped()
    with pytest.raises(KeyboardInterrupt):
        session(4_000, store=store).fit(agent(14))
    assert list(store.standing(0)) == []


def test_what_another_folds_while_it_is_being_undone_stands_as_it_is_written_down() -> None:
    class Busy(MemoryStore):
        def forget(self, folds: Iterable[Fold]) -> None:
            if self.meanwhile:
                self.meanwhile.pop()()
            super().forget(folds)

        meanwhile: list[Any] = []  # noqa: RUF012

    store = Busy()
    s, other = session(4_000, store=store), session(4_000, store=store)
    s.fit(agent(14))
    store.meanwhile = [lambda: other.fit(agent(14), fold=True)]
    s.undo()
    (conversation,) = store.conversations()
    latest = FoldLog.of(store.recorded(conversation)).latest()
    assert latest and set(map(id_of, store.standing(0))) == set(latest)


def test_undo_leaves_another_conversation_alone_that_began_with_the_same_words() -> None:
    store = MemoryStore()
    one, other = session(4_000, store=store), session(1_000_000, store=store)
    talk = [*agent(0), {"role": "assistant", "content": "Which one?"}, {"role": "user", "content": "The other."}]
    folded = one.fit(agent(14))
    assert other.fit(talk) is talk
    assert len(store.conversations()) == 1
    assert other.undo() == ()
    with pytest.raises(BadSetting):
        other.diff()
    assert session(4_000, store=store).fit(agent(14)) == folded
    (done,) = one.undo()
    assert other.redo() == ()
    assert [back.id for back in one.redo()] == [done.id] and one.diff() == one.diff(1)


def test_many_foldings_are_undone_and_redone_as_one_by_one() -> None:
    stores = []
    for counts in ((3,), (1, 1, 1)):
        store = MemoryStore()
        s = session(4_000, store=store)
        shown = [s.fit(agent(steps)) for steps in (14, 22, 30, 40)]
        gone = [done.number for count in counts for done in s.undo(count)]
        assert gone == [4, 3, 2] and session(4_000, store=store).fit(agent(14)) == shown[0]
        back = [done.number for count in counts for done in s.redo(count)]
        assert back == [2, 3, 4] and session(4_000, store=store).fit(agent(40)) == shown[3]
        stores.append(sorted(store.standing(0), key=str))
    assert stores[0] == stores[1]


def test_two_who_undo_at_once_undo_one_folding() -> None:
    store = MemoryStore()
    s = session(4_000, store=store)
    for steps in (14, 22):
        s.fit(agent(steps))
    (conversation,) = store.conversations()
    (done,) = s.undo()
    store.record(conversation, json.dumps({"at": 1, "undo": done.id}))
    past = FoldLog.of(store.recorded(conversation))
    assert [one.standing for one in past.done] == [True, False] and past.undone == (done.id,)
    s.redo()
    assert FoldLog.of(store.recorded(conversation)).undone == ()


def test_a_folding_made_again_stands_and_keeps_its_number() -> None:
    store = MemoryStore()
    s = session(4_000, store=store)
    s.fit(agent(14))
    s.undo()
    s.fit(agent(14), fold=True)
    (conversation,) = store.conversations()
    assert all(one.standing for one in FoldLog.of(store.recorded(conversation)).done[-1:])


def test_rows_that_tell_too_little_are_listed_and_not_undone() -> None:
    store = MemoryStore()
    s = session(4_000, store=store)
    s.fit(agent(14))
    (conversation,) = store.conversations()
    told = [json.loads(row) for row in store.recorded(conversation)]
    other = MemoryStore()
    for row in told:
        old = {**row, "folds": [{name: fold[name] for name in ("kind", "ref", "what")} for fold in row["folds"]]}
        del old["id"]
        for text in (json.dumps(old), "not JSON", "[]", '{"undo": "aaaaaaaaaaaa"}', '{"pin": 3}'):
            other.record(conversation, text)
    s = session(1_000_000, store=other)
    s.fit(agent(14))
    assert s.undo() == ()
    assert [(one.number, one.id) for one in FoldLog.of(other.recorded(conversation)).done] == [(1, "")]


def test_a_folding_that_is_kept_no_longer_cannot_be_redone() -> None:
    store = MemoryStore()
    s = session(4_000, store=store)
    s.fit(agent(14))
    (done,) = s.undo()
    store.drop([done.id], 1 << 40)
    with pytest.raises(UnknownRef):
        s.redo()
    messages = agent(14)
    assert big(store).fit(messages) is messages


# Pins


def test_what_is_pinned_is_shown_whole_from_the_next_fit_on() -> None:
    s = session(4_000)
    messages = agent(30)
    s.fit(messages)
    original = messages[7]["content"]
    assert original not in said(s.fit(messages))
    assert s.pin(f"ref={ref_of(original)}") == Pin("ref", ref_of(original))
    assert original in said(s.fit(messages))
    assert original in said(s.fit(agent(40)))
    s.unpin(ref_of(original))
    assert original not in said(s.fit(agent(40)))


def test_a_pin_may_come_before_the_conversation() -> None:
    s = session(4_000)
    messages = agent(30)
    words = messages[7]["content"][:60]
    s.pin(words)
    assert s.pins == (Pin("text", words),)
    assert words in said(s.fit(messages)) and s.pins == (Pin("text", words),)
    other = session(4_000)
    other.pin(words)
    other.unpin(words)
    assert other.pins == () and words not in said(other.fit(messages))


@pytest.mark.parametrize("what", ["a" * 12, "0" * 30, "words nobody said", ""])
def test_what_is_not_there_cannot_be_pinned_nor_unpinned(what: str) -> None:
    s = session(4_000)
    s.fit(agent(3))
    for act in (s.pin, s.unpin):
        with pytest.raises(BadSetting) as wrong:
            act(what)
        assert wrong.value.code == "unknown_pin"


def test_a_pin_that_does_not_fit_is_named() -> None:
    s = session(2_000)
    messages = agent(30, size=9_000)
    s.fit(messages)
    key = s.read(messages).steps[4].key
    s.pin(key)
    with pytest.raises(DoesNotFit, match=f"unpin {key}"):
        s.fit(messages)
    s.unpin(key)
    assert s.fit(messages)


def test_a_growing_conversation_finds_a_pin_without_looking_through_all_of_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from yohaku.core import pins

    s = session(100_000)
    s.fit(agent(20))
    s.pin(ref_of(agent(20)[7]["content"]))
    s.fit(agent(20))
    looked: list[str] = []
    real = pins.places
    monkeypatch.setattr(pins, "places", lambda owner: looked.append(owner.key) or real(owner))
    s.fit(agent(21), fold=True)
    assert 0 < len(looked) <= 3


# Closing


def test_a_session_closes_the_store_it_opened_and_no_other(tmp_path: Path) -> None:
    closed: list[str] = []

    class Told(SQLiteStore):
        def close(self) -> None:
            closed.append("given")
            super().close()

    with Session(4_000, store=Told(tmp_path / "given.db")) as s:
        s.fit(agent(30))
    assert closed == []
    with Session(4_000, store=f"sqlite://{tmp_path / 'own.db'}") as s:
        s.fit(agent(30))
    assert s.store._store._file._db is None  # type: ignore[attr-defined]


def test_what_waits_in_memory_is_brought_to_a_store_that_was_given(tmp_path: Path) -> None:
    class Moody(MemoryStore):
        broken = True

        def put_all(self, originals: Iterable[tuple[str, str | bytes]]) -> None:
            if self.broken:
                raise StoreFailed("here", "it is moody", "wait")
            super().put_all(originals)

    store = Moody()
    s = Session(4_000, store=FallbackStore(store))
    s.fit(agent(30))
    assert list(store.kept()) == []
    store.broken = False
    s.close()
    assert list(store.kept())


def test_records_live_as_long_as_their_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    session(4_000, store=store).fit(agent(30))
    (conversation,) = store.conversations()
    rows = len(store.recorded(conversation))
    big(store).fit(agent(30))
    assert len(store.recorded(conversation)) == rows
    now = time.time() + 3 * DAY
    monkeypatch.setattr(time, "time", lambda: now)
    for _ in range(3):
        big(store).fit(agent(30))
    assert len(store.recorded(conversation)) == rows + 1


# Gists one after the other


@pytest.mark.parametrize("recipe", ["auto", "chat"])
def test_originals_of_later_gists_share_what_earlier_ones_hold_and_every_one_opens(tmp_path: Path, recipe: str) -> None:
    """In `chat` every gist is of all that came before it, in `auto` most are chapters."""
    clock = Clock()
    store = SQLiteStore(tmp_path / "store.db", clock=clock)
    store.put(ref_of("nobody's"), "nobody's")
    s = session(4_000, store=store, recipe=recipe)
    originals: dict[str, str] = {}
    steps = 14
    while len(originals) < 12:
        s.fit(agent(steps))
        assert s.receipt
        view = s.receipt.outcome.view
        originals |= {
            fold.ref: render_turns(view.stretch(fold)) for fold in s.receipt.outcome.folds if isinstance(fold, Gist)
        }
        steps += 1
    assert {ref: s.recall(ref) for ref in originals} == originals
    clock.now += 40 * DAY
    big(store).fit(agent(steps))
    assert collect(store, clock=clock).refs == (ref_of("nobody's"),)
    assert {ref: s.recall(ref) for ref in originals} == originals, "what they are made of is reached through them"
    hidden = len(render_turns(view.hidden(view.cut)))
    whole = sum(store.about(kept.ref).size for kept in store.kept() if not kept.joined and not binary(store, kept.ref))
    assert whole < 1.1 * hidden
    assert recipe == "auto" or 2 * hidden < sum(map(len, originals.values())) / 2
    store.close()


def binary(store: SQLiteStore, ref: str) -> bool:
    return store.about(ref).binary
