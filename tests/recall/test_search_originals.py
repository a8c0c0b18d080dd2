from __future__ import annotations

from pathlib import Path

from yohaku.core.originals import ref_of
from yohaku.recall.index import fill
from yohaku.recall.search_originals import SearchResult, search
from yohaku.stores.memory import MemoryStore
from yohaku.stores.sqlite import SQLiteStore


def test_what_is_kept_in_parts_is_found_once_and_within_what_it_is_part_of(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    parts = [f"part {number}\n余白 needle {number}" for number in range(5)]
    wholes = []
    for count in range(2, 6):
        wholes.append("\n\n".join(parts[:count]))
        store.put_joined(ref_of(wholes[-1]), parts[:count])
    expected = {(ref_of(part), 2) for part in parts}
    for learned in (False, True):
        if learned:
            assert fill(store, 10.0)
        for words in ("needle", "余白"):
            found = search(store, words)
            assert {(hit.ref, hit.number) for hit in found.hits} == expected and len(found.hits) == 5
            within = search(store, words, refs={ref_of(wholes[0])})
            assert {hit.ref for hit in within.hits} == {ref_of(part) for part in parts[:2]}
    store.close()


def test_a_word_with_half_of_a_surrogate_pair_is_looked_for_like_any_other() -> None:
    store = MemoryStore()
    store.put(ref_of("plain"), "plain")
    for half in ("\ud800", "\udcff"):
        assert search(store, half) == search(store, f"plain {half}") == SearchResult((), complete=True)
