"""The conversation as it stands on the wire, in the dialect of the endpoint it is held with.

Law: entries are only added, each composed once, so that fitting costs what is new. A reply whose calls are open is
never in it: it comes in with the result of each, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import History, Opaque, Part, Reply, Result, Step, Text, Turn
from yohaku.dialects import dialect_named
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import Json
from yohaku.dialects.load import Request, load

NO_RESULT = "[no result: the session ended here]"
"""What a call is answered with that was open when a recording broke off."""


class Conversation:
    def __init__(self, dialect: str, model: str = "", system: str = "", tools: Iterable[Json] = ()) -> None:
        """`tools`: their definitions, in the form of the dialect."""
        self._of(dialect, model, system, tools)
        self._begin(())

    @property
    def body(self) -> Json:
        """To be fitted and sent. It shares its entries with this conversation: what must change is to be copied."""
        return {**self._beside, self.dialect.entries: list(self._entries)}

    @property
    def history(self) -> History:
        builder = HistoryBuilder()
        self.dialect.read_beside(builder, self._beside)
        for index, entry in enumerate(self._entries):
            self.dialect.read_entry(builder, index, entry)
        return builder.history()

    @property
    def began(self) -> bool:
        """Whether anything was said."""
        return len(self._entries) > self._fixed

    @property
    def length(self) -> int:
        """Entries on the wire."""
        return len(self._entries)

    def say(self, *parts: str | Part) -> None:
        """What the user says: texts, and what is no text."""
        prompt = tuple(Text(part) if isinstance(part, str) else part for part in parts)
        self._entries += self._composed(Turn(prompt))

    def settle(self, reply: Reply, results: Mapping[str, Result]) -> Step:
        """The model's reply with the result of each of its calls. One that says nothing is not taken down."""
        step = reply.settle(dict(results))
        if not _empty(step):
            # A prompt goes before it, since no dialect lets the model speak first, and is left out again.
            self._entries += self._composed(Turn((Text("."),), (step,)))[1:]
        return step

    def mark(self) -> int:
        """Where it stands, for `back`."""
        return len(self._entries)

    def back(self, mark: int) -> None:
        """As it was at `mark`: a prompt that cannot be sent is taken back."""
        del self._entries[max(mark, self._fixed) :]

    def switch(self, dialect: str, model: str = "", system: str = "", tools: Iterable[Json] = ()) -> None:
        """The same turns in another dialect, or with another system prompt and other tools."""
        turns = self.history.turns
        self._of(dialect, model, system, tools)
        self._begin(turns)

    def resume(self, history: History) -> None:
        """Goes on from the turns of another history; what was open in it is closed, and said to be."""
        self._begin(close_pending(history).turns)

    def _of(self, dialect: str, model: str, system: str, tools: Iterable[Json]) -> None:
        self.dialect: Dialect = dialect_named(dialect)
        self.model = model
        self._system = (Text(system),) if system else ()
        self._tools = list(tools)

    def _begin(self, turns: tuple[Turn, ...]) -> None:
        body = self.dialect.compose(History(self._system, (), turns), self.model)
        self._entries: list[Json] = body.pop(self.dialect.entries)
        self._beside = {**body, "tools": self._tools} if self._tools else body
        self._fixed = len(self.dialect.compose(History(self._system))[self.dialect.entries])
        """Entries that are no part of the conversation: some dialects have the system prompt among them."""

    def _composed(self, turn: Turn) -> list[Json]:
        entries: list[Json] = self.dialect.compose(History(turns=(turn,)))[self.dialect.entries]
        return entries


def close_pending(history: History) -> History:
    """The history without an open reply: its calls are answered by the plain truth."""
    if history.pending is None:
        return history
    results = {call.id: Result((Text(NO_RESULT),), error=True) for call in history.pending.calls}
    step = history.pending.settle(results)
    *turns, last = history.turns or (Turn((Text("."),)),)
    return replace(history, turns=(*turns, replace(last, steps=(*last.steps, step))), pending=None)


def load_history(path: str | Path) -> History:
    """What any recording, transcript or request body says."""
    loaded = load(Path(path).read_bytes(), str(path))
    if isinstance(loaded, Request):
        return dialect_named(loaded.dialect).read(loaded.value).history()
    return loaded.history


def _empty(step: Step) -> bool:
    return not any(not isinstance(item, Opaque) and (not isinstance(item, Text) or item.text) for item in step.items)
