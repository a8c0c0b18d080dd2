"""API keys the user pasted: kept in the keyring of the system, or in a file only its owner can read.

Law: a key is never part of a name, a message or an error. The file tells which keys the keyring holds, so that nothing
asks the keyring where nothing was kept there; a file that another user could have written is ignored.
"""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from yohaku.agent.toolkit.stored_permissions import writable_by_others

FILE_NAME = "credentials.json"
"""A name that `toolkit.secrets` knows: no tool reads it unasked."""
SERVICE = "yohaku"
"""Name under which the keyring lists the keys."""

KeyPlace: TypeAlias = Literal["keyring", "file"]


class Keyring(Protocol):
    """The part of the package `keyring` that is used here."""

    def get_password(self, service: str, name: str, /) -> str | None: ...
    def set_password(self, service: str, name: str, key: str, /) -> None: ...
    def delete_password(self, service: str, name: str, /) -> None: ...


class KeyringFailed(OSError):
    """Raised where the keyring is locked, or refuses."""


def find_keyring() -> Keyring | None:
    """Return the keyring of the system; None where the package is missing or finds no service. It may take a second."""
    if importlib.util.find_spec("keyring") is None:
        return None
    import keyring

    with suppress(*_keyring_errors()):
        return keyring if keyring.get_keyring().priority >= 1 else None
    return None


def _keyring_errors() -> tuple[type[Exception], ...]:
    """Return what its services raise when they are locked, missing or broken."""
    if importlib.util.find_spec("keyring") is None:
        return (OSError, RuntimeError)
    from keyring.errors import KeyringError

    return (KeyringError, OSError, RuntimeError)


class StoredKeys:
    """The keys, by the variable that would hold each: `ANTHROPIC_API_KEY`."""

    def __init__(self, folder: Path, keyring: Keyring | None = None) -> None:
        self.path = folder / FILE_NAME
        self._keyring = keyring

    def read(self) -> dict[str, str]:
        """Return every key that is kept and can be read now."""
        rows = self._rows()
        found = {name: row["key"] for name, row in rows.items() if isinstance(row.get("key"), str)}
        named = [name for name, row in rows.items() if row.get("in") == "keyring"]
        if named and (ring := self._keyring or find_keyring()):
            for name in named:
                with suppress(*_keyring_errors()):  # a locked one gives no key
                    if key := ring.get_password(SERVICE, name):
                        found[name] = key
        return found

    def keep(self, name: str, key: str, place: KeyPlace) -> None:
        """Keep a key; `OSError` where that is not possible."""
        if place == "keyring":
            ring = self._keyring or find_keyring()
            try:
                if ring is None:
                    raise KeyringFailed("no keyring")
                ring.set_password(SERVICE, name, key)
            except _keyring_errors() as why:  # its own words could hold the key
                raise KeyringFailed(type(why).__name__) from None
            self._write({**self._rows(), name: {"in": "keyring"}})
        else:
            self._write({**self._rows(), name: {"key": key}})

    def forget(self, name: str) -> KeyPlace | None:
        """Remove a key; return where it was kept, None if it was not."""
        rows = self._rows()
        row = rows.pop(name, None)
        if row is None:
            return None
        if row.get("in") == "keyring" and (ring := self._keyring or find_keyring()):
            with suppress(*_keyring_errors()):  # it may be gone already
                ring.delete_password(SERVICE, name)
        self._write(rows)
        return "keyring" if row.get("in") == "keyring" else "file"

    def _rows(self) -> dict[str, Mapping[str, Any]]:
        try:
            if writable_by_others(self.path.stat()):
                return {}
            said = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        rows = said.get("keys") if isinstance(said, dict) else None
        return {name: row for name, row in rows.items() if isinstance(row, dict)} if isinstance(rows, dict) else {}

    def _write(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        if not rows:
            self.path.unlink(missing_ok=True)
            return
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(prefix=f".{FILE_NAME}.", dir=self.path.parent)  # only its owner can read it
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                json.dump({"keys": rows}, file, indent=1)
            os.replace(name, self.path)  # noqa: PTH105 - the same on every platform
        except OSError:
            with suppress(OSError):
                Path(name).unlink()
            raise
