"""The index of a search spares looks and changes nothing: what is found with it is what is found without."""

from __future__ import annotations

import multiprocessing
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yohaku.core.originals import ref_of
from yohaku.recall import SearchHit, SearchResult, search
from yohaku.recall import index as indexing
from yohaku.recall import search_originals as wording
from yohaku.recall.index import fill, index_path, look_up
from yohaku.stores import OpenedOriginal, Store
from yohaku.stores.fallback import FallbackStore
from yohaku.stores.memory import MemoryStore
from yohaku.stores.sqlite import SQLiteStore

LETTERS = "abAB _.-→予算案の検索ßẞſKkKςσΣİıé\u0301\n\r'\"*\U0001f600"


class Counting(SQLiteStore):
    """Counts the originals that are opened."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.opened: list[str] = []

    def open(self, ref: str, line: int = 0) -> OpenedOriginal:
        self.opened.append(ref)
        return super().open(ref, line)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Counting]:
    made = Counting(tmp_path / "store.db")
    yield made
    made.close()


def put(store: Store, *originals: str | bytes) -> list[str]:
    pairs = [(ref_of(original), original) for original in originals]
    store.put_all(pairs)
    return [ref for ref, _ in pairs]


def some(number: int) -> str:
    return "".join(f"{line} of {number}: nothing to see, 平穏無事\n" for line in range(20))


def after(checks: int) -> Callable[[], bool]:
    """Says stop from the so-many-eth time on that it is asked."""
    asked = iter(range(10**9))
    return lambda: next(asked) >= checks


def looked(store: Store, words: str) -> SearchResult:
    """What is found without an index."""
    memory = MemoryStore()
    for kept in reversed(list(store.kept())):
        memory.put(kept.ref, store.get(kept.ref))
    return search(memory, words, 1000)


def found(store: Store, words: str) -> list[SearchHit]:
    return sorted(search(store, words, 1000, learn=False).hits)


texts = st.lists(st.text(st.sampled_from(LETTERS), max_size=40), min_size=1, max_size=6)
asked = st.text(st.sampled_from(LETTERS.replace("\n", "")), min_size=1, max_size=6)


@given(texts, asked)
@example(["xſx", "a", "b", "c"], "S")
@example(["予算", "案", "の", "検"], "予算")
@example(["Straẞe", "a", "b", "c"], "straße")
def test_the_same_lines_are_found_with_an_index_as_without(originals: list[str], words: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "store.db")
        put(store, *originals, *map(some, range(8)))
        assert fill(store, 60)
        assert found(store, words) == sorted(looked(store, words).hits)
        store.close()


@pytest.mark.parametrize("words", ["needle", "針", "針山", "NEEDLE 針山", "nee", "x-needle", "a.b"])
def test_the_same_lines_are_found_however_far_it_is_filled(store: Counting, words: str) -> None:
    long = "".join(f"{line} all is well{' x-needle 針山 a.b' if line % 9000 == 17 else ''}\n" for line in range(30_000))
    put(store, long, long + "no x-needle 針山 a.b at the end", *map(some, range(12)), "a needle\n", b"\0needle", "針山")
    expected = sorted(looked(store, words).hits)
    assert expected
    done, stages = False, 0
    while not done:
        assert found(store, words) == expected
        done = fill(store, 60, after(2 + stages % 6))
        stages += 1
    assert found(store, words) == expected and stages > 6


def test_what_is_known_is_not_opened_unless_it_may_hold_the_words(store: Counting) -> None:
    ref, *_ = put(store, "the budget of 予算案\n", *map(some, range(50)))
    assert fill(store, 60)
    for words in ("budget", "予算案", "予算", "UDGE", "the budget"):
        store.opened.clear()
        assert search(store, words) == SearchResult((SearchHit(ref, 1, "the budget of 予算案"),), complete=True)
        assert store.opened == [ref], words
    store.opened.clear()
    assert search(store, "nowhere 無") == SearchResult((), complete=True) and store.opened == []
    later, *_ = put(store, "budget, put later")
    assert sorted(search(store, "budget").hits) == sorted(
        [SearchHit(ref, 1, "the budget of 予算案"), SearchHit(later, 1, "budget, put later")]
    )


def test_a_word_across_the_chunks_of_a_long_line_is_found(store: Counting) -> None:
    line = "x" * 65_530 + "boundary境界線" + "y" * 300_000
    (ref,) = put(store, f"first\n{line}\nlast boundary\n")
    put(store, *map(some, range(20)))
    assert fill(store, 60)
    assert [hit[:2] for hit in found(store, "boundary境界線")] == [(ref, 2)]
    assert [hit[:2] for hit in found(store, "boundary")] == [(ref, 2), (ref, 3)]


def test_a_line_too_long_for_a_block_is_looked_through(store: Counting) -> None:
    text = "first needle\n" + "漢" * 900_000 + "needle" + "y" * 2_000_000 + "\nneedle\n"
    (ref,) = put(store, text)
    put(store, *map(some, range(20)))
    assert fill(store, 60)
    known = look_up(store, ["needle"])
    assert known is not None and known.rest[ref] == 1 and known.blocks == {ref: [0]}
    assert [hit[:2] for hit in found(store, "needle")] == [(ref, 1), (ref, 2), (ref, 3)]
    assert fill(store, 60)


def test_what_was_collected_is_neither_found_nor_known_any_more(store: Counting) -> None:
    refs = put(store, *(f"needle {number}\n{some(number)}" for number in range(20)))
    put(store, *map(some, range(20, 60)))
    assert fill(store, 60) and len(found(store, "needle")) == 20
    store.drop(refs[:15], 1 << 40)
    assert {hit.ref for hit in found(store, "needle")} == set(refs[15:])
    assert fill(store, 60)
    known = look_up(store, ["needle"])
    assert known is not None and known.blocks.keys() == set(refs[15:])
    assert known.rest.keys() == {kept.ref for kept in store.kept()}


def test_it_begins_anew_when_most_of_what_it_knows_is_gone(store: Counting, tmp_path: Path) -> None:
    refs = put(store, *(f"{number} 削除 " + "".join(map(chr, range(0x4E00, 0x5800))) for number in range(40)))
    put(store, *map(some, range(10)))
    assert fill(store, 60)
    before = letters(tmp_path)
    store.drop(refs, 1 << 40)
    assert fill(store, 60)
    assert "削除 " in before and "削除 " not in letters(tmp_path) and len(found(store, "平穏無事")) == 200


def letters(folder: Path) -> set[str]:
    database = sqlite3.connect(folder / "store.db.words")
    terms = {term for (term,) in database.execute("SELECT term FROM terms")}
    database.close()
    return terms


def test_only_the_newest_are_known_and_the_others_found_all_the_same(
    store: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, *(f"needle {number}\n{some(number)}" for number in range(20)))
    kept = list(store.kept())
    monkeypatch.setattr(indexing, "MAX_INDEXED_BYTES", sum(each.stored for each in kept[:8]))
    assert fill(store, 60)
    known = look_up(store, ["needle 1"])
    assert known is None or known.rest.keys() == {each.ref for each in kept[:8]}
    known = look_up(store, ["平穏無事", "nowhere"])
    assert known is not None and known.rest.keys() == {each.ref for each in kept[:8]}
    assert len(found(store, "needle")) == 20


def test_a_tenant_is_told_of_its_own_only(store: Counting) -> None:
    one, other = store.of("one"), store.of("other")
    (mine,) = put(one, "needle of one\n")
    (theirs,) = put(other, "needle of another\n")
    shared = some(0)
    for each in (one, other):
        put(each, shared, *map(some, range(1, 9)))
        assert fill(each, 60)
    known = look_up(one, ["needle"])
    assert known is not None and known.blocks == {mine: [0]} and theirs not in known.rest
    assert found(one, "needle") == [SearchHit(mine, 1, "needle of one")]
    assert found(other, "needle") == [SearchHit(theirs, 1, "needle of another")]
    assert found(store, "needle") == []
    one.drop([mine], 1 << 40)
    assert fill(one, 60) and len(found(other, "平穏無事")) == 180


def test_a_damaged_index_is_made_anew_and_changes_nothing(store: Counting, tmp_path: Path) -> None:
    put(store, "needle\n", *map(some, range(300)))
    assert fill(store, 60)
    path = tmp_path / "store.db.words"
    data = path.read_bytes()
    path.write_bytes(data[:100] + bytes(255 - byte for byte in data[100:]))
    assert len(found(store, "needle")) == 1
    while not fill(store, 60):
        pass
    assert look_up(store, ["needle"]) is not None and len(found(store, "needle")) == 1


def test_an_index_of_another_version_is_made_anew(store: Counting, tmp_path: Path) -> None:
    put(store, "needle\n", *map(some, range(5)))
    assert fill(store, 60)
    database = sqlite3.connect(tmp_path / "store.db.words")
    database.execute("PRAGMA user_version = 3")
    database.close()
    assert look_up(store, ["needle"]) is None and len(found(store, "needle")) == 1
    assert fill(store, 60) and look_up(store, ["needle"]) is not None


@pytest.mark.parametrize("content", [b"notes of somebody\n" * 500, b""])
def test_a_file_that_is_no_index_is_left_alone(store: Counting, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "store.db.words"
    path.write_bytes(content)
    put(store, "needle\n", *map(some, range(5)))
    assert fill(store, 60) == (not content)
    assert len(found(store, "needle")) == 1
    assert not content or path.read_bytes() == content


def test_a_database_of_somebody_else_is_left_alone(store: Counting, tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "store.db.words")
    database.execute("CREATE TABLE theirs (a)")
    database.close()
    content = (tmp_path / "store.db.words").read_bytes()
    put(store, "needle\n", *map(some, range(5)))
    assert not fill(store, 60) and len(found(store, "needle")) == 1
    assert (tmp_path / "store.db.words").read_bytes() == content


def test_only_the_owner_can_read_it(store: Counting, tmp_path: Path) -> None:
    put(store, "text")
    fill(store, 60)
    files = list(tmp_path.glob("store.db.words*"))
    assert files and all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)


def test_a_search_makes_one_only_where_looking_takes_long(
    store: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, "needle\n", *map(some, range(5)))
    monkeypatch.setattr(wording, "MIN_SECONDS_FOR_INDEX", 60.0)
    search(store, "needle")
    assert not (tmp_path / "store.db.words").exists()
    monkeypatch.setattr(wording, "MIN_SECONDS_FOR_INDEX", 0.0)
    for _ in range(100):  # a little each time
        search(store, "needle")
    known = look_up(store, ["needle"])
    assert known is not None and set(known.rest.values()) == {None}


def test_stores_that_are_no_file_have_none_and_a_sheltered_one_has_that_of_its_store(
    store: Counting, tmp_path: Path
) -> None:
    assert index_path(MemoryStore()) is None and index_path(FallbackStore(MemoryStore())) is None
    assert index_path(FallbackStore(store)) == index_path(store) == (tmp_path / "store.db.words", "")
    assert not fill(MemoryStore(), 60) and look_up(MemoryStore(), ["needle"]) is None


def _fill(path: Path) -> None:
    store = SQLiteStore(path)
    for _ in range(200):
        if fill(store, 60, after(20)):
            break
    store.close()


@pytest.mark.slow
def test_many_processes_fill_it_at_once_and_nothing_is_known_twice(store: Counting, tmp_path: Path) -> None:
    put(store, "needle\n", *map(some, range(400)))
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(tmp_path / "store.db",)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert fill(store, 60)
    database = sqlite3.connect(tmp_path / "store.db.words")
    twice = database.execute("SELECT original, line FROM blocks GROUP BY 1, 2 HAVING count(*) > 1").fetchall()
    assert twice == [] and database.execute("SELECT count(*) FROM blocks").fetchone() == (401,)
    database.close()
    assert len(found(store, "needle")) == 1


def test_a_search_that_runs_out_of_time_says_so(store: Counting) -> None:
    put(store, *map(some, range(5)))
    cut = search(store, "nowhere", seconds=0)
    assert cut == SearchResult((), complete=False, late=True)
    assert str(cut).startswith("[the time ran out before everything was looked through")
    assert str(search(store, "nothing", limit=1)).endswith("[there may be more: raise the limit, or give more words]")
    assert str(search(store, "nowhere")) == "[no line that is kept holds all of these words]"


def test_a_search_may_be_kept_to_some_originals(store: Counting) -> None:
    _, second = put(store, "needle one\n", "needle two\n")
    put(store, *map(some, range(9)))
    for _ in range(2):
        assert search(store, "needle", refs={second}).hits == (SearchHit(second, 1, "needle two"),)
        assert search(store, "needle", refs=()) == SearchResult((), complete=True)
        fill(store, 60)
