"""Bytes of a reply, parsed as they come.

Law: bytes may be split anywhere, also inside a character or a line's end, and the result is the same. What is not an
event is skipped.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable
from typing import TypeAlias

from yohaku.client.events import ReadingProgress, TextDelta, ThoughtDelta
from yohaku.dialects.answer import Answer
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import Json

OnDelta: TypeAlias = Callable[[TextDelta | ThoughtDelta | ReadingProgress], None]


class StreamParser:
    def __init__(self, dialect: Dialect, on_delta: OnDelta) -> None:
        self._dialect = dialect
        self._reader = dialect.stream_reader()
        self._on_delta = on_delta
        characters = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._decoder = io.IncrementalNewlineDecoder(characters, translate=True)
        self._received: list[str] = []
        self._open: list[str] = []
        """The beginning of an event that has not ended yet."""
        self._said: list[str] = []
        self.events = 0
        self.error: Json = None
        """The first error that came as an event."""
        self.keep_only = False
        """Keep the text and parse nothing: the body of an error is not a reply."""
        self.started = False
        """Whether any delta was passed on."""

    @property
    def received(self) -> str:
        """All text received so far."""
        return "".join(self._received)

    @property
    def said(self) -> str:
        """Text of all deltas so far."""
        return "".join(self._said)

    def feed(self, chunk: bytes) -> None:
        self._add(self._decoder.decode(chunk))

    def close(self) -> None:
        self._add(self._decoder.decode(b"", final=True))
        self._parse("".join(self._open))
        self._open = []

    def answer(self) -> Answer:
        """Return the answer in the events so far, or raise `Malformed`."""
        return self._reader.answer()

    def say_rest(self, text: str) -> None:
        """Pass on what the whole reply holds and no delta did: it came in one piece, or only in the closing event."""
        before = self.said
        if text.startswith(before):
            self._say(text[len(before) :])

    def _add(self, text: str) -> None:
        if not text:
            return
        self._received.append(text)
        seam = self._open[-1][-1:] if self._open else ""
        self._open.append(text)
        if self._dialect.event_end in seam + text:
            ended, mark, begun = "".join(self._open).rpartition(self._dialect.event_end)
            self._open = [begun] if begun else []
            self._parse(ended + mark)

    def _parse(self, ended: str) -> None:
        if self.keep_only:
            return
        for event in self._dialect.events(ended):
            self.events += 1
            self.error = self.error or self._dialect.error_in(event)
            if (read := self._dialect.read_progress(event)) and not self.started:
                done, total, cached, seconds = read
                self._on_delta(ReadingProgress(done, total, (done - cached) / seconds if seconds else 0.0))
            delta = self._reader.feed(event)
            if delta.thought:
                self.started = True
                self._on_delta(ThoughtDelta(delta.thought))
            self._say(delta.text)

    def _say(self, text: str) -> None:
        if text:
            self.started = True
            self._said.append(text)
            self._on_delta(TextDelta(text))
