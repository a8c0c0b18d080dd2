from __future__ import annotations

from pathlib import Path

from tests.agent.benches import ABench
from yohaku import meters
from yohaku.agent.toolkit import output_budget
from yohaku.core.originals import ref_of

TEXT = "".join(f"line {number}\n" for number in range(1, 2_001))


def test_what_was_folded_is_opened_and_searched(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    assert bench.session is not None
    ref = ref_of(TEXT)
    bench.session.store.put(ref, TEXT)
    assert "  7: line 7\n     8: line 8" in bench.use("tool_output_cache", ref_id=f"ref={ref}", offset=7, limit=2).text
    assert "1999: line 1999" in bench.use("tool_output_cache_grep", ref=ref, pattern="1999").text


def test_the_room_is_kept_to(tmp_path: Path) -> None:
    bench, meter = ABench(tmp_path), meters.for_model("gpt-4o")
    assert bench.session is not None
    bench.session.store.put(ref_of(TEXT), TEXT)
    with output_budget.limit_output(200, meter):
        given = bench.use("tool_output_cache", ref_id=ref_of(TEXT), limit=2_000)
    assert (given.cut, meter.count(given.text) <= 200) == (True, True)


def test_an_unknown_ref_and_a_session_without_store_are_told(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    assert bench.use("tool_output_cache", ref_id="nothing").error
    bench.session = None
    assert bench.use("tool_output_cache", ref_id="nothing").text == "Nothing is kept in this session."
