from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.loopback import Asked, Loopback, Reply, loopback
from yohaku.agent.host import local_servers
from yohaku.agent.host.local_servers import BILLIONS_KEY, BYTES_KEY, ServerAddress
from yohaku.client.endpoint import Endpoint

GIGABYTE = 1_000_000_000
INFO = {
    "general.architecture": "qwen3",
    "qwen3.block_count": 36,
    "qwen3.context_length": 40_960,
    "qwen3.attention.head_count_kv": 8,
    "tokenizer.ggml.tokens": None,
}


def tag(name: str, when: str, size: int = 5 * GIGABYTE, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "model": name,
        "modified_at": when,
        "size": size,
        "details": {"parameter_size": "8.2B"},
        **more,
    }


def shows(**capabilities: list[str]) -> Callable[[Asked], Reply]:
    """What an Ollama says of each model, by its name without the tag."""

    def answer(asked: Asked) -> Reply:
        can = capabilities.get(asked.body["model"].partition(":")[0].replace("-", "_"))
        said = {"model_info": INFO, "details": {"parameter_size": "8.2B"}, **({"capabilities": can} if can else {})}
        return Reply(body=json.dumps(said).encode())

    return answer


def ollama(models: list[dict[str, Any]], running: list[dict[str, Any]] | None = None, **capabilities: list[str]) -> Any:
    return loopback(
        {"/api/tags": {"models": models}, "/api/ps": {"models": running or []}, "/api/show": shows(**capabilities)}
    )


def found(kind: local_servers.Probe, server: Loopback, **more: Any) -> Endpoint | None:
    return asyncio.run(kind(ServerAddress(server.url, **more)))


TALKS = ["completion"]
WORKS = ["completion", "tools"]


def test_an_ollama_gives_the_newest_model_that_takes_tools() -> None:
    models = [
        tag("old:8b", "2025-01-01T00:00:00Z"),
        tag("qwen3:8b", "2025-06-01T10:00:00.123456789+09:00"),
        tag("story:8b", "2025-09-01T00:00:00Z"),
    ]
    with ollama(models, old=WORKS, qwen3=WORKS, story=TALKS) as server:
        endpoint = found(local_servers.probe_ollama, server)
        assert endpoint == Endpoint("Ollama", "ollama", "ollama", server.url, "qwen3:8b", trained=40_960, local=True)
        assert endpoint and endpoint.info == {
            "general.architecture": "qwen3",
            "qwen3.block_count": 36,
            "qwen3.context_length": 40_960,
            "qwen3.attention.head_count_kv": 8,
            BYTES_KEY: 5 * GIGABYTE,
            BILLIONS_KEY: 8.2,
        }


def test_a_model_that_is_loaded_comes_before_a_newer_one_and_says_what_it_runs_with() -> None:
    models = [tag("new:8b", "2025-09-01T00:00:00Z"), tag("warm:8b", "2025-01-01T00:00:00Z")]
    running = [{"name": "warm:8b", "model": "warm:8b", "context_length": 16_384, "size_vram": 1}]
    with ollama(models, running, new=WORKS, warm=TALKS) as server:
        endpoint = found(local_servers.probe_ollama, server)
    assert endpoint and (endpoint.model, endpoint.window, endpoint.trained) == ("warm:8b", 16_384, 40_960)


def test_models_that_do_not_talk_are_passed_over() -> None:
    models = [
        tag("nomic-embed-text:latest", "2025-09-01T00:00:00Z"),
        tag("vectors:1b", "2025-08-01T00:00:00Z"),
        tag("bert:1b", "2025-07-01T00:00:00Z", details={"family": "nomic-bert"}),
        tag("talker:8b", "2025-01-01T00:00:00Z"),
    ]
    running = [{"name": "vectors:1b", "context_length": 2_048}]
    with ollama(models, running, vectors=["embedding"], talker=TALKS) as server:
        endpoint = found(local_servers.probe_ollama, server)
    assert endpoint and endpoint.model == "talker:8b"


def test_a_model_this_machine_cannot_hold_is_taken_only_if_there_is_no_other() -> None:
    huge = tag("huge:70b", "2025-09-01T00:00:00Z", size=40 * GIGABYTE)
    with ollama([huge, tag("small:8b", "2025-01-01T00:00:00Z")]) as server:
        endpoint = found(local_servers.probe_ollama, server, biggest=lambda: 20 * GIGABYTE)
    assert endpoint and endpoint.model == "small:8b"
    with ollama([huge]) as server:
        endpoint = found(local_servers.probe_ollama, server, biggest=lambda: 20 * GIGABYTE)
    assert endpoint and endpoint.model == "huge:70b"


def test_a_model_an_ollama_only_passes_on_is_not_local_and_has_its_whole_window() -> None:
    with ollama([tag("big:cloud", "2025-09-01T00:00:00Z", remote_host="https://example.org")]) as server:
        endpoint = found(local_servers.probe_ollama, server)
    assert endpoint and (endpoint.local, endpoint.window) == (False, 40_960)


def test_a_wanted_model_is_found_with_or_without_its_tag_or_not_at_all() -> None:
    models = [tag("a:latest", "2025-01-01T00:00:00Z"), tag("b:8b", "2025-02-01T00:00:00Z")]
    with ollama(models) as server:
        wanted = [found(local_servers.probe_ollama, server, wanted=name) for name in ("a", "b:8b", "b", "c")]
    assert [each and each.model for each in wanted] == ["a:latest", "b:8b", None, None]


def test_an_ollama_without_models_is_none() -> None:
    with ollama([]) as server:
        assert found(local_servers.probe_ollama, server) is None


