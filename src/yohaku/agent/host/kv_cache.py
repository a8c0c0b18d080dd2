"""What the cache of a model weighs, token by token, from the model's metadata (GGUF keys), or by a guide.

Law: what cannot be read is never guessed small. A layer that looks back only a little way is counted as one only where
servers are known to keep it so.
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
"""Bytes of one number in the cache, by the type it is kept in: quantised ones carry a scale for every 32."""

TYPICAL_BYTES = ((8.0, 256 * 1024), (14.0, 384 * 1024), (30.0, 896 * 1024))
"""Bytes a token where nothing is known but the size, in billions: about twice what today's models need."""

FULL_ATTENTION_EVERY = {"gemma2": 2, "gemma3": 6, "gemma3n": 5, "cohere2": 4, "gpt-oss": 2}
"""Architectures that look back only a little way in all layers but each such one."""

BATCH_TOKENS = 512
"""Tokens a server works on at once; the cache of a layer with a short view has room for them besides."""


@dataclass(frozen=True, slots=True)
class KvCache:
    per_token: float
    """Bytes; it grows so much with each token."""
    fixed: float = 0.0
    """Bytes of the layers that never hold more than their own short view."""

    def bytes(self, window: int) -> int:
        return int(self.fixed + self.per_token * window)

    def tokens(self, room: int) -> int:
        return max(int((room - self.fixed) / self.per_token), 0)


def kv_bytes_per_token(info: Mapping[str, object], cache_type: str = "f16") -> int | None:
    """Bytes that each token adds; none where the metadata does not say."""
    cache = cache_from_metadata(info, cache_type)
    return int(cache.per_token) if cache else None


def estimate_cache(size: float, cache_type: str = "f16") -> KvCache:
    """For a model of so many billions: between the rows in proportion, beyond them as at the nearest."""
    first, last = TYPICAL_BYTES[0], TYPICAL_BYTES[-1]
    per_token = size * (first[1] / first[0] if size < first[0] else last[1] / last[0])
    for (less, light), (more, heavy) in pairwise(TYPICAL_BYTES):
        if less <= size <= more:
            per_token = light + (heavy - light) * (size - less) / (more - less)
    return KvCache(max(per_token, 1024.0) * _element_bytes(cache_type) / ELEMENT_BYTES["f16"])


def cache_from_metadata(info: Mapping[str, object], cache_type: str = "f16") -> KvCache | None:
    said = _Metadata(info)
    layers = said.number("block_count")
    if not layers:
        return None
    if latent := said.number("attention.kv_lora_rank"):  # one short row stands for all heads
        wide = latent + (said.number("rope.dimension_count") or 64)
        return KvCache(layers * wide * _element_bytes(cache_type))
    heads, narrow = said.heads(layers), said.short(layers)
    if heads is None:
        return None
    long, short = said.width(""), said.width("_swa") or said.width("")
    if not long or not short:
        return None
    view = said.number("attention.sliding_window") or 0
    own = layers - (said.number("attention.shared_kv_layers") or 0)  # the last ones look into the caches of others
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
    """What the metadata says under the name of its architecture."""

    def __init__(self, info: Mapping[str, object]) -> None:
        self.info = info
        self.name = str(info.get("general.architecture", ""))

    def value(self, key: str) -> object:
        return self.info.get(f"{self.name}.{key}")

    def number(self, key: str) -> int | None:
        return positive_int(self.value(key))

    def heads(self, layers: int) -> list[int] | None:
        """How many heads each layer keeps: none in layers that remember otherwise."""
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

    def short(self, layers: int) -> list[bool]:
        """Which layers look back only a little way."""
        if not self.number("attention.sliding_window"):
            return [False] * layers
        pattern = self.value("attention.sliding_window_pattern")
        if _is_list(pattern) and len(pattern) == layers:
            return [bool(each) for each in pattern]
        every = positive_int(pattern) or FULL_ATTENTION_EVERY.get(self.name)
        return [bool(every) and (layer + 1) % (every or 1) != 0 for layer in range(layers)]

    def width(self, which: str) -> int | None:
        """Numbers a head keeps of one token: its key and its value."""
        key, value = self.number(f"attention.key_length{which}"), self.number(f"attention.value_length{which}")
        if key or which:
            return (key or 0) + (value or key or 0) or None
        wide, heads = self.number("embedding_length"), self.value("attention.head_count")
        most = max((positive_int(each) or 0 for each in heads), default=0) if _is_list(heads) else positive_int(heads)
        return 2 * (wide // most) if wide and most else None


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def positive_int(value: object) -> int | None:
    """A positive number, as servers and files write them."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1 << 62:
        return None
    return int(value)
