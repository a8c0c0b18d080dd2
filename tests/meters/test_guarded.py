from __future__ import annotations

import pytest

from yohaku.core.errors import BadSetting, Uncountable
from yohaku.core.meter import Overhead
from yohaku.core.model import Opaque
from yohaku.meters.guarded import GuardedMeter
from yohaku.testing import ByteMeter

IMAGE = Opaque("image", "", "base64", "image/png")


class Broken:
    name, exact, frame = "broken", False, Overhead()

    def __init__(self, failed: BaseException) -> None:
        self.failed = failed

    def count(self, text: str) -> int:
        raise self.failed

    def weigh(self, part: Opaque) -> int:
        raise self.failed


def test_what_counts_is_left_alone() -> None:
    meter, guarded = ByteMeter(), GuardedMeter(ByteMeter())
    assert (guarded.name, guarded.exact, guarded.frame) == (meter.name, meter.exact, meter.frame)
    assert (guarded.count("余白"), guarded.weigh(IMAGE)) == (6, 100)


def test_what_fails_is_told_with_the_name_of_the_meter() -> None:
    guarded = GuardedMeter(Broken(KeyError("vocabulary")))
    with pytest.raises(Uncountable) as raised:
        guarded.count("x")
    assert raised.value.facts == {"meter": "broken", "why": "'vocabulary'"}
    with pytest.raises(Uncountable) as raised:
        guarded.weigh(IMAGE)
    assert raised.value.facts == {"meter": "broken", "why": "'vocabulary'"}
    with pytest.raises(Uncountable, match="RuntimeError"):
        GuardedMeter(Broken(RuntimeError())).count("x")


def test_what_is_explained_already_stays_as_it_is() -> None:
    explained = BadSetting("install it first")
    with pytest.raises(BadSetting) as raised:
        GuardedMeter(Broken(explained)).count("x")
    assert raised.value is explained


def test_who_stops_the_program_stops_it() -> None:
    with pytest.raises(KeyboardInterrupt):
        GuardedMeter(Broken(KeyboardInterrupt())).count("x")
