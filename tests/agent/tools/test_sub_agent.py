from __future__ import annotations

from pathlib import Path

from tests.agent.benches import ABench
from yohaku import meters
from yohaku.agent.toolkit import output_budget


def test_only_the_report_comes_back(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    assert bench.use("sub_agent", task="look").text == "done: look"
    assert bench.tasks == ["look"]
    assert bench.use("sub_agent", task=" ").error


def test_a_long_report_is_cut_and_kept(tmp_path: Path) -> None:
    class Talkative(ABench):
        async def delegate(self, task: str) -> str:
            return "much to tell\n" * 5_000

    bench = Talkative(tmp_path)
    with output_budget.limit_output(200, meters.for_model("gpt-4o")):
        given = bench.use("sub_agent", task="look")
    ref = given.text.partition("ref=")[2].partition("]")[0]
    assert bench.session is not None
    assert (given.cut, bench.session.recall(ref)) == (True, "much to tell\n" * 5_000)
