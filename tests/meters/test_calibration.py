from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from yohaku.meters.calibration import Calibration, Gap


def test_before_any_report_a_weight_is_taken_at_its_word() -> None:
    assert Calibration().total(1000) == 1000


def test_the_first_report_teaches_what_the_provider_adds_not_a_ratio() -> None:
    scale = Calibration().learn(1000, 1300)
    assert (scale.ratio, scale.hidden) == (1.0, 300)
    assert (scale.total(1000), scale.total(1500), scale.total(400)) == (1300, 1800, 700)


def test_a_first_gap_too_large_to_be_hidden_is_a_wrong_ratio() -> None:
    scale = Calibration().learn(100_000, 130_000)
    assert (scale.ratio, scale.total(10_000)) == (1.3, 13_000)


def test_later_reports_teach_a_ratio_and_the_newest_counts_most() -> None:
    scale = Calibration().learn(1000, 1300).learn(2000, 2500).learn(3000, 4000)
    assert scale.ratio == (0.9 * 1200 + 1500) / (0.9 * 1000 + 1000)
    assert scale.total(3000) == 4000


def test_after_a_folding_the_anchor_is_void_and_what_was_learned_stays() -> None:
    scale = Calibration().learn(1000, 1300).learn(2000, 2500)
    assert scale.ratio == 1.2
    assert scale.hidden == 100
    assert scale.total(500) == 700
    assert scale.learn(500, 690).total(500) == 690


def test_a_report_far_too_low_is_kept_as_a_gap_and_not_believed() -> None:
    before = Calibration().learn(1000, 1100)
    after = before.learn(9000, 4096)
    assert (after.anchor, after.ratio, after.lessons) == (before.anchor, before.ratio, 1)
    assert after.last == Gap(9000, 9100, 4096, heeded=False)


def test_the_gap_between_what_was_said_and_what_was_billed_is_kept() -> None:
    scale = Calibration().learn(1000, 1250)
    assert scale.last == Gap(1000, 1000, 1250)
    assert scale.last.share == 0.2
    assert Calibration().learn(1000, 0).last == Gap(1000, 1000, 0, heeded=False)


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(-10, 10**7)), max_size=30), st.integers(0, 10**7))
def test_whatever_is_reported_the_scale_stays_within_reason(lessons: list[tuple[int, int]], weight: int) -> None:
    scale = Calibration()
    for each in lessons:
        scale = scale.learn(*each)
    assert 0.5 <= scale.ratio <= 3.0
    assert scale.total(weight) >= 0
    assert scale.total(weight + 1000) >= scale.total(weight + 500) or scale.anchor is not None


def test_it_comes_within_one_percent_in_ten_turns_from_an_estimate_a_third_too_low() -> None:
    rng = random.Random(5)
    scale, weight, true = Calibration(), 0, 300.0
    for _ in range(10):
        added = rng.randint(200, 2000)
        weight, true = weight + added, true + added * rng.uniform(1.4, 1.6)
        said = scale.total(weight)
        scale = scale.learn(weight, round(true))
    assert abs(said / true - 1) < 0.01
