from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.scripted import HERE, agent, ended, play, says, sent
from tests.agent.small_models.test_preload import SMALL
from yohaku.agent.host.local_servers import BILLIONS_KEY
from yohaku.agent.small_models.named_numbers import find_missing_numbers

SOURCE = "FREE_FROM = 4_800  # yen\nBASE: int = 520\nNAME = 'x'\nexport const PER_KILO = 90;\nTWICE = 1\nTWICE = 2\n"


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ("From `FREE_FROM` on it is free, else BASE.", {"FREE_FROM": "4_800", "BASE": "520"}),
        ("From 4,800 on (FREE_FROM) it is free, else the base fee.", {"BASE": "520"}),
        ("TWICE and NAME, and the fee per kilogram.", {"PER_KILO": "90"}),
        ("It is based on the weight.", {}),
        ("It is free.", {}),
    ],
)
def test_constants_that_are_named_in_place_of_their_numbers(answer: str, missing: dict[str, str]) -> None:
    assert find_missing_numbers("Explain it, with its numbers.", answer, [SOURCE]) == missing
    assert find_missing_numbers("Explain it.", answer, [SOURCE]) == {}


def test_the_answer_is_asked_for_once_more_with_them(tmp_path: Path) -> None:
    (tmp_path / "fee.py").write_text(
        "FREE_FROM = 4800\n\n\ndef fee(total):\n    return 0 if total >= FREE_FROM else 520\n"
    )
    endpoint = replace(HERE, info={BILLIONS_KEY: 1.5})
    one = agent(tmp_path, says("From FREE_FROM on."), says("From FREE_FROM on!"), tools=SMALL, endpoint=endpoint)
    assert ended(play(one, "Explain fee in fee.py, with its numbers.")).text == "From FREE_FROM on!"
    assert sent(one)[1]["messages"][-1]["content"] == (
        "[FREE_FROM = 4800. Give your answer again, complete, with these numbers in it.]"
    )
