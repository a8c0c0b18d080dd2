"""Tests of the search for passages: a question in several words finds the lines that answer it."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.originals import ref_of
from yohaku.recall.search_originals import search
from yohaku.recall.search_passages import MAX_LINE_CHARS, MAX_PASSAGES, find_passages, split_question
from yohaku.stores.memory import MemoryStore

RUN = "\n".join(
    [
        *(f"line {number} of the log" for number in range(200)),
        "commit-msg hook: gitleaks passed",
        "bug: the script of pre-commit is installed in migration mode",
        "run pre-commit install -f to fix this",
        *(f"line {number} of the log" for number in range(200, 400)),
    ]
)


def kept(*texts: str) -> MemoryStore:
    store = MemoryStore()
    for text in texts:
        store.put(ref_of(text), text)
    return store


def test_words_that_no_line_holds_together_find_the_passage_that_holds_most() -> None:
    store = kept(RUN, "nothing\nof that kind")
    found = search(store, "why did the commit with gitleaks fail: migration?")
    (passage,) = found.passages
    assert found.hits == () and found.complete
    assert passage.ref == ref_of(RUN) and passage.first < 202 < passage.first + len(passage.lines)
    shown = str(found)
    assert f"ref={ref_of(RUN)}:{passage.first}-" in shown and "   202: bug: the script of pre-commit" in shown
    assert len(shown) < 1_500


def test_a_line_that_holds_all_the_words_goes_before_passages() -> None:
    found = search(kept(RUN), "migration installed")
    assert [hit.number for hit in found.hits] == [202] and not found.passages


def test_a_japanese_question_is_split_into_its_words() -> None:
    store = kept("はじめに\n移行モードのまま\n書き込めませんでした\nおわり", "別の話")
    assert split_question("移行モードで保存に失敗した") == ["モード", "移行", "保存", "失敗"]
    (passage,) = search(store, "移行モードで 書き込めませんでした 失敗").passages
    assert "移行モードのまま" in passage.lines


def test_words_without_any_trace_find_nothing() -> None:
    found = search(kept(RUN), "kubernetes ingress")
    assert not found.hits and not found.passages and found.complete


def test_the_part_of_a_long_line_that_holds_the_words_is_shown() -> None:
    store = kept("x " * 4_000 + "needle in hay" + " y" * 4_000 + "\nfar")
    (passage,) = search(store, "needle far hay").passages
    assert "needle in hay" in passage.lines[0] and len(passage.lines[0]) <= MAX_LINE_CHARS + 2


WORDS = st.sampled_from("alpha beta gamma delta the 余白 折り 1234 a/b.py x".split())
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=30).map("\n".join)


@given(st.lists(TEXTS, max_size=5), st.lists(WORDS, max_size=6).map(" ".join))
def test_every_passage_stands_in_its_original_and_holds_the_words_it_names(texts: list[str], question: str) -> None:
    store = kept(*texts)
    refs = {ref_of(text): text for text in texts}
    found = find_passages(store, question, refs, time.monotonic() + 5)
    assert len(found.passages) <= MAX_PASSAGES and not found.late
    for passage in found.passages:
        lines = refs[passage.ref].split("\n")
        assert passage.lines == tuple(lines[passage.first - 1 : passage.first - 1 + len(passage.lines)])
        assert passage.words and all(word in "\n".join(passage.lines).lower() for word in passage.words)


def test_a_search_without_time_says_that_it_was_late() -> None:
    found = find_passages(kept(RUN), "gitleaks migration", [ref_of(RUN)], time.monotonic() - 1)
    assert found.late
