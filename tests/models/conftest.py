"""Servers for the tests of this folder: a scripted model always, a real one where `YOHAKU_MODELS` says where it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.models import tiny
from tests.models.serving import Served

WINDOW = 8_192
QWEN = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"


def made(folder: Path, wants: str = "", window: int = WINDOW) -> Served:
    """The scripted model on a server; `wants` is a check that its template begins with."""
    for package in ("xllamacpp", "gguf", "numpy"):
        pytest.importorskip(package, reason=f"{package} is needed to serve a model: install the group `test`")
    path = folder / "tiny.gguf"
    tiny.build(path, wants)
    return Served(path, window)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """The scripted model."""
    return made(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def strictly_served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """The scripted model with a template that refuses calls without results, as those of some models do."""
    return made(tmp_path_factory.mktemp("strict"), tiny.WANTS_RESULTS)


@pytest.fixture(scope="session")
def qwen() -> Served:
    """A real small model; weights are never fetched by a test."""
    pytest.importorskip("xllamacpp", reason="xllamacpp is needed to serve a model: install the group `test`")
    folder = os.environ.get("YOHAKU_MODELS")
    if not folder or not (path := Path(folder) / QWEN).exists():
        pytest.skip(f"set YOHAKU_MODELS to a folder with {QWEN}; each of these tests takes many minutes")
    return Served(path, WINDOW)
