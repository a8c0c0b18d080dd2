"""Bytes of a reply, as they come: what is said in them is heard at once, and the whole is kept.

Law: events are cut and read by the dialect, and only by it, so what is heard is what is read in the end. Bytes may be
split anywhere, also inside a sign or a line's end; what is no event is passed over.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable

from yohaku.agent.events import TextDelta, ThoughtDelta
from yohaku.dialects.dialect import Dialect, Json

Hear = Callable[[TextDelta | ThoughtDelta], None]


class StreamParser:
    def __init__(self, dialect: Dialect, hear: Hear) -> None:
        self._dialect = dialect
        self._hear = hear
        signs = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._decoder = io.IncrementalNewlineDecoder(signs, translate=True)
        self._whole: list[str] = []
        self._open: list[str] = []
        """What has come of an event that has not ended yet."""
        self._said: list[str] = []
        self.events = 0
        self.complaint: Json = None
        """The first error that came as an event."""
        self.deaf = False
        """Whether what comes is only kept: an error is no reply."""
        self.heard = False
        """Whether the listener has heard anything, said or thought."""

    @property
    def text(self) -> str:
        return "".join(self._whole)

    @property
    def said(self) -> str:
        return "".join(self._said)

    def take(self, chunk: bytes) -> None:
        self._add(self._decoder.decode(chunk))

    def end(self) -> None:
        self._add(self._decoder.decode(b"", final=True))
        self._listen("".join(self._open))
        self._open = []

    def rest(self, said: str) -> None:
        """What was said and not heard, because it came in no event: in one piece, or only in the closing one."""
        before = self.said
        if said.startswith(before):
            self._say(said[len(before) :])

    def _add(self, text: str) -> None:
        if not text:
            return
        self._whole.append(text)
        seam = self._open[-1][-1:] if self._open else ""
        self._open.append(text)
        if self._dialect.event_end in seam + text:
            ended, sign, begun = "".join(self._open).rpartition(self._dialect.event_end)
            self._open = [begun] if begun else []
            self._listen(ended + sign)

    def _listen(self, ended: str) -> None:
        if self.deaf:
            return
        for event in self._dialect.events(ended):
            self.events += 1
            self.complaint = self.complaint or complaint_in(event)
            said, thought = self._dialect.delta(event)
            if thought:
                self.heard = True
                self._hear(ThoughtDelta(thought))
            self._say(said)

    def _say(self, said: str) -> None:
        if said:
            self.heard = True
            self._said.append(said)
            self._hear(TextDelta(said))


def complaint_in(event: Json) -> Json:
    """The error an event is, if it is one."""
    match event:
        case {"type": "error"} | {"error": str() | dict()}:
            return event if event.get("error", True) else None
        case {"type": "response.failed", "response": {"error": dict(error)}}:
            return {"error": error}
    return None
