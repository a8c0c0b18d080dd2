from __future__ import annotations

import asyncio
import io
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.agent.benches import ABench
from yohaku import meters
from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.output_budget import format_size, ref_note, save_output

METER = meters.for_model("gpt-4o")


def test_without_a_room_the_caps_hold() -> None:
    assert (output_budget.tokens_left(), output_budget.max_bytes(30_000), output_budget.fits("a" * 10_000_000)) == (
        None,
        30_000,
        True,
    )
    assert output_budget.keep_head("a\n" * 10_000, "[note]") == ("a\n" * 10_000, False)


def test_what_was_given_is_no_longer_left() -> None:
    with output_budget.limit_output(1_000, METER):
        output_budget.spend("word " * 400)
        assert output_budget.tokens_left() == 1_000 - METER.count("word " * 400)
    assert output_budget.tokens_left() is None


def test_a_full_room_leaves_enough_to_say_so() -> None:
    with output_budget.limit_output(10, METER):
        assert output_budget.tokens_left() == output_budget.MIN_TOKENS


def test_calls_that_run_at_once_share_one_room() -> None:
    async def spend() -> None:
        output_budget.spend("word " * 100)

    async def both() -> int | None:
        with output_budget.limit_output(5_000, METER):
            await asyncio.gather(spend(), asyncio.to_thread(output_budget.spend, "word " * 100))
            return output_budget.tokens_left()

    assert asyncio.run(both()) == 5_000 - 2 * METER.count("word " * 100)


def test_the_head_keeps_whole_lines_and_ends_with_the_note() -> None:
    text = "\n".join(f"line number {number}" for number in range(5_000))
    with output_budget.limit_output(300, METER):
        shown, cut = output_budget.keep_head(text, "[more]")
        assert cut
        assert METER.count(shown) <= 300
    lines = shown.split("\n")
    assert lines[-1] == "[more]"
    assert lines[:-1] == [f"line number {number}" for number in range(len(lines) - 1)]
    assert len(lines) > 40


def test_the_ends_keep_the_last_line() -> None:
    text = "\n".join(f"line number {number}" for number in range(5_000))
    with output_budget.limit_output(300, METER):
        shown, _ = output_budget.keep_ends(text, "[middle]")
    assert shown.startswith("line number 0\n")
    assert shown.endswith("\nline number 4999")
    assert "\n[middle]\n" in shown


def test_a_huge_text_is_not_counted_whole() -> None:
    counted: list[int] = []

    class Counting:
        name, exact, frame = "c", True, METER.frame

        def count(self, text: str) -> int:
            counted.append(len(text))
            return METER.count(text)

        def weigh(self, part: object) -> int:
            return 0

    with output_budget.limit_output(500, Counting()):
        output_budget.keep_ends("some words here\n" * 1_000_000, "[note]")
    assert max(counted) <= 3 * 500 * output_budget.MAX_BYTES_PER_TOKEN


@given(st.text(), st.integers(0, 400), st.sampled_from([0.0, 0.5, 1.0]))
def test_what_is_cut_fits(text: str, tokens: int, share: float) -> None:
    with output_budget.limit_output(tokens, METER) as here:
        shown, _ = output_budget.keep_ends(text * 50, "[note]", share)
        assert METER.count(shown) <= here.tokens_left


def test_a_ref_opens_what_was_kept(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    for original in ("日本語\n", io.BytesIO("日本語\n".encode())):
        saved = asyncio.run(save_output(bench, original))
        assert saved and (saved.byte_size, saved.line_count) == (10, 1)
        assert bench.session is not None
        assert bench.session.recall(ref_note(saved).removeprefix("; ")) == "日本語\n"


def test_without_a_session_there_is_no_ref(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    bench.session = None
    assert asyncio.run(save_output(bench, "x")) is None and ref_note(None) == ""


def test_sizes_are_told_as_people_do() -> None:
    assert [format_size(count) for count in (0, 1_023, 1_536, 5 << 20, 3 << 30)] == [
        "0 bytes", "1023 bytes", "1.5 KB", "5.0 MB", "3.0 GB",
    ]  # fmt: skip
