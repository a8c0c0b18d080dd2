"""JSON and JSON Lines from damaged bytes, read as far as they go; each loss is noted.

Law: whole JSON comes out as it is. Of broken JSON every value that was closed is kept, and the ones still open are
closed where the text breaks off. The work is linear in the length of the text.
"""

from __future__ import annotations

import codecs
import json
import re
import zlib
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from yohaku.core.errors import Malformed, Unreadable
from yohaku.dialects.load import MAX_BYTES
from yohaku.dialects.recordings.lines import decode
from yohaku.doctor.notes import Notes

MAX_DEPTH = 120
"""Levels of lists and objects inside one another that are read of a broken text."""


class Row(NamedTuple):
    number: int
    """Of its line; 0 for one that was made here."""
    value: Any
    raw: bytes = b""
    """The line as it was; empty when it was not whole."""

    @property
    def where(self) -> str:
        return f"line {self.number}"


@dataclass(frozen=True, slots=True)
class Salvaged:
    rows: list[Row]
    """One a line; a file that is one value has one row."""
    lines: bool
    packed: bool


def salvage(data: bytes, notes: Notes, limit: int = MAX_BYTES) -> Salvaged:
    packed = data.startswith(b"\x1f\x8b")
    text = _clean(_unpack(data, notes, limit) if packed else data, notes)
    if not text.strip():
        raise Unreadable("this is empty")
    lines = text.split(b"\n")
    if is_whole(text):
        return Salvaged([Row(1, decode(text), text)], False, packed)
    whole = sum(line.lstrip()[:1] == b"{" and is_whole(line) for line in lines)
    if whole and 2 * whole >= sum(not line.isspace() and bool(line) for line in lines):
        return Salvaged(_read_rows(lines, notes), True, packed)
    notes.add("broken_json")
    return Salvaged([Row(1, mend(text.decode("utf-8")))], False, packed)


def encode_rows(rows: list[Row]) -> bytes:
    """Lines again; a row that was not touched is written as the bytes it was."""
    return b"".join((row.raw or encode(row.value)).rstrip(b"\r\n") + b"\n" for row in rows)


def encode(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):  # half a surrogate pair, a number of many digits
        return json.dumps(value, separators=(",", ":")).encode()


def is_whole(text: bytes) -> bool:
    try:
        decode(text)
    except Malformed:
        return False
    return True


def _read_rows(lines: list[bytes], notes: Notes) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        notes.where = f"line {number}"
        if is_whole(line):
            rows.append(Row(number, decode(line), line))
        else:
            found = [value for value in _read_objects(line.decode("utf-8")) if isinstance(value, dict) and value]
            notes.add("torn_line" if found else "lost_line")
            rows += [Row(number, value) for value in found]
    notes.where = ""
    return rows


def _read_objects(line: str) -> list[Any]:
    """The objects of a text, one after the other: a lost line break leaves two of them on one line."""
    found: list[Any] = []
    place = 0
    while (begin := line.find("{", place)) >= 0:
        reader = _Reader(line, begin)
        found.append(reader.value(0))
        place = max(reader.place, begin + 1)
    return found


def _unpack(data: bytes, notes: Notes, limit: int) -> bytes:
    """In pieces: of a broken one all before the break is kept."""
    found = bytearray()
    unpacking = zlib.decompressobj(wbits=31)
    place = 0
    try:
        while place < len(data):
            if unpacking.eof:  # several packed files, one after the other
                unpacking = zlib.decompressobj(wbits=31)
            piece = data[place : place + 4096]
            found += unpacking.decompress(piece, limit + 1 - len(found))
            if len(found) > limit:
                raise Unreadable(f"this unpacks to more than {limit:,} bytes: split it")
            place += len(piece) - len(unpacking.unused_data)
    except zlib.error:
        pass
    if not unpacking.eof:
        notes.add("broken_gzip")
    return bytes(found)


