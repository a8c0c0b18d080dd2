"""Refs of tool outputs by the ids of their calls: data beside the conversation, which no provider is sent.

Law: a ref that is handed out opens. Where a tool gave more than its message shows, the ref is that of all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from yohaku.core.model import History, Step
from yohaku.core.originals import OutputRef, output_ref_of
from yohaku.core.recipe import Recipe
from yohaku.stores import Store

OUTPUT_PASSES = ("cap_results", "limit_tool_output")
"""Passes of recipes that keep every output, whether it is shown whole or not."""


class KeptOutput(NamedTuple):
    call: str
    """Id of the call."""
    tool: str
    output_ref: OutputRef

    def row(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"call": self.call, "tool": self.tool, "output_ref": self.output_ref._asdict()}


class OutputLog:
    """Refs of outputs that are longer than their messages, and a store for the others."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.whole: dict[str, OutputRef] = {}
        """Refs that tools gave, by call."""

    def find(self, history: History, call: str) -> OutputRef | None:
        """Return the ref of a call's output; None if there is no such call. Some clients use an id twice: the last."""
        uses = (use for step in reversed(history.steps) for use in reversed(step.uses) if use.call.id == call)
        text = next((use.result.text for use in uses), None)
        if call in self.whole:
            return self.whole[call]
        if text is None:
            return None
        ref = output_ref_of(text)
        self._store.put(ref.id, text)
        return ref

    def list(self, history: History) -> tuple[KeptOutput, ...]:
        """Return every output of a history, each kept from now on."""
        self.keep(history.steps)
        return tuple(
            KeptOutput(use.call.id, use.call.name, self.whole.get(use.call.id) or output_ref_of(use.result.text))
            for step in history.steps
            for use in step.uses
        )

    def keep(self, steps: Iterable[Step]) -> None:
        """Store the outputs of these steps."""
        self._store.put_all(_originals(steps, self.whole))


def keeps_outputs(recipe: Recipe) -> bool:
    """Return whether a recipe wants every output kept, as soon as it arrives."""
    return any(rung.pass_name in OUTPUT_PASSES for rung in recipe.rungs)


def _originals(steps: Iterable[Step], whole: Mapping[str, OutputRef]) -> Iterator[tuple[str, str]]:
    for step in steps:
        for use in step.uses:
            if use.call.id not in whole and (text := use.result.text):
                yield output_ref_of(text).id, text
