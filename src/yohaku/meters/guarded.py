"""A wrapper for counters that the user brings.

Law: any failure while counting raises `Uncountable` with the name of the counter.
"""

from __future__ import annotations

from dataclasses import dataclass

from yohaku.core.errors import Uncountable, YohakuError
from yohaku.core.meter import Meter, Overhead
from yohaku.core.model import Opaque


@dataclass(frozen=True, slots=True)
class GuardedMeter:
    meter: Meter

    @property
    def name(self) -> str:
        return self.meter.name

    @property
    def exact(self) -> bool:
        return self.meter.exact

    @property
    def frame(self) -> Overhead:
        return self.meter.frame

    def count(self, text: str) -> int:
        try:
            return self.meter.count(text)
        except Exception as failed:
            raise self._explained(failed) from failed

    def weigh(self, part: Opaque) -> int:
        try:
            return self.meter.weigh(part)
        except Exception as failed:
            raise self._explained(failed) from failed

    def _explained(self, failed: Exception) -> YohakuError:
        """Keep errors of ours, and wrap all others."""
        return failed if isinstance(failed, YohakuError) else Uncountable(self.name, failed)
