"""Models with a shell are told how to open what was folded; others are not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.fakes import conversation
from yohaku import dialects, stores
from yohaku.config.settings import Settings
from yohaku.core.originals import ref_of
from yohaku.proxy.fitting import Fitter
from yohaku.proxy.recall_hint import command_of, hint_for
from yohaku.proxy.recall_tool import offer

DIALECTS = ("openai_chat", "openai_responses", "anthropic", "gemini", "ollama")


def with_tool(name: str, dialect: str = "openai_chat", takes: str = "command") -> dict[str, Any]:
    schema = {"type": "object", "properties": {takes: {"type": "string"}}}
    tool = dialects.dialect_named(dialect).tool_definition(name, "A tool.", schema)
    body = conversation(60, dialect=dialect)
    return {**body, "tools": [{"functionDeclarations": [tool]}] if dialect == "gemini" else [tool]}


def sent(body: dict[str, Any], dialect: str = "openai_chat", command: str = "yohaku recall REF") -> str:
    fitter = Fitter(stores.open("memory:"), Settings(), window=8192, recall_command=command)
    return fitter.fit(dialect, json.dumps(body).encode(), "gpt-4o").body.decode()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_with_a_shell_is_told_the_command(dialect: str) -> None:
    text = sent(with_tool("run_shell_command", dialect), dialect)
    assert "ref=" in text and text.count("`yohaku recall REF`") == 1


@pytest.mark.parametrize("name", ["bash", "Bash", "shell", "exec_command", "run_terminal_cmd"])
def test_a_shell_is_known_by_the_words_of_its_name(name: str) -> None:
    assert hint_for(dialects.dialect_named("openai_chat"), with_tool(name), "yohaku recall REF")


@pytest.mark.parametrize("name", ["read_file", "web_search", "tool_output_cache", "run_tests"])
def test_a_client_without_a_shell_is_told_of_no_command(name: str) -> None:
    text = sent(with_tool(name, takes="path"))
    assert "ref=" in text and "recall" not in text
    assert "recall" not in sent(conversation(60))


def test_the_command_opens_what_was_folded(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a b.db"
    store = stores.open(url)
    ref = ref_of("what was folded")
    store.put(ref, "what was folded")
    store.close()
    words = command_of(url).replace("REF", f"ref={ref}")
    done = subprocess.run(words, shell=True, capture_output=True, text=True, check=True)
    assert "what was folded" in done.stdout


def test_a_store_with_a_password_is_not_told() -> None:
    assert command_of("postgresql://user:secret@host/db") == ""
    assert command_of(None).endswith("recall REF")


@pytest.mark.parametrize("name", ["tool_output_cache", "mcp__yohaku__tool_output_cache"])
def test_a_client_that_has_our_tools_is_offered_no_second_set(name: str) -> None:
    body = with_tool(name, takes="ref")
    assert offer(dialects.dialect_named("openai_chat"), body) is body
    assert offer(dialects.dialect_named("openai_chat"), with_tool("read_file")) is not body
