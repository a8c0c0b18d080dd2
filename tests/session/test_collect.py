from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.errors import UnknownRef
from yohaku.core.folds import Gist, Stub
from yohaku.core.originals import Slot, ref_of
from yohaku.session.collect import GRACE_SECONDS, Collected, collect, reachable_refs
from yohaku.session.fold_log import build_row, serialise_folding
from yohaku.stores import DAY, HOUR, Store
from yohaku.stores.memory import MemoryStore
from yohaku.stores.sqlite import SQLiteStore


class Clock:
    now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    path = tmp_path / "store.db"
    made: Store = MemoryStore(clock) if request.param == "memory" else SQLiteStore(path, clock=clock)
    yield made
    made.close()


def put(store: Store, original: str | bytes) -> str:
    store.put(ref_of(original), original)
    return ref_of(original)


def stub(key: str, ref: str, text: str = "[folded]") -> Stub:
    return Stub(key, Slot("result", 0), text, ref, "result", "why", 9, 1)


def refs(store: Store) -> set[str]:
    return {kept.ref for kept in store.kept()}


def test_what_nobody_can_reach_goes_when_it_is_old(store: Store, clock: Clock) -> None:
    old, shown = put(store, "old" * 1000), put(store, "shown" * 1000)
    store.keep([stub("a", shown)])
    clock.now += 31 * DAY
    young = put(store, "young" * 1000)
    store.folds(["a"])
    taken = {kept.ref: kept.stored for kept in store.kept()}
    expected = Collected((old,), taken[old], taken[shown] + taken[young], 0, 0)
    assert collect(store, dry_run=True, clock=clock) == expected
    assert refs(store) == {old, shown, young}
    assert collect(store, clock=clock) == expected
    assert refs(store) == {shown, young}
    assert collect(store, clock=clock) == Collected((), 0, expected.left, 0, 0)
    with pytest.raises(UnknownRef):
        store.get(old)


def test_a_fold_nobody_asked_for_in_that_time_goes_with_its_original(store: Store, clock: Clock) -> None:
    ref = put(store, "original")
    store.keep([stub("a", ref), stub("b", ref)])
    clock.now += 20 * DAY
    assert store.folds(["b"]) and collect(store, clock=clock).folds == 0
    clock.now += 20 * DAY
    assert collect(store, dry_run=True, clock=clock).folds == 1
    assert (collect(store, clock=clock).folds, refs(store)) == (1, {ref})
    assert store.folds(["a", "b"]) == [stub("b", ref)]
    clock.now += 31 * DAY
    assert collect(store, clock=clock).refs == (ref,)


def test_too_much_garbage_goes_the_oldest_first_and_no_more_than_needed(store: Store, clock: Clock) -> None:
    put_in_order = []
    for number in range(6):
        put_in_order.append(put(store, f"{number}" * 999))
        clock.now += 3 * HOUR
    shown = put_in_order[0]
    store.keep([stub("a", shown)])
    taken = {kept.ref: kept.stored for kept in store.kept()}
    wished = sum(taken.values()) - taken[put_in_order[1]] - 1
    assert collect(store, size=wished, clock=clock).refs == tuple(put_in_order[1:3])
    assert refs(store) == {shown, *put_in_order[3:]}


def test_what_a_live_fold_shows_stays_whatever_the_size(store: Store, clock: Clock) -> None:
    ref, beside = put(store, "shown"), put(store, "held in memory by somebody")
    store.keep([stub("a", ref)])
    clock.now += 5 * DAY
    young = put(store, "young")
    found = collect(store, age=10 * DAY, size=1, live=[stub("b", beside)], clock=clock)
    assert (found.refs, found.over) == ((), found.left - 1)
    assert refs(store) == {ref, beside, young}


def test_what_was_just_put_stays_even_with_no_age_at_all(store: Store, clock: Clock) -> None:
    ref = put(store, "its fold will be kept in a moment")
    clock.now += HOUR
    assert collect(store, age=0, size=0, clock=clock).refs == ()
    store.keep([stub("a", ref)])
    clock.now += GRACE_SECONDS + 1
    assert store.get(ref) and collect(store, age=DAY, size=0, clock=clock).refs == ()


