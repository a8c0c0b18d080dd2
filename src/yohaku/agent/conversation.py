"""The conversation on the wire, in the dialect of its endpoint.

Law: entries are only added, each composed once, so that fitting costs what is new. A reply is added with the result of
each of its calls, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from yohaku.core.errors import YohakuError
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import History, Opaque, Part, Reply, Result, Step, Text, Turn
from yohaku.core.originals import OutputRef
from yohaku.dialects import dialect_named
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import Json
from yohaku.dialects.load import Request, load
from yohaku.dialects.recordings import transcript

NO_RESULT = "[no result: the session ended here]"
"""Result of a call that was open when a recording ended."""


class Conversation:
    def __init__(self, dialect: str, model: str = "", system: str = "", tools: Iterable[Json] = ()) -> None:
        """`tools`: their definitions, in the form of the dialect."""
        self._set_up(dialect, model, system, tools)
        self._compose(())

    @property
    def body(self) -> Json:
        """The request to fit and send. Its entries are shared with this conversation: copy before you change one."""
        return {**self._other_fields, self.dialect.entries: list(self._entries)}

    @property
    def history(self) -> History:
        builder = HistoryBuilder()
        self.dialect.read_beside(builder, self._other_fields)
        for index, entry in enumerate(self._entries):
            self.dialect.read_entry(builder, index, entry)
        return builder.history()

    @property
    def began(self) -> bool:
        """True once there is a prompt."""
        return len(self._entries) > self._fixed

    @property
    def length(self) -> int:
        """Entries on the wire."""
        return len(self._entries)

    def add_prompt(self, *parts: str | Part) -> None:
        """Add a prompt of the user: texts and other parts."""
        prompt = tuple(Text(part) if isinstance(part, str) else part for part in parts)
        self._entries += self._compose_turn(Turn(prompt))

    def settle(self, reply: Reply, results: Mapping[str, Result]) -> Step:
        """Add a reply with the result of each of its calls, unless it is empty."""
        step = reply.settle(dict(results))
        if not _is_empty(step):
            # No dialect lets the model begin: compose with a prompt before it, and leave that out.
            self._entries += self._compose_turn(Turn((Text("."),), (step,)))[1:]
        return step

    def truncate(self, length: int) -> None:
        """Remove the entries after the first `length`; those before the conversation stay."""
        del self._entries[max(length, self._fixed) :]

    def switch(self, dialect: str, model: str = "", system: str = "", tools: Iterable[Json] = ()) -> None:
        """Rewrite the same turns in another dialect, or with another system prompt and other tools."""
        turns = self.history.turns
        self._set_up(dialect, model, system, tools)
        self._compose(turns)

    def resume(self, history: History) -> None:
        """Go on from the turns of another history, with its open calls closed."""
        self._compose(close_pending(history).turns)

    def _set_up(self, dialect: str, model: str, system: str, tools: Iterable[Json]) -> None:
        self.dialect: Dialect = dialect_named(dialect)
        self.model = model
        self._system = (Text(system),) if system else ()
        self._tools = list(tools)

    def _compose(self, turns: tuple[Turn, ...]) -> None:
        body = self.dialect.compose(History(self._system, (), turns), self.model)
        self._entries: list[Json] = body.pop(self.dialect.entries)
        self._other_fields = {**body, self.dialect.tools_field: self._tools} if self._tools else body
        self._fixed = len(self.dialect.compose(History(self._system))[self.dialect.entries])
        """Entries before the conversation: some dialects put the system prompt there."""

    def _compose_turn(self, turn: Turn) -> list[Json]:
        entries: list[Json] = self.dialect.compose(History(turns=(turn,)))[self.dialect.entries]
        return entries


def close_pending(history: History) -> History:
    """Return the history with a result for each open call, saying that there is none."""
    if history.pending is None:
        return history
    results = {call.id: Result((Text(NO_RESULT),), error=True) for call in history.pending.calls}
    step = history.pending.settle(results)
    *turns, last = history.turns or (Turn((Text("."),)),)
    return replace(history, turns=(*turns, replace(last, steps=(*last.steps, step))), pending=None)


def load_history(path: str | Path) -> History:
    """Read the history of a recording, transcript or request body."""
    loaded = load(Path(path).read_bytes(), str(path))
    if isinstance(loaded, Request):
        return dialect_named(loaded.dialect).read(loaded.value).history()
    return loaded.history


def load_outputs(path: str | Path) -> dict[str, OutputRef]:
    """Read the refs of tool outputs from a transcript of ours; a recording of another tool has none."""
    data = Path(path).read_bytes()
    try:
        return transcript.transcribed(data).outputs
    except YohakuError:
        return {}


def _is_empty(step: Step) -> bool:
    return not any(not isinstance(item, Opaque) and (not isinstance(item, Text) or item.text) for item in step.items)