def _clean(data: bytes, notes: Notes) -> bytes:
    """UTF-8 without a mark at its beginning, and without the zeros that a crash leaves in a file."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        notes.add("utf16")
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data:
        notes.add("zeros")
        data = data.replace(b"\0", b"")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        notes.add("not_utf8", where=f"line {line}")
        notes.where = ""
        data = data.decode("utf-8", "replace").encode()
    return data


def mend(text: str) -> Any:
    """The value a broken text was on its way to."""
    text = text.lstrip()
    if text[:1] in ("{", "["):
        return _Reader(text, 0).value(0)
    return _read_objects(text)  # its beginning is lost: what is whole behind it stays


STRING = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
NAMED, LISTED = re.compile(r"\s*:"), re.compile(r"\s*[],}]")
"""Signs after a text that is a name, and after one that is an item of a list."""
INVERTED = re.compile(r'"[\s,:\[\]{}]*"')
"""The signs between two texts, taken for a text themselves."""
WORDS = {"true": True, "false": False, "null": None}
NOISE = re.compile(r'[^\[\]{}"\d\-tfn]*')
"""Signs between values that carry no meaning."""


class _Reader:
    """Reads JSON as far as it goes: commas and colons are passed over, anything but a value is skipped."""

    def __init__(self, text: str, place: int) -> None:
        self.text, self.place = text, place
        self.looked = 0
        """Up to here all quotes are known to be astray."""

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise Unreadable("this is broken, and nested too deeply to be read")
        match self.text[self.place : self.place + 1]:
            case "{":
                return self._object(depth)
            case "[":
                return self._list(depth)
            case '"':
                return self._string()
            case "":
                return None
        return self._word()

    def _skip(self) -> str:
        found = NOISE.match(self.text, self.place)
        self.place = found.end() if found else self.place
        return self.text[self.place : self.place + 1]

    def _object(self, depth: int) -> dict[str, Any]:
        self.place += 1
        found: dict[str, Any] = {}
        while (sign := self._skip()) and sign not in "}]":
            if sign != '"':
                self.value(depth + 1)  # a value without a name
                continue
            if self._is_astray(NAMED):
                continue
            name = self._string()
            if (sign := self._skip()) and sign not in "}]":
                lost = sign == '"' and INVERTED.match(self.text, self.place) and self._is_astray(LISTED)
                found[name] = None if lost else self.value(depth + 1)
        self.place += sign == "}"  # a list that ends here is ours to end, too
        return found

    def _list(self, depth: int) -> list[Any]:
        self.place += 1
        found: list[Any] = []
        while (sign := self._skip()) and sign != "]":
            if sign == "}":  # the end of something whose beginning was lost
                self.place += 1
            elif sign != '"' or not self._is_astray(LISTED):
                found.append(self.value(depth + 1))
        self.place += 1
        return found

    def _is_astray(self, followed: re.Pattern[str]) -> bool:
        """Skip the quote here if it ends a text whose beginning was lost, judged by the signs after the next quote."""
        if self.place >= self.looked:
            found = STRING.match(self.text, self.place + 1)
            self.looked = found.end() if found else len(self.text)
            if followed.match(self.text, self.looked + 1) or self.looked >= len(self.text):
                return False
        self.place += 1
        return True

    def _string(self) -> str:
        found = STRING.match(self.text, self.place + 1)
        end = found.end() if found else len(self.text)
        content, self.place = self.text[self.place + 1 : end], end + 1
        try:
            text = json.loads(f'"{content}"', strict=False)
        except ValueError:  # an escape that is none, or half of one
            text = content.removesuffix("\\")
        return str(text)

    def _word(self) -> Any:
        if number := NUMBER.match(self.text, self.place):
            self.place = number.end()
            try:
                value = json.loads(number[0])
            except ValueError:  # more digits than Python reads, or zeros before them
                return number[0]
            return value if isinstance(value, int) or isfinite(value) else None
        for word, value in WORDS.items():
            if self.text.startswith(word, self.place):
                self.place += len(word)
                return value
        self.place += 1
        return None
