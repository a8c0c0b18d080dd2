"""The gap between our counts and what was billed: kept, summed over processes, and never a start on the unsafe side."""

from __future__ import annotations

import logging
import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.meters.calibration import Calibration
from yohaku.session.count_gaps import MAX_FILE_BYTES, REPLIES_PER_LINE, CountedModel, CountGaps, CountLine, tune
from yohaku.session.session import Session

KEY = CountedModel("grok-9", "xai", "unknown (estimate)")


def converse(gaps: CountGaps, *reports: tuple[int, int], key: CountedModel = KEY) -> Calibration:
    scale = gaps.tuned(key)
    for weight, reported in reports:
        scale, before = scale.learn(weight, reported), scale
        gaps.record(key, before, scale)
    return scale


def growing(ratio: float, replies: int, hidden: int = 0) -> list[tuple[int, int]]:
    return [(1000 * n, round(hidden + ratio * 1000 * n)) for n in range(1, replies + 1)]


def test_what_one_run_saw_the_next_one_starts_with(tmp_path: Path) -> None:
    gaps = CountGaps.in_folder(tmp_path)
    assert gaps.tuned(KEY).neutral
    converse(gaps, *growing(1.3, 8, hidden=100))
    gaps.flush()
    start = CountGaps.in_folder(tmp_path).tuned(KEY)
    assert (round(start.ratio, 2), start.total(10_000)) == (1.3, 13_100)
    assert start.total(start.weight(5_000)) <= 5_000
    assert CountGaps.in_folder(tmp_path).tuned(KEY._replace(meter="another")).neutral


def test_the_first_report_of_a_tuned_start_is_learned_from_like_any_other(tmp_path: Path) -> None:
    gaps = CountGaps.in_folder(tmp_path)
    converse(gaps, *growing(1.3, 8))
    gaps.flush()
    scale = gaps.tuned(KEY).learn(2_000, 2_900)
    assert scale.total(2_000) == 2_900 and scale.total(3_000) == 4_200


def test_fewer_tokens_than_we_count_are_believed_late_and_carefully(tmp_path: Path) -> None:
    gaps = CountGaps.in_folder(tmp_path)
    converse(gaps, *growing(0.7, 3))
    gaps.flush()
    assert gaps.tuned(KEY).ratio == 1.0
    converse(gaps, *growing(0.9, 5))
    gaps.flush()
    assert 0.89 < gaps.tuned(KEY).ratio <= 1.0


ratios = st.floats(0.5, 3.0)


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(500, 50_000), ratios, st.integers(0, 1500)), max_size=12))
def test_a_tuned_start_is_never_below_all_that_was_seen(rows: list[tuple[int, int, float, int]]) -> None:
    lines = [
        CountLine(0, *KEY, replies=replies, counted=replies * added, billed=round(replies * (added * ratio + hidden)),
                  added=added, added_billed=round(added * ratio))
        for replies, added, ratio, hidden in rows
    ]  # fmt: skip
    start = tune(lines)
    assert 0.5 <= start.ratio <= 3.0 and 0 <= start.hidden <= 2000
    if lines:
        assert start.ratio >= min(1.0, *(line.added_billed / line.added for line in lines)) - 0.01
    for total in (0, 1000, 100_000):
        assert start.total(start.weight(total)) <= max(total, start.hidden) + 1


def test_a_line_is_written_and_logged_at_intervals(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    gaps = CountGaps.in_folder(tmp_path)
    with caplog.at_level(logging.INFO, logger="yohaku.counts"):
        converse(gaps, *growing(1.1, 1 + REPLIES_PER_LINE + 5))
        assert len((tmp_path / "counts.jsonl").read_text().splitlines()) == 2
        gaps.flush()
    lines = (tmp_path / "counts.jsonl").read_text().splitlines()
    assert len(lines) == 3 == len(caplog.messages)
    assert "grok-9" in caplog.messages[0]
    assert "1 replies, counted 1,000, billed 1,100 tokens (-9.1%)" in caplog.messages[0]
    (whole,) = CountGaps.in_folder(tmp_path).totals()
    assert whole.replies == 26 and round(whole.gap, 3) == -0.091


def test_the_risk_is_told_once_for_a_model(tmp_path: Path) -> None:
    assert [CountGaps.in_folder(tmp_path).tell_once(KEY) for _ in range(3)] == [True, False, False]
    assert CountGaps.in_folder(tmp_path).tell_once(KEY._replace(model="other"))
    in_memory = CountGaps()
    assert [in_memory.tell_once(KEY) for _ in range(2)] == [True, False]


def test_a_folder_that_cannot_be_written_and_broken_lines_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    gaps = CountGaps(tmp_path / "file" / "counts.jsonl")
    converse(gaps, *growing(1.2, 3))
    gaps.flush()
    assert gaps.totals()[0].replies == 3
    broken = b'{"at": 1}\nnot json\n\xff\xfe\n{"at":1,"model":"m","replies":"x"}\n' + b"[" * 5000
    (tmp_path / "counts.jsonl").write_bytes(broken)
    assert CountGaps.in_folder(tmp_path).totals() == []


def record_some(folder: Path, times: int) -> None:
    gaps = CountGaps.in_folder(folder)
    for _ in range(times):
        converse(gaps, *growing(1.1, 3))
        gaps.flush()


def test_processes_beside_each_other_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=record_some, args=(tmp_path, 20)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert CountGaps.in_folder(tmp_path).totals()[0].replies == 3 * 20 * 3


def test_the_file_stays_small_and_keeps_the_sums(tmp_path: Path) -> None:
    gaps = CountGaps.in_folder(tmp_path)
    gaps.tell_once(KEY)
    for _ in range(1_000):
        converse(gaps, *growing(1.1, 2))
        gaps.flush()
    assert (tmp_path / "counts.jsonl").stat().st_size <= MAX_FILE_BYTES + 1_000
    assert gaps.totals()[0].replies == 2_000 and not gaps.tell_once(KEY)


def test_a_session_keeps_its_gap_and_starts_with_it(tmp_path: Path) -> None:
    body = [{"role": "user", "content": "word " * 400}]
    for gain in (1.0, 1.0):
        gaps = CountGaps.in_folder(tmp_path)
        with Session(100_000, model="grok-9", provider="xai", gaps=gaps) as session:
            session.fit(body)
            assert session.receipt
            first = session.receipt.after
            session.learn(int(first * 1.5 * gain))
    (line,) = CountGaps.in_folder(tmp_path).totals()
    assert line.replies == 2
    with Session(100_000, model="grok-9", provider="xai", gaps=CountGaps.in_folder(tmp_path)) as session:
        session.fit(body)
        assert session.receipt and session.receipt.after > first
    assert [notice.code for notice in session.warnings] == []


def test_a_session_without_a_file_says_the_risk_once() -> None:
    with Session(8_000, model="grok-9") as session:
        for _ in range(2):
            session.fit([{"role": "user", "content": "hi"}])
    assert [notice.code for notice in session.warnings] == ["estimate_file"]
    with Session(8_000, model="gpt-4o") as session:
        session.fit([{"role": "user", "content": "hi"}])
    assert session.warnings == ()
