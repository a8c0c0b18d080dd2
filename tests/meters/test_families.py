from __future__ import annotations

import pytest

from yohaku.meters.families import build, family_of, load

NAMES = {
    "gpt-4o": "o200k",
    "openai/gpt-4o-2024-08-06": "o200k",
    "openai-gpt-4.1": "o200k",
    "chatgpt-4o-latest": "o200k",
    "gpt-4": "cl100k",
    "gpt-4-turbo": "cl100k",
    "azure/gpt-35-turbo": "cl100k",
    "gpt-5-mini": "gpt_5",
    "gpt-5.6-sol": "gpt_5",
    "openai/gpt-5.1-codex-mini": "gpt_5",
    "o3-mini": "o_series",
    "openrouter/openai/o4-mini": "o_series",
    "openai/gpt-oss-120b": "gpt_oss",
    "gpt-oss:20b": "gpt_oss",
    "claude-3-opus-latest": "claude_v3",
    "claude-3-5-sonnet-20241022": "claude_v3",
    "anthropic/claude-3.7-sonnet:thinking": "claude_v3",
    "claude-sonnet-4-20250514": "claude_v3",
    "claude-opus-4-1": "claude_v3",
    "openrouter/anthropic/claude-sonnet-4.5": "claude_v3",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0": "claude_v3",
    "claude-haiku-4-5@20251001": "claude_v3",
    "claude-opus-4-6": "claude_v3",
    "claude-opus-4-7": "claude_v47",
    "anthropic.claude-opus-4-8-v1:0": "claude_v48",
    "claude-sonnet-5": "claude_v48",
    "claude-fable-5": "claude_v48",
    "models/gemini-2.5-flash": "gemini_2",
    "google/gemini-2.0-flash-exp:free": "gemini_1",
    "gemini-3-pro-preview": "gemini_3",
    "gemini-3.6-flash": "gemini_31",
    "gemma3:4b": "gemma3",
    "google/gemma-3-27b-it": "gemma3",
    "gemma-4-e4b": "gemma4",
    "gemma2:9b": "gemma2",
    "meta-llama/Llama-3.3-70B-Instruct": "llama3",
    "llama3.1:8b": "llama3",
    "Meta Llama 3 8B": "llama3",
    "deepseek-ai/DeepSeek-R1-Distill-Llama-70B": "llama3",
    "codellama:7b": "codellama",
    "llama2": "llama2",
    "qwen3:0.6b": "qwen3",
    "Qwen/Qwen2.5-VL-72B-Instruct": "qwen3",
    "qwen-3-coder-480b": "qwen3",
    "mistral-large-latest": "mistral_v3",
    "mistral-nemo": "mistral_v3",
    "pixtral-12b": "mistral_v3",
    "mistral": "mistral_v2",
    "mixtral-8x7b": "mistral_v1",
    "deepseek-reasoner": "deepseek_v3",
    "z-ai/glm-4.6": "glm4",
    "moonshotai/Kimi-K2-Instruct": "kimi_k2",
    "kimi-k3": "kimi_k3",
    "phi4:14b": "phi4",
}
GUESSES = {
    "claude-latest": "claude_v48",
    "sonnet": "claude_v48",
    "gemini-flash-latest": "gemini_31",
    "meta-llama/llama-4-scout-17b-16e-instruct": "llama4",
    "qwen3.6-plus": "qwen3",
    "zai/GLM-5.2": "glm4",
    "meta-llama/Guard": "llama3",
    "grok-4": "unknown",
    "my-finetune": "unknown",
}


@pytest.mark.parametrize(("model", "family"), NAMES.items())
def test_a_known_name_has_its_family(model: str, family: str) -> None:
    found = family_of(model)
    assert (found.name, found.near, found.sure) == (family, 1.0, True)


@pytest.mark.parametrize(("model", "family"), GUESSES.items())
def test_a_guessed_name_is_never_exact(model: str, family: str) -> None:
    found = family_of(model)
    assert found.name == family
    assert found.near > 1.0 or not found.sure or list(dict(found.meters)) == ["estimate"]


def test_an_unknown_name_is_taken_by_its_dialect() -> None:
    found = {
        dialect: family_of("nobody", dialect) for dialect in ("anthropic", "gemini", "openai_chat", "ollama", None)
    }
    assert {dialect: family.name for dialect, family in found.items()} == {
        "anthropic": "claude_v48",
        "gemini": "gemini_31",
        "openai_chat": "unknown",
        "ollama": "unknown",
        None: "unknown",
    }
    assert not found["anthropic"].sure
    assert not found["gemini"].sure


def test_no_name_at_all_is_openai_unless_the_dialect_says_otherwise() -> None:
    assert [family_of(None, dialect).name for dialect in (None, "openai_chat", "anthropic")] == [
        "o200k",
        "o200k",
        "claude_v48",
    ]


def test_the_frame_may_depend_on_the_dialect() -> None:
    chat, responses = family_of("gpt-5", "openai_chat"), family_of("gpt-5", "openai_responses")
    assert (chat.frame.tools, responses.frame.tools) == (99, 18)
    assert chat.rule == responses.rule


def test_every_row_of_the_table_can_be_built() -> None:
    table = load()
    for row in table["model"]:
        assert build(row["family"], row, None).name == row["family"]
    for name in (*table["family"], *table["dialect"].values()):
        assert build(name, {}, "openai_responses").name == name


def test_what_claudes_tools_cost_once_depends_on_the_model() -> None:
    names = ("claude-opus-4-6", "claude-opus-4-7", "anthropic.claude-opus-4-8-v1:0", "claude-opus-5-20260724",
             "claude-fable-5", "claude-sonnet-5", "claude-opus-5-5", "claude-sonnet-4-0")  # fmt: skip
    frames = [family_of(name, "anthropic").frame for name in names]
    assert [frame.tools for frame in frames] == [508, 687, 302, 302, 302, 366, 366, 320]
