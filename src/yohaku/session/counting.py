"""Token counts of one session: its meters, what providers' reports taught about them, and notices of estimates."""

from __future__ import annotations

from collections.abc import Callable

from yohaku import meters
from yohaku.config.settings import Notice
from yohaku.core.budget import Budget
from yohaku.core.meter import Meter
from yohaku.meters.calibration import Calibration
from yohaku.meters.guarded import GuardedMeter
from yohaku.session.count_gaps import CountedModel, CountGaps, notice_of_estimate


class Counting:
    server_counts = False
    """True while somebody asks the server for the tokens of each request: then an estimate carries no risk."""

    def __init__(
        self,
        model: str | None,
        provider: str | None,
        meter: Meter | None,
        gaps: CountGaps | None,
        warn: Callable[[Notice], None],
    ) -> None:
        """`meter`: the one to count with; by default the model's."""
        self.model, self.gaps = model, gaps
        self.scale = Calibration()
        self._provider = provider or ""
        self._meter = GuardedMeter(meter) if meter is not None else None
        self._meters: dict[str, Meter] = {}
        self._warn = warn
        self._tuned = self._estimate_told = False

    def meter_for(self, dialect: str) -> Meter:
        if self._meter is not None:
            return self._meter
        if dialect not in self._meters:
            self._meters[dialect] = GuardedMeter(meters.for_model(self.model, dialect, self._provider))
        return self._meters[dialect]

    def counted_model(self, meter: str) -> CountedModel:
        return CountedModel(self.model or "", self._provider, meter)

    def tune(self, meter: Meter) -> None:
        """Begin with what earlier conversations taught about the meter's counts for this model."""
        if self.gaps and not self._tuned and self.scale.neutral:
            self.scale = self.gaps.tuned(self.counted_model(meter.name))
        self._tuned = True

    def learn(self, weight: int, reported: int, meter: str, *, billed: bool) -> None:
        """Learn how many tokens were reported for this weight, and keep the gap if they were billed."""
        before = self.scale
        self.scale = before.learn(weight, reported)
        if self.gaps and billed:
            self.gaps.record(self.counted_model(meter), before, self.scale)

    def calibrate(self, budget: Budget) -> Budget:
        """Return the budget in tokens of our meter, corrected by the provider's reports."""
        if self.scale.neutral:
            return budget
        limit = max(1, self.scale.weight(budget.limit))
        return Budget(limit + budget.reserve, budget.reserve)

    def warn_if_estimated(self, dialect: str) -> None:
        """Give a notice, once for a model, where its counts are estimates that no server checks."""
        meter = self.meter_for(dialect)
        if meter.exact or self.server_counts or self._estimate_told:
            return
        self._estimate_told = True
        if self.gaps is None or self.gaps.tell_once(self.counted_model(meter.name)):
            self._warn(notice_of_estimate(self.model, meter.name, meters.way_to_exact(self.model, dialect)))
