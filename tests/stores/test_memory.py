from __future__ import annotations

import pytest

from yohaku.core.errors import UnknownRef
from yohaku.core.fold import Gist, Slot, Stub
from yohaku.stores import Store
from yohaku.stores.memory import MemoryStore


def stub(key: str, item: int = 0, text: str = "[folded]") -> Stub:
    return Stub(key, Slot("result", item, 0), text, "ref", "result", "why", 100, 10)


def gist(key: str, text: str = "[gist]") -> Gist:
    return Gist(key, text, "ref", "before", "why", 100, 10)


def test_it_is_a_store() -> None:
    store: Store = MemoryStore()
    assert store.folds(["key"]) == []


def test_what_was_put_is_given_back_text_or_bytes() -> None:
    store = MemoryStore()
    store.put("aaa", "日本語\ud800")
    store.put("bbb", b"\0\xff")
    assert (store.get("aaa"), store.get("bbb")) == ("日本語\ud800", b"\0\xff")


def test_putting_the_same_again_changes_nothing() -> None:
    store = MemoryStore()
    first = "".join(["orig", "inal"])
    store.put("aaa", first)
    store.put("aaa", "original")
    assert store.get("aaa") is first


def test_an_unknown_ref_is_an_error_that_names_it() -> None:
    with pytest.raises(UnknownRef) as raised:
        MemoryStore().get("aaa")
    assert (str(raised.value), raised.value.facts) == ("unknown ref 'aaa'", {"ref": "aaa"})


def test_folds_are_found_by_the_keys_they_stand_on_and_no_others() -> None:
    store = MemoryStore()
    store.keep([stub("a"), stub("b"), gist("b"), stub("a", 1)])
    assert store.folds(iter(["b", "unknown", "a"])) == [stub("b"), gist("b"), stub("a"), stub("a", 1)]
    assert store.folds([]) == []


def test_a_later_fold_takes_the_place_of_an_earlier_one_in_the_same_slot() -> None:
    store = MemoryStore()
    store.keep([stub("a"), gist("a"), stub("a", 1)])
    store.keep([stub("a", text="[shorter]"), gist("a", "[newer]")])
    assert store.folds(["a"]) == [stub("a", text="[shorter]"), gist("a", "[newer]"), stub("a", 1)]


def test_its_version_grows_with_what_is_kept_and_not_with_what_is_put() -> None:
    store = MemoryStore()
    seen = [store.version]
    for folds in ([stub("a")], [stub("a")], [gist("b")]):
        store.put("aaa", "original")
        store.folds(["a"])
        assert store.version == seen[-1]
        store.keep(folds)
        seen.append(store.version)
    assert seen == sorted(set(seen))


def test_two_stores_share_nothing() -> None:
    one, other = MemoryStore(), MemoryStore()
    one.keep([stub("a")])
    one.put("aaa", "original")
    assert other.folds(["a"]) == []
    with pytest.raises(UnknownRef):
        other.get("aaa")
