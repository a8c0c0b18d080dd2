from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from yohaku import meters
from yohaku.agent.toolkit import output_budget

METER = meters.for_model("gpt-4o")


def test_without_a_room_the_caps_hold() -> None:
    assert (output_budget.left(), output_budget.size(30_000), output_budget.fits("a" * 10_000_000)) == (
        None,
        30_000,
        True,
    )
    assert output_budget.head("a\n" * 10_000, "[note]") == ("a\n" * 10_000, False)


def test_what_was_given_is_no_longer_left() -> None:
    with output_budget.open(1_000, METER):
        output_budget.take("word " * 400)
        assert output_budget.left() == 1_000 - METER.count("word " * 400)
    assert output_budget.left() is None


def test_a_full_room_leaves_enough_to_say_so() -> None:
    with output_budget.open(10, METER):
        assert output_budget.left() == output_budget.LEAST


def test_calls_that_run_at_once_share_one_room() -> None:
    async def spend() -> None:
        output_budget.take("word " * 100)

    async def both() -> int | None:
        with output_budget.open(5_000, METER):
            await asyncio.gather(spend(), asyncio.to_thread(output_budget.take, "word " * 100))
            return output_budget.left()

    assert asyncio.run(both()) == 5_000 - 2 * METER.count("word " * 100)


def test_the_head_keeps_whole_lines_and_ends_with_the_note() -> None:
    text = "\n".join(f"line number {number}" for number in range(5_000))
    with output_budget.open(300, METER):
        shown, cut = output_budget.head(text, "[more]")
        assert cut
        assert METER.count(shown) <= 300
    lines = shown.split("\n")
    assert lines[-1] == "[more]"
    assert lines[:-1] == [f"line number {number}" for number in range(len(lines) - 1)]
    assert len(lines) > 40


def test_the_ends_keep_the_last_line() -> None:
    text = "\n".join(f"line number {number}" for number in range(5_000))
    with output_budget.open(300, METER):
        shown, _ = output_budget.ends(text, "[middle]")
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

    with output_budget.open(500, Counting()):
        output_budget.ends("some words here\n" * 1_000_000, "[note]")
    assert max(counted) <= 3 * 500 * output_budget.LONGEST


@given(st.text(), st.integers(0, 400), st.sampled_from([0.0, 0.5, 1.0]))
def test_what_is_cut_fits(text: str, tokens: int, share: float) -> None:
    with output_budget.open(tokens, METER) as here:
        shown, _ = output_budget.ends(text * 50, "[note]", share)
        assert METER.count(shown) <= here.left
