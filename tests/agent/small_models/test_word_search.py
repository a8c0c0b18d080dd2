"""Definitions that share words with a prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from yohaku.agent.small_models.word_search import count_definitions, find_definitions


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "orders.py").write_text(
        "RETURN_DAYS = 17\n\n\ndef is_returnable(days):\n    return days < RETURN_DAYS\n"
    )
    (tmp_path / "session.ts").write_text("export async function refreshToken(user) {}\nclass TokenStore {}\n")
    (tmp_path / "test_orders.py").write_text("def test_return_days_of_customers(): ...\n")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "orders.py").write_text("RETURN_DAYS_OF_A_CUSTOMER = 17\n")
    (tmp_path / ".gitignore").write_text("build\n")
    return tmp_path


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("Within how many days can a customer return an article?", ["RETURN_DAYS"]),
        ("Where are orders checked for being returned?", ["RETURN_DAYS", "is_returnable"]),
        ("When is the token refreshed?", ["refreshToken"]),
        ("Why does the session lose its token?", ["refreshToken", "TokenStore"]),
        ("What is a day?", []),
        ("Tell me a joke about return values", []),
        ("返品は何日以内ですか。", []),
        ("", []),
    ],
)
def test_two_words_must_be_shared_one_of_them_with_the_name(root: Path, prompt: str, names: list[str]) -> None:
    assert [each.name for each in find_definitions(root, prompt)] == names


def test_definitions_of_the_source_are_counted(root: Path) -> None:
    assert count_definitions(root) == 4
