from __future__ import annotations

import re
from pathlib import Path

import pytest

from yohaku.agent.host.model_spec import (
    DEFAULT_MODELS,
    PREFERRED_PROVIDERS,
    PROVIDER_TITLES,
    ModelNotFound,
    ModelSpec,
    parse_model_spec,
)
from yohaku.config import catalog


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("ollama/qwen3:8b", ModelSpec("provider", "ollama", "qwen3:8b")),
        ("llama.cpp", ModelSpec("provider", "llamacpp")),
        ("lm-studio/qwen/qwen3-8b", ModelSpec("provider", "lmstudio", "qwen/qwen3-8b")),
        ("claude/claude-opus-5", ModelSpec("provider", "anthropic", "claude-opus-5")),
        ("google/gemini-2.5-pro", ModelSpec("provider", "gemini", "gemini-2.5-pro")),
        ("openrouter/qwen/qwen3-coder", ModelSpec("provider", "openrouter", "qwen/qwen3-coder")),
        ("http://box:9000/v1#m/x", ModelSpec("url", "http://box:9000/v1", "m/x")),
        ("https://box/v1/", ModelSpec("url", "https://box/v1")),
        ("~/models/a.bin", ModelSpec("file", "~/models/a.bin")),
        ("a/b.GGUF", ModelSpec("file", "a/b.GGUF")),
        ("embedded", ModelSpec("provider", "embedded")),
        (" gpt-5 ", ModelSpec("name", "", "gpt-5")),
        ("qwen3:8b", ModelSpec("name", "", "qwen3:8b")),
        ("somebody/model", ModelSpec("name", "", "somebody/model")),
    ],
)
def test_a_model_can_be_named_in_many_ways(said: str, expected: ModelSpec) -> None:
    assert parse_model_spec(said, catalog.load()) == expected


@pytest.mark.parametrize("name", sorted(DEFAULT_MODELS))
def test_the_model_taken_for_a_key_is_one_the_catalogue_knows_and_has_room_for_an_agent(name: str) -> None:
    model = catalog.load().find(DEFAULT_MODELS[name], name)
    assert model and model.window >= 100_000
    assert name == "openrouter" or model.provider == name


def test_every_provider_with_a_key_has_a_model_and_every_one_a_name_for_people() -> None:
    providers = {provider.name: provider for provider in catalog.load().providers}
    assert {name for name, provider in providers.items() if not provider.loopback} == set(DEFAULT_MODELS)
    assert set(PROVIDER_TITLES) == set(providers) and set(PREFERRED_PROVIDERS) <= set(providers)


def test_what_is_not_there_is_told_in_both_languages() -> None:
    missing = ModelNotFound("no_key", model="openai/gpt-5", keys="OPENAI_API_KEY")
    assert str(missing) == missing.said("en") != missing.said("ja")
    assert all("OPENAI_API_KEY" in missing.said(lang) for lang in ("en", "ja"))


def test_the_page_about_models_shows_every_way_to_name_one() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "models.md").read_text("utf-8")
    shown = re.findall(r"^\| `(.+)` \|", page, re.MULTILINE)
    assert [parse_model_spec(said, catalog.load()).kind for said in shown] == [
        "provider",
        "provider",
        "name",
        "url",
        "file",
        "provider",
    ]
    variables = set(re.findall(r"`([A-Z_]+_(?:KEY|URL|HOST))`", page)) - {"YOHAKU_API_KEY"}
    known = {name for provider in catalog.load().providers for name in (*provider.keys, *provider.url_keys)}
    assert variables and variables <= known
