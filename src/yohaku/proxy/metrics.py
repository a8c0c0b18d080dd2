"""Counts of what the proxy does, as `GET /yohaku/metrics` tells them in the text form that Prometheus reads.

Law: no label holds anything that a client said, was, or paid with: no model, path, ref, tenant or address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Literal

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Outcome = Literal["fits", "folded", "left_alone", "refused", "counted", "compacted", "passed"]
HELP = {
    "yohaku_requests_total": "Requests, by dialect and by what was done with them.",
    "yohaku_tokens_total": "Tokens of fitted requests: as they came, and as they were sent.",
    "yohaku_attempts_total": "Requests sent to an upstream once more, by reason.",
    "yohaku_upstream_failures_total": "Requests for which the upstream was not reached.",
    "yohaku_streams": "Replies that are being relayed now.",
    "yohaku_held_bytes": "Bytes of request bodies in work now.",
    "yohaku_conversations": "Conversations whose reading is kept in memory.",
}


class Metrics:
    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self.gauges: dict[str, Callable[[], int]] = {}
        """What is measured when it is asked for, by name."""
        self.streams = 0

    def count_request(self, dialect: str, outcome: Outcome) -> None:
        self._counts["yohaku_requests_total", f'dialect="{dialect}",outcome="{outcome}"'] += 1

    def count_tokens(self, came: int, sent: int) -> None:
        self._counts["yohaku_tokens_total", 'at="came"'] += came
        self._counts["yohaku_tokens_total", 'at="sent"'] += sent

    def count_attempt(self, why: Literal["too_long", "roles", "tools", "recall"]) -> None:
        self._counts["yohaku_attempts_total", f'why="{why}"'] += 1

    def count_failure(self) -> None:
        self._counts["yohaku_upstream_failures_total", ""] += 1

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        gauges = {"yohaku_streams": self.streams, **{name: measure() for name, measure in self.gauges.items()}}
        for name, about in HELP.items():
            counted = sorted((labels, number) for (key, labels), number in self._counts.items() if key == name)
            rows = counted or [("", gauges.get(name, 0))]
            yield f"# HELP {name} {about}"
            yield f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}"
            for labels, number in rows if not name.endswith("_total") or counted else ():
                yield f"{name}{{{labels}}} {number}" if labels else f"{name} {number}"
