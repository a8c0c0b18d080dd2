"""Folds and names as text for databases.

Law: any Python string comes back unchanged, also those a database refuses (lone surrogates, NUL).
"""

from __future__ import annotations

import json
from urllib.parse import quote, unquote

import msgspec

from yohaku.core.folds import UNKNOWN_MAKER, Fold, Gist, Stub


def slot_of(fold: Fold) -> str:
    """Return the slot of a fold under its key: folds of one place that were made for several windows have several."""
    place = "" if isinstance(fold, Gist) else json.dumps(fold.slot)
    return place if fold.made_for == UNKNOWN_MAKER else f"{place}@{json.dumps(fold.made_for)}"


def write_fold(fold: Fold) -> str:
    # msgspec alone would be quicker but refuses a lone surrogate, which a clipped text may hold.
    return json.dumps(msgspec.to_builtins(fold), separators=(",", ":"))


def read_fold(slot: str | bytes, row: str | bytes) -> Fold:
    kind: type[Stub] | type[Gist] = Gist if slot[:1] in ("", b"", "@", b"@") else Stub
    return msgspec.convert(json.loads(row), kind)


def escape_name(name: str) -> str:
    """Escape the name of a tenant or conversation, so that it has no special meaning in a key or query."""
    return quote(name, safe="", errors="surrogatepass")


def unescape_name(name: str) -> str:
    return unquote(name, errors="surrogatepass")
