"""The frames against what providers billed: recorded requests that hold nothing but text."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from yohaku.meters import for_model
from yohaku.meters.claude import available
from yohaku.meters.estimate import Estimate

BESIDE = ("tools", "response_format", "reasoning", "web_search_options", "plugins", "thinking", "output_config",
          "mcp_servers", "cachedContent")  # fmt: skip


def texts_of(content: Any) -> list[str] | None:
    """The texts of an entry, or None when it holds anything else."""
    if isinstance(content, str):
        return [content]
    parts = [part for part in content or () if part.get("type", "text") != "text" or "text" not in part]
    return None if parts else [part["text"] for part in content or ()]


Row = tuple[str, list[str], list[list[str]], int]


def exchanges(shared: Path, dialect: str, host: str) -> Iterator[Row]:
    """Model, system texts, the texts of each entry, and the tokens billed."""
    with gzip.open(shared / "wire" / "recordings.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for row in rows:
        asked, said = row["request"], row.get("response")
        plain = row["dialect"] == dialect and row["host"].endswith(host) and row["status"] == 200
        beside = any(asked.get(key) for key in BESIDE) or "responseMimeType" in (asked.get("generationConfig") or {})
        if not plain or not said or beside or "tool_calls" in str(asked.get("messages")):
            continue
        if dialect == "gemini":
            entries = [texts_of(entry["parts"]) for entry in asked["contents"]]
            system = texts_of((asked.get("systemInstruction") or {}).get("parts")) or []
            model = row["path"].split("models/")[1].split(":")[0]
            billed = said["usageMetadata"].get("promptTokenCount", 0)
        else:
            entries = [texts_of(entry["content"]) for entry in asked["messages"]]
            system, model, used = texts_of(asked.get("system")) or [], asked["model"], said["usage"]
            billed = used["prompt_tokens"] if dialect == "openai_chat" else used["input_tokens"] + sum(
                used.get(key) or 0 for key in ("cache_creation_input_tokens", "cache_read_input_tokens")
            )  # fmt: skip
        if billed and all(entry is not None for entry in entries):
            yield model, system, [entry for entry in entries if entry is not None], billed


def gap(row: Row, dialect: str) -> int:
    """Tokens our weight is over what was billed."""
    model, system, entries, billed = row
    return weighed(for_model(model, dialect), system, entries) - billed


def weighed(meter: Any, system: list[str], entries: list[list[str]]) -> int:
    said = sum(map(meter.count, system)) + sum(meter.count(text) for entry in entries for text in entry)
    return int(meter.frame.request + meter.frame.message * len(entries) + said)


@pytest.mark.shared
def test_openai_chat_is_weighed_to_the_token(shared: Path) -> None:
    rows = [row for row in exchanges(shared, "openai_chat", "api.openai.com") if row[0].startswith("gpt-4o")]
    rows = [row for row in rows if "audio" not in row[0] and "search" not in row[0]]
    assert len(rows) >= 7
    assert [gap(row, "openai_chat") for row in rows] == [0] * len(rows)


@pytest.mark.shared
def test_openai_reasoning_models_are_weighed_to_a_few_tokens(shared: Path) -> None:
    rows = [row for row in exchanges(shared, "openai_chat", "api.openai.com") if row[0].startswith(("gpt-5", "o3"))]
    assert len(rows) >= 5
    assert all(abs(gap(row, "openai_chat")) <= 2 for row in rows)


@pytest.mark.shared
def test_gemini_is_weighed_within_two_tokens(shared: Path) -> None:
    rows = [row for row in exchanges(shared, "gemini", "googleapis.com") if row[0].startswith("gemini")]
    assert len(rows) >= 10
    assert all(0 <= gap(row, "gemini") <= 2 for row in rows)


@pytest.mark.shared
@pytest.mark.skipif(not available(), reason="ctok, the exact counter for Claude, is not installed")
def test_one_prompt_to_claude_is_weighed_to_the_token(shared: Path) -> None:
    rows = [row for row in exchanges(shared, "anthropic", "api.anthropic.com") if len(row[2]) == 1]
    assert len(rows) >= 7
    assert [gap(row, "anthropic") for row in rows] == [0] * len(rows)


@pytest.mark.shared
@pytest.mark.skipif(not available(), reason="ctok, the exact counter for Claude, is not installed")
def test_from_one_bill_to_the_next_claude_adds_the_frames_of_a_reply_and_a_prompt(shared: Path) -> None:
    meter, added = for_model("claude-opus-4-6", "anthropic"), []
    for said in sessions(shared, "cipher-box"):
        for reply, prompt, following in zip(said, said[1:], said[2:], strict=False):
            roles = [entry["role"] for entry in (reply, prompt, following)]
            plain = roles == ["assistant", "user", "assistant"] and "usage" in reply and "usage" in following
            if plain and not reply.get("tool_calls") and not reply.get("reasoning"):
                more = following["usage"]["prompt"] - reply["usage"]["prompt"]
                added.append(more - meter.count(reply["content"]) - meter.count(prompt["content"]))
    assert meter.frame.reply is not None
    frames = meter.frame.reply + meter.frame.message
    assert added.count(frames) >= 35 and frames == min(added)  # a client may add what is not in the record


def sessions(shared: Path, source: str) -> Iterator[list[dict[str, Any]]]:
    for path in sorted((shared / "data" / source).glob("*.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield [json.loads(line) for line in lines][1:]


@pytest.mark.shared
def test_long_prompts_to_claude_are_estimated_within_five_percent_and_not_under_on_the_safe_side(shared: Path) -> None:
    rows = [row for row in exchanges(shared, "anthropic", "api.anthropic.com") if row[3] > 200]
    assert rows
    for model, system, entries, billed in rows:
        meter = Estimate("x", "claude_v3", for_model(model, "anthropic").frame)
        safe = weighed(meter, system, entries)
        texts = [*system, *(text for entry in entries for text in entry)]
        middle = safe - sum(map(meter.count, texts)) + sum(map(meter.raw, texts))
        assert abs(middle / billed - 1) < 0.05
        assert safe >= billed
