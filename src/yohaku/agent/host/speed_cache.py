"""Reading speeds of models on this machine, stored by address and model for the next start.

Law: an unreadable file counts as empty, and a failed write is ignored: the next start then measures again.
"""

from __future__ import annotations

import json
from pathlib import Path

from yohaku.client.endpoint import Endpoint
from yohaku.client.window_cache import MAX_ROWS, cache_key, write_rows

FILE_NAME = "speeds.json"


class SpeedCache:
    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME

    def reading(self, endpoint: Endpoint) -> float:
        """Return tokens in a second; 0: not measured."""
        return self._rows().get(_key(endpoint), 0.0)

    def learn(self, endpoint: Endpoint, reading: float) -> None:
        rows = self._rows()
        rows.pop(_key(endpoint), None)
        rows[_key(endpoint)] = round(reading, 1)
        try:
            write_rows(self.path, dict(list(rows.items())[-MAX_ROWS:]), "reading")
        except OSError:
            return

    def _rows(self) -> dict[str, float]:
        try:
            found = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        rows = found.get("reading") if isinstance(found, dict) else None
        if not isinstance(rows, dict):
            return {}
        return {key: float(row) for key, row in rows.items() if type(row) in (int, float) and row > 0}


def _key(endpoint: Endpoint) -> str:
    """Return the key of an endpoint; the built-in server has another port at every start."""
    return f"embedded#{endpoint.model}" if endpoint.provider == "embedded" else cache_key(endpoint)
