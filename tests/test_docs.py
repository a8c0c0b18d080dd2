"""The glossary is the law of names: a public class of the core is made of its words."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = (ROOT / "CONTEXT.md").read_text("utf-8")
CORE = ROOT / "src" / "yohaku" / "core"


def public_classes() -> list[str]:
    return sorted(
        node.name
        for path in CORE.rglob("*.py")
        if path.name != "errors.py"
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )


def avoided() -> set[str]:
    rows = re.findall(r"^\|[^|]+\|.+\| ([^|]+) \|$", GLOSSARY, re.MULTILINE)[1:]
    return {word.strip() for row in rows for word in row.split(",")}


@pytest.mark.parametrize("name", public_classes())
def test_every_public_class_of_the_core_is_a_word_of_the_glossary(name: str) -> None:
    assert re.search(rf"\b{name}\b", GLOSSARY)


def test_no_class_of_the_core_has_a_name_the_glossary_avoids() -> None:
    names = {name.lower() for name in public_classes()} - {"result"}  # what an Outcome is not: a call's
    assert names & avoided() == set()
    assert {"messages", "tokenizer", "compaction"} <= avoided()


@pytest.mark.parametrize("word", ["Manager", "Service", "Handler", "Helper", "Util", "Base", "Impl"])
def test_no_class_is_named_after_nothing(word: str) -> None:
    assert [name for name in public_classes() if word in name] == []


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
    for number, page in enumerate(pages, 1):
        text = page.read_text("utf-8")
        assert page.name.startswith(f"{number:04}-") and text.startswith("# ")
        assert "**Context.**" in text and "**Choice.**" in text, page.name
