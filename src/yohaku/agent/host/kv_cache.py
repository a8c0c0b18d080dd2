"""Size of a model's key-value cache, from its metadata (GGUF keys) or a table of typical sizes.

Law: unknown numbers are never estimated too small. A layer with a sliding window is counted as one only where servers
are known to store it so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeGuard

MIB = 1 << 20

ELEMENT_BYTES = {
    "f32": 4.0,
    "f16": 2.0,
    "bf16": 2.0,
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    "q4_0": 18 / 32,
    "iq4_nl": 18 / 32,
}
"""Bytes of one number in the cache, by type; quantised ones carry a scale for every 32."""

TYPICAL_BYTES = ((8.0, 256 * 1024), (14.0, 384 * 1024), (30.0, 896 * 1024))
"""Bytes per token by size in billions: about twice what today's models need."""

FULL_ATTENTION_EVERY = {"gemma2": 2, "gemma3": 6, "gemma3n": 5, "cohere2": 4, "gpt-oss": 2}
"""Architectures with a sliding window in all layers but every Nth."""

BATCH_TOKENS = 512
"""Tokens a server processes at once; a sliding-window layer stores them too."""


@dataclass(frozen=True, slots=True)
class KvCache:
    per_token: float
    """Bytes added by each token."""
    fixed: float = 0.0
    """Bytes of the sliding-window layers, whatever the length."""

    def bytes(self, window: int) -> int:
        return int(self.fixed + self.per_token * window)

    def tokens(self, room: int) -> int:
        return max(int((room - self.fixed) / self.per_token), 0)


def kv_bytes_per_token(info: Mapping[str, object], cache_type: str = "f16") -> int | None:
    """Bytes that each token adds; none where the metadata does not say."""
    cache = cache_from_metadata(info, cache_type)
    return int(cache.per_token) if cache else None


def estimate_cache(size: float, cache_type: str = "f16") -> KvCache:
    """Estimate by billions of parameters: interpolated between the rows, in proportion beyond them."""
    first, last = TYPICAL_BYTES[0], TYPICAL_BYTES[-1]
    per_token = size * (first[1] / first[0] if size < first[0] else last[1] / last[0])
    for (less, light), (more, heavy) in pairwise(TYPICAL_BYTES):
        if less <= size <= more:
            per_token = light + (heavy - light) * (size - less) / (more - less)
    return KvCache(max(per_token, 1024.0) * _element_bytes(cache_type) / ELEMENT_BYTES["f16"])


def cache_from_metadata(info: Mapping[str, object], cache_type: str = "f16") -> KvCache | None:
    metadata = _Metadata(info)
    layers = metadata.number("block_count")
    if not layers:
        return None
    if latent := metadata.number("attention.kv_lora_rank"):  # one short row stands for all heads
        wide = latent + (metadata.number("rope.dimension_count") or 64)
        return KvCache(layers * wide * _element_bytes(cache_type))
    heads, narrow = metadata.heads(layers), metadata.sliding_layers(layers)
    if heads is None:
        return None
    long, short = metadata.width(""), metadata.width("_swa") or metadata.width("")
    if not long or not short:
        return None
    view = metadata.number("attention.sliding_window") or 0
    own = layers - (metadata.number("attention.shared_kv_layers") or 0)  # the last ones look into the caches of others
    element = _element_bytes(cache_type)
    per_token = fixed = 0.0
    for layer in range(max(own, 1)):
        if narrow[layer]:
            fixed += heads[layer] * short * element * (view + BATCH_TOKENS)
        else:
            per_token += heads[layer] * long * element
    return KvCache(per_token, fixed) if per_token else None


def _element_bytes(cache_type: str) -> float:
    return ELEMENT_BYTES.get(cache_type.lower(), ELEMENT_BYTES["f16"])


class _Metadata:
    """Metadata under the name of its architecture."""

    def __init__(self, info: Mapping[str, object]) -> None:
        self.info = info
        self.name = str(info.get("general.architecture", ""))

    def value(self, key: str) -> object:
        return self.info.get(f"{self.name}.{key}")

    def number(self, key: str) -> int | None:
        return positive_int(self.value(key))

    def heads(self, layers: int) -> list[int] | None:
        """Return the cached heads of each layer; 0 in layers without attention."""
        found, all_of_them = self.value("attention.head_count_kv"), self.value("attention.head_count")
        for said in (found, all_of_them):  # a list may have been left out; every head keeping its own is the most
            if _is_list(said) and len(said) == layers:
                return self.attending([positive_int(each) or 0 for each in said])
            if number := positive_int(said):
                return self.attending([number] * layers)
        return None

    def attending(self, heads: list[int]) -> list[int]:
        every = self.number("full_attention_interval")
        return [count if not every or (layer + 1) % every == 0 else 0 for layer, count in enumerate(heads)]

    def sliding_layers(self, layers: int) -> list[bool]:
        """Return which layers have a sliding window."""
        if not self.number("attention.sliding_window"):
            return [False] * layers
        pattern = self.value("attention.sliding_window_pattern")
        if _is_list(pattern) and len(pattern) == layers:
            return [bool(each) for each in pattern]
        every = positive_int(pattern) or FULL_ATTENTION_EVERY.get(self.name)
        return [bool(every) and (layer + 1) % (every or 1) != 0 for layer in range(layers)]

    def width(self, which: str) -> int | None:
        """Return the numbers a head stores of one token: its key and its value."""
        key, value = self.number(f"attention.key_length{which}"), self.number(f"attention.value_length{which}")
        if key or which:
            return (key or 0) + (value or key or 0) or None
        wide, heads = self.number("embedding_length"), self.value("attention.head_count")
        most = max((positive_int(each) or 0 for each in heads), default=0) if _is_list(heads) else positive_int(heads)
        return 2 * (wide // most) if wide and most else None


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def positive_int(value: object) -> int | None:
    """Return a positive number as int; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1 << 62:
        return None
    return int(value)
