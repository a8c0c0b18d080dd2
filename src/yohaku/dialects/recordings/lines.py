"""JSON and JSON Lines from bytes. Anything else raises `Malformed` with its line and column.

Law: the fast decoder and the exact one give the same value, or the exact one decides.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from io import BytesIO
from math import isinf

import msgspec

from yohaku.core.errors import Malformed
from yohaku.dialects.json_values import Json, kind_of


def decode(data: bytes, first_line: int = 1) -> Json:
    """Decode one JSON value. `first_line`: its line in the file."""
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise Malformed("this is nested too deeply", f"line {first_line}") from None
    except ValueError:
        # Lone surrogates are JSON but not for msgspec, and its errors do not say the line.
        return _decode_exactly(data, first_line)


def rows(data: bytes) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yield the objects of a JSON Lines file, each with the number of its line."""
    for number, line in enumerate(BytesIO(data.removeprefix(codecs.BOM_UTF8)), 1):
        if line.isspace():
            continue
        row = decode(line, number)
        if not isinstance(row, dict):
            raise Malformed(f"this must be an object, not {kind_of(row)}", f"line {number}")
        yield number, row


def first_rows(data: bytes, most: int = 50) -> list[Json]:
    """Return the first objects, enough to recognise a format by; a broken line ends them."""
    found: list[Json] = []
    try:
        for _, row in rows(data):
            found.append(row)
            if len(found) == most:
                break
    except Malformed:
        pass
    return found


def is_lines(data: bytes) -> bool:
    """Tell whether this is JSON Lines: a first line that is a value of its own, and more after it."""
    head, _, rest = data.removeprefix(codecs.BOM_UTF8).lstrip().partition(b"\n")
    if not rest.strip():
        return False
    try:
        decode(head)
    except Malformed:
        return False
    return True


def _decode_exactly(data: bytes, first_line: int) -> Json:
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
    except UnicodeDecodeError as wrong:
        line = first_line + data.count(b"\n", 0, wrong.start)
        raise Malformed("this is not UTF-8 text", f"line {line}") from None
    except json.JSONDecodeError as wrong:
        where = f"line {first_line + wrong.lineno - 1}, column {wrong.colno}"
        if wrong.pos >= len(wrong.doc.rstrip()) or wrong.msg.startswith("Unterminated"):
            raise Malformed("the text breaks off here: this is not whole JSON", where) from None
        raise Malformed(f"this is not JSON: {wrong.msg[0].lower()}{wrong.msg[1:]}", where) from None
    except RecursionError:
        raise Malformed("this is nested too deeply", f"line {first_line}") from None
    except ValueError:
        raise Malformed("this holds a number that JSON cannot carry exactly", f"line {first_line}") from None


def _no_number(name: str) -> float:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise ValueError(text)
    return number
