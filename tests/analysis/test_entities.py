from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.analysis.entities import Fact, facts, origin_of, rank
from yohaku.core.model import Call, Result, Step, Text, Turn, Use


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/app.py:12.", [Fact("path", "src/app.py")]),
        ("in /etc/hosts and ~/.ssh/config", [Fact("path", "/etc/hosts"), Fact("path", "~/.ssh/config")]),
        ("README.md, and/or read/write", [Fact("path", "README.md")]),
        ("at https://x.org/a?b=1.", [Fact("url", "https://x.org/a?b=1")]),
        ("commit 4f9a1bc, ticket ABC-123, #42", [Fact("id", "4f9a1bc"), Fact("id", "ABC-123"), Fact("id", "#42")]),
        ("123e4567-e89b-12d3-a456-426614174000", [Fact("id", "123e4567-e89b-12d3-a456-426614174000")]),
        ("booking G72NSF of 12345 or 123", [Fact("id", "G72NSF"), Fact("id", "12345")]),
        ("took 3.5s, 30% of 50 MB", [Fact("quantity", "3.5s"), Fact("quantity", "30%"), Fact("quantity", "50 MB")]),
        (
            "$1,000 on 2024-05-23 in 1.2.3",
            [Fact("quantity", "$1,000"), Fact("quantity", "2024-05-23"), Fact("quantity", "1.2.3")],
        ),
        ("a snake_case and CamelCase", [Fact("name", "snake_case"), Fact("name", "CamelCase")]),
        (
            "os.path.join or std::vector or utf8",
            [Fact("name", "os.path.join"), Fact("name", "std::vector"), Fact("name", "utf8")],
        ),
        ('say "hello there" or "x"', [Fact("quoted", "hello there")]),
        ("Plain words, e.g. these. The End", []),
        ("", []),
    ],
)
def test_facts_are_told_apart(text: str, found: list[Fact]) -> None:
    assert list(facts(text)) == found


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("設定はsrc/app.pyにあります", Fact("path", "src/app.py")),
        ("関数parse_argsを呼ぶ", Fact("name", "parse_args")),
        ("「必ず日本語で」と言った", Fact("quoted", "必ず日本語で")),
        ("料金は1,200円です", Fact("quantity", "1,200円")),
        ("所要時間は30 分です", Fact("quantity", "30 分")),
        ("詳しくはhttps://x.org/aを参照", Fact("url", "https://x.org/a")),
    ],
)
def test_japanese_around_a_fact_does_not_hide_it(text: str, fact: Fact) -> None:
    assert fact in facts(text)


@given(st.text())
def test_every_fact_stands_in_the_text_once(text: str) -> None:
    found = list(facts(text))
    assert all(fact.text in text for fact in found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("piece", ["a", " ", "a.", '"', '"a', "1,", "/", "「", "`a ", "aA1_", "0f", "-a", "9", "あ"])
def test_a_huge_text_is_no_trouble(piece: str) -> None:
    assert len(list(facts(piece * (1_000_000 // len(piece))))) <= 1


# Which matter


def use(command: str, result: str) -> Use:
    return Use(Call("1", "bash", json.dumps({"command": command})), Result((Text(result),)))


def turns() -> list[Turn]:
    return [
        Turn((Text("Why is old_name used?"),), (Step((use("grep 1", "old_name rare_one common_one"),)),)),
        Turn(
            (Text("go"),),
            (Step((use("grep 2", "common_one new_name"), Text("I see new_name."))), Step((use("ls", "common_one"),))),
        ),
    ]


def test_what_was_named_comes_before_what_was_only_seen() -> None:
    names = [found.fact.text for found in rank(turns())]
    assert set(names[:2]) == {"old_name", "new_name"}
    assert names[2:] == ["rare_one", "common_one"]


def test_a_fact_comes_with_the_newest_call_it_stands_in() -> None:
    origins = {found.fact.text: found.origin for found in rank(turns())}
    assert origins == {"old_name": "grep 1", "rare_one": "grep 1", "new_name": "grep 2", "common_one": "ls"}


def test_what_an_open_error_names_comes_first() -> None:
    assert rank(turns(), open_errors="KeyError: rare_one")[0].fact == Fact("name", "rare_one")


def test_no_more_than_asked_is_given() -> None:
    assert len(rank(turns(), most=2)) == 2
    assert [found.fact.text for found in rank(turns(), chars=5)] == ["common_one"]


def test_an_origin_says_what_was_run_not_where() -> None:
    assert origin_of(use("cd /x && git -C /y log 2>&1", "")) == "git log"
    assert origin_of(Use(Call("1", "Read", '{"file_path": "/a/b.py", "limit": 3}'), Result())) == "Read /a/b.py"
    assert origin_of(use("echo " + "x" * 500, ""), most=20) == "echo xxxxxxxxxxxxxx…"
