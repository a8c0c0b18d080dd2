"""Folds and names as the text that databases keep.

Law: any string Python can hold comes back as it was, whatever a database thinks of it (lone surrogates, NUL).
"""

from __future__ import annotations

import json
from urllib.parse import quote, unquote

import msgspec

from yohaku.core.folds import Fold, Gist, Stub

GIST = ""
"""The slot of a gist: there is one on a key."""


def slot_of(fold: Fold) -> str:
    return GIST if isinstance(fold, Gist) else json.dumps(fold.slot)


def fold_row(fold: Fold) -> str:
    # msgspec alone would be quicker but refuses a lone surrogate, which a clipped text may hold.
    return json.dumps(msgspec.to_builtins(fold), separators=(",", ":"))


def fold_from(slot: str | bytes, row: str | bytes) -> Fold:
    kind: type[Stub] | type[Gist] = Stub if slot else Gist
    return msgspec.convert(json.loads(row), kind)


def spelled(name: str) -> str:
    """A tenant or conversation in letters that no key or query could take for anything else."""
    return quote(name, safe="", errors="surrogatepass")


def unspelled(name: str) -> str:
    return unquote(name, errors="surrogatepass")
