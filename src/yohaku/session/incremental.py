"""What a history adds to the one before it, when a client only appends.

Law: up to the mark nothing can change by adding; all but the last step, or the last prompt, lies before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from yohaku.core.folds import Cut
from yohaku.core.model import History, Step, Turn


def settled(history: History) -> Cut:
    """The mark: up to here a history cannot change any more when something is added."""
    if not history.turns:
        return Cut(0, 0)
    return Cut(len(history.turns) - 1, max(0, len(history.turns[-1].steps) - 1))


def since(history: History, mark: Cut) -> Iterator[Turn]:
    if not history.turns:
        return
    first = history.turns[mark.turn]
    yield replace(first, prompt=() if mark.steps else first.prompt, steps=first.steps[mark.steps :])
    yield from history.turns[mark.turn + 1 :]


def steps_since(history: History, mark: Cut) -> Iterator[Step]:
    for number in range(mark.turn, len(history.turns)):
        yield from history.turns[number].steps[mark.steps if number == mark.turn else 0 :]


def keys_since(history: History, mark: Cut) -> Iterator[str]:
    for number in range(mark.turn, len(history.turns)):
        turn = history.turns[number]
        yield turn.key
        for step in turn.steps[mark.steps if number == mark.turn else 0 :]:
            yield step.key
