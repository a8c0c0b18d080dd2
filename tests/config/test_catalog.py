"""The catalogue answers with facts or not at all."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from yohaku.config import catalog
from yohaku.config.catalog import Model, PriceTier, Provider, TokenPrices
from yohaku.core.errors import Unreadable

DATA = Path(catalog.__file__).parent


def found(name: str, provider: str | None = None) -> tuple[str, str] | None:
    model = catalog.load().find(name, provider)
    return (model.provider, model.id) if model else None


def test_a_model_is_known_with_its_window_its_longest_reply_and_its_prices() -> None:
    assert catalog.load().find("gpt-4o") == Model("gpt-4o", "openai", 128000, 16384, TokenPrices(2.5, 10, 1.25))
    assert catalog.load().find("claude-sonnet-4-5") == Model(
        "claude-sonnet-4-5", "anthropic", 200000, 64000, TokenPrices(3, 15, 0.3, 3.75)
    )


def test_a_price_that_rises_with_the_prompt_says_where() -> None:
    assert catalog.load().find("gemini-2.5-pro") == Model(
        "gemini-2.5-pro",
        "gemini",
        1048576,
        65536,
        TokenPrices(1.25, 10, 0.125),
        PriceTier(200000, TokenPrices(2.5, 15, 0.25)),
    )


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("gemini-1.5-pro", 2_097_152),
        ("gemini-2.5-pro", 1_048_576),
        ("gemini-2.5-flash", 1_048_576),
        ("gemini-2.5-flash-lite", 1_048_576),
        ("gemini-3.1-pro-preview", 1_048_576),
        ("gpt-4", 8_192),
        ("gpt-3.5-turbo-0613", 4_096),
        ("gpt-4.1", 1_047_576),
        ("gpt-5", 272_000),
        ("o1-preview", 128_000),
        ("claude-3-5-sonnet", 200_000),
        ("claude-opus-4-6", 1_000_000),
        ("deepseek-chat", 131_072),
    ],
)
def test_the_windows_people_rely_on(name: str, window: int) -> None:
    model = catalog.load().find(name)
    assert model is not None
    assert model.window == window


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("openai/gpt-4o", ("openai", "gpt-4o")),
        ("GPT-4o", ("openai", "gpt-4o")),
        ("azure/gpt-4o", ("openai", "gpt-4o")),
        ("models/gemini-2.5-pro", ("gemini", "gemini-2.5-pro")),
        ("google/gemini-2.5-flash", ("gemini", "gemini-2.5-flash")),
        ("publishers/google/models/gemini-2.5-flash", ("gemini", "gemini-2.5-flash")),
        ("anthropic/claude-sonnet-4.5", ("anthropic", "claude-sonnet-4-5")),
        ("openrouter/anthropic/claude-sonnet-4.5", ("anthropic", "claude-sonnet-4-5")),
        ("openrouter/deepseek/deepseek-r1:free", ("deepseek", "deepseek-r1")),
        ("claude-4.5-sonnet", ("anthropic", "claude-sonnet-4-5")),
        ("claude-sonnet-4-5@20250929", ("anthropic", "claude-sonnet-4-5")),
        ("claude-sonnet-4-5[1m]", ("anthropic", "claude-sonnet-4-5")),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", ("anthropic", "claude-sonnet-4-5")),
        ("bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0", ("anthropic", "claude-3-5-sonnet")),
        ("groq/openai/gpt-oss-120b", ("groq", "openai/gpt-oss-120b")),
        ("together_ai/openai/gpt-oss-120b", ("together", "openai/gpt-oss-120b")),
        ("accounts/fireworks/models/gpt-oss-20b", ("fireworks", "accounts/fireworks/models/gpt-oss-20b")),
    ],
)
def test_who_serves_it_and_how_it_is_spelled_do_not_hide_a_model(name: str, model: tuple[str, str]) -> None:
    assert found(name) == model


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("gpt-4-0613", "gpt-4"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("claude-opus-4-0", "claude-opus-4"),
        ("gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"),
        ("gemini-1.5-pro-002", "gemini-1.5-pro"),
        ("gemini-2.0-flash-exp", "gemini-2.0-flash"),
        ("gemini-3.1-pro", "gemini-3.1-pro-preview"),
        ("grok-4-0709", "grok-4"),
    ],
)
def test_an_edition_without_facts_of_its_own_is_the_model_itself(name: str, model: str) -> None:
    row = catalog.load().find(name)
    assert row is not None
    assert row.id == model


@pytest.mark.parametrize(
    "name",
    ["gpt-4x", "gpt-4o-clone", "gpt", "claude", "gemini-pro", "gemini-2.5-flash-image-preview", "mistral-large-2411"],
)
def test_a_name_that_may_be_another_model_is_not_found(name: str) -> None:
    assert found(name) is None


@pytest.mark.parametrize(
    "name", ["acme/gpt-4o", "", " ", "/", ":", "ft:", "ollama/gpt-4o", "gpt-4o:7b", "no/such/model"]
)
def test_nonsense_and_unknown_makers_are_not_found(name: str) -> None:
    assert found(name) is None


def test_a_tag_of_ollama_leads_to_the_local_model() -> None:
    assert found("llama3.1:8b-instruct-q4_K_M") == ("ollama", "llama3.1")
    assert found("ollama/qwen3:8b") == ("ollama", "qwen3")
    assert found("deepseek-r1:8b") == ("ollama", "deepseek-r1")
    assert found("gemma3:1b") == ("ollama", "gemma3:1b")
    assert found("gemma3:27b") == ("ollama", "gemma3")


def test_of_one_name_the_makers_own_model_is_meant_unless_a_provider_is_named() -> None:
    assert found("kimi-k2.7-code") == ("moonshot", "kimi-k2.7-code")
    assert found("kimi-k2.7-code", "dashscope") == ("dashscope", "kimi-k2.7-code")
    assert found("deepseek-r1") == ("deepseek", "deepseek-r1")


def test_a_fine_tuned_model_has_the_window_of_its_base_and_no_price() -> None:
    assert catalog.load().find("ft:gpt-4o-mini-2024-07-18:acme::abc") == Model("gpt-4o-mini", "openai", 128000, 16384)


def test_a_family_promises_a_window_for_models_newer_than_the_snapshot() -> None:
    known = catalog.load()
    family = known.family("models/gemini-9.5-flash-preview-01-02")
    assert family is not None
    assert family.window == 1_048_576
    assert known.family("gemini-9.5-flash-image") is None
    assert known.family("gpt-9") is None


def test_every_row_is_found_under_its_own_name_with_its_own_facts() -> None:
    known = catalog.load()
    assert [row for row in known.models if known.find(row.id, row.provider) != row] == []
    assert [row for row in known.models if known.find(f"{row.provider}/{row.id}") != row] == []


def test_every_number_is_sane() -> None:
    for model in catalog.load().models:
        assert 1_024 <= model.window <= 10_485_760, model
        assert model.output is None or model.output > 0, model
        for prices in (model.prices, model.tier and model.tier.prices):
            if prices:
                assert 0 <= min(prices.input, prices.output) <= max(prices.input, prices.output) <= 1_000, model
                assert prices.cache_read is None or prices.cache_read <= prices.input, model


def test_a_provider_is_a_row_with_its_dialect_address_key_and_variable() -> None:
    openai = catalog.load().provider("openai")
    assert openai == Provider(
        name="openai",
        dialect="openai_chat",
        url="https://api.openai.com/v1",
        keys=("OPENAI_API_KEY",),
        limits=("CHATGPT", "OPENAI"),
        summary="gpt-5-nano",
        aliases=("chatgpt",),
        url_keys=("OPENAI_BASE_URL",),
        also={"openai_responses": "https://api.openai.com/v1"},
        maker=True,
    )
    assert openai.url_of("openai_responses") == "https://api.openai.com/v1"
    assert openai.url_of("gemini") is None


def test_the_documented_variables_belong_to_their_providers() -> None:
    first = {provider.name: provider.limits[0] for provider in catalog.load().providers}
    assert {name: first[name] for name in ("openai", "gemini", "anthropic", "ollama")} == {
        "openai": "CHATGPT",
        "gemini": "GEMINI",
        "anthropic": "CLAUDE",
        "ollama": "OLLAMA",
    }
    every = [prefix for provider in catalog.load().providers for prefix in provider.limits]
    assert len(every) == len(set(every))


def test_what_runs_on_this_machine_is_known_as_such() -> None:
    local = [provider.name for provider in catalog.load().providers if provider.loopback]
    assert local == ["ollama", "llamacpp", "lmstudio", "vllm"]


def test_names_and_aliases_of_providers_are_used_once() -> None:
    every = [name for provider in catalog.load().providers for name in (provider.name, *provider.aliases)]
    assert len(every) == len(set(every))


def test_summaries_are_written_by_a_known_model_of_the_same_provider() -> None:
    known = catalog.load()
    for provider in known.providers:
        if provider.summary:
            writer = known.find(provider.summary, provider.name)
            assert writer is not None, provider.name
            assert writer.provider == provider.name
    opus = known.find("claude-opus-4-5")
    assert opus is not None
    assert known.summary_for(opus) == known.find("claude-haiku-4-5")


def test_a_users_file_corrects_and_adds(tmp_path: Path) -> None:
    file = tmp_path / "models.json"
    file.write_text(
        json.dumps(
            {
                "models": [
                    {"id": "gpt-4o", "window": 64000, "summary": "gpt-4o-mini"},
                    {"id": "house-model", "provider": "house", "window": 32000},
                ],
                "providers": [
                    {"name": "house", "dialect": "openai_chat", "url": "http://10.0.0.5/v1", "limits": ["HOUSE"]}
                ],
            }
        )
    )
    corrected = catalog.load(file).find("openai/gpt-4o-2024-08-06")
    assert corrected == Model("gpt-4o", "", 64000, 16384, TokenPrices(2.5, 10, 1.25), summary="gpt-4o-mini")
    assert catalog.load(file).find("house/house-model") == Model("house-model", "house", 32000)
    assert catalog.load().find("gpt-4o") == Model("gpt-4o", "openai", 128000, 16384, TokenPrices(2.5, 10, 1.25))
    assert catalog.load(file).summary_for(corrected) == catalog.load().find("gpt-4o-mini")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "truncated"),
        ('{"models": [{"id": "x"}]}', "window"),
        ('{"models": [{"id": "x", "window": "big"}]}', "window"),
        ('{"models": [{"id": "x", "window": 0}]}', "positive"),
        ('{"model": []}', "model"),
    ],
)
def test_a_broken_users_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "models.json"
    file.write_text(text)
    with pytest.raises(Unreadable, match=says) as error:
        catalog.load(file)
    assert str(file) in str(error.value)


def test_a_missing_users_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"nowhere\.json"):
        catalog.load(tmp_path / "nowhere.json")


def test_the_snapshot_is_small_sorted_and_says_whose_it_is() -> None:
    text = (DATA / "models.json").read_text(encoding="utf-8")
    snapshot = json.loads(text)
    assert len(text) <= 60_000
    assert snapshot["source"].startswith("litellm 1.")
    assert snapshot["licence"].startswith("MIT")
    for rows in snapshot["models"].values():
        assert [row[0] for row in rows] == sorted({row[0] for row in rows})


def test_nothing_is_read_at_import_and_reading_is_quick() -> None:
    program = "from yohaku.config import catalog; print(catalog.load.cache_info().currsize)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "0\n"
    timings = []
    for _ in range(5):
        start = time.process_time()
        catalog.load.__wrapped__().find("gpt-4o")
        timings.append(time.process_time() - start)
    assert min(timings) < 0.03  # about 4 ms on an idle machine


THEIRS = {
    "anthropic": "anthropic",
    "google": "gemini",
    "moonshotai": "moonshot",
    "openai": "openai",
    "x-ai": "xai",
}
DISPUTED = {
    "claude-2": "they put 2.0 and 2.1 under one name; the smaller is safe",
    "gemini-1.5-pro": "2,097,152 by requirement S7; they say a million here, and two for `gemini-pro-1.5`",
    "gpt-3.5-turbo-0613": "they say 16,385; litellm says 4,096 for its fine-tuned form, and the smaller is safe",
    "gemini-2.5-flash-preview": "they list the preview's own price; we have only the model's",
    "grok-code-fast-1": "litellm names xAI's list as its source; not checked further",
    "gpt-4o:extended": "a longer reply at a higher price, on OpenRouter only",
}


def test_a_second_source_agrees() -> None:
    """Windows within 6 % (they round), or ours and the reply together; one of their dated prices, to the cent."""
    data = pytest.importorskip("genai_prices.data", reason="genai-prices is not installed: pip install genai-prices")
    compared, differ = 0, []
    for provider in data.providers:
        for theirs in provider.models if provider.id in THEIRS else ():
            ours = catalog.load().find(theirs.id, THEIRS[provider.id])
            if ours is None or ours.provider != THEIRS[provider.id] or theirs.id in DISPUTED:
                continue
            compared += 1
            window = theirs.context_window
            if window and abs(ours.window - window) > 0.06 * window and ours.window + (ours.output or 0) != window:
                differ.append((theirs.id, "window", window, ours.window))
            dated = [each.prices for each in theirs.prices] if isinstance(theirs.prices, list) else [theirs.prices]
            for field, mine in (("input_mtok", "input"), ("output_mtok", "output"), ("cache_read_mtok", "cache_read")):
                listed = [float(getattr(price, "base", price)) for each in dated if (price := getattr(each, field))]
                known = getattr(ours.prices, mine, None)
                if listed and known is not None and all(abs(price - known) > 0.005 for price in listed):
                    differ.append((theirs.id, mine, listed, known))
    assert compared > 90
    assert differ == []
