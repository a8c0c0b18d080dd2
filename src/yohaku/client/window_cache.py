"""Windows learned from servers, stored by address and model for the next start.

Law: the newest row counts, but never for more than the server declares, unless the user set it. A refusal is valid as
long as the server declares the same. No key is stored, and an unreadable file counts as empty.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from yohaku.client.endpoint import Endpoint

WindowSource: TypeAlias = Literal["declared", "discovered", "overflow", "told"]
"""Declared by the server; found by trying; from a refusal; set by the user."""

MAX_ROWS = 500
"""The oldest are dropped."""

FILE_NAME = "windows.json"


class CachedWindow(msgspec.Struct, frozen=True):
    tokens: int
    source: WindowSource
    declared: int | None = None
    """Window the server declared at that time."""
    at: float = 0.0
    """Seconds since 1970."""


class WindowCache:
    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME

    def window(self, endpoint: Endpoint) -> int | None:
        """Return the learned window of an endpoint."""
        row = self.rows().get(cache_key(endpoint))
        return still_valid(row, endpoint.window) if row else None

    def learn(self, endpoint: Endpoint, tokens: int, source: WindowSource, at: float | None = None) -> None:
        """Store a window at once. A failed write is ignored: it only saves a refusal next time."""
        if tokens < 1:
            return
        rows = self.rows()
        rows[cache_key(endpoint)] = CachedWindow(tokens, source, endpoint.window, time.time() if at is None else at)
        newest = sorted(rows.items(), key=lambda item: item[1].at)[-MAX_ROWS:]
        try:
            write_rows(self.path, dict(newest), "windows")
        except OSError:
            return

    def forget(self, endpoint: Endpoint) -> None:
        rows = self.rows()
        if rows.pop(cache_key(endpoint), None):
            try:
                write_rows(self.path, rows, "windows")
            except OSError:
                return

    def rows(self) -> dict[str, CachedWindow]:
        try:
            said = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        rows = said.get("windows") if isinstance(said, dict) else None
        return {key: row for key, each in rows.items() if (row := _read_row(each))} if isinstance(rows, dict) else {}


def still_valid(row: CachedWindow, declared: int | None) -> int | None:
    """Return the window of a row that is still valid with what the server declares now."""
    if row.source == "told":
        return row.tokens
    if declared is None:
        return row.tokens
    return min(row.tokens, declared) if row.declared == declared else None


def cache_key(endpoint: Endpoint) -> str:
    """Return the address without secrets, and the model."""
    parts = urlsplit(endpoint.url)
    host = (parts.hostname or "").lower() + (f":{parts.port}" if parts.port else "")
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}#{endpoint.model}"


def _read_row(said: object) -> CachedWindow | None:
    try:
        row = msgspec.convert(said, CachedWindow)
    except msgspec.ValidationError:
        return None
    return row if row.tokens > 0 else None


def write_rows(path: Path, rows: Mapping[str, object], name: str) -> None:
    """Replace the file at once by one that only its owner can read."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = msgspec.json.format(msgspec.json.encode({name: rows}), indent=1)
    descriptor, scratch = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
        os.replace(scratch, path)  # noqa: PTH105 - the same on every platform
    except OSError:
        Path(scratch).unlink(missing_ok=True)
        raise
