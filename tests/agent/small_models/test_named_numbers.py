from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.agent.scripted import HERE, agent, play, says, sent
from tests.agent.small_models.test_preload import SMALL
from yohaku.agent.host.local_servers import BILLIONS_KEY
from yohaku.agent.small_models.named_numbers import MAX_CONSTANTS, find_numbers

SOURCE = "FREE_FROM = 4_800  # yen\nBASE: int = 520\nNAME = 'x'\nexport const PER_KILO = 90;\nTWICE = 1\nTWICE = 2\n"


def test_the_constants_that_are_numbers_and_stand_once() -> None:
    assert find_numbers("Explain it, with its numbers.", [SOURCE]) == {
        "FREE_FROM": "4_800", "BASE": "520", "PER_KILO": "90",
    }  # fmt: skip
    assert find_numbers("Explain it.", [SOURCE]) == {}
    many = "".join(f"VALUE_{chr(65 + n)} = {n}\n" for n in range(MAX_CONSTANTS + 1))
    assert find_numbers("Explain it, with its numbers.", [many]) == {}


def test_a_small_model_is_told_them_with_the_task(tmp_path: Path) -> None:
    (tmp_path / "fee.py").write_text(
        "FREE_FROM = 4800\n\n\ndef fee(total):\n    return 0 if total >= FREE_FROM else 520\n"
    )
    endpoint = replace(HERE, info={BILLIONS_KEY: 1.5})
    one = agent(tmp_path, says("From 4,800 on."), tools=SMALL, endpoint=endpoint)
    play(one, "Explain fee in fee.py, with its numbers.")
    assert sent(one)[0]["messages"][-1]["content"] == (
        "[The task: Explain fee in fee.py, with its numbers.]\n[FREE_FROM = 4800]"
    )
