"""Redaction of secret values (API_KEY and the like in the environment, keys of endpoints), and names of secret files.

Law: tool output passes through here before it reaches the screen, the conversation or a store.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePath

MIN_SECRET_CHARS = 8
"""Shorter values could be ordinary words."""

_NAME = re.compile(
    r"(?:^|_)(?:api_?key|key|token|secret|passw(?:or)?d|passphrase|credentials?|auth|private)(?:_|$)"
    r"|(?:apikey|token|secret|password)$",
    re.IGNORECASE,
)


def secrets_in(environ: Mapping[str, str]) -> dict[str, str]:
    """Return names by value."""
    return {
        value: name
        for name, value in environ.items()
        if len(value) >= MIN_SECRET_CHARS and _NAME.search(name) and not _is_path(value)
    }


def _is_path(value: str) -> bool:
    """Exclude values such as SSH_AUTH_SOCK: paths that exist, addresses without a user."""
    if value.startswith(("http://", "https://", "unix:")):
        return "@" not in value
    return value.startswith(("/", "~", "./")) and Path(value).expanduser().exists()


_REGISTERED: dict[str, str] = {}


def register_secret(name: str, value: str) -> None:
    """Add a secret that is not in the environment, such as a key from the settings."""
    if len(value) >= MIN_SECRET_CHARS:
        _REGISTERED[value] = name


def known_secrets() -> list[tuple[str, str]]:
    """Return (value, name), the longest first, because one may contain another."""
    found = {**secrets_in(os.environ), **_REGISTERED}
    return sorted(found.items(), key=lambda pair: -len(pair[0]))


def redact(text: str) -> str:
    for value, name in known_secrets():
        if value in text:
            text = text.replace(value, f"[{name} hidden]")
    return text


class StreamRedactor:
    """`redact` for a stream of bytes, also where a secret arrives in two pieces."""

    def __init__(self) -> None:
        self._hidden = [(value.encode(), f"[{name} hidden]".encode()) for value, name in known_secrets()]
        self._reach = max((len(value) for value, _ in self._hidden), default=1) - 1
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what can be shown; hold back the end, which may be the beginning of a secret."""
        if not self._reach:
            return data
        data = self._redact(self._held + data)
        keep = max(0, len(data) - self._reach)
        self._held = data[keep:]
        return data[:keep]

    def idle(self) -> bytes:
        """Return what is held back when nothing more arrives: a prompt without a line feed."""
        data = self._redact(self._held)
        tail = max((n for value, _ in self._hidden for n in _partial_lengths(data, value)), default=0)
        self._held = data[len(data) - tail :]
        return data[: len(data) - tail]

    def end(self) -> bytes:
        data, self._held = self._redact(self._held), b""
        return data

    def _redact(self, data: bytes) -> bytes:
        for value, instead in self._hidden:
            if value in data:
                data = data.replace(value, instead)
        return data


def _partial_lengths(data: bytes, value: bytes) -> list[int]:
    """Return the lengths of all beginnings of the value that the data ends with."""
    return [n for n in range(1, min(len(value), len(data)) + 1) if data.endswith(value[:n])]


_SECRET = re.compile(
    r"\.env(?!\.(?:example|sample|template|dist|defaults?)$)(?:\..+)?$|\.envrc$|id_(?:rsa|dsa|ecdsa|ed25519)(?:_\w+)?$"
    r"|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg)$|(?:aws_)?credentials(?:\.\w+)?$|\.git-credentials$"
    r"|\.(?:netrc|pgpass|npmrc|pypirc|htpasswd|dockercfg)$|_netrc$|client_secrets?.*\.json$|secrets?\.(?:json|ya?ml|toml)$"
    r"|service[-_]?account.*\.json$|tokens?\.json$|shadow$",
    re.IGNORECASE,
)
_HINT = re.compile(r"\.|id_|cred|secret|token|shadow|netrc", re.IGNORECASE)
"""Cheap test before the full one."""
_FOLDERS = frozenset((".ssh", ".gnupg", ".aws", ".kube", ".azure", ".gcloud"))


def holds_secrets(path: str) -> bool:
    """Return whether a file of this name may hold keys or passwords."""
    if not _HINT.search(path) or len(path) > 4096 or path.endswith(".pub"):
        return False
    parts = PurePath(path.rstrip("/")).parts
    return bool(parts) and (bool(_SECRET.match(parts[-1])) or not _FOLDERS.isdisjoint(parts))
