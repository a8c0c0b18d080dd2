"""Reading a text part by part: one request for each, the notes collected, the progress shown as if they were calls.

Law: the conversation is not changed here, and a stop keeps the notes taken so far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from yohaku.agent.context import Context
from yohaku.agent.conversation import Conversation
from yohaku.agent.event_queue import EventQueue, Stopped
from yohaku.agent.events import ToolFinished, ToolStarted
from yohaku.agent.model_texts import STOPPED
from yohaku.agent.parts import (
    MAX_PARTS,
    MIN_NOTE_TOKENS,
    MIN_PART_TOKENS,
    NOTES_SHARE,
    SYSTEM,
    InputPart,
    list_names,
    note_line,
    part_request,
    shorten_request,
    split_parts,
)
from yohaku.agent.reply import build_request, text_of
from yohaku.agent.toolkit.source_outline import Section
from yohaku.analysis.shorten import shorten
from yohaku.client.errors import CutOff, TooLong, Truncated
from yohaku.core.model import Call, Result, Text
from yohaku.core.weigh import weigh
from yohaku.dialects.json_values import dump
from yohaku.messages import say

MAX_SHRINKS = 3
"""Times that a server may refuse a part as too long."""
MAX_ROUNDS = 3
"""Times that notes are written anew in fewer words; then they are cut."""


class PartNotes(NamedTuple):
    text: str
    read: int
    """Parts that were read."""
    total: int

    @property
    def stopped(self) -> bool:
        return self.read < self.total


@dataclass
class PartReader:
    context: Context
    events: EventQueue
    lang: str
    question: str
    sections: Sequence[Section] = ()
    _shrinks: int = field(default=0, init=False)

    def split(self, text: str, first_line: int = 1) -> list[InputPart]:
        """Return the parts; none if the window leaves too little for one."""
        room = self._part_tokens()
        if room < MIN_PART_TOKENS:
            return []
        return split_parts(text, room, self.context.meter.count, self.sections, first_line)

    async def read(self, parts: Sequence[InputPart]) -> PartNotes:
        """Read the parts one after the other; where the user stops it, return the notes so far."""
        left, lines, number = deque(parts), [""] * 0, 0
        while left:
            part = left.popleft()
            number += 1
            total = number + len(left)
            call = Call(f"part_{number}", "part", dump({"lines": f"{part.first}-{part.last}"}))
            title = self._title(part, number, total)
            self.events.emit(ToolStarted(call, title))
            try:
                note = await self._ask(part_request(part, number, total, self.question, self._note_tokens(total)))
            except (TooLong, Truncated) as error:
                self._shrink(error, call, title)
                number -= 1
                left = deque(self.split(part.text + "".join(each.text for each in left), part.first))
                continue
            except Stopped:
                self.events.emit(ToolFinished(call, Result((Text(STOPPED),), error=True), title))
                return PartNotes(self._join(lines), number - 1, total)
            lines.append(note_line(part, self._cut(note, 2 * self._note_tokens(total))))
            self.events.emit(ToolFinished(call, Result((Text(note),)), title))
        return PartNotes(await self._shorten(self._join(lines)), number, number)

    async def _shorten(self, notes: str) -> str:
        """Return the notes in as many tokens as they may take; a model that does not shorten them has them cut."""
        room, count = self._notes_tokens(), self.context.meter.count
        for _ in range(MAX_ROUNDS):
            if count(notes) <= room:
                return notes
            parts = split_parts(notes, self._part_tokens(), count)
            try:
                shorter = [
                    await self._ask(shorten_request(part.text, self.question, room // len(parts))) for part in parts
                ]
            except (TooLong, Truncated, Stopped):
                break
            notes = min(self._join(shorter), notes, key=len)
        return self._cut(notes, room)

    async def _ask(self, text: str) -> str:
        context = self.context
        endpoint, dialect = context.endpoint, context.conversation.dialect
        asked = Conversation(endpoint.dialect, endpoint.model, SYSTEM)
        asked.add_prompt(text)
        small = context.equipment.tier == "small"
        body = build_request(asked.body, dialect, None, local=endpoint.local, small=small)
        weight = weigh(asked.history, context.meter).total
        try:
            answer = await self.events.run_cancellable(context.client.send(body, _ignore, weighs=weight))
        except CutOff as error:
            answer = error.answer
        return text_of(answer.reply).rpartition("</think>")[2].strip()

    def _shrink(self, error: TooLong | Truncated, call: Call, title: str) -> None:
        self.events.emit(ToolFinished(call, Result((Text(str(error)),), error=True), title))
        self._shrinks += 1
        if self._shrinks > MAX_SHRINKS:
            raise error
        self.context.shrink(error, self.context.budget.limit)

    def _part_tokens(self) -> int:
        """Tokens of the text in one request, beside everything else in it."""
        empty = part_request(InputPart(1, 1, ""), MAX_PARTS, MAX_PARTS, self.question, MIN_NOTE_TOKENS)
        asked = Conversation(self.context.endpoint.dialect, "", SYSTEM)
        asked.add_prompt(empty)
        budget = self.context.session.budget
        spare = budget.limit // 20  # servers count a little differently
        return budget.limit - weigh(asked.history, self.context.meter).total - spare

    def _notes_tokens(self) -> int:
        """Tokens that all notes together may take in the conversation."""
        context = self.context
        return max(MIN_NOTE_TOKENS, int((context.budget.limit - context.ledger.fixed) * NOTES_SHARE))

    def _note_tokens(self, parts: int) -> int:
        return max(MIN_NOTE_TOKENS, self._notes_tokens() // max(1, parts))

    def _cut(self, text: str, tokens: int) -> str:
        return shorten(lambda size: text[:size], len(text), tokens, self.context.meter.count)

    def _title(self, part: InputPart, number: int, total: int) -> str:
        names = list_names(part.names)
        facts = {"number": number, "total": total, "first": part.first, "last": part.last}
        return say("part_title_named" if names else "part_title", self.lang, **facts, names=names)

    @staticmethod
    def _join(lines: Sequence[str]) -> str:
        return "\n".join(filter(None, lines))


def _ignore(_: object) -> None:
    """Keep the words of a note from the screen: only the answer is shown."""
