from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.errors import Unreadable
from yohaku.meters import from_file
from yohaku.meters.gguf import encoder_of, metadata

MERGING: dict[str, Any] = {
    "general.architecture": "qwen2",
    "general.name": "Tiny Qwen2 Agent",
    "qwen2.context_length": 32768,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "qwen2",
    "tokenizer.ggml.tokens": ["h", "e", "l", "o", "Ġ", "1", "2", "he", "ll", "Ġh"],
    "tokenizer.ggml.merges": ["h e", "l l", "Ġ h"],
}
PIECES = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "h", "i", "hi", "▁hi"]
SCORED: dict[str, Any] = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": PIECES,
    "tokenizer.ggml.scores": [0.0] * 259 + [-1.0, -2.0, -3.0, -0.5, -0.2],
}


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(of: object) -> bytes:
    match of:
        case str():
            return struct.pack("<I", 8) + text(of)
        case int():
            return struct.pack("<II", 4, of)
        case [str(), *_]:
            return struct.pack("<IIQ", 9, 8, len(of)) + b"".join(text(str(each)) for each in of)
        case [float(), *_]:
            return struct.pack(f"<IIQ{len(of)}f", 9, 6, len(of), *of)
    raise AssertionError(of)


def gguf(said: dict[str, Any], version: int = 3) -> bytes:
    pairs = b"".join(text(key) + value(of) for key, of in said.items())
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(said)) + pairs


def write(folder: Path, data: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(data)
    return path


def test_the_metadata_is_what_was_written(tmp_path: Path) -> None:
    assert metadata(write(tmp_path, gguf(MERGING) + b"\0" * 10_000)) == MERGING


def test_a_counter_comes_out_of_a_file(tmp_path: Path) -> None:
    meter = from_file(write(tmp_path, gguf(MERGING)))
    assert (meter.name, meter.exact, meter.frame.message) == ("model.gguf", True, 5)
    assert [meter.count(said) for said in ("", "hello", "hello hello", "12")] == [0, 3, 7, 2]


def test_a_scored_vocabulary_falls_back_to_bytes(tmp_path: Path) -> None:
    meter = from_file(write(tmp_path, gguf(SCORED)))
    assert [meter.count(said) for said in ("", "hi", "hi hi", "é")] == [0, 1, 2, 3]


def test_what_ollama_shows_is_read_too() -> None:
    assert len(encoder_of(MERGING)("hello")) == 3
    with pytest.raises(Unreadable, match="verbose"):
        encoder_of({**MERGING, "tokenizer.ggml.tokens": None})


def test_words_cut_in_an_unknown_way_are_refused() -> None:
    with pytest.raises(Unreadable, match="'porcelain'"):
        encoder_of({**MERGING, "tokenizer.ggml.pre": "porcelain"})


def test_a_vocabulary_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(Unreadable, match="'bert'"):
        encoder_of({**MERGING, "tokenizer.ggml.model": "bert"})


def test_a_vocabulary_without_scores_is_refused() -> None:
    with pytest.raises(Unreadable, match="score"):
        encoder_of({**SCORED, "tokenizer.ggml.scores": [0.0]})


@pytest.mark.parametrize(
    "data",
    [
        b"GGUF",
        gguf(MERGING, version=1),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**62),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IIQ", 9, 8, 2**61),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IIQ", 9, 6, 2**61),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<I", 77),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<I", 9) * 40,
    ],
)
def test_a_broken_file_is_unreadable(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(Unreadable, match="GGUF"):
        metadata(write(tmp_path, data))


@given(cut=st.integers(0, len(gguf(MERGING)) - 1))
def test_a_file_cut_short_anywhere_is_unreadable(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    with pytest.raises(Unreadable):
        metadata(write(tmp_path_factory.mktemp("cut"), gguf(MERGING)[:cut]))


@given(at=st.integers(8, len(gguf(MERGING)) - 8), noise=st.binary(min_size=1, max_size=8))
def test_damage_is_refused_or_read_but_never_a_crash(
    tmp_path_factory: pytest.TempPathFactory, at: int, noise: bytes
) -> None:
    data = gguf(MERGING)
    path = write(tmp_path_factory.mktemp("damage"), data[:at] + noise + data[at + len(noise) :])
    try:
        assert from_file(path).count("hello") >= 0
    except Unreadable as error:
        assert str(error)
