from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.host.test_local_servers import LLAMA_CPP, LM_STUDIO, VLLM, WORKS, ollama, tag
from tests.agent.loopback import Reply, loopback
from yohaku.agent.host.capacity import GIB, MachineMemory
from yohaku.agent.host.find_model import add_vocabulary, find_models, refresh
from yohaku.agent.host.model_spec import DEFAULT_MODELS, ModelNotFound
from yohaku.client.endpoint import Endpoint
from yohaku.config import settings as setting

MEMORY = MachineMemory(16 * GIB, 12 * GIB)


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment in which the usual servers are looked for where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
        yield {
            "HOME": str(tmp_path),
            "OLLAMA_HOST": nobody,
            "LLAMACPP_BASE_URL": f"{nobody}/v1",
            "LMSTUDIO_BASE_URL": f"{nobody}/v1",
            "VLLM_BASE_URL": f"{nobody}/v1",
            "OLLAMA_MODELS": str(tmp_path / "none"),
        }


def search(environ: dict[str, str], **more: Any) -> list[Endpoint]:
    return asyncio.run(find_models(setting.read(environ), memory=MEMORY, **more))


def test_where_nothing_runs_and_no_key_is_set_nothing_is_found(quiet: dict[str, str]) -> None:
    assert search(quiet) == []


def test_servers_come_before_keys_in_the_order_of_preference(quiet: dict[str, str]) -> None:
    with (
        ollama([tag("qwen3:8b", "2025-01-01T00:00:00Z")], qwen3=WORKS) as first,
        loopback(LLAMA_CPP) as second,
        loopback(LM_STUDIO) as third,
        loopback(VLLM) as fourth,
    ):
        addresses = {
            "OLLAMA_HOST": first.url.removeprefix("http://"),
            "LLAMACPP_BASE_URL": f"{second.url}/v1",
            "LMSTUDIO_BASE_URL": f"{third.url}/v1",
            "VLLM_BASE_URL": f"{fourth.url}/v1",
        }
        keys = {f"{name}_API_KEY": "k" for name in ("GEMINI", "ANTHROPIC", "DEEPSEEK", "OPENROUTER")}
        found = search(quiet | addresses | keys)
    assert [(each.provider, each.model, each.window) for each in found] == [
        ("ollama", "qwen3:8b", None),
        ("llama.cpp", "/models/tiny.gguf", 8_192),
        ("lmstudio", "seer", 12_000),
        ("vllm", "org/base", 24_000),
        ("anthropic", DEFAULT_MODELS["anthropic"], None),
        ("gemini", DEFAULT_MODELS["gemini"], None),
        ("openrouter", DEFAULT_MODELS["openrouter"], None),
        ("deepseek", DEFAULT_MODELS["deepseek"], None),
    ]
    assert [each.local for each in found] == [True] * 4 + [False] * 4


def test_an_address_that_was_set_comes_before_a_server_that_happens_to_run(quiet: dict[str, str]) -> None:
    models = {"/v1/models": {"data": [{"id": "chosen", "context_length": 16_384}]}}
    with ollama([tag("qwen3:8b", "2025-01-01T00:00:00Z")], qwen3=WORKS) as running, loopback(models) as meant:
        environ = quiet | {"OLLAMA_HOST": running.url.removeprefix("http://"), "ANTHROPIC_API_KEY": "k"}
        found = search(environ | {"OPENAI_BASE_URL": f"{meant.url}/v1", "OPENAI_API_KEY": "k"})
        assert [each.model for each in found] == ["chosen", "qwen3:8b", DEFAULT_MODELS["anthropic"]]
        found = search(environ | {"OPENAI_API_KEY": "k"})
        assert [each.provider for each in found] == ["ollama", "openai", "anthropic"]


def test_a_key_alone_gives_a_whole_endpoint_that_does_not_show_it(quiet: dict[str, str]) -> None:
    [found] = search(quiet | {"ANTHROPIC_API_KEY": "sk-secret"})
    assert found == Endpoint(
        "Anthropic",
        "anthropic",
        "anthropic",
        "https://api.anthropic.com",
        "claude-sonnet-5-5",
        "sk-secret",
        output=128_000,
    )
    assert "sk-secret" not in repr(found)


def test_an_address_for_openai_is_asked_what_it_has(quiet: dict[str, str]) -> None:
    with loopback({"/v1/models": {"data": [{"id": "local-chat", "max_model_len": 9_000}]}}) as server:
        [found] = search(quiet | {"OPENAI_BASE_URL": f"{server.url}/v1"})
        assert (found.model, found.url, found.window, found.local) == ("local-chat", f"{server.url}/v1", 9_000, True)
    with loopback({}) as silent:
        environ = quiet | {"OPENAI_BASE_URL": f"{silent.url}/v1"}
        assert search(environ) == []
        [blind] = search(environ | {"OPENAI_MODEL": "mine"})
        assert (blind.model, blind.url) == ("mine", f"{silent.url}/v1")


def test_a_model_of_a_provider_is_found_with_its_key_and_said_to_need_one_without(quiet: dict[str, str]) -> None:
    [found] = search(quiet | {"OPENAI_API_KEY": "o"}, model="openai/gpt-5")
    assert (found.provider, found.model, found.key) == ("openai", "gpt-5", "o")
    with pytest.raises(ModelNotFound, match="OPENAI_API_KEY"):
        search(quiet, model="openai/gpt-5")


