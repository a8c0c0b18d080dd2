from __future__ import annotations

from pathlib import Path

from tests.agent.benches import ABench
from yohaku.agent.tools.ask_user import NO_ANSWER


def test_the_answer_comes_back(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    bench.answers = ["青"]
    assert bench.use("ask_user", question="何色?", choices=["赤", "青"]).text == "青"
    assert bench.use("ask_user", question="まだいますか?").text == NO_ANSWER
