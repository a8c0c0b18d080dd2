"""Load a request or a recording from bytes.

Law: any bytes give a `Loaded` or an error of one plain sentence; nothing is unpacked beyond the limit.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from typing import TypeAlias, cast

from yohaku.core.errors import Malformed, Unreadable
from yohaku.dialects.detect import detect
from yohaku.dialects.json_values import Json
from yohaku.dialects.recordings import Format, Recording
from yohaku.dialects.recordings.lines import decode, first_rows, is_lines

MAX_BYTES = 256 * 2**20
"""Bytes of JSON text; decoded it takes several times as much memory."""

FORMATS = ("trajectory", "transcript", "claude_code", "codex", "gemini_cli")


@dataclass(frozen=True, slots=True)
class Request:
    """A request body, or a bare list of messages."""

    value: Json
    dialect: str


Loaded: TypeAlias = Request | Recording


def load(data: bytes, name: str = "", limit: int = MAX_BYTES) -> Loaded:
    """Load any input we accept. `name`: of the input, for errors; `limit`: in bytes, unpacked."""
    try:
        return _load_text(_plain_text(data, limit))
    except Malformed as wrong:
        raise Malformed(wrong.what, ": ".join(filter(None, (name, wrong.where)))) from None
    except Unreadable as wrong:
        raise Unreadable(f"{name}: {wrong}" if name else str(wrong)) from None


def _load_text(text: bytes) -> Loaded:
    if is_lines(text):
        if known := _find_format(first_rows(text)):
            return known.read(text)
        raise Unreadable("these lines are of no session we know: give a request, a list of messages or a session file")
    value = decode(text)
    if known := _find_format([value]):
        return known.read(text)
    return Request(value, detect(value))


def _find_format(first: list[Json]) -> Format | None:
    for name in FORMATS:
        module = cast(Format, import_module(f"yohaku.dialects.recordings.{name}"))
        if module.recognise(first):
            return module
    return None


def _plain_text(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        raise Unreadable(f"this is larger than {_format_size(limit)}: split it, or raise the limit")
    if data.startswith(b"\x1f\x8b"):
        data = _unpack(data, limit)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise Unreadable("this is UTF-16 text: save it as UTF-8")
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data[:4096]:
        raise Unreadable("this is binary data, not JSON text")
    if not data.strip():
        raise Unreadable("this is empty")
    return data


def _unpack(data: bytes, limit: int) -> bytes:
    """Unpack gzip, and give up as soon as it passes the limit."""
    try:
        with gzip.open(BytesIO(data)) as packed:
            unpacked = packed.read(limit + 1)
    except (EOFError, OSError, zlib.error):
        raise Unreadable("this gzip data is broken or cut off") from None
    if len(unpacked) > limit:
        raise Unreadable(f"this unpacks to more than {_format_size(limit)}: split it, or raise the limit")
    return unpacked


def _format_size(count: int) -> str:
    return f"{count / 2**20:,.0f} MB" if count >= 2**20 else f"{count:,} bytes"
