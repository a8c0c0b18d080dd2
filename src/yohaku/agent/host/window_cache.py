"""What was learned about windows, kept in a small file for the next start: by the server's address and the model.

Law: the newest word counts, but no server is believed for more than it declares, unless the user said so. What a server
refused stands as long as it declares the same. No key gets in, and a file that cannot be read is as good as none.
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
"""The server says so; it was tried; the server refused more; the user says so."""

MAX_ROWS = 500
"""Rows; the oldest go."""

FILE_NAME = "windows.json"


class CachedWindow(msgspec.Struct, frozen=True):
    tokens: int
    source: WindowSource
    declared: int | None = None
    """What the server said at that time."""
    at: float = 0.0
    """Seconds since 1970."""


class WindowCache:
    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME

    def window(self, endpoint: Endpoint) -> int | None:
        """Tokens that this endpoint really takes, as far as that was learned."""
        row = self.rows().get(cache_key(endpoint))
        return still_valid(row, endpoint.window) if row else None

    def learn(self, endpoint: Endpoint, tokens: int, source: WindowSource, at: float | None = None) -> None:
        """Kept at once. What cannot be written is forgotten: it was only to save a refusal next time."""
        if tokens < 1:
            return
        rows = self.rows()
        rows[cache_key(endpoint)] = CachedWindow(tokens, source, endpoint.window, time.time() if at is None else at)
        newest = sorted(rows.items(), key=lambda item: item[1].at)[-MAX_ROWS:]
        try:
            _write(self.path, dict(newest))
        except OSError:
            return

    def forget(self, endpoint: Endpoint) -> None:
        rows = self.rows()
        if rows.pop(cache_key(endpoint), None):
            try:
                _write(self.path, rows)
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
    """What a row is still worth beside what the server declares now."""
    if row.source == "told":
        return row.tokens
    if declared is None:
        return row.tokens
    return min(row.tokens, declared) if row.declared == declared else None


def cache_key(endpoint: Endpoint) -> str:
    """The address without anything secret in it, and the model."""
    parts = urlsplit(endpoint.url)
    host = (parts.hostname or "").lower() + (f":{parts.port}" if parts.port else "")
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}#{endpoint.model}"


def _read_row(said: object) -> CachedWindow | None:
    try:
        row = msgspec.convert(said, CachedWindow)
    except msgspec.ValidationError:
        return None
    return row if row.tokens > 0 else None


def _write(path: Path, rows: Mapping[str, CachedWindow]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = msgspec.json.format(msgspec.json.encode({"windows": rows}), indent=1)
    descriptor, name = tempfile.mkstemp(prefix=f".{FILE_NAME}.", dir=path.parent)  # only its owner can read it
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
        os.replace(name, path)  # noqa: PTH105 - the same on every platform
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
