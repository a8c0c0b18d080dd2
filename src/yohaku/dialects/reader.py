"""Reading a body entry by entry, and going on from there when the next request only adds to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from yohaku.core.errors import Malformed, Unreadable
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import History
from yohaku.dialects.json_values import NOT_JSON, TOO_DEEP, Json, kind_of

if TYPE_CHECKING:
    from yohaku.dialects.dialect import Dialect

COMPARED_ENTRIES = 128
"""Entries that are not sent, yet compared in depth at each request; see `IncrementalReader.extends_to`."""


class SentEntries(NamedTuple):
    kept: tuple[int, ...]
    """Indices of entries before `since` that stay: system texts, the prompt that is being answered."""
    since: int
    """All entries from this index on stay."""


class IncrementalReader:
    """A body and how far it has been read. Kept between requests: one that extends the last is read from there."""

    def __init__(self, dialect: Dialect, body: Json) -> None:
        self.dialect = dialect
        self.body = body
        self.builder = HistoryBuilder()
        self._beside: Json = None
        self._held: list[Json] = []
        """The entries themselves."""
        self._copies: list[Json] = []
        """Copies of the entries as they were read."""
        self._compared = 0

    @property
    def length(self) -> int:
        return len(self._copies)

    def read_on(self) -> None:
        if not self._copies:
            with _malformed_at("the request"):
                self.dialect.read_beside(self.builder, self.body if isinstance(self.body, dict) else {})
                self._beside = _copy(_beside(self.dialect, self.body))
        entries = self.dialect.entries_of(self.body)
        name = self.dialect.entries
        if not entries:
            raise Unreadable(f"{name} is empty: there is nothing to send")
        for index in range(len(self._copies), len(entries)):
            entry = entries[index]
            self.builder.where = f"{name}[{index}]"
            if not isinstance(entry, dict):
                raise Malformed(f"this must be an object, not {kind_of(entry)}", self.builder.where)
            with _malformed_at(self.builder.where):
                self.dialect.read_entry(self.builder, index, entry)
                copy = _copy(entry)
            self._held.append(entry)
            self._copies.append(copy)

    def extends_to(self, body: Json, sent: SentEntries) -> bool:
        """Tell whether `body` begins with everything that was read.

        Replaced entries are noticed at once. Entries that are the same objects may have been edited in place: all that
        are sent are compared with their copies, and some of those that a gist hides at each call.
        """
        if type(body) is not type(self.body) or not self._copies:
            return False
        try:
            entries = self.dialect.entries_of(body)
        except Unreadable:
            return False
        count = len(self._copies)
        if not _begins(entries, self._held) or _beside(self.dialect, body) != self._beside:
            return False
        if entries[0] is not self._held[0]:
            self._held = entries[:count]
        start, self._compared = self._compared, (self._compared + COMPARED_ENTRIES) % count
        compared = (slice(start, min(count, start + COMPARED_ENTRIES)), slice(sent.since, count))
        return all(entries[part] == self._copies[part] for part in compared) and all(
            entries[index] == self._copies[index] for index in sent.kept
        )

    def history(self) -> History:
        return self.builder.history()


def _begins(entries: list[Json], held: list[Json]) -> bool:
    """Tell whether `entries` begins with `held`. Comparing lists by order skips entries that are the same object."""
    try:
        return held <= entries
    except TypeError:  # two entries differ, and objects have no order
        return False


def _beside(dialect: Dialect, body: Json) -> Json:
    return {key: value for key, value in body.items() if key != dialect.entries} if isinstance(body, dict) else None


def _copy(value: Json) -> Json:
    """Copy the containers and share the texts in them: comparing with the original then reads no text."""
    try:
        return msgspec.to_builtins(value)
    except TypeError:
        raise Malformed(NOT_JSON) from None


@contextmanager
def _malformed_at(where: str) -> Iterator[None]:
    """Name the place of what is wrong, where the error does not."""
    try:
        yield
    except RecursionError:
        raise Malformed(TOO_DEEP, where) from None
    except Malformed as wrong:
        raise wrong if wrong.where else Malformed(wrong.what, where) from None
