from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.stores.conformance import Clock, Conformance, gist, stub

from yohaku.core.errors import UnknownRef
from yohaku.stores import Store
from yohaku.stores.memory import MemoryStore


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> MemoryStore:
    return MemoryStore(clock)


@pytest.fixture
def again(store: MemoryStore) -> Callable[[], Store]:
    """It cannot be opened twice: what was opened is given again."""
    return lambda: store


class TestMemory(Conformance):
    pass


def test_it_gives_the_very_thing_that_was_put_first() -> None:
    store = MemoryStore()
    first = "".join(["orig", "inal"])
    store.put("aaa", first)
    store.put("aaa", "original")
    assert store.get("aaa") is first


def test_an_unknown_ref_is_an_error_that_names_it() -> None:
    with pytest.raises(UnknownRef) as raised:
        MemoryStore().get("aaa")
    assert (str(raised.value), raised.value.facts) == ("unknown ref 'aaa'", {"ref": "aaa"})


def test_folds_on_one_key_keep_their_order() -> None:
    store = MemoryStore()
    store.keep([stub("a"), gist("a"), stub("a", 1)])
    store.keep([gist("a", "[newer]")])
    assert store.folds(["a"]) == [stub("a"), gist("a", "[newer]"), stub("a", 1)]


def test_two_stores_share_nothing() -> None:
    one, other = MemoryStore(), MemoryStore()
    one.keep([stub("a")])
    one.put("aaa", "original")
    assert other.folds(["a"]) == []
    with pytest.raises(UnknownRef):
        other.get("aaa")
