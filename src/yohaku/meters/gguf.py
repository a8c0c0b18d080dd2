"""Metadata of a GGUF file, and a counter from the vocabulary inside it.

Law: a bad file is an `Unreadable` with a plain sentence, never a crash, a stall or a guess. Nothing is read past the
metadata. The same keys come from Ollama's `/api/show` (verbose), as `model_info`.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from yohaku.core.errors import Unreadable
from yohaku.meters.bpe import Encode
from yohaku.meters.tokenizer_json import encoder_of as encoder_of_json

NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, ARRAY = 8, 9
MAX_KEYS = 100_000
"""Keys; real files have fewer than a hundred."""

SPACES = r"\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|" + SPACES
ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LINES = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|" + SPACES
LLAMA3 = ENDING + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + LINES
QWEN2 = ENDING + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + LINES
QWEN35 = ENDING + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|" + SPACES
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CASED = rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+%s|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*%s"
SLASHED = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|" + SPACES
O200K = CASED % (ENDING + "?", ENDING + "?") + r"|\p{N}{1,3}" + SLASHED
TEKKEN = CASED % ("", "") + r"|\p{N}" + SLASHED
DEEPSEEK = (
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|" + SPACES,
)
SPLITS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("gpt-2", "phi-2", "olmo", "jais", "mpt", "granite-docling"), (GPT2,)),
    **dict.fromkeys(("starcoder", "refact", "command-r", "smollm", "codeshell", "exaone"), (r"\p{N}", GPT2)),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "falcon3", "dbrx", "smaug-bpe", "glm4", "lfm2"), (LLAMA3,)),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan"), (QWEN2,)),
    "qwen35": (QWEN35,),
    **dict.fromkeys(("gpt-4o", "llama4"), (O200K,)),
    "tekken": (TEKKEN,),
    **dict.fromkeys(("deepseek-v3", "hunyuan-dense"), DEEPSEEK),
}
"""Patterns that cut a text into words before merging, by llama.cpp's name for them (`tokenizer.ggml.pre`)."""
WHOLE_WORDS = frozenset({"llama-bpe", "llama3", "llama-v3", "falcon3", "lfm2", "tekken"})
"""Names of those that do not merge a word that is in the vocabulary."""


def is_gguf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"GGUF"
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error


def metadata(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return GgufReader(data).metadata()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error
    except (struct.error, ValueError) as error:
        raise Unreadable(f"{path}: not a complete GGUF file ({error})") from error


class GgufReader:
    """Reader at a place in the file. Every length is checked against what is left."""

    def __init__(self, data: mmap.mmap | bytes) -> None:
        self.data = data
        self.at = 0

    def metadata(self) -> dict[str, Any]:
        magic, version = self.take("4sI")
        if magic != b"GGUF" or version not in (2, 3):
            raise ValueError("it begins otherwise" if magic != b"GGUF" else f"its version {version} is not known")
        _, keys = self.take("QQ")
        if keys > MAX_KEYS:
            raise ValueError(f"it claims {keys} keys")
        return {self.text(): self.value(self.take("I")[0]) for _ in range(keys)}

    def take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def text(self) -> str:
        (length,) = self.take("Q")
        end = self.at + self.fitting(length)
        raw = self.data[self.at : end]
        self.at = end
        return raw.decode("utf-8", "replace")

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind in NUMBERS:
            return self.take(NUMBERS[kind])[0]
        if kind == TEXT:
            return self.text()
        if kind != ARRAY or depth > 3:
            raise ValueError(f"a value of unknown kind {kind}")
        kind, length = self.take("IQ")
        if kind in NUMBERS:
            self.fitting(length * struct.calcsize(NUMBERS[kind]))
            return self.take(f"{length}{NUMBERS[kind]}")
        self.fitting(length * 8)  # each text or list has at least its own length
        return [self.text() for _ in range(length)] if kind == TEXT else self.lists(kind, length, depth)

    def lists(self, kind: int, length: int, depth: int) -> list[Any]:
        return [self.value(kind, depth + 1) for _ in range(length)]

    def fitting(self, length: int) -> int:
        if length > len(self.data) - self.at:
            raise ValueError("it ends too early")
        return int(length)


def encoder_of(said: Mapping[str, Any]) -> Encode:
    """Build an encoder from the metadata of a file, or from the `model_info` of Ollama."""
    tokens = said.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, Sequence) or not tokens or isinstance(tokens, str):
        raise Unreadable("the model has no vocabulary in its metadata (ask Ollama for it with verbose)")
    kind = said.get("tokenizer.ggml.model")
    try:
        if kind == "gpt2":
            return merging(said, tokens)
        if kind in ("llama", "t5"):
            return scored(said, tokens)
    except (TypeError, ValueError) as error:
        raise Unreadable(f"the model's vocabulary cannot be used: {error}") from error
    raise Unreadable(f"a vocabulary of the kind {kind!r} is not known here: count with tokenizer.json instead")


def merging(said: Mapping[str, Any], tokens: Sequence[str]) -> Encode:
    before = str(said.get("tokenizer.ggml.pre", "gpt-2"))
    if before not in SPLITS:
        raise Unreadable(f"how {before!r} cuts words is not known here: count with tokenizer.json instead")
    cut = [{"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated"} for split in SPLITS[before]]
    to_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return encoder_of_json(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": [],
                "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*cut, to_bytes]},
                "decoder": to_bytes,
                "model": {
                    "type": "BPE",
                    "vocab": {token: number for number, token in enumerate(tokens)},
                    "merges": list(said.get("tokenizer.ggml.merges") or ()),
                    "ignore_merges": before in WHOLE_WORDS,
                },
            }
        ).encode()
    )


def scored(said: Mapping[str, Any], tokens: Sequence[str]) -> Encode:
    import splintr

    scores = [float(score) for score in said.get("tokenizer.ggml.scores") or ()]
    if len(scores) != len(tokens):
        raise ValueError("it has no score for each token")
    if said["tokenizer.ggml.model"] == "llama":
        tokenizer: Any = splintr.SpmTokenizer(list(tokens), scores)
    else:
        tokenizer = splintr.SentencePieceTokenizer(
            list(tokens), scores, int(said.get("tokenizer.ggml.eos_token_id", 1))
        )
    encode: Encode = tokenizer.encode_raw
    return encode
