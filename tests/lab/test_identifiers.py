from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.lab.identifiers import Vocabulary, argument_identifiers, argument_texts, identifiers, occurs, paths

TEXT = st.text(st.sampled_from("ab1_ ./-\n「」「\"'`"), max_size=60)


def test_a_text_is_asked_for_each_kind_of_identifier() -> None:
    text = (
        "See https://example.org/a?b=1. In src/core/fold.py the class FoldView calls get_key (os.path.join), "
        "sha fd3ae44, port 8080, id 6e47bfce-57ce-48b6, and `some words here`."
    )
    assert identifiers([text]) == {
        "https://example.org/a?b=1",
        "src/core/fold.py",
        "fold.py",
        "FoldView",
        "get_key",
        "os.path.join",
        "fd3ae44",
        "8080",
        "6e47bfce-57ce-48b6",
        "6e47bfce",
        "57ce",
        "48b6",
        "some words here",
    }


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox, e.g. and/or read/write; a well-known thing.",
        "It took 12 ms, 10px, 2nd, 123 and 3.5 of 1/2.",
        "HTTP is an API. End.",
        '"time" and \'isn\'t\' "," "=="',
    ],
)
def test_language_and_small_numbers_are_no_identifiers(text: str) -> None:
    assert identifiers([text]) == set()


def test_identifiers_stand_beside_japanese() -> None:
    assert identifiers(["設定はconfig.tomlの「出力先フォルダー」とmax_sizeです"]) == {
        "config.toml",
        "出力先フォルダー",
        "max_size",
    }


def test_quotes_pair_in_order_so_that_what_is_between_two_strings_is_none() -> None:
    assert identifiers(['f("a", " b c d ", "efgh ijkl")']) == {"b c d", "efgh ijkl"}


def test_arguments_are_read_as_values_and_short_ones_are_strings_themselves() -> None:
    arguments = '{"path": "a/b.py", "lines": [1200, true, null], "text": "x_y\\nz", "name": "Mei Kim"}'
    assert argument_texts(arguments) == ["a/b.py", "1200", "x_y\nz", "Mei Kim"]
    assert argument_identifiers(arguments) == {"a/b.py", "b.py", "1200", "x_y", "Mei Kim"}
    assert argument_texts("not json") == ["not json"]


@pytest.mark.parametrize(
    ("name", "text", "there"),
    [
        ("fold.py", "src/fold.py:12", True),
        ("fold", "unfold", False),
        ("fold", "folds", False),
        ("fold", "unfold fold", True),
        ("get_key", "get_key2", False),
        ("key", "get_key", False),
        ("a.b", "xa.b a.bx", False),
        ("config", "設定configです", True),
        ("(a b)", "f(a b)x", True),
    ],
)
def test_a_name_is_found_at_word_boundaries(name: str, text: str, there: bool) -> None:
    assert occurs(name, text) is there
    assert Vocabulary([name]).found(text) == ({name} if there else set())


@given(st.sets(TEXT.filter(bool), max_size=6), TEXT)
def test_a_vocabulary_finds_what_a_search_for_each_name_finds(names: set[str], text: str) -> None:
    assert Vocabulary(names).found(text) == {name for name in names if occurs(name, text)}


def test_paths_have_a_slash_or_the_ending_of_a_file() -> None:
    text = "./src/a.py, /etc/hosts and notes.md; os.path and/or 1/2 https://x.org/a/b s/foo/bar"
    assert paths(text) == {"src/a.py", "/etc/hosts", "notes.md", "s/foo/bar"}


@pytest.mark.parametrize("piece", ["a", " ", "/", "「", "a.", '"', "'", "`"])
def test_no_text_stalls_it(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    start = time.process_time()
    identifiers([text])
    paths(text)
    Vocabulary(["a.b", "「x」"]).found(text)
    assert time.process_time() - start < 2