def test_a_bare_name_goes_to_whoever_runs_it_then_to_whoever_makes_it(quiet: dict[str, str]) -> None:
    with ollama([tag("gpt-oss:20b", "2025-01-01T00:00:00Z")]) as server:
        environ = quiet | {"OLLAMA_HOST": server.url, "OPENAI_API_KEY": "o"}
        assert [each.provider for each in search(environ, model="gpt-oss:20b")] == ["ollama"]
        assert [each.provider for each in search(environ, model="gpt-5-mini")] == ["openai"]
    with pytest.raises(ModelNotFound, match="ANTHROPIC_API_KEY"):
        search(quiet, model="claude-sonnet-5")
    with pytest.raises(ModelNotFound, match="not known here"):
        search(quiet, model="no-such-thing-at-all")


def test_what_a_maker_has_no_key_for_may_come_by_the_router(quiet: dict[str, str]) -> None:
    [found] = search(quiet | {"OPENROUTER_API_KEY": "r"}, model="qwen/qwen3-coder")
    assert (found.provider, found.model) == ("openrouter", "qwen/qwen3-coder")


def test_a_setting_names_a_model_too(quiet: dict[str, str]) -> None:
    [found] = search(quiet | {"YOHAKU_MODEL": "anthropic/claude-opus-5", "ANTHROPIC_API_KEY": "a"})
    assert found.model == "claude-opus-5"


def test_a_server_that_is_not_there_and_one_without_the_model_are_told_apart(quiet: dict[str, str]) -> None:
    with pytest.raises(ModelNotFound, match=r"Ollama \(.*\) does not answer"):
        search(quiet, model="ollama/qwen3:8b")
    with ollama([tag("other:8b", "2025-01-01T00:00:00Z")]) as server:
        with pytest.raises(ModelNotFound, match="does not have qwen3:8b, but it has other:8b"):
            search(quiet | {"OLLAMA_HOST": server.url}, model="ollama/qwen3:8b")
        [found] = search(quiet | {"OLLAMA_HOST": server.url}, model="ollama")
        assert found.model == "other:8b"


def test_an_address_is_taken_with_the_model_that_is_named_even_if_it_tells_nothing(quiet: dict[str, str]) -> None:
    with loopback(LLAMA_CPP) as server:
        [found] = search(quiet, model=f"{server.url}/v1")
        assert (found.provider, found.window) == ("llama.cpp", 8_192)
    with loopback({}) as silent:
        [found] = search(quiet, model=f"{silent.url}/v1#mine")
        assert (found.dialect, found.model, found.url, found.local) == ("openai_chat", "mine", f"{silent.url}/v1", True)
        with pytest.raises(ModelNotFound, match="does not answer"):
            search(quiet, model=f"{silent.url}/v1")


def test_a_key_goes_to_its_own_provider_and_nowhere_else(quiet: dict[str, str]) -> None:
    with loopback({"/v1/models": {"data": [{"id": "m"}]}}) as server:
        environ = quiet | {"OPENAI_API_KEY": "sk-secret", "YOHAKU_API_KEY": "mine"}
        [found] = search(environ, model=f"{server.url}/v1#m")
        assert found.key == "mine"
        [found] = search({**environ, "YOHAKU_API_KEY": ""}, model=f"{server.url}/v1#m")
        assert found.key == ""
    assert {asked.headers.get("Authorization") for asked in server.asked} == {"Bearer mine", None}


def test_a_path_that_is_no_file_is_said_to_be_none(quiet: dict[str, str]) -> None:
    with pytest.raises(ModelNotFound, match="no such file"):
        search(quiet, model="/nowhere/model.gguf")


def test_a_server_is_asked_again_once_it_has_loaded_the_model() -> None:
    rows = [{"id": "m", "type": "llm", "state": "not-loaded", "max_context_length": 32_768}]

    async def twice(url: str) -> tuple[Endpoint, Endpoint]:
        before = Endpoint("LM Studio", "lmstudio", "openai_chat", f"{url}/v1", "m", local=True)
        rows[0] |= {"state": "loaded", "loaded_context_length": 4_096}
        return before, await refresh(before)

    with loopback({"/api/v0/models": {"data": rows}}) as server:
        before, after = asyncio.run(twice(server.url))
    assert (before.window, after.window) == (None, 4_096)
    assert asyncio.run(refresh(after)) == after  # gone meanwhile


def test_the_vocabulary_of_an_ollama_comes_later_and_only_on_demand() -> None:
    def show(asked: Any) -> Reply:
        tokens = '["a", "b"]' if asked.body.get("verbose") else "null"
        return Reply(body=f'{{"model_info": {{"tokenizer.ggml.tokens": {tokens}}}}}'.encode())

    with loopback({"/api/show": show}) as server:
        plain = Endpoint("Ollama", "ollama", "ollama", server.url, "m", local=True, info={"x": 1})
        assert asyncio.run(add_vocabulary(plain)).info == {"x": 1, "tokenizer.ggml.tokens": ["a", "b"]}
    assert asyncio.run(add_vocabulary(plain)) == plain
