from __future__ import annotations

import json
import re
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku import dialects, recall
from yohaku.core.errors import BadSetting, UnknownRef, YohakuError
from yohaku.core.originals import ref_of
from yohaku.recall import FoundLine, OpenedLines, SearchHit, SearchResult, grep, read, search
from yohaku.recall import patterns as seeking
from yohaku.stores import Original, Store
from yohaku.stores.memory import MemoryStore
from yohaku.stores.sqlite import SQLiteStore

LOG = "".join(f"{number:06} {'ERROR' if number % 1000 == 7 else 'info'} 処理 {number}\n" for number in range(1, 50_001))


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "store.db")
    yield made
    made.close()


@pytest.fixture(params=["linear", "stoppable"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "stoppable":
        monkeypatch.setattr(seeking, "re2", None)  # as where there is none
    elif seeking.re2 is None:
        pytest.skip("google-re2 is not installed")
    return str(request.param)


def put(store: Store, original: str | bytes) -> str:
    store.put(ref_of(original), original)
    return ref_of(original)


def test_lines_are_numbered_from_one(store: Store) -> None:
    ref = put(store, "一\nsecond\r\n\nlast")
    original = Original(ref, len("一\nsecond\r\n\nlast".encode()), 4)
    lines = (FoundLine(1, "一"), FoundLine(2, "second"), FoundLine(3, ""), FoundLine(4, "last"))
    assert read(store, ref) == OpenedLines(original, lines)
    assert read(store, ref, 2, 2) == OpenedLines(original, lines[1:3], more=4)
    assert read(store, ref, 4, 9) == OpenedLines(original, lines[3:])
    assert read(store, ref, 5) == OpenedLines(original, ())
    assert read(store, ref, -3, 1) == read(store, ref, 1, 1) == OpenedLines(original, lines[:1], more=2)


@given(st.text(st.sampled_from("ab\n漢\r "), max_size=50), st.integers(1, 12), st.integers(1, 12))
def test_lines_are_those_that_line_feeds_part(text: str, offset: int, limit: int) -> None:
    store = MemoryStore()
    lines = text.split("\n")[: -1 if text.endswith("\n") or not text else None]
    expected = [FoundLine(n, line.removesuffix("\r")) for n, line in enumerate(lines, 1)][offset - 1 :][:limit]
    assert list(read(store, put(store, text), offset, limit).lines) == expected


def test_lines_from_anywhere_in_a_long_original(store: Store) -> None:
    ref = put(store, LOG)
    expected = LOG.split("\n")
    for offset in (1, 2, 999, 1500, 3333, 25_000, 49_999, 50_000):
        found = read(store, ref, offset, 3)
        assert [line.text for line in found.lines] == expected[offset - 1 : min(50_000, offset + 2)]
        assert found.more == (offset + 3 if offset + 3 <= 50_000 else None)
    assert read(store, ref, 50_001).lines == read(store, ref, 10**9).lines == ()


def test_what_is_shown_at_once_is_limited_by_its_size_but_never_nothing(store: Store) -> None:
    ref = put(store, "漢字\n" * 100)
    assert read(store, ref, 1, 100, room=70).more == 11
    assert read(store, ref, 5, 100, room=1).lines == (FoundLine(5, "漢字"),)


def test_a_very_long_line_is_cut_and_the_next_is_shown(store: Store) -> None:
    original = "short\n" + "漢x" * 500_000 + "\nafter\n" + "y" * 3000 + "\nend"
    found = read(store, put(store, original), 1, 10, width=10).lines
    cut = "… [cut; search for the rest]"
    assert found == (
        FoundLine(1, "short"),
        FoundLine(2, "漢x" * 5 + cut),
        FoundLine(3, "after"),
        FoundLine(4, "y" * 10 + cut),
        FoundLine(5, "end"),
    )


def test_what_is_no_text_has_no_lines(store: Store) -> None:
    ref = put(store, b"\x89PNG\r\n" + bytes(100))
    assert read(store, ref) == OpenedLines(Original(ref, 106, 2, binary=True), ())
    assert str(read(store, ref)) == str(grep(store, ref, "P")) == f"[ref={ref}: 106 bytes, not text]"


def test_matching_lines_are_found_with_their_numbers(store: Store, engine: str) -> None:
    ref = put(store, LOG)
    expected = [
        FoundLine(n, line) for n, line in enumerate(LOG.split("\n"), 1) if re.search("ERROR 処理 [0-9]*7$", line)
    ]
    assert grep(store, ref, "ERROR 処理 [0-9]*7$").lines == tuple(expected[:50])
    assert len(expected) == 50
    first = grep(store, ref, "ERROR", limit=3)
    assert (first.lines, first.more) == (tuple(expected[:3]), expected[3].number)
    rest = grep(store, ref, "ERROR", offset=first.more or 0, limit=100)
    assert (rest.lines, rest.more) == (tuple(expected[3:]), None)
    assert grep(store, ref, "nowhere").lines == ()


@given(
    st.text(st.sampled_from("ab\n漢 "), max_size=60),
    st.sampled_from(["a", "^a", "b$", "^$", "[^a]+", "漢.a", r"\s", "a*"]),
)
def test_a_line_matches_as_it_would_alone(text: str, pattern: str) -> None:
    lines = text.split("\n")[: -1 if text.endswith("\n") or not text else None]
    expected = tuple(FoundLine(n, line) for n, line in enumerate(lines, 1) if re.search(pattern, line))
    store = MemoryStore()
    ref = put(store, text)
    before = seeking.re2
    for engine in (before, None):
        seeking.re2 = engine
        try:
            assert grep(store, ref, pattern, limit=100).lines == expected
        finally:
            seeking.re2 = before


def test_lines_around_a_match_are_shown_once(store: Store, engine: str) -> None:
    ref = put(store, "".join(f"{number}\n" for number in range(1, 21)))
    found = grep(store, ref, "^(1|5|7|20)$", context=1)
    shown = [(line.number, line.hit) for line in found.lines]
    assert shown == [
        (1, True),
        (2, False),
        (4, False),
        (5, True),
        (6, False),
        (7, True),
        (8, False),
        (19, False),
        (20, True),
    ]
    assert str(found).splitlines() == [
        f"[ref={ref}: 4 of 20 lines match]",
        *["     1: 1", "     2- 2", "--", "     4- 4", "     5: 5", "     6- 6", "     7: 7", "     8- 8", "--"],
        *["    19- 19", "    20: 20"],
    ]  # fmt: skip


def test_a_match_far_into_a_very_long_line_is_found_and_shown(store: Store, engine: str) -> None:
    original = "first\n" + "x" * 2_500_000 + " needle 針 " + "y" * 2_500_000 + "\nlast needle\n"
    found = grep(store, put(store, original), "needle .")
    assert [line.number for line in found.lines] == [2]
    assert " needle 針 " in found.lines[0].text and len(found.lines[0].text) < 3000
    assert [line.number for line in grep(store, ref_of(original), "needle").lines] == [2, 3]


def test_a_search_that_takes_too_long_says_where_to_go_on(store: Store) -> None:
    ref = put(store, LOG)
    found = grep(store, ref, "nowhere", seconds=0)
    assert found.lines == () and found.more is not None and 1 < found.more < 50_000
    assert str(found).endswith(f"[more from offset={found.more}]")
    assert grep(store, ref, "ERROR", offset=found.more, limit=1).lines[0].number >= found.more


EVIL = [
    *[r"(a+)+$", r"(a|aa)+$", r"^(\w+\s?)*$", r"(x+x+)+y", r"(.*)*=.*", r"(?:a?){500}a{500}", r"(\w+)\1\1$"],
    *[r"(?=(a+))a*b\1", r"((a{1,100}){1,100}){1,100}b", "(?:" * 300 + "a" + "*)" * 300, "(?:a{0,60000}){0,60000}b"],
    *[r"(?<=a+)b", r"a.*b.*c.*d.*e", "(?:foobarbazqux){e<=8}", r"(?:(?:a+)+b)+c", r"[\s\S]*[\s\S]*zzz"],
    *["(((((a*)*)*)*)*)*b", "|".join(["a" * 9] * 90) + "$"],
]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", EVIL, ids=lambda pattern: pattern[:20])
def test_an_evil_pattern_answers_or_fails_within_a_second(engine: str, pattern: str) -> None:
    store = MemoryStore()
    lines = ("a" * 60_000 + "!", "x" * 30_000, "foo bar 123 " * 5000, " " * 60_000, "")
    ref = put(store, "\n".join(lines) * 3)
    began = time.process_time()
    try:
        assert grep(store, ref, pattern).lines is not None
    except BadSetting as why:
        assert why.code == "bad_pattern" and pattern[:20] in str(why.facts["pattern"])
    assert time.process_time() - began < 1


@pytest.mark.parametrize("pattern", ["(", "[", "*", "a{2,1}", "(?P<", "\\", "(" * 500, "", "x" * 1001])
def test_a_bad_pattern_is_said(store: Store, engine: str, pattern: str) -> None:
    ref = put(store, "text")
    with pytest.raises(BadSetting, match="cannot be used: ") as raised:
        grep(store, ref, pattern)
    assert raised.value.code == "bad_pattern"


def test_what_only_the_other_engine_can_say_is_found_too(store: Store, engine: str) -> None:
    ref = put(store, "foobar\nfoobaz\nbarbar\n")
    assert [line.number for line in grep(store, ref, "foo(?!bar)").lines] == [2]
    assert [line.number for line in grep(store, ref, r"(bar)\1").lines] == [3]


def test_words_are_found_in_all_that_was_put_the_newest_first(store: Store, engine: str) -> None:
    first = put(store, "予算は三万円\nThe Budget of the project\n" + LOG)
    second = put(store, "a budget for the PROJECT: 検索\nno more")
    put(store, b"\0budget project")
    found = search(store, "project budget")
    assert sorted(found.hits) == sorted(
        [SearchHit(second, 1, "a budget for the PROJECT: 検索"), SearchHit(first, 2, "The Budget of the project")]
    )
    assert found.complete
    assert search(store, "予算") == SearchResult((SearchHit(first, 1, "予算は三万円"),), complete=True)
    assert search(store, "検索 BUDGET") == SearchResult(
        (SearchHit(second, 1, "a budget for the PROJECT: 検索"),), complete=True
    )
    assert search(store, "a.b") == search(store, "  ") == SearchResult((), complete=True)


def test_a_number_no_database_can_hold_is_only_a_very_large_one(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    ref = put(store, "one\ntwo")
    for name, more in (("tool_output_cache", {}), ("tool_output_cache_grep", {"pattern": "one", "context": 10**30})):
        told = recall.call(store, name, {"ref_id": ref, "offset": 10**30, "limit": 10**30, **more})
        assert told in (f"[ref={ref}: 2 lines, none here]", f"[ref={ref}: 0 of 2 lines match]")


def test_a_search_ends_with_its_limit_or_its_time(store: Store) -> None:
    ref = put(store, LOG)
    found = search(store, "error", limit=2)
    hits = (SearchHit(ref, 7, "000007 ERROR 処理 7"), SearchHit(ref, 1007, "001007 ERROR 処理 1007"))
    assert found == SearchResult(hits, complete=False)
    assert search(store, "nowhere", seconds=0) == SearchResult((), complete=False, late=True)


def test_an_unknown_ref_is_said(store: Store) -> None:
    for ask in (read, lambda store, ref: grep(store, ref, "a")):
        with pytest.raises(UnknownRef):
            ask(store, "aaaaaaaaaaaa")


def test_reading_and_searching_hold_little_of_a_long_original(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    ref = store.put_stream(LOG.encode() for _ in range(40)).ref
    tracemalloc.start()
    assert len(read(store, ref, 1_000_000, 200).lines) == 200
    assert len(grep(store, ref, "ERROR 処理 49007", limit=100).lines) == 40
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000 < len(LOG.encode()) * 5


def test_a_call_reads_lines(store: Store) -> None:
    ref = put(store, "one\ntwo\nthree\n")
    expected = f"[ref={ref}: lines 2-2 of 3]\n     2: two\n[more from offset=3]"
    for arguments in (
        {"ref_id": ref, "offset": 2, "limit": 1},
        {"ref_id": f" ref={ref} ", "offset": "2", "limit": 1.0, "pattern": None},
        json.dumps({"ref_id": f"[ref={ref}]", "offset": 2, "limit": 1}),
    ):
        assert recall.call(store, "tool_output_cache", {**_loaded(arguments)}) == expected
    assert recall.call(store, "tool_output_cache", {"ref_id": ref, "offset": 9}) == f"[ref={ref}: 3 lines, none here]"


def _loaded(arguments: str | dict[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = json.loads(arguments) if isinstance(arguments, str) else arguments
    return {name: value for name, value in given.items() if name != "pattern"}


def test_a_call_searches(store: Store) -> None:
    ref = put(store, "one\ntwo\nthree\n")
    arguments = json.dumps({"ref_id": ref, "pattern": "T", "context": 1})
    assert recall.call(store, "tool_output_cache_grep", arguments) == f"[ref={ref}: 0 of 3 lines match]"
    arguments = json.dumps({"ref_id": ref, "pattern": "(?i)TW", "context": 1})
    told = [f"[ref={ref}: 1 of 3 lines match]", "     1- one", "     2: two", "     3- three"]
    assert recall.call(store, "tool_output_cache_grep", arguments).split("\n") == told


def test_a_call_searches_in_everything(store: Store) -> None:
    ref = put(store, "one\nTwo 予算\nthree\n")
    told = f"ref={ref} line 2: Two 予算"
    assert recall.call(store, "recall_search", {"words": "予算 two"}) == told
    assert recall.call(store, "recall_search", {"words": "two"}, refs={"a" * 12}).startswith("[no line")


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        (
            "tool_output",
            {},
            "unknown tool 'tool_output': use one of tool_output_cache, tool_output_cache_grep, recall_search",
        ),
        ("tool_output_cache", "{", "the arguments are not JSON: give an object"),
        ("tool_output_cache", "[]", 'the arguments are no object: give one, such as {"ref_id": "…"}'),
        ("tool_output_cache", "{}", "ref_id is missing: give it as text"),
        ("tool_output_cache", {"ref_id": 3}, "ref_id is missing: give it as text"),
        ("tool_output_cache", {"ref_id": "REF", "offset": 0}, "offset is '0': give a whole number from 1 on"),
        ("tool_output_cache", {"ref_id": "REF", "limit": "x"}, "limit is 'x': give a whole number from 1 on"),
        ("tool_output_cache", {"ref_id": "REF", "limit": True}, "limit is 'True': give a whole number from 1 on"),
        ("tool_output_cache", {"ref_id": "REF", "limit": 1e999}, "limit is 'inf': give a whole number from 1 on"),
        (
            "tool_output_cache",
            {"ref_id": "REF", "line": 1},
            "tool_output_cache has no argument 'line': it takes ref_id, offset, limit",
        ),
        ("recall_search", {}, "words is missing: give it as text"),
        ("recall_search", {"words": "text", "limit": 0}, "limit is '0': give a whole number from 1 on"),
        ("tool_output_cache_grep", {"ref_id": "REF"}, "pattern is missing: give it as text"),
        ("tool_output_cache", {"ref_id": "../../etc/passwd"}, "unknown ref '../../etc/passwd'"),
    ],
)  # fmt: skip
def test_what_a_model_got_wrong_is_told_in_a_sentence(name: str, arguments: Any, why: str) -> None:
    store = MemoryStore()
    ref = put(store, "text")
    if isinstance(arguments, dict) and arguments.get("ref_id") == "REF":
        arguments = {**arguments, "ref_id": ref}
    with pytest.raises(YohakuError) as raised:
        recall.call(store, name, arguments)
    assert str(raised.value) == why


@pytest.mark.parametrize("name", dialects.BUILT_IN)
def test_the_tools_are_defined_in_every_dialect(name: str) -> None:
    dialect = dialects.dialect_named(name)
    body: dict[str, Any] = {"tools": recall.definitions(name)}
    match name:
        case "gemini":
            body["contents"] = [{"role": "user", "parts": [{"text": "hi"}]}]
        case "openai_responses":
            body["input"] = [{"role": "user", "content": "hi"}]
        case _:
            body["messages"] = [{"role": "user", "content": "hi"}]
    history = dialect.read(body).history()
    assert [tool.name for tool in history.tools] == ["tool_output_cache", "tool_output_cache_grep"]
    said = json.dumps(body["tools"])
    assert all(word in said for word in ("ref_id", "offset", "limit", "pattern", "context", "required"))
