"""Model files on this machine: those of LM Studio, Ollama, Hugging Face, llama.cpp and our own.

Law: it reads names, sizes and the first bytes only, of a bounded number of files, and follows no loop of folders.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from yohaku.agent.host.capacity import MachineMemory, usable_bytes
from yohaku.agent.host.local_servers import CANNOT_CHAT
from yohaku.config.settings import Settings
from yohaku.core.errors import Unreadable
from yohaku.meters import gguf

MAX_DEPTH, MAX_NAMES = 6, 4_000
"""Levels and names searched in one folder."""

MAX_FILES_READ = 12
"""Files whose metadata is read, the best candidates first."""

MIN_MODEL_BYTES = 50_000_000
"""Smaller files are vocabularies, or toys."""

MAX_CPU_MODEL_BYTES = 6_000_000_000
"""Larger models are too slow without a graphics card."""

PART_SUFFIX = re.compile(r"-(\d{5})-of-(\d{5})$")


@dataclass(frozen=True, slots=True)
class LocalModel:
    name: str
    path: Path
    bytes: int


def list_models(settings: Settings, smallest: int = MIN_MODEL_BYTES) -> list[LocalModel]:
    """Return every model file once; the parts of a split one count as one."""
    found: dict[Path, LocalModel] = {}
    for folder in model_folders(settings):
        for path in _gguf_files(folder):
            if (model := model_of_file(path)) and model.bytes >= smallest and not _cannot_chat(model.name):
                found.setdefault(path.resolve(), model)
    for folder in ollama_folders(settings):
        for model in _ollama_models(folder):
            if model.bytes >= smallest and not _cannot_chat(model.name):
                found.setdefault(model.path.resolve(), model)
    return list(found.values())


def best_model(models: list[LocalModel], memory: MachineMemory) -> tuple[LocalModel, Mapping[str, object]] | None:
    """Return the largest chat model this machine runs well, with its metadata."""
    ram, card = usable_bytes(memory)
    pleasant = max(ram if memory.unified else card, min(ram + card, MAX_CPU_MODEL_BYTES))
    likely = sorted(models, key=lambda model: (model.bytes > pleasant, not _is_for_code(model.name), -model.bytes))
    fitting = [model for model in likely if model.bytes <= ram + card]
    for model in fitting[:MAX_FILES_READ]:
        try:
            said = gguf.metadata(model.path)
        except Unreadable:
            continue
        if said.get("tokenizer.chat_template"):
            return model, said
    return None


def model_folders(settings: Settings) -> Iterator[Path]:
    home = Path(settings.variable("HOME", "USERPROFILE") or Path.home())
    cache = Path(settings.variable("XDG_CACHE_HOME") or home / ".cache")
    yield settings.data / "models"
    yield home / ".lmstudio" / "models"
    yield cache / "lm-studio" / "models"
    yield Path(settings.variable("LLAMA_CACHE") or cache / "llama.cpp")
    yield home / "Library" / "Caches" / "llama.cpp"
    hub = settings.variable("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")
    yield Path(hub or Path(settings.variable("HF_HOME") or cache / "huggingface") / "hub")


def ollama_folders(settings: Settings) -> Iterator[Path]:
    home = Path(settings.variable("HOME", "USERPROFILE") or Path.home())
    named = settings.variable("OLLAMA_MODELS")
    yield from (Path(named),) if named else (home / ".ollama" / "models", Path("/usr/share/ollama/.ollama/models"))


def _is_for_code(name: str) -> bool:
    return re.search(r"cod(?:er|e)|devstral|instruct", name, re.IGNORECASE) is not None


def _cannot_chat(name: str) -> bool:
    return CANNOT_CHAT.search(name) is not None or "mmproj" in name.lower()


def _gguf_files(folder: Path) -> Iterator[Path]:
    """Yield GGUF files by name: Hugging Face's snapshots are links to blobs without a suffix."""
    names = (Path(where) / name for where, _, files in _walk(folder) for name in files)
    yield from (path for path in islice(names, MAX_NAMES) if path.suffix.lower() == ".gguf")


def _walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    deep = len(folder.parts)
    for where, folders, files in os.walk(folder):  # links to folders are not followed
        if len(Path(where).parts) - deep >= MAX_DEPTH:
            folders.clear()
        folders[:] = sorted(name for name in folders if name not in ("blobs", "refs", ".git"))
        yield where, folders, sorted(files)


def model_of_file(path: Path) -> LocalModel | None:
    part = PART_SUFFIX.search(path.stem)
    paths = [path]
    if part:
        if int(part[1]) != 1:
            return None
        stem = path.stem[: part.start()]
        paths = [
            path.with_name(f"{stem}-{number:05}-of-{part[2]}{path.suffix}") for number in range(1, int(part[2]) + 1)
        ]
    try:
        size = sum(each.stat().st_size for each in paths)
    except OSError:  # a part, or the target of a link, is missing
        return None
    return LocalModel(PART_SUFFIX.sub("", path.stem), path, size) if os.access(path, os.R_OK) else None


def _ollama_models(folder: Path) -> Iterator[LocalModel]:
    """Yield models pulled by Ollama: each tag has a manifest, which names the blob of the model."""
    for where, _, files in islice(_walk(folder / "manifests"), MAX_NAMES):
        for tag in files:
            name = f"{Path(where).name}:{tag}"
            try:
                layers = json.loads((Path(where) / tag).read_bytes())["layers"]
                digest = next(row["digest"] for row in layers if row["mediaType"].endswith(".image.model"))
                path = folder / "blobs" / str(digest).replace(":", "-")
                if gguf.is_gguf(path):
                    yield LocalModel(name, path, path.stat().st_size)
            except (
                OSError,
                ValueError,
                KeyError,
                TypeError,
                AttributeError,
                StopIteration,
                RecursionError,
                Unreadable,
            ):
                continue
