from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.digest.test_select_lines import TEXTS

from yohaku.analysis.entities import Entity, extract_entities, extract_names, rank_entities, split_words
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/app.py:12.", [Entity("path", "src/app.py")]),
        ("in /etc/hosts and ~/.ssh/config", [Entity("path", "/etc/hosts"), Entity("path", "~/.ssh/config")]),
        ("README.md, and/or read/write", [Entity("path", "README.md")]),
        ("at https://x.org/a?b=1.", [Entity("url", "https://x.org/a?b=1")]),
        (
            "commit 4f9a1bc, ticket ABC-123, #42",
            [Entity("id", "4f9a1bc"), Entity("id", "ABC-123"), Entity("id", "#42")],
        ),
        ("123e4567-e89b-12d3-a456-426614174000", [Entity("id", "123e4567-e89b-12d3-a456-426614174000")]),
        ("booking G72NSF of 12345 or 123", [Entity("id", "G72NSF"), Entity("id", "12345")]),
        (
            "took 3.5s, 30% of 50 MB",
            [Entity("quantity", "3.5s"), Entity("quantity", "30%"), Entity("quantity", "50 MB")],
        ),
        (
            "$1,000 on 2024-05-23 in 1.2.3",
            [Entity("quantity", "$1,000"), Entity("quantity", "2024-05-23"), Entity("quantity", "1.2.3")],
        ),
        ("a snake_case and CamelCase", [Entity("name", "snake_case"), Entity("name", "CamelCase")]),
        (
            "os.path.join or std::vector or utf8",
            [Entity("name", "os.path.join"), Entity("name", "std::vector"), Entity("name", "utf8")],
        ),
        ('say "hello there" or "x"', [Entity("quoted", "hello there")]),
        ("Plain words, e.g. these. The End", []),
        ("", []),
    ],
)
def test_facts_are_told_apart(text: str, found: list[Entity]) -> None:
    assert list(extract_entities(text)) == found


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("設定はsrc/app.pyにあります", Entity("path", "src/app.py")),
        ("関数parse_argsを呼ぶ", Entity("name", "parse_args")),
        ("「必ず日本語で」と言った", Entity("quoted", "必ず日本語で")),
        ("料金は1,200円です", Entity("quantity", "1,200円")),
        ("所要時間は30 分です", Entity("quantity", "30 分")),
        ("詳しくはhttps://x.org/aを参照", Entity("url", "https://x.org/a")),
    ],
)
def test_japanese_around_a_fact_does_not_hide_it(text: str, fact: Entity) -> None:
    assert fact in extract_entities(text)


@given(st.text())
def test_every_fact_stands_in_the_text_once(text: str) -> None:
    found = list(extract_entities(text))
    assert all(fact.text in text for fact in found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("piece", ["a", " ", "a.", '"', '"a', "1,", "/", "「", "`a ", "aA1_", "0f", "-a", "9", "あ"])
def test_a_huge_text_is_no_trouble(piece: str) -> None:
    assert len(list(extract_entities(piece * (1_000_000 // len(piece))))) <= 1


# Which matter


def use(command: str, result: str) -> ToolUse:
    return ToolUse(Call("1", "bash", json.dumps({"command": command})), Result((Text(result),)))


def turns() -> list[Turn]:
    return [
        Turn((Text("Why is old_name used?"),), (Step((use("grep 1", "old_name rare_one common_one"),)),)),
        Turn(
            (Text("go"),),
            (Step((use("grep 2", "common_one new_name"), Text("I see new_name."))), Step((use("ls", "common_one"),))),
        ),
    ]


def test_what_was_named_comes_before_what_was_only_seen() -> None:
    names = [found.entity.text for found in rank_entities(turns())]
    assert set(names[:2]) == {"old_name", "new_name"}
    assert names[2:] == ["rare_one", "common_one"]


def test_a_fact_comes_with_the_newest_call_it_stands_in() -> None:
    origins = {found.entity.text: found.origin for found in rank_entities(turns())}
    assert origins == {"old_name": "grep 1", "rare_one": "grep 1", "new_name": "grep 2", "common_one": "ls"}


def test_what_an_open_error_names_comes_first() -> None:
    assert rank_entities(turns(), open_errors="KeyError: rare_one")[0].entity == Entity("name", "rare_one")


def test_no_more_than_asked_is_given() -> None:
    assert len(rank_entities(turns(), limit=2)) == 2
    assert [found.entity.text for found in rank_entities(turns(), max_chars=5)] == ["common_one"]


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
