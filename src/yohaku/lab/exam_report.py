"""The table of the exam: answers right by method and kind, false statements, and paired differences."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple, get_args

from yohaku.lab.exam_sheets import AnswerSheet, ExamQuestion, ExamSession, Grade, Kind
from yohaku.lab.report import interval

KINDS: tuple[Kind, ...] = get_args(Kind)


class Score(NamedTuple):
    session: str
    method: str
    kinds: dict[str, list[float]]
    false: int
    ready: float | None
    refs: int
    """Answers that name a ref to open."""

    @property
    def mean(self) -> float:
        values = [value for scores in self.kinds.values() for value in scores]
        return sum(values) / len(values)


def score(
    session: ExamSession, method: str, questions: list[ExamQuestion], sheet: AnswerSheet, row: list[Grade]
) -> Score:
    kinds: dict[str, list[float]] = defaultdict(list)
    for question, grade in zip(questions, row, strict=True):
        kinds[question.kind].append(grade.score)
    refs = sum(bool(answer.ref) for answer in sheet.answers)
    return Score(session.name, method, dict(kinds), sum(grade.false for grade in row), sheet.ready, refs)


def report(scores: list[Score], methods: tuple[str, ...]) -> dict[str, Any]:
    """Means with intervals by method, and paired differences of the first method to each other one."""
    rows: dict[str, Any] = {}
    for method in methods:
        mine = [each for each in scores if each.method == method]
        rows[method] = {
            "mean": interval(each.mean for each in mine)._asdict(),
            "kinds": {kind: _kind_mean(mine, kind) for kind in KINDS},
            "false": sum(each.false for each in mine),
            "ready": interval(each.ready for each in mine).mean,
            "refs": sum(each.refs for each in mine),
        }
    by = {(each.method, each.session): each.mean for each in scores}
    first, others = methods[0], methods[1:]
    sessions = list(dict.fromkeys(each.session for each in scores))
    pairs = {
        f"{first} - {other}": interval(
            by[first, name] - by[other, name] for name in sessions if (first, name) in by and (other, name) in by
        )._asdict()
        for other in others
    }
    return {"methods": rows, "differences": pairs, "sessions": len(sessions)}


def _kind_mean(scores: list[Score], kind: str) -> float | None:
    values = [value for each in scores for value in each.kinds.get(kind, ())]
    return sum(values) / len(values) if values else None


def table(found: dict[str, Any]) -> str:
    heads = ("mean", *KINDS, "false", "ready", "refs")
    lines = [f"{found['sessions']} sessions", f"{'':16}" + "".join(f"{head[:8]:>9}" for head in heads)]
    for method, row in found["methods"].items():
        cells = [row["mean"]["mean"], *row["kinds"].values(), row["false"], row["ready"], row["refs"]]
        lines.append(f"{method:16}" + "".join(f"{_cell(cell):>9}" for cell in cells))
    for pair, each in found["differences"].items():
        if each["mean"] is not None:
            lines.append(f"  {pair}: {each['mean']:+.3f} [{each['low']:+.3f}, {each['high']:+.3f}]")
    return "\n".join(lines) + "\n"


def _cell(value: float | None) -> str:
    return "–" if value is None else str(value) if isinstance(value, int) else f"{value:.2f}"
