"""Folds, records and names as text for databases.

Law: any Python string comes back unchanged, also those a database refuses (lone surrogates, NUL). Folds and records
carry a checksum, and one that is damaged raises `StoreFailed`. Those of an older version have none.
"""

from __future__ import annotations

import json
import re
from urllib.parse import quote, unquote

import msgspec

from yohaku.core.folds import UNKNOWN_MAKER, Fold, Gist, Stub
from yohaku.stores.chunks import checksum, damaged


def slot_of(fold: Fold) -> str:
    """Return the slot of a fold under its key: folds of one place that were made for several windows have several."""
    place = "" if isinstance(fold, Gist) else json.dumps(fold.slot)
    return place if fold.made_for == UNKNOWN_MAKER else f"{place}@{json.dumps(fold.made_for)}"


def write_fold(fold: Fold) -> str:
    # msgspec alone would be quicker but refuses a lone surrogate, which a clipped text may hold.
    text = json.dumps(msgspec.to_builtins(fold), separators=(",", ":"))
    return f'{text[:-1]},"sum":"{_sum_of(text)}"}}'


def read_fold(slot: str | bytes, row: str | bytes, where: str) -> Fold:
    try:
        slot, text = _as_text(slot), _as_text(row)
        if found := _SUM_OF_FOLD.search(text):
            text = text[: found.start()] + "}"
            if found[1] != _sum_of(text):
                raise damaged(where)
        kind: type[Stub] | type[Gist] = Gist if slot[:1] in ("", "@") else Stub
        fold = msgspec.convert(json.loads(text), kind)
    except (ValueError, RecursionError):
        raise damaged(where) from None
    if slot_of(fold) != slot:
        raise damaged(where)
    return fold


def write_record(conversation: str, row: str) -> str:
    """Return a row as text, with a checksum that holds for this conversation only."""
    return json.dumps([row, _sum_of(json.dumps([conversation, row]))])


def write_old_record(row: str) -> str:
    """Return a row as an older version wrote it."""
    return json.dumps(row)


def read_record(conversation: str, text: str | bytes, where: str) -> str:
    try:
        match json.loads(_as_text(text)):
            case str(row):
                return row
            case [str(row), str()] if write_record(conversation, row) == _as_text(text):
                return row
    except (ValueError, RecursionError):
        pass
    raise damaged(where)


_SUM_OF_FOLD = re.compile(r',"sum":"([0-9a-f]{16})"\}\Z')


def _sum_of(text: str) -> str:
    return checksum(text.encode()).hex()


def _as_text(value: object) -> str:
    """Return a text; raise `ValueError` for anything else that a database gave."""
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def escape_name(name: str) -> str:
    """Escape the name of a tenant or conversation, so that it has no special meaning in a key or query."""
    return quote(name, safe="", errors="surrogatepass")


def unescape_name(name: str | bytes, where: str) -> str:
    try:
        return unquote(_as_text(name), errors="surrogatepass")
    except ValueError:
        raise damaged(where) from None
