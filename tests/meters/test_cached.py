from __future__ import annotations

from dataclasses import dataclass, field

from yohaku.core.meter import Overhead
from yohaku.core.model import Opaque
from yohaku.meters.cached import MAX_KEY_CHARS, CachedMeter, CountCache, charge


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
    meter = CachedMeter(Letters(), CountCache(room=4 * charge("a")))
    assert [meter.count(letter) for letter in "abcde"] == [1] * 5
    assert list(meter.memory.counts) == ["d", "e"]
    assert meter.memory.held == 2 * charge("a")


def test_a_long_text_is_counted_once_and_not_held() -> None:
    letters = Letters()
    meter = CachedMeter(letters)
    texts = ["余" * (MAX_KEY_CHARS + 1), "余" * 100_000, "\ud800" * 1000]
    assert [meter.count(text) for text in texts * 2] == [len(text) for text in texts] * 2
    assert letters.asked == len(texts)
    assert meter.memory.held < 1000


def test_parts_that_differ_in_any_fact_are_weighed_apart() -> None:
    letters = Letters()
    meter = CachedMeter(letters)
    parts = [
        Opaque("image", "x"),
        Opaque("audio", "x"),
        Opaque("image", "x", "url"),
        Opaque("image", "x", hint="low"),
        Opaque("image", "x", mime="low"),
    ]
    assert [meter.weigh(part) for part in parts * 2] == [7] * 10
    assert letters.asked == len(parts)


def test_it_speaks_for_the_meter_it_remembers_for() -> None:
    letters = Letters()
    meter = CachedMeter(letters)
    assert (meter.name, meter.exact, meter.frame) == (letters.name, letters.exact, letters.frame)
