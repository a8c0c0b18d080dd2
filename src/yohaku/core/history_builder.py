"""Builder of a `History`, entry by entry, which gives each turn and step its key.

Law: a history that it returns is well formed; any other raises `Malformed` with the entry that is wrong.
Adding more after `history()` is cheap, so a client that only appends pays for what it appended.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING

from yohaku.core.errors import Malformed
from yohaku.core.model import Call, History, Part, Reply, Result, Step, Text, Tool, ToolUse, Turn

if TYPE_CHECKING:
    from hashlib import _Hash


class HistoryBuilder:
    def __init__(self) -> None:
        self.system: list[Part] = []
        self.tools: list[Tool] = []
        self.forced = False
        """The model must call a tool."""
        self.where = ""
        """The entry being read, for error messages."""
        self.partial = False
        """The provider has the beginning: results may belong to calls that are not here."""
        self.unique_ids = False
        """An id may be used only once. By default later steps may use it again: some servers count calls per step."""
        self._turns: list[Turn] = []
        self._prompt: list[Part] = []
        self._steps: list[Step] = []
        self._reply: list[Part | Call] = []
        self._results: dict[str, Result] = {}
        self._open: dict[str, str] = {}
        """Calls without a result yet, each with the entry that made it."""
        self._seen: set[str] = set()
        self._chain = b""
        self._turn_key = ""

    def prompt(self, part: Part) -> None:
        self._close_step()
        if self._steps:
            self._turns.append(Turn(tuple(self._prompt), tuple(self._steps), self._turn_key))
            self._prompt, self._steps = [], []
        self._prompt.append(part)

    def reply(self) -> None:
        """Begin a new entry of the model: in formats where results follow at once, no call may be open."""
        if self._results or self._open:
            self._close_step()

    def say(self, item: Part | Call) -> None:
        if self._results and not self._open:
            self._close_step()
        if isinstance(item, Call):
            if item.id in self._seen if self.unique_ids else item.id in self._open or item.id in self._results:
                raise Malformed(f"call id {item.id!r} is used twice", self.where)
            self._seen.add(item.id)
            self._open[item.id] = self.where
        self._reply.append(item)

    def answer(self, call_id: str, result: Result) -> None:
        if call_id not in self._open:
            what = "has two results" if call_id in self._results else "was never made"
            raise Malformed(f"this is a result for call {call_id!r}, which {what}", self.where)
        del self._open[call_id]
        self._results[call_id] = result

    @property
    def began(self) -> bool:
        """Test for any entry beside system prompts."""
        return bool(self._prompt or self._reply or self._steps or self._turns)

    def open_reply(self) -> Reply:
        """Return the reply that is being read, its calls still open."""
        return Reply(tuple(self._reply))

    @property
    def open_calls(self) -> tuple[Call, ...]:
        return tuple(item for item in self._reply if isinstance(item, Call) and item.id in self._open)

    def history(self) -> History:
        pending = None
        steps = tuple(self._steps)
        turn_key = self._turn_key
        if self._open and not self._results:
            pending = Reply(tuple(self._reply))
        elif self._reply:
            self._require_results()
            step, turn_key, _ = self._settle()
            steps = (*steps, step)
        if not steps:
            turn_key = _extend_chain(self._chain, b"prompt", self._prompt).hex()
        newest = (Turn(tuple(self._prompt), steps, turn_key),) if self._prompt or steps else ()
        return History(tuple(self.system), tuple(self.tools), (*self._turns, *newest), pending, self.forced)

    def _close_step(self) -> None:
        if not self._reply:
            return
        self._require_results()
        step, self._turn_key, self._chain = self._settle()
        self._steps.append(step)
        self._reply, self._results = [], {}

    def _require_results(self) -> None:
        for call_id, where in self._open.items():
            raise Malformed(f"call {call_id!r} has no result", where)

    def _settle(self) -> tuple[Step, str, bytes]:
        chain, turn_key = self._chain, self._turn_key
        if not self._steps:
            chain = _extend_chain(chain, b"prompt", self._prompt)
            turn_key = chain.hex()
        results = self._results
        items = tuple(ToolUse(item, results[item.id]) if isinstance(item, Call) else item for item in self._reply)
        chain = _extend_chain(chain, b"step", items)
        return Step(items, chain.hex()), turn_key, chain


def history_of(
    turns: Iterable[Turn], system: Iterable[Part] = (), tools: Iterable[Tool] = (), pending: Reply | None = None
) -> History:
    """Build a history from turns: check them and give each turn and step its key."""
    builder = HistoryBuilder()
    builder.system, builder.tools = list(system), list(tools)
    for turn in turns:
        for part in turn.prompt:
            builder.prompt(part)
        for step in turn.steps:
            builder.reply()
            for item in step.items:
                builder.say(item.call if isinstance(item, ToolUse) else item)
            for use in step.uses:
                builder.answer(use.call.id, use.result)
    for open_item in pending.items if pending else ():
        builder.say(open_item)
    return builder.history()


def _extend_chain(chain: bytes, who: bytes, items: Iterable[Part | ToolUse]) -> bytes:
    """Return the next hash. Ids, wire places and thoughts stay out: clients change or drop them between requests."""
    hasher = sha256(chain + who)
    for item in items:
        if isinstance(item, ToolUse):
            _add(hasher, b"c", item.call.name)
            _add(hasher, b"a", item.call.asked)
            for part in item.result.parts:
                _add_part(hasher, b"r", part)
        else:
            _add_part(hasher, b"p", item)
    return hasher.digest()[:15]


def _add_part(hasher: _Hash, tag: bytes, part: Part) -> None:
    if isinstance(part, Text):
        _add(hasher, tag + b"t", part.text)
    elif part.kind != "thought":
        _add(hasher, tag + b"o", part.kind + part.form + part.data)


def _add(hasher: _Hash, tag: bytes, text: str) -> None:
    """Hash the text with its length, so that no two sequences of texts give the same bytes."""
    data = text.encode("utf-8", "surrogatepass")
    hasher.update(b"%b%d:" % (tag, len(data)))
    hasher.update(data)
