"""Rules about roles learned from servers, stored by address and model for the next start.

Law: no key is stored, an unreadable file counts as empty, and a failed write is ignored: it only saves a refusal.
"""

from __future__ import annotations

import json
from pathlib import Path

from yohaku.client.endpoint import Endpoint
from yohaku.client.window_cache import MAX_ROWS, cache_key, write_rows
from yohaku.dialects.role_rules import NO_RULES, RoleRules

FILE_NAME = "roles.json"


class RoleRulesCache:
    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME

    def rules(self, endpoint: Endpoint) -> RoleRules:
        names = self._rows().get(cache_key(endpoint), [])
        return NO_RULES._replace(**{name: True for name in names if name in RoleRules._fields})

    def learn(self, endpoint: Endpoint, rules: RoleRules) -> None:
        rows = self._rows()
        rows.pop(cache_key(endpoint), None)
        rows[cache_key(endpoint)] = [name for name, holds in rules._asdict().items() if holds]
        try:
            write_rows(self.path, dict(list(rows.items())[-MAX_ROWS:]), "roles")
        except OSError:
            return

    def _rows(self) -> dict[str, list[str]]:
        try:
            found = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        rows = found.get("roles") if isinstance(found, dict) else None
        return {key: row for key, row in rows.items() if isinstance(row, list)} if isinstance(rows, dict) else {}
