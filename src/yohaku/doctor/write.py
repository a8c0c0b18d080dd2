"""Rows and values as bytes again: a row that was not touched is written as the bytes it was."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from yohaku.doctor.salvage import Row


def lines_of(rows: list[Row]) -> bytes:
    return b"".join((row.raw or encoded(row.value)).rstrip(b"\r\n") + b"\n" for row in rows)


def encoded(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):  # half a surrogate pair, a number of many digits
        return json.dumps(value, separators=(",", ":")).encode()
