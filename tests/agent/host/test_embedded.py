from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.models import tiny
from yohaku.agent.host import embedded
from yohaku.agent.host.capacity import GIB, MachineMemory
from yohaku.agent.host.choose_window import choose_window
from yohaku.agent.host.find_model import find_models
from yohaku.agent.host.local_servers import BYTES_KEY, PATH_KEY
from yohaku.client.http_json import fetch_json
from yohaku.config import settings as setting

MEMORY = MachineMemory(16 * GIB, 12 * GIB)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("xllamacpp", "gguf", "numpy"):
        pytest.importorskip(package, reason=f"{package} is needed to serve a model: install the group `test`")
    path = tmp_path_factory.mktemp("embedded") / "tiny-instruct.gguf"
    tiny.build(path)
    return path


def test_a_file_is_an_endpoint_still_to_be_served(model: Path) -> None:
    endpoint = embedded.endpoint_of_file(model)
    assert (endpoint.provider, endpoint.url, endpoint.model, endpoint.trained, endpoint.local) == (
        "embedded",
        "",
        "tiny-instruct",
        131_072,
        True,
    )
    assert endpoint.info[PATH_KEY] == str(model) and endpoint.info[BYTES_KEY] == model.stat().st_size
    assert not any(key.startswith("tokenizer.") for key in endpoint.info)


def test_a_served_model_answers_who_has_its_key_with_the_window_it_was_given(model: Path) -> None:
    serving = embedded.start_server(embedded.endpoint_of_file(model), 8_192)
    endpoint = serving.endpoint
    root = endpoint.url.removesuffix("/v1")

    async def asked() -> tuple[object, object, object]:
        body = {"messages": [{"role": "user", "content": "Hi"}], "temperature": 0}
        return await asyncio.gather(
            fetch_json(f"{root}/props", endpoint.key, timeout=60),
            fetch_json(f"{root}/props", "", timeout=60),
            fetch_json(f"{endpoint.url}/chat/completions", endpoint.key, body, timeout=60),
        )

    props, stranger, reply = asyncio.run(asked())
    assert isinstance(props, dict) and props["default_generation_settings"]["n_ctx"] == endpoint.window == 8_192
    assert stranger is None
    assert isinstance(reply, dict) and reply["choices"][0]["message"]["content"] == tiny.SCRIPTS["chat"][0]
    assert reply["model"] == "tiny-instruct" and endpoint.url.startswith("http://127.0.0.1:")
    assert endpoint.key and endpoint.key not in repr(endpoint)


def test_a_real_llama_cpp_server_is_found_with_its_window_and_its_file(model: Path, tmp_path: Path) -> None:
    serving = embedded.start_server(embedded.endpoint_of_file(model), 8_192)
    environ = {
        "HOME": str(tmp_path),
        "LLAMACPP_BASE_URL": serving.endpoint.url,
        "LLAMA_API_KEY": serving.endpoint.key,
    }
    [endpoint] = asyncio.run(find_models(setting.read(environ), model="llama.cpp", memory=MEMORY, timeout=60))
    assert (endpoint.provider, endpoint.model, endpoint.window, endpoint.trained) == (
        "llama.cpp",
        "tiny-instruct",
        8_192,
        131_072,
    )
    assert endpoint.info[PATH_KEY] == str(model)


def test_a_closed_server_is_gone(model: Path) -> None:
    serving = embedded.start_server(embedded.endpoint_of_file(model), 4_096)
    serving.close()
    root = serving.endpoint.url.removesuffix("/v1")
    assert asyncio.run(fetch_json(f"{root}/health", timeout=5)) is None


def test_a_model_named_by_its_path_gets_its_window_from_memory(model: Path, tmp_path: Path) -> None:
    settings = setting.read({"HOME": str(tmp_path)})
    [endpoint] = asyncio.run(find_models(settings, model=str(model), memory=MEMORY))
    chosen = choose_window(endpoint, settings, MEMORY)
    assert (chosen.window, chosen.why, chosen.exact) == (131_072, "trained", True)


def test_a_file_on_a_shelf_is_found_where_there_is_nothing_else(model: Path, tmp_path: Path) -> None:
    settings = setting.read({"HOME": str(tmp_path), "OLLAMA_MODELS": str(tmp_path)})
    assert embedded.find_model_file(settings, MEMORY) is None
    large = settings.data / "models" / "large-instruct.gguf"
    large.parent.mkdir(parents=True)
    with large.open("wb") as file:
        file.write(model.read_bytes())
        file.truncate(60_000_000)  # sparse: it only says that it is so large
    endpoint = embedded.find_model_file(settings, MEMORY)
    assert endpoint and (endpoint.model, endpoint.info[BYTES_KEY]) == ("large-instruct", 60_000_000)


@pytest.mark.parametrize("data", [b"", b"GGUF", b"GGUF" + bytes(100), b"something else entirely" * 10])
def test_a_file_that_is_no_model_is_said_to_be_none(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(data)
    with pytest.raises(embedded.CannotServe, match=r"broken(\.gguf)? could not be loaded") as failed:
        embedded.start_server(embedded.endpoint_of_file(path), 4_096)
    assert "読み込めませんでした" in failed.value.said("ja")


def test_without_the_engine_nothing_is_offered_and_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['xllamacpp'] = None\n"
        "from yohaku.agent.host import capacity as host, embedded; from yohaku.config.settings import read\n"
        "from yohaku.client.endpoint import Endpoint\n"
        "print(embedded.is_installed(), embedded.offer_download(read({}), host.MachineMemory(1 << 34, 1 << 33)))\n"
        "try: embedded.start_server(Endpoint('', 'embedded', 'openai_chat', '', 'm'), 4096)\n"
        "except embedded.CannotServe as why: print(why)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert told[0] == "False None" and "yohaku[embedded]" in told[1]


def test_the_download_goes_where_files_are_looked_for(model: Path, tmp_path: Path) -> None:
    settings = setting.read({"HOME": str(tmp_path)})
    offer = embedded.offer_download(settings, MEMORY)
    assert offer and offer.path.parent == settings.data / "models"
