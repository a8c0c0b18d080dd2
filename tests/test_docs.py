"""The glossary is short and true, and decisions have their form."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import yohaku

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = (ROOT / "CONTEXT.md").read_text("utf-8")
SOURCE = ROOT / "src" / "yohaku"
CORE = SOURCE / "core"
ALLOWED = {"EffectHandlers"}
"""Functions that handle the effects a generator yields: there is no better word."""


def classes(folder: Path) -> list[str]:
    return sorted(
        node.name
        for path in folder.rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )


def rows() -> list[tuple[str, str]]:
    """Each word of the glossary with the words it stands in for."""
    return re.findall(r"^\| (\w+) \|.+\| ([^|]+) \|$", GLOSSARY, re.MULTILINE)[1:]


def test_the_glossary_has_at_most_thirty_words() -> None:
    assert 20 <= len(rows()) <= 30


@pytest.mark.parametrize("word", [word for word, _ in rows()])
def test_every_word_of_the_glossary_is_in_the_public_api_or_the_docs(word: str) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    assert word in yohaku.__all__ or re.search(rf"\b{word}s?\b", text, re.IGNORECASE)


def test_no_class_has_a_name_the_glossary_replaces() -> None:
    replaced = {word.strip() for _, words in rows() for word in words.split(",")}
    assert {name.lower() for name in classes(CORE)} & replaced == set()
    assert {"messages", "tokenizer", "compaction"} <= replaced


@pytest.mark.parametrize("word", ["Manager", "Service", "Handler", "Helper", "Util", "Base", "Impl"])
def test_no_class_is_named_after_nothing(word: str) -> None:
    assert [name for name in classes(SOURCE) if word in re.findall("[A-Z][a-z]+", name) and name not in ALLOWED] == []


def test_message_is_a_wire_word() -> None:
    found = [
        f"{path.name}:{node.name}"
        for path in CORE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and "message" in node.name.lower()
    ]
    assert found == []


def test_every_decision_is_context_choice_and_cost() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert pages
    numbers = [page.name.partition("-")[0] for page in pages]
    assert len(set(numbers)) == len(numbers), "two that were written side by side have one number"
    for number, page in zip(numbers, pages, strict=True):
        text = page.read_text("utf-8")
        assert len(number) == 4 and number.isdecimal() and text.startswith("# "), page.name
        assert "**Context.**" in text and "**Choice.**" in text, page.name