LLAMA_CPP = {
    "/props": {"default_generation_settings": {"n_ctx": 8_192}, "model_path": "/nowhere/tiny.gguf"},
    "/v1/models": {
        "data": [{"id": "/models/tiny.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131_072, "size": 303_360}}]
    },
}


def test_a_llama_cpp_tells_its_window_and_what_the_model_was_trained_for() -> None:
    with loopback(LLAMA_CPP) as server:
        endpoint = found(local_servers.probe_llama_cpp, server, key="k")
        expected = Endpoint(
            "llama.cpp",
            "llama.cpp",
            "openai_chat",
            f"{server.url}/v1",
            "/models/tiny.gguf",
            "k",
            8_192,
            131_072,
            local=True,
        )
        assert endpoint == expected and endpoint.info == {BYTES_KEY: 303_360}
        assert {asked.headers["Authorization"] for asked in server.asked} == {"Bearer k"}
        named = [
            found(local_servers.probe_llama_cpp, server, wanted=name) for name in ("tiny", "/models/tiny.gguf", "other")
        ]
        assert [each and each.model for each in named] == ["/models/tiny.gguf", "/models/tiny.gguf", None]


LM_STUDIO = {
    "/api/v0/models": {
        "object": "list",
        "data": [
            {"id": "text-embedding-nomic", "type": "embeddings", "state": "loaded", "max_context_length": 2_048},
            {"id": "plain", "type": "llm", "state": "not-loaded", "max_context_length": 32_768},
            {
                "id": "qwen/qwen3-8b", "type": "llm", "state": "not-loaded", "max_context_length": 40_960,
                "capabilities": ["tool_use"],
            },
            {
                "id": "seer", "type": "vlm", "state": "loaded", "max_context_length": 131_072,
                "loaded_context_length": 12_000,
            },
        ],
    }
}  # fmt: skip


def test_an_lm_studio_gives_the_model_that_is_loaded_and_its_window() -> None:
    with loopback(LM_STUDIO) as server:
        endpoint = found(local_servers.probe_lm_studio, server)
        assert endpoint == Endpoint(
            "LM Studio", "lmstudio", "openai_chat", f"{server.url}/v1", "seer", "", 12_000, 131_072, local=True
        )
        named = found(local_servers.probe_lm_studio, server, wanted="qwen3-8b")
        assert named and (named.model, named.window, named.trained) == ("qwen/qwen3-8b", None, 40_960)


def test_an_lm_studio_with_nothing_loaded_gives_one_that_takes_tools() -> None:
    rows = [{**row, "state": "not-loaded"} for row in LM_STUDIO["/api/v0/models"]["data"] if isinstance(row, dict)]
    with loopback({"/api/v0/models": {"data": rows}}) as server:
        endpoint = found(local_servers.probe_lm_studio, server)
    assert endpoint and endpoint.model == "qwen/qwen3-8b"


VLLM = {
    "/v1/models": {
        "data": [
            {"id": "adapter", "owned_by": "vllm", "parent": "base", "max_model_len": None},
            {"id": "org/base", "owned_by": "vllm", "parent": None, "max_model_len": 24_000},
        ]
    }
}


def test_a_vllm_tells_its_window() -> None:
    with loopback(VLLM) as server:
        assert found(local_servers.probe_vllm, server) == Endpoint(
            "vLLM", "vllm", "openai_chat", f"{server.url}/v1", "org/base", "", 24_000, local=True
        )


@pytest.mark.parametrize(
    ("routes", "provider", "model"),
    [
        (LLAMA_CPP, "llama.cpp", "/models/tiny.gguf"),
        (LM_STUDIO, "lmstudio", "seer"),
        (VLLM, "vllm", "org/base"),
        ({"/v1/models": {"data": [{"id": "embedder-embed"}, {"id": "some-chat"}]}}, "openai", "some-chat"),
    ],
    ids=["llama.cpp", "lmstudio", "vllm", "another"],
)
def test_whoever_serves_at_an_address_is_recognised(routes: dict[str, Any], provider: str, model: str) -> None:
    with loopback(routes) as server:
        endpoint = asyncio.run(local_servers.probe_address(f"{server.url}/v1"))
    assert endpoint and (endpoint.provider, endpoint.model) == (provider, model)


def test_an_address_may_have_a_path_of_its_own() -> None:
    with loopback({"/api/paas/v4/models": {"data": [{"id": "m", "context_length": 9_000}]}}) as server:
        endpoint = asyncio.run(local_servers.probe_address(f"{server.url}/api/paas/v4"))
    assert endpoint and (endpoint.url, endpoint.window) == (f"{server.url}/api/paas/v4", 9_000)


NONSENSE: list[Any] = [
    {}, [], None, "text", 5, {"models": None}, {"models": [None, 5, {}]}, {"data": "x"}, {"data": [{"id": 5}, []]},
    {"data": [{"id": None, "owned_by": "vllm", "max_model_len": "many"}]}, {"default_generation_settings": []},
    {"models": [{"name": "x", "details": 5, "size": "big", "modified_at": 7}]},
]  # fmt: skip


@pytest.mark.parametrize("said", NONSENSE, ids=str)
def test_a_server_that_says_something_else_is_no_error(said: Any) -> None:
    paths = ("/api/tags", "/api/ps", "/api/show", "/props", "/v1/models", "/api/v0/models")
    with loopback(dict.fromkeys(paths, said)) as server:
        for kind in (*local_servers.PROBES.values(), local_servers.probe_compatible):
            endpoint = found(kind, server)
            assert endpoint is None or endpoint.model
