from __future__ import annotations

from dataclasses import dataclass, field

from yohaku.core.meter import Overhead
from yohaku.core.model import Opaque
from yohaku.meters.cached import ENTRY_CHARS, CachedMeter, CountCache


@dataclass
class Letters:
    """Counts letters, and how often it was asked."""

    name: str = "letters"
    exact: bool = True
    frame: Overhead = field(default_factory=Overhead)
    asked: int = 0

    def count(self, text: str) -> int:
        self.asked += 1
        return len(text)

    def weigh(self, part: Opaque) -> int:
        self.asked += 1
        return 7


def test_a_text_is_counted_once() -> None:
    letters = Letters()
    meter = CachedMeter(letters)
    assert [meter.count("abc"), meter.count("a" + "bc"), meter.count("")] == [3, 3, 0]
    assert letters.asked == 2


def test_a_picture_is_weighed_once_wherever_it_stands() -> None:
    letters = Letters()
    meter = CachedMeter(letters)
    assert [meter.weigh(Opaque("image", "x", at=(1,))), meter.weigh(Opaque("image", "x", at=(2,)))] == [7, 7]
    assert letters.asked == 1


def test_the_older_half_is_forgotten_when_there_is_no_room() -> None:
    meter = CachedMeter(Letters(), CountCache(room=4 * (ENTRY_CHARS + 1)))
    assert [meter.count(letter) for letter in "abcde"] == [1] * 5
    assert list(meter.memory.counts) == ["d", "e"]
    assert meter.memory.held == 2 * (ENTRY_CHARS + 1)


def test_a_text_larger_than_the_memory_is_counted_and_forgotten() -> None:
    meter = CachedMeter(Letters(), CountCache(room=100))
    assert meter.count("x" * 1000) == 1000
    assert meter.memory.counts == {}


def test_it_speaks_for_the_meter_it_remembers_for() -> None:
    letters = Letters()
    meter = CachedMeter(letters)
    assert (meter.name, meter.exact, meter.frame) == (letters.name, letters.exact, letters.frame)
