"""Recorded sessions of other tools, read back as a `History`.

Law: the History is the full conversation. A summary that a tool put in the place of its beginning is left out as long
as that beginning stands in the same file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from yohaku.core.errors import Unreadable
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import Call, History, Part, Result, ToolUse
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import Json


class Billed(NamedTuple):
    """Tokens a provider billed for one step."""

    step: int
    """Its place in `history.steps`; one past the last is the pending reply."""
    prompt: int
    output: int


@dataclass(frozen=True, slots=True)
class Recording:
    history: History
    format: str
    model: str = ""
    """Of the header, or of the last reply; "" where the file has none."""
    usages: tuple[Billed, ...] = ()


class Format(Protocol):
    """Functions that each module of this folder has."""

    NAME: str

    def recognise(self, first: list[Json]) -> bool:
        """Tell whether a file that begins with these objects is a recording of this format."""

    def read(self, data: bytes) -> Recording: ...


class Retelling:
    """Replays a recorded session, entry by entry, in the dialect it was held in."""

    def __init__(self, dialect: Dialect | None = None, unique_ids: bool = True) -> None:
        """`unique_ids`: calls and results are found by id in the whole file, so an id used again is a mistake."""
        self.builder = HistoryBuilder()
        self.builder.unique_ids = unique_ids
        self.dialect = dialect
        self._entries = 0
        self._bills: list[tuple[Part | Call, int, int]] = []

    def at(self, where: str) -> None:
        self.builder.where = where

    def entry(self, entry: dict[str, Json]) -> None:
        assert self.dialect is not None
        self.dialect.read_entry(self.builder, self._entries, entry)
        self._entries += 1

    def settle(self) -> None:
        """Settle calls without results, left by a tool that crashed or was stopped, as failed and empty."""
        for call in self.builder.open_calls:
            self.builder.answer(call.id, Result(error=True))

    def bill(self, prompt: Json, output: Json) -> None:
        """Note the cost of the current reply; the last report of a step counts."""
        said = self.builder.open_reply().items
        if said and type(prompt) is int and type(output) is int and (prompt or output):
            self._bills.append((said[-1], prompt, output))

    def recording(self, name: str, model: str = "") -> Recording:
        history = self.builder.history()
        if not history.turns and not history.pending:
            raise Unreadable("nothing was said in this session")
        places = {id(item): place for item, place in _places(history)}
        bills = {places[id(item)]: (prompt, output) for item, prompt, output in self._bills}
        usages = tuple(Billed(place, *bill) for place, bill in sorted(bills.items()))
        return Recording(history, name, model, usages)

    def ended(self, name: str, model: str = "") -> Recording:
        """Finish the recording of a tool that may have stopped while some of its calls were running."""
        if len(self.builder.open_calls) < len(self.builder.open_reply().calls):
            self.settle()
        return self.recording(name, model)


def _places(history: History) -> Iterator[tuple[Part | Call, int]]:
    for place, step in enumerate(history.steps):
        for item in step.items:
            yield (item.call if isinstance(item, ToolUse) else item), place
    for said in history.pending.items if history.pending else ():
        yield said, len(history.steps)
