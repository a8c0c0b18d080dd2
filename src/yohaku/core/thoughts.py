"""Which thoughts need not be sent again: the passes that drop them and the view that leaves them out go by this.

Law: only of a turn that is over and in which the model did nothing but speak, only what nothing is bound to, and only
where its entry goes on saying something. Some servers refuse a call that lost its thought, however old it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from yohaku.core.model import Opaque, Step, Text, Turn


def over(turn: Turn) -> bool:
    """Whether a turn that is not the newest needs its thoughts no more: nobody called anything in it.

    What is neither a text nor a thought may be a call that the provider answered itself.
    """
    return all(
        isinstance(item, Text) or (isinstance(item, Opaque) and item.kind == "thought")
        for step in turn.steps
        for item in step.items
    )


def spare(step: Step) -> Iterator[tuple[int, Opaque]]:
    """The thoughts of a step that may go, each with its index among all of them."""
    thoughts = step.thoughts
    if not thoughts:
        return
    speaking = {item.at[:1] for item in step.items if isinstance(item, Text) and item.text.strip()}
    for index, thought in enumerate(thoughts):
        if not thought.hint and thought.at[:1] in speaking:
            yield index, thought
