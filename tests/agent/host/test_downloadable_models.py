from __future__ import annotations

from pathlib import Path

import pytest

from yohaku.agent.host.capacity import GIB, MachineMemory
from yohaku.agent.host.downloadable_models import MODEL_FILES, DownloadableModel, choose_download, partial_path


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (MachineMemory(2 * GIB, GIB), "Qwen2.5-Coder 1.5B"),
        (MachineMemory(4 * GIB, 3 * GIB), "Qwen2.5-Coder 1.5B"),
        (MachineMemory(64 * GIB, 60 * GIB), "Qwen2.5-Coder 1.5B"),
        (MachineMemory(16 * GIB, 12 * GIB, 12 * GIB, 11 * GIB), "Qwen2.5-Coder 7B"),
        (MachineMemory(24 * GIB, 18 * GIB, unified=True), "Qwen2.5-Coder 7B"),
        (MachineMemory(8 * GIB, 5 * GIB, unified=True), "Qwen2.5-Coder 1.5B"),
    ],
    ids=["tiny", "small", "no-card", "card", "unified", "small-unified"],
)
def test_the_larger_model_is_offered_where_it_would_be_pleasant(
    tmp_path: Path, memory: MachineMemory, expected: str
) -> None:
    assert choose_download(tmp_path, memory).weights.name == expected


def test_a_download_that_was_begun_is_offered_before_a_better_one(tmp_path: Path) -> None:
    small = MODEL_FILES[0]
    partial_path(tmp_path / small.file).write_bytes(b"x" * 1_000)
    found = choose_download(tmp_path, MachineMemory(64 * GIB, 60 * GIB, 24 * GIB, 24 * GIB))
    assert found == DownloadableModel(small, tmp_path / small.file, 1_000)
    assert "0 %" in found.said("en") and "再開" in found.said("ja")


def test_the_question_says_how_much_from_where_and_under_which_licence(tmp_path: Path) -> None:
    said = {lang: choose_download(tmp_path, MachineMemory(4 * GIB, 3 * GIB)).said(lang) for lang in ("en", "ja")}
    assert all(fact in text for text in said.values() for fact in ("1.1 GB", "huggingface.co", "Apache-2.0"))
    assert said["en"] != said["ja"]


def test_every_file_is_pinned_and_comes_from_its_makers_home() -> None:
    assert [weights.url() for weights in MODEL_FILES] == [
        f"https://huggingface.co/Qwen/Qwen2.5-Coder-{size}-Instruct-GGUF/resolve/main/"
        f"qwen2.5-coder-{size.lower()}-instruct-q4_k_m.gguf"
        for size in ("1.5B", "7B")
    ]
    assert all(len(bytes.fromhex(weights.sha256)) == 32 for weights in MODEL_FILES)
    assert sorted(MODEL_FILES, key=lambda weights: weights.bytes) == list(MODEL_FILES)
