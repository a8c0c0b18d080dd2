from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from yohaku.agent.host.speed_cache import FILE_NAME, SpeedCache
from yohaku.client.endpoint import Endpoint

BUILT_IN = Endpoint("llama.cpp", "embedded", "openai_chat", "http://127.0.0.1:4567/v1", "qwen", local=True)
SERVED = replace(BUILT_IN, provider="llama.cpp")


def test_a_speed_is_there_at_the_next_start_also_on_another_port(tmp_path: Path) -> None:
    SpeedCache(tmp_path).learn(BUILT_IN, 21.34)
    assert SpeedCache(tmp_path).reading(replace(BUILT_IN, url="http://127.0.0.1:999/v1")) == 21.3
    assert SpeedCache(tmp_path).reading(SERVED) == 0, "another server may be another machine"


@pytest.mark.parametrize("text", ["", "[]", '{"reading": 3}', '{"reading": {"embedded#qwen": "fast"}}'])
def test_a_file_that_says_nothing_counts_as_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    assert SpeedCache(tmp_path).reading(BUILT_IN) == 0
    SpeedCache(tmp_path).learn(BUILT_IN, 5)
    assert SpeedCache(tmp_path).reading(BUILT_IN) == 5
