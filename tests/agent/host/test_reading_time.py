from __future__ import annotations

from dataclasses import replace

from tests.agent.host.test_choose_window import MEMORY, OLLAMA, SERVED, chosen
from yohaku.agent.host.capacity import GIB, MIN_SLOW_WINDOW, MachineMemory
from yohaku.agent.host.reading_time import estimate_reading, readable_tokens


def test_without_a_card_size_and_cores_say_how_long_reading_takes() -> None:  # L18
    small = replace(OLLAMA, model="qwen:1.5b", info={})
    assert estimate_reading(small, MEMORY, 1) == 20 and estimate_reading(small, MEMORY, 4) == 80
    assert estimate_reading(replace(small, model="qwen3:30b-a3b"), MEMORY, 1) == 10, "only a part of it works"


def test_with_a_card_or_on_another_machine_nothing_is_estimated() -> None:
    card = MachineMemory(16 * GIB, 12 * GIB, 8 * GIB, 8 * GIB)
    assert readable_tokens(OLLAMA, card, 4) is None
    assert readable_tokens(OLLAMA, replace(MEMORY, unified=True), 4) is None
    assert readable_tokens(replace(OLLAMA, local=False), MEMORY, 4) is None
    assert readable_tokens(OLLAMA, card, 4, measured=20.0) == 12_000, "what was measured counts anywhere"


def test_the_automatic_window_is_one_that_can_be_read_in_time() -> None:  # L18
    slow = chosen(OLLAMA, readable=12_000)
    assert (slow.window, slow.why) == (MIN_SLOW_WINDOW, "slow")
    assert chosen(OLLAMA, readable=20_000).window == 16_384
    assert chosen(OLLAMA, readable=500).window == MIN_SLOW_WINDOW, "less would be folded all the time"
    assert chosen(OLLAMA, readable=10**6) == chosen(OLLAMA)


def test_what_the_user_asks_for_and_what_a_server_has_is_not_bounded() -> None:
    assert chosen(OLLAMA, readable=12_000, n=32_768).window == 32_768
    assert chosen(SERVED, readable=100).window == 8_192
