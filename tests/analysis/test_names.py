from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.digest.test_select_lines import TEXTS

from yohaku.analysis.names import extract_names, split_words


def test_paths_code_names_ids_and_numbers_are_names_and_plain_words_are_not() -> None:
    text = "Then the parser reads src/app.py, calls getRows and put_rows (v12 of HTTPServer) at 8080; a-b. I.O. 42."
    assert extract_names(text) == {"src/app.py", "app.py", "getRows", "put_rows", "v12", "HTTPServer", "8080", "I.O"}


@given(st.one_of(TEXTS, st.text("ab_/.-1A \n", max_size=60)))
def test_a_text_names_the_same_when_a_letter_of_japanese_follows(text: str) -> None:
    assert extract_names(text + "\nん") == extract_names(text)


def test_in_japanese_katakana_numbered_things_and_long_compounds_are_names() -> None:
    assert extract_names("サーバーの第3条と開発環境構築を、設定と確認のために見る。") == {
        "サーバー",
        "第3条",
        "開発環境構築",
    }


def test_a_word_longer_than_any_name_is_none() -> None:
    assert extract_names("a_" * 100) == {"a_" * 100}
    assert extract_names("a_" * 101) == frozenset()


def test_a_name_is_made_of_words() -> None:
    assert split_words("getJobId of HTTP_late-rows x1") == {"get", "job", "of", "http", "late", "rows"}
