from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.agent.host.test_capacity import EIGHT, LLAMA
from yohaku.agent.host.capacity import GIB, ChosenWindow, MachineMemory, explain_window
from yohaku.agent.host.choose_window import choose_window, is_settable
from yohaku.agent.host.local_servers import BILLIONS_KEY, BYTES_KEY
from yohaku.client.endpoint import Endpoint
from yohaku.config import settings as setting

MEMORY = MachineMemory(16 * GIB, 12 * GIB)
OLLAMA = Endpoint(
    "Ollama", "ollama", "ollama", "http://127.0.0.1:11434", "llama3.1:8b", trained=131_072, local=True,
    info={**LLAMA, BYTES_KEY: EIGHT},
)  # fmt: skip
SERVED = Endpoint("llama.cpp", "llama.cpp", "openai_chat", "http://127.0.0.1:8080/v1", "m", window=8_192, local=True)
HOSTED = Endpoint("Anthropic", "anthropic", "anthropic", "https://api.anthropic.com", "claude-sonnet-4-5", "k")
STUDIO = Endpoint("LM Studio", "lmstudio", "openai_chat", "http://127.0.0.1:1234/v1", "m", trained=40_960, local=True)


def chosen(endpoint: Endpoint, environ: dict[str, str] | None = None, **more: Any) -> ChosenWindow:
    return choose_window(endpoint, setting.read({"HOME": "/nowhere", **(environ or {})}), MEMORY, **more)


def test_memory_decides_for_a_model_that_is_ours_to_load() -> None:
    assert chosen(OLLAMA) == ChosenWindow(32_768, "full", "memory", 56_671, exact=True)
    assert chosen(replace(OLLAMA, provider="embedded")).window == 32_768
    assert [is_settable(each) for each in (OLLAMA, SERVED, HOSTED, replace(OLLAMA, local=False))] == [
        True, False, False, False,
    ]  # fmt: skip


def test_without_metadata_its_size_decides() -> None:
    assert chosen(replace(OLLAMA, info={BYTES_KEY: EIGHT, BILLIONS_KEY: 8.0})) == ChosenWindow(
        16_384, "full", "memory", 28_335
    )


def test_a_loaded_model_keeps_a_larger_window_and_gives_up_a_smaller_one() -> None:
    assert chosen(replace(OLLAMA, window=131_072)) == ChosenWindow(131_072, "full", "served", 131_072, exact=True)
    assert chosen(replace(OLLAMA, window=4_096)).window > 4_096
    assert chosen(replace(OLLAMA, window=131_072), n=8_192).window == 8_192


def test_an_ollama_on_another_machine_is_not_measured_by_this_one() -> None:
    away = replace(OLLAMA, local=False, url="http://box:11434")
    assert chosen(away) == ChosenWindow(8_192, "small", "unknown", 8_192)
    assert chosen(replace(away, window=40_000)).window == 40_000
    assert chosen(away, n=100_000) == ChosenWindow(100_000, "full", "asked", 131_072, exact=True)
    assert chosen(away, n=200_000) == ChosenWindow(131_072, "full", "beyond", 131_072, 200_000, True)


def test_a_server_with_a_window_of_its_own_decides() -> None:
    assert chosen(SERVED) == ChosenWindow(8_192, "small", "served", 8_192, exact=True)
    assert chosen(SERVED, n=32_768) == ChosenWindow(8_192, "small", "beyond", 8_192, 32_768, True)


def test_the_catalogue_decides_for_those_behind_an_api() -> None:
    assert chosen(HOSTED) == ChosenWindow(200_000, "full", "known", 200_000, exact=True)
    assert chosen(HOSTED, preset="speed").window == 100_000
    assert chosen(HOSTED, n=50_000).window == 50_000


def test_where_nothing_is_known_it_is_what_any_model_takes() -> None:
    assert chosen(STUDIO) == ChosenWindow(4_096, "small", "unknown", 4_096)
    assert chosen(STUDIO, n=20_000) == ChosenWindow(20_000, "full", "asked", 20_000)
    assert chosen(replace(HOSTED, model="claude-of-next-year")).why == "unknown"


@pytest.mark.parametrize(
    ("endpoint", "variable"),
    [(OLLAMA, "OLLAMA_MAX_CONTEXT_LENGTH"), (HOSTED, "CLAUDE_MAX_CONTEXT_LENGTH"), (HOSTED, "YOHAKU_WINDOW"),
     (STUDIO, "DEFAULT_MAX_CONTEXT_LENGTH"), (SERVED, "LLAMACPP_MAX_CONTEXT_LENGTH")],
)  # fmt: skip
def test_the_users_variables_count_as_the_users_number(endpoint: Endpoint, variable: str) -> None:  # C1
    assert (chosen(endpoint, {variable: "6000"}).window, chosen(endpoint, {variable: "6000"}).why) == (6_000, "asked")
    assert chosen(endpoint, {variable: "6000"}, n=5_000).window == 5_000


def test_a_variable_of_another_provider_does_not_count() -> None:
    assert chosen(HOSTED, {"OLLAMA_MAX_CONTEXT_LENGTH": "6000"}).window == 200_000


def test_what_was_learned_makes_it_smaller_and_never_larger() -> None:
    assert chosen(SERVED, learned=6_000) == ChosenWindow(6_000, "small", "learned", 6_000, exact=True)
    assert chosen(SERVED, learned=60_000).window == 8_192
    assert chosen(SERVED, learned=6_000, n=8_000, force=True).window == 8_000
    assert explain_window(chosen(SERVED, learned=6_000), "ja").startswith("6,000 トークン")
