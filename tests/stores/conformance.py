"""What every store must do, whatever it is made of. Each test file of a store takes these in with its own `store`."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from yohaku.core.errors import UnknownRef
from yohaku.core.folds import Fold, Gist, MadeFor, Stub
from yohaku.core.originals import Slot, ref_of
from yohaku.session.session import Session
from yohaku.stores import DAY, HOUR, Original, Store, StoredBytes, StoredOriginal
from yohaku.stores.chunks import CHUNK_BYTES

LONG = "".join(f"line {number} of a long output\n" for number in range(20_000))


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


def stub(key: str, item: int = 0, text: str = "[folded]", ref: str = "aaaaaaaaaaaa") -> Stub:
    return Stub(key, Slot("result", item, 0), text, ref, "result", "why", 100, 10)


def gist(key: str, text: str = "[gist]", ref: str = "bbbbbbbbbbbb") -> Gist:
    return Gist(key, text, ref, "before", "why", 100, 10, ack="I see.")


def put(store: Store, original: str | bytes) -> str:
    ref = ref_of(original)
    store.put(ref, original)
    return ref


def chat(turns: int) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = [{"role": "system", "content": "Be brief. 短く。"}]
    for number in range(turns):
        entries.append({"role": "user", "content": f"Task {number}: read the log. ログを読んで。"})
        entries.append({"role": "assistant", "content": f"Log {number}: " + f"all is well {number}; " * 60})
    return entries


def together(folds: Iterable[Fold]) -> list[Fold]:
    """Folds on one key have no order among them."""
    return sorted(folds, key=repr)


class Conformance:
    """`store` is empty, with a clock that stands still; `again` opens the same store once more."""

    def test_it_is_a_store(self, store: Store) -> None:
        found: Store = store
        assert (found.folds(["key"]), found.version, list(found.kept())) == ([], 0, [])

    @pytest.mark.parametrize(
        "original",
        ["", "one line", "日本語\n", "\ud800 alone", "a\0b", "\r\n\r\n", "x" * 200_000, LONG, "終\n" * 100_000],
        ids=["empty", "line", "japanese", "surrogate", "nul", "returns", "no feeds", "long", "long japanese"],
    )
    def test_what_was_put_is_given_back(self, store: Store, again: Callable[[], Store], original: str) -> None:
        ref = put(store, original)
        assert store.get(ref) == original
        assert again().get(ref) == original

    def test_bytes_come_back_as_bytes(self, store: Store) -> None:
        image = b"\x89PNG\r\n\x1a\n" + os.urandom(200_000)
        for original in (image, b"", b"\xff\xfe"):
            assert store.get(put(store, original)) == original

    @settings(max_examples=30, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.one_of(st.text(), st.binary(), st.just("行\n" * 30_000), st.just(b"\n\0" * 50_000))))
    def test_any_originals_come_back_as_they_were(self, store: Store, originals: list[str | bytes]) -> None:
        by_ref = {ref_of(original): original for original in reversed(originals)}
        other = store.of(os.urandom(8).hex())
        other.put_all((ref_of(original), original) for original in originals)
        assert {ref: other.get(ref) for ref in by_ref} == by_ref

    def test_putting_the_same_again_keeps_one(self, store: Store, again: Callable[[], Store]) -> None:
        for original in (LONG, "short"):
            ref = put(store, original)
            put(again(), original)
            assert store.put_stream([original]).ref == ref
            assert store.put_stream(io.BytesIO(original.encode())).ref == ref
        assert sorted(kept.ref for kept in store.kept()) == sorted(map(ref_of, (LONG, "short")))

    @pytest.mark.parametrize(
        "original",
        ["", "a", "a\n", LONG, "漢" * 100_000, "x\n" * 99_999 + "y" * 99_999],
        ids=["empty", "letter", "line", "long", "no feeds", "long last line"],
    )
    def test_a_stream_gives_the_ref_size_and_lines_of_what_it_held(self, store: Store, original: str) -> None:
        data = original.encode()
        expected = Original(ref_of(original), len(data), len(original.split("\n")) - original.endswith("\n"))
        if not original:
            expected = expected._replace(lines=0)
        assert store.put_stream(data[at : at + 7777] for at in range(0, len(data), 7777)) == expected
        assert store.put_stream(io.BytesIO(data)) == expected
        assert store.put_stream(original.splitlines(keepends=True)) == expected
        assert store.about(expected.ref) == expected
        assert store.get(expected.ref) == original

    def test_an_original_in_parts_reads_as_the_whole(self, store: Store, again: Callable[[], Store]) -> None:
        parts = [LONG + "end", "\n", "日本\n\ud800", "x" * 3 * CHUNK_BYTES, "", LONG, "last\0line"]
        whole = "\n\n".join(parts)
        ref = ref_of(whole)
        store.put_joined(ref, parts)
        for each in (store, again()):
            assert each.get(ref) == whole
            lines = whole.split("\n")
            assert each.about(ref) == Original(ref, len(whole.encode("utf-8", "surrogatepass")), len(lines))
            assert each.parts(ref) == tuple(map(ref_of, parts))
            for line in (0, 1, 1234, 20_000, 20_001, 20_002, 20_003, 20_005, 20_009, 30_000, len(lines) - 1):
                pieces = list(each.open(ref, line).pieces)
                rest = b"".join(piece.data for piece in pieces).decode("utf-8", "surrogatepass")
                assert whole.endswith(rest) and whole.removesuffix(rest).count("\n") == pieces[0].line <= line
                assert rest.split("\n")[line - pieces[0].line :] == lines[line:]
                assert sum(len(text) for text in lines[pieces[0].line : line]) < 4 * CHUNK_BYTES
                feeds = pieces[0].line
                for piece in pieces:
                    assert piece == StoredBytes(feeds, piece.data) and 0 < len(piece.data) <= CHUNK_BYTES
                    feeds += piece.data.count(b"\n")
        assert {kept.ref: kept.joined for kept in store.kept()} == {ref: True} | dict.fromkeys(
            map(ref_of, parts), False
        )
        with pytest.raises(UnknownRef):
            store.of("other").get(ref)

    def test_parts_that_are_shared_are_kept_once(self, store: Store) -> None:
        parts = [os.urandom(20_000).hex() for _ in range(20)]
        for count in range(2, 21):
            store.put_joined(ref_of("\n\n".join(parts[:count])), parts[:count])
        assert all(store.get(ref_of("\n\n".join(parts[:n]))) == "\n\n".join(parts[:n]) for n in range(2, 21))
        assert sum(kept.stored for kept in store.kept()) < 1.2 * sum(map(len, parts))
        assert store.parts(ref_of(parts[0])) == store.parts("aaaaaaaaaaaa") == ()

    def test_a_part_that_is_in_parts_itself_is_taken_apart(self, store: Store) -> None:
        for first, second, third in (("a", "b", "c"), (LONG, "x\n", LONG + LONG)):
            inner = f"{first}\n\n{second}"
            whole = f"{inner}\n\n{third}"
            store.put_joined(ref_of(inner), [first, second])
            store.put_joined(ref_of(whole), [inner, third])
            assert store.get(ref_of(whole)) == whole and store.get(ref_of(inner)) == inner
            assert store.parts(ref_of(whole)) == (ref_of(first), ref_of(second), ref_of(third))

    def test_an_original_that_is_there_whole_is_not_put_again_in_parts_nor_the_other_way(self, store: Store) -> None:
        for parts in (["a", "b"], [LONG, LONG]):
            whole = "\n\n".join(parts)
            for tenant, acts in (("one", (0, 1)), ("two", (1, 0)), ("three", (1, 1))):
                mine = store.of(tenant)
                for act in acts:
                    put(mine, whole) if act else mine.put_joined(ref_of(whole), parts)
                    assert mine.get(ref_of(whole)) == whole
                    assert mine.about(ref_of(whole)).size == len(whole)

    def test_what_is_joined_is_dropped_as_anything_is_and_its_parts_are_not(self, store: Store, clock: Clock) -> None:
        store.put_joined(ref_of("a\n\nb"), ["a", "b"])
        clock.now += 5 * DAY
        assert store.drop([ref_of("a\n\nb")], int(clock.now)) == 1
        assert {kept.ref for kept in store.kept()} == {ref_of("a"), ref_of("b")}
        with pytest.raises(UnknownRef):
            store.get(ref_of("a\n\nb"))
        store.put_joined(ref_of("a\n\nb"), ["a", "b"])
        assert store.drop([ref_of("a"), ref_of("b")], int(clock.now)) == 0, "they were put again with it"
        store.drop([ref_of("a")], int(clock.now) + 1)
        with pytest.raises(UnknownRef):
            store.get(ref_of("a\n\nb"))

    def test_a_stream_that_breaks_off_leaves_nothing(self, store: Store) -> None:
        def broken() -> Iterable[bytes]:
            yield LONG.encode()
            raise RuntimeError("the pipe broke")

        with pytest.raises(RuntimeError, match="the pipe broke"):
            store.put_stream(broken())
        assert list(store.kept()) == []

    def test_a_stream_that_is_no_text_is_not_changed(self, store: Store) -> None:
        found = store.put_stream([b"caf\xe9\n"])
        assert store.get(found.ref) == b"caf\xe9\n"

    def test_what_is_known_of_an_original(self, store: Store) -> None:
        originals: dict[str | bytes, Original] = {
            "日本\nab": Original(ref_of("日本\nab"), 9, 2),
            b"\0\n": Original(ref_of(b"\0\n"), 2, 1, binary=True),
            LONG: Original(ref_of(LONG), len(LONG), 20_000),
        }
        assert [store.about(put(store, original)) for original in originals] == list(originals.values())

    def test_pieces_are_the_original_in_order_with_the_lines_before_them(self, store: Store) -> None:
        original = LONG + "x" * 3 * CHUNK_BYTES + "\n" + LONG
        ref = put(store, original)
        pieces = list(store.open(ref).pieces)
        data = b"".join(piece.data for piece in pieces)
        assert data == original.encode()
        feeds = 0
        for piece in pieces:
            assert piece == StoredBytes(feeds, piece.data) and 0 < len(piece.data) <= CHUNK_BYTES
            feeds += piece.data.count(b"\n")

    @pytest.mark.parametrize("line", [0, 1, 1234, 19_999, 20_000, 20_001, 25_000, 40_000, 99_999])
    def test_pieces_from_a_line_begin_where_that_line_does(self, store: Store, line: int) -> None:
        original = LONG + "x" * 3 * CHUNK_BYTES + "\n" + LONG
        ref = put(store, original)
        pieces = list(store.open(ref, line).pieces)
        rest = b"".join(piece.data for piece in pieces)
        skipped = original.encode().removesuffix(rest)
        assert skipped.count(b"\n") == pieces[0].line <= line
        if line <= original.count("\n"):
            assert original.encode().split(b"\n")[line:] == rest.split(b"\n")[line - pieces[0].line :]
            # and no more than a piece too much was opened
            assert len(rest) - len(b"\n".join(original.encode().split(b"\n")[line:])) < CHUNK_BYTES

    @pytest.mark.parametrize(
        "ref",
        [
            "",
            "a",
            "aaaaaaaaaaaa",
            "aaaaaaaaaaaaa",
            "AAAAAAAAAAAA",
            "../../../etc",
            "aaaaaaaaaaa\x00",
            "aaaaaaaaaaa1",
            "%",
            "aaaa_aaaa_aa",
            "' OR 1=1 --",
            "日本語日本語日本語日本語",
            "a" * 100000,
            "aaaaaaaaaaaa\n",
            "�",
        ],
        ids=lambda ref: ascii(ref[:20]),
    )
    def test_a_ref_that_is_none_is_unknown(self, store: Store, ref: str) -> None:
        put(store, "something")
        for ask in (store.get, store.about, store.open):
            with pytest.raises(UnknownRef):
                ask(ref)

    def test_a_tenant_sees_only_its_own(self, store: Store, again: Callable[[], Store]) -> None:
        names = ["one", "two", "one:o", "ONE", "a/b", "%", "{x}", "日本", "a\0b", "\ud800", "*"]
        for name in names:
            tenant = store.of(name)
            assert (tenant.folds(["k"]), tenant.recorded("c"), tenant.version, list(tenant.kept())) == ([], [], 0, [])
            put(tenant, f"of {name!r}")
            tenant.keep([stub("k", text=repr(name))])
            tenant.record("c", repr(name))
        for name in names:
            tenant = again().of(name)
            assert tenant.get(ref_of(f"of {name!r}")) == f"of {name!r}"
            assert tenant.folds(["k"]) == [stub("k", text=repr(name))]
            assert (tenant.recorded("c"), tenant.conversations(), tenant.version) == ([repr(name)], ["c"], 1)
            for other in [other for other in names if other != name]:
                for ask in (tenant.get, tenant.about, tenant.open):
                    with pytest.raises(UnknownRef):
                        ask(ref_of(f"of {other!r}"))
        assert (store.folds(["k"]), store.conversations(), list(store.kept())) == ([], [], [])

    def test_tenants_are_listed_by_what_is_kept_for_them(self, store: Store, again: Callable[[], Store]) -> None:
        assert store.tenants() == []
        put(store.of("a/b 日本"), "one")
        store.of("two").keep([stub("k")])
        store.of("three:refs").record("c", "{}")
        store.of("empty")
        assert again().tenants() == sorted(["a/b 日本", "two", "three:refs"])
        put(store, "for nobody")
        assert again().tenants() == sorted(["", "a/b 日本", "two", "three:refs"])

    def test_one_tenant_cannot_drop_or_expire_what_is_anothers(self, store: Store, clock: Clock) -> None:
        one, two = store.of("one"), store.of("two")
        for tenant in (one, two):
            put(tenant, "the same")
            tenant.keep([stub("k")])
        clock.now += 9 * DAY
        assert (one.drop([ref_of("the same")], int(clock.now)), one.expire(int(clock.now))) == (1, 1)
        assert (two.get(ref_of("the same")), two.folds(["k"])) == ("the same", [stub("k")])

    def test_folds_are_found_by_the_keys_they_stand_on_and_no_others(
        self, store: Store, again: Callable[[], Store]
    ) -> None:
        store.keep([stub("a"), stub("b"), gist("b"), stub("a", 1)])
        for each in (store, again()):
            found = each.folds(iter(["b", "unknown", "a"]))
            assert [fold.key for fold in found] == ["b", "b", "a", "a"]
            assert together(found[:2]) == together([stub("b"), gist("b")])
            assert together(found[2:]) == together([stub("a"), stub("a", 1)])
            assert each.folds([]) == []

    def test_many_keys_are_asked_for_at_once(self, store: Store) -> None:
        store.keep([stub(f"key{number}", text=f"[{number}]") for number in range(0, 20_000, 7)])
        found = store.folds(f"key{number}" for number in range(20_000))
        assert found == [stub(f"key{number}", text=f"[{number}]") for number in range(0, 20_000, 7)]

    def test_any_fold_comes_back_as_it_was(self, store: Store) -> None:
        folds: list[Fold] = [
            Stub("a", Slot("argument", 3, "名前\0\"'"), "text \ud800\0\n", "r", "what", "なぜ", 1, 0, kind="preview"),
            Stub("b", Slot("prompt", 0), "", "", "", "", 0, 0),
            Gist("c", "gist\ud800", "r", "w", "y", 1 << 40, 2, kind="summary", ack="はい", start="b"),
        ]
        store.keep(folds)
        assert store.folds("abc") == folds

    def test_a_later_fold_takes_the_place_of_an_earlier_one_in_the_same_slot(self, store: Store) -> None:
        store.keep([stub("a"), gist("a"), stub("a", 1)])
        store.keep([stub("a", text="[shorter]"), gist("a", "[newer]")])
        assert together(store.folds(["a"])) == together(
            [stub("a", text="[shorter]"), gist("a", "[newer]"), stub("a", 1)]
        )

    def test_a_fold_that_is_forgotten_is_gone_and_its_original_is_not(self, store: Store) -> None:
        ref = put(store, "hidden")
        store.keep([stub("a", ref=ref), stub("a", 1), gist("b")])
        before = store.version
        store.forget([stub("a", ref=ref), gist("b"), stub("never")])
        assert store.version != before
        assert (store.folds(["a", "b"]), store.get(ref)) == ([stub("a", 1)], "hidden")

    def test_its_version_grows_with_what_is_kept_and_not_with_what_is_put(
        self, store: Store, again: Callable[[], Store]
    ) -> None:
        other = again()
        seen = [store.version]
        for folds in ([stub("a")], [stub("a")], [gist("b")]):
            put(store, "original")
            store.folds(["a"])
            store.record("c", "{}")
            assert store.version == other.version == seen[-1]
            other.keep(folds)
            seen.append(store.version)
        assert seen == sorted(set(seen))

    def test_rows_are_recorded_in_order_by_conversation(self, store: Store, again: Callable[[], Store]) -> None:
        rows = [f'{{"n": {number}, "text": "日本\\u0000\ud800"}}' for number in range(50)]
        for number, row in enumerate(rows):
            (store if number % 2 else again()).record("one", row)
            store.record("two/\0\ud800", row)
        assert store.recorded("one") == store.recorded("two/\0\ud800") == rows
        assert (store.recorded("three"), sorted(store.conversations())) == ([], ["one", "two/\0\ud800"])

    def test_rows_are_erased_each_once_and_a_conversation_without_any_is_gone(
        self, store: Store, again: Callable[[], Store]
    ) -> None:
        rows = ["one", "two\0\ud800", "one", "three"]
        for row in rows:
            store.record("c", row)
            store.of("other").record("c", row)
        store.record("d", "one")
        store.erase("c", ["one", "unknown", "two\0\ud800"])
        assert (store.recorded("c"), again().recorded("d")) == (["one", "three"], ["one"])
        store.record("c", "late")
        store.erase("c", rows)
        assert (store.recorded("c"), store.conversations()) == (["late"], ["c", "d"])
        store.erase("c", ["late"])
        store.erase("never", ["late"])
        assert (store.recorded("c"), again().conversations()) == ([], ["d"])
        assert store.of("other").recorded("c") == rows

    def test_a_version_grows_though_nothing_is_kept(self, store: Store, again: Callable[[], Store]) -> None:
        before = store.version
        again().keep([])
        assert store.version == before + 1

    def test_what_is_kept_is_listed_the_newest_first(self, store: Store, clock: Clock) -> None:
        expected = []
        for number in range(5):
            ref = put(store, f"{number}" * 1000)
            expected.insert(0, (ref, int(clock.now)))
            clock.now += 2 * HOUR
        assert [(kept.ref, kept.at) for kept in store.kept()] == expected
        put(store, "0" * 1000)
        assert next(iter(store.kept()))._replace(stored=0) == StoredOriginal(ref_of("0" * 1000), 0, int(clock.now))
        assert all(kept.stored > 0 for kept in store.kept())

    def test_only_what_was_not_put_again_is_dropped(self, store: Store, clock: Clock) -> None:
        refs = [put(store, original) for original in (LONG, "old", "young")]
        clock.now += 5 * DAY
        put(store, "young")
        assert store.drop([*refs, "zzzzzzzzzzzz"], int(clock.now) - DAY) == 2
        assert [kept.ref for kept in store.kept()] == [ref_of("young")]
        with pytest.raises(UnknownRef):
            store.get(ref_of(LONG))
        assert store.get(put(store, LONG)) == LONG

    def test_a_fold_stands_as_long_as_it_is_kept_or_found(self, store: Store, clock: Clock) -> None:
        store.keep([stub("found"), stub("old"), gist("old")])
        clock.now += 5 * DAY
        store.keep([stub("kept")])
        assert store.folds(["found"]) == [stub("found")]
        since = int(clock.now) - 2 * DAY
        assert together(store.standing(since)) == together([stub("found"), stub("kept")])
        before = store.version
        assert (store.expire(since), store.expire(since)) == (2, 0)
        assert store.version != before
        assert together(store.folds(["old", "found", "kept"])) == together([stub("found"), stub("kept")])

    def test_folds_made_for_several_windows_stand_in_one_place(self, store: Store, again: Callable[[], Store]) -> None:
        made_for = [MadeFor(), MadeFor("auto", 7_000), MadeFor("auto", 14_000), MadeFor("local", 7_000, "quiet")]
        for make in (stub, gist):
            folds: list[Fold] = [replace(make("a", text=str(each)), made_for=each) for each in made_for]
            store.keep(folds)
            found = again().folds(["a"])
            assert {(each.text, each.made_for) for each in found} == {(str(each), each) for each in made_for}
            store.forget(folds[1:2])
            assert {each.made_for for each in again().folds(["a"])} == {*made_for[:1], *made_for[2:]}
            store.keep([replace(folds[2], text="later")])
            assert [each.text for each in again().folds(["a"]) if each.made_for == made_for[2]] == ["later"]
            store.forget(folds)
            assert again().folds(["a"]) == []

    def test_a_session_finds_its_folds_and_originals_again(self, store: Store, again: Callable[[], Store]) -> None:
        entries = chat(60)
        first = Session(window=4000, model="gpt-4o", store=store)
        handed_out = first.fit(entries)
        assert first.receipt and first.receipt.folds
        second = Session(window=4000, model="gpt-4o", store=again())
        assert second.fit(entries) == handed_out
        assert second.receipt and second.receipt.folds == first.receipt.folds
        opened = [second.recall(fold.ref) for fold in first.receipt.folds]
        assert opened and all(f"all is well {number}" in "".join(map(str, opened)) for number in range(5))

    def test_foldings_are_undone_and_redone_for_every_process(self, store: Store, again: Callable[[], Store]) -> None:
        """Folded by hand, and by sessions with room for everything, so that they fold nothing of their own."""
        first = Session(4000, model="gpt-4o", store=store)
        folds = []
        for count in (20, 30, 40):
            folded = first.fit(chat(count), fold=True)
            assert first.receipt
            folds.append(first.receipt.folds)
        one, other = (Session(100_000, model="gpt-4o", store=each) for each in (store, again()))

        def shown() -> object:
            seen = [each.fit(chat(40)) for each in (one, other, Session(100_000, model="gpt-4o", store=again()))]
            assert seen[0] == seen[1] == seen[2] and one.receipt and other.receipt
            assert one.receipt.folds == other.receipt.folds
            return one.receipt.folds

        assert shown() == folds[2] and one.fit(chat(40)) == folded
        assert [done.number for done in other.undo()] == [3]
        assert shown() == folds[1]
        assert [done.number for done in one.redo()] == [3]
        assert shown() == folds[2]
        assert ([done.number for done in one.undo(9)], one.undo()) == ([3, 2, 1], ())
        assert shown() == () and one.fit(chat(40)) == chat(40)
        assert ([done.number for done in other.redo(9)], other.redo()) == ([1, 2, 3], ())
        assert shown() == folds[2]

    def test_pins_are_seen_by_every_process(self, store: Store, again: Callable[[], Store]) -> None:
        one, other = Session(4000, model="gpt-4o", store=store), Session(4000, model="gpt-4o", store=again())
        folded = one.fit(chat(40))
        words = "Log 3: all is well 3; all is well 3;"
        assert other.fit(chat(40)) == folded and words not in str(folded)
        one.pin(words)
        assert [str(pin) for pin in other.pins] == ["“Log 3: all is well 3; all is well 3;”"]
        for each in (one, other, Session(4000, model="gpt-4o", store=again())):
            assert str(each.fit(chat(40))).count(words) == 1
        other.unpin(words)
        assert one.fit(chat(40)) == other.fit(chat(40)) == folded and one.pins == ()

    def test_threads_may_share_it(self, store: Store) -> None:
        errors: list[BaseException] = []

        def work(name: str) -> None:
            try:
                for number in range(30):
                    original = f"{name} {number}\n" * 5000
                    assert store.get(put(store, original)) == original
                    store.keep([stub(f"{name}{number}")])
                    store.record(name, str(number))
            except BaseException as why:
                errors.append(why)

        threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(store.folds(f"t{name}{number}" for name in range(4) for number in range(30))) == 120
        assert store.recorded("t3") == [str(number) for number in range(30)]
