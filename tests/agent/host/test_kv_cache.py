from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.host.kv_cache import ELEMENT_BYTES, KvCache, cache_from_metadata, estimate_cache, kv_bytes_per_token

Info = dict[str, object]


def model(name: str, layers: int, heads: int | list[int], wide: int, **more: object) -> Info:
    said: Info = {
        "block_count": layers,
        "attention.head_count": 32,
        "attention.head_count_kv": heads,
        "attention.key_length": wide,
        "attention.value_length": wide,
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    return {"general.architecture": name, **{f"{name}.{key}": value for key, value in said.items()}}


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        (model("llama", 32, 8, 128), 131_072),
        (model("qwen2", 28, 2, 128), 28_672),
        (model("qwen2", 24, 2, 64), 12_288),
        (model("qwen3moe", 48, 4, 128), 98_304),
        (model("gemma3", 18, 1, 256), 18_432),
    ],
    ids=["llama-3-8b", "qwen2-1.5b", "qwen2-0.5b", "qwen3-30b-a3b", "gemma3-270m-all-long"],
)
def test_a_token_weighs_layers_times_heads_times_their_keys_and_values(info: Info, expected: int) -> None:
    assert kv_bytes_per_token(info) == expected


@pytest.mark.parametrize(("kind", "share"), [("f32", 2), ("q8_0", 34 / 64), ("q4_0", 18 / 64), ("unheard-of", 1)])
def test_a_quantised_cache_weighs_less(kind: str, share: float) -> None:
    assert kv_bytes_per_token(model("llama", 32, 8, 128), kind) == int(131_072 * share)


def test_a_layer_that_looks_back_a_little_way_has_a_cache_that_does_not_grow() -> None:
    info = model("gemma3", 6, 1, 256, attention__sliding_window=512)
    assert cache_from_metadata(info) == KvCache(per_token=1_024.0, fixed=5 * 1_024.0 * 1_024)


@pytest.mark.parametrize(
    ("pattern", "long"), [([True, False, True, False], 2), (4, 1), (None, 4)], ids=["listed", "every", "not-said"]
)
def test_which_layers_those_are_is_told_by_the_metadata(pattern: object, long: int) -> None:
    info = model("newcomer", 4, 1, 256, attention__sliding_window=512, attention__sliding_window_pattern=pattern)
    assert kv_bytes_per_token(info) == long * 1_024


def test_short_layers_of_another_width_are_weighed_by_it() -> None:
    more = {
        "attention__sliding_window": 512,
        "attention__sliding_window_pattern": 2,
        "attention__key_length_swa": 64,
        "attention__value_length_swa": 64,
    }
    assert cache_from_metadata(model("gemma4", 2, 1, 256, **more)) == KvCache(1_024.0, 256.0 * 1_024)


def test_layers_without_heads_of_their_own_keep_nothing() -> None:
    assert kv_bytes_per_token(model("granitehybrid", 4, [0, 4, 0, 4], 128)) == 2 * 4 * 256 * 2
    assert kv_bytes_per_token(model("qwen3next", 8, 2, 256, full_attention_interval=4)) == 2 * 2 * 512 * 2
    assert kv_bytes_per_token(model("gemma3n", 10, 2, 256, attention__shared_kv_layers=4)) == 6 * 2 * 512 * 2


def test_a_latent_row_stands_for_all_heads() -> None:
    info = model("deepseek2", 27, 16, 192, attention__kv_lora_rank=512, rope__dimension_count=64)
    assert kv_bytes_per_token(info) == 27 * 576 * 2


def test_widths_that_are_not_said_come_from_the_embedding() -> None:
    info = model("llama", 32, 8, 0, embedding_length=4_096)
    assert kv_bytes_per_token(info) == 131_072


def test_a_list_left_out_counts_every_head() -> None:
    left_out: Info = {**model("llama", 32, 8, 128), "llama.attention.head_count_kv": None}
    assert kv_bytes_per_token(left_out) == 4 * 131_072


@pytest.mark.parametrize(
    "info",
    [
        {},
        {"general.architecture": "llama"},
        {"general.architecture": "llama", "llama.block_count": 32},
        {"general.architecture": "llama", "llama.block_count": "32", "llama.attention.head_count": 4},
        model("mamba", 24, [0] * 24, 128),
    ],
)
def test_metadata_that_does_not_say_enough_says_nothing(info: Info) -> None:
    assert cache_from_metadata(info) is None


def test_the_guide_is_the_documents_table_and_goes_on_in_proportion() -> None:  # L11
    gigabyte = 1 << 30
    rows = [(size, window) for size in (8, 14, 30) for window in (4_096, 32_768)]
    gigabytes = [round(estimate_cache(size).bytes(window) / gigabyte, 1) for size, window in rows]
    assert gigabytes == [1.0, 8.0, 1.5, 12.0, 3.5, 28.0]
    assert [estimate_cache(size).per_token / 1_024 for size in (4, 11, 60)] == [128, 320, 1_792]


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)


@given(
    st.fixed_dictionaries(
        {
            f"x.{key}": scalars | st.lists(scalars, max_size=4)
            for key in (
                "attention.head_count", "attention.head_count_kv", "attention.key_length", "embedding_length",
                "attention.sliding_window", "attention.sliding_window_pattern", "attention.shared_kv_layers",
                "attention.kv_lora_rank", "full_attention_interval",
            )
        }
    ),
    st.integers(0, 4),
    st.sampled_from(sorted(ELEMENT_BYTES)),
)  # fmt: skip
def test_whatever_metadata_says_nothing_breaks(info: Info, layers: int, kind: str) -> None:
    cache = cache_from_metadata({"general.architecture": "x", "x.block_count": layers, **info}, kind)
    assert cache is None or (cache.per_token > 0 and cache.tokens(cache.bytes(1_000)) in (999, 1_000))