def test_a_ref_is_reached_through_texts_and_transcripts(store: Store, clock: Clock) -> None:
    image, named, told = put(store, b"\0image"), put(store, "named in a text"), "\n## user\n"
    told += f"[image image/png; ref={ref_of(chr(0) + 'image')}]\n" * 20_000
    transcript = put(store, told)
    gist = Gist("k", f"[Earlier conversation folded; ref={transcript}]\n- log ref={named}", transcript, "w", "y", 9, 1)
    assert reachable_refs(store, [gist]) == {transcript, named, image}
    assert reachable_refs(store, [stub("a", named, f"[ref={named}]")]) == {named}
    assert reachable_refs(store, [Gist("k", "", "zzzzzzzzzzzz", "w", "y", 9, 1)]) == {"zzzzzzzzzzzz"}
    store.keep([gist])
    clock.now += 60 * DAY
    store.folds(["k"])
    assert collect(store, clock=clock).refs == ()


@given(st.data())
def test_no_live_ref_is_ever_removed(data: st.DataObject) -> None:
    clock = Clock()
    store = MemoryStore(clock)
    live: set[str] = set()
    for number in range(data.draw(st.integers(0, 12))):
        ref = put(store, f"original {number}")
        clock.now += data.draw(st.sampled_from([60, HOUR, DAY, 20 * DAY]))
        if data.draw(st.booleans()):
            store.keep([stub(f"{number}", ref)])
    age = data.draw(st.sampled_from([0, DAY, 30 * DAY]))
    size = data.draw(st.none() | st.integers(0, 200))
    cutoff = min(int(clock.now) - age, int(clock.now) - GRACE_SECONDS)
    live = {fold.ref for fold in store.standing(cutoff)}
    planned = collect(store, age=age, size=size, dry_run=True, clock=clock)
    before = refs(store)
    done = collect(store, age=age, size=size, clock=clock)
    assert planned == done
    assert live <= refs(store) == before - set(done.refs)


def recorded(store: Store, conversation: str, *rows: dict[str, object]) -> None:
    for row in rows:
        store.record(conversation, json.dumps(row))


def test_records_go_when_their_conversation_ended_long_ago_and_those_of_other_programs_stay(
    store: Store, clock: Clock
) -> None:
    recorded(store, "ended", {"at": int(clock.now)}, {"at": int(clock.now) + 1, "pin": ["text", "words"]})
    store.record("ended", "not ours")
    recorded(store, "theirs", {"n": 1})
    recorded(store, "goes on", {"at": int(clock.now)}, {"at": int(clock.now) + 31 * DAY, "seen": True})
    clock.now += 31 * DAY
    assert collect(store, dry_run=True, clock=clock).records == 2
    assert store.recorded("ended") != ["not ours"]
    assert collect(store, clock=clock).records == 2
    assert (store.recorded("ended"), store.recorded("theirs")) == (["not ours"], ['{"n": 1}'])
    assert len(store.recorded("goes on")) == 2
    assert collect(store, clock=clock).records == 0


def test_what_an_undone_folding_hid_stays_as_long_as_it_may_be_redone(store: Store, clock: Clock) -> None:
    hidden, named = put(store, "hidden" * 1000), put(store, "named" * 1000)
    fold = stub("a", hidden, f"[folded; ref={named}]")
    folding = put(store, serialise_folding([fold], ([], [])))
    facts = {"before": 9, "after": 1, "limit": 9, "exact": True, "meter": "bytes"}
    store.record("c", build_row(facts, folding, [fold], clock.now))
    store.record("c", json.dumps({"at": int(clock.now), "undo": folding}))
    clock.now += 20 * DAY
    recorded(store, "c", {"at": int(clock.now), "seen": True})
    clock.now += 20 * DAY
    assert collect(store, clock=clock).refs == ()
    assert refs(store) == {hidden, named, folding}
    clock.now += 20 * DAY
    assert set(collect(store, clock=clock).refs) == {hidden, named, folding}
    assert store.conversations() == []
