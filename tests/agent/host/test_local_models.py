from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from yohaku.agent.host.capacity import GIB, MachineMemory
from yohaku.agent.host.local_models import LocalModel, best_model, list_models
from yohaku.config import settings as setting
from yohaku.config.settings import Settings

BIG = MachineMemory(16 * GIB, 12 * GIB)


def text(said: str) -> bytes:
    return struct.pack("<Q", len(said.encode())) + said.encode()


def gguf(path: Path, size: int = 2_000, **said: str) -> Path:
    """A file with this metadata, and as large."""
    pairs = b"".join(text(key.replace("__", ".")) + struct.pack("<I", 8) + text(value) for key, value in said.items())
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, len(said)) + pairs
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.ljust(size, b"\0"))
    return path


def talker(path: Path, size: int = 2_000) -> Path:
    return gguf(path, size, general__architecture="llama", tokenizer__chat_template="{{ messages }}")


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    return setting.read({"HOME": str(tmp_path), "OLLAMA_MODELS": str(tmp_path / "pulled")})


def names(settings: Settings) -> list[str]:
    return sorted(model.name for model in list_models(settings, smallest=1_000))


def test_the_shelves_of_all_programs_are_looked_at(home: Settings, tmp_path: Path) -> None:
    talker(home.data / "models" / "ours.gguf")
    talker(tmp_path / ".lmstudio/models/maker/repo/studio.gguf")
    talker(tmp_path / ".cache/llama.cpp/server.gguf")
    blob = talker(tmp_path / ".cache/huggingface/hub/models--a--b/blobs/abc")
    link = tmp_path / ".cache/huggingface/hub/models--a--b/snapshots/1/hub.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(blob)
    talker(tmp_path / "pulled/blobs/sha256-123")
    manifest = tmp_path / "pulled/manifests/registry/library/qwen3/8b"
    manifest.parent.mkdir(parents=True)
    layers = [
        {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:9"},
        {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:123"},
    ]
    manifest.write_text(json.dumps({"layers": layers}))
    manifest.with_name("broken").write_text("{")
    assert names(home) == ["hub", "ours", "qwen3:8b", "server", "studio"]


def test_what_does_not_talk_is_no_model_to_work_with(home: Settings) -> None:
    for name in ("nomic-embed-text", "mmproj-model", "bge-small", "talks"):
        talker(home.data / "models" / f"{name}.gguf")
    talker(home.data / "models" / "toy.gguf", size=900)
    (home.data / "models" / "dangling.gguf").symlink_to("/nowhere/at/all")
    assert names(home) == ["talks"]


def test_the_parts_of_a_split_model_are_one(home: Settings) -> None:
    for number in (1, 2):
        talker(home.data / "models" / f"whole-0000{number}-of-00002.gguf", 5_000)
    talker(home.data / "models" / "lost-00001-of-00002.gguf")
    [model] = list_models(home, smallest=1_000)
    assert model == LocalModel("whole", home.data / "models" / "whole-00001-of-00002.gguf", 10_000)


def test_the_largest_that_this_machine_runs_well_is_taken(tmp_path: Path) -> None:
    sizes = {"small-coder": 1, "good-coder": 5, "slow-coder": 9, "huge-coder": 90, "novelist": 4}
    models = [LocalModel(name, talker(tmp_path / f"{name}.gguf"), size * 10**9) for name, size in sizes.items()]
    order = ["good-coder", "small-coder", "novelist", "slow-coder"]
    while found := best_model(models, BIG):
        assert found[0].name == order.pop(0) and found[1]["general.architecture"] == "llama"
        models.remove(found[0])
    assert order == [] and [model.name for model in models] == ["huge-coder"]


def test_a_card_carries_a_larger_one(tmp_path: Path) -> None:
    models = [LocalModel(f"{size}-coder", talker(tmp_path / f"{size}.gguf"), size * 10**9) for size in (5, 18)]
    found = best_model(models, MachineMemory(32 * GIB, 24 * GIB, 24 * GIB, 23 * GIB))
    assert found and found[0].name == "18-coder"


def test_a_file_that_is_damaged_or_cannot_chat_is_passed_over(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF and nothing more")
    raw = gguf(tmp_path / "raw.gguf", general__architecture="llama")
    models = [LocalModel("damaged", damaged, 5 * 10**9), LocalModel("raw", raw, 4 * 10**9)]
    assert best_model(models, BIG) is None
    found = best_model([*models, LocalModel("talks", talker(tmp_path / "talks.gguf"), 10**9)], BIG)
    assert found and found[0].name == "talks"


def test_empty_shelves_are_no_error(home: Settings) -> None:
    assert list_models(home) == [] and best_model([], BIG) is None
