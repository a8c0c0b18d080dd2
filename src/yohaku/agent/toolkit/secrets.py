"""Redaction of secrets (values of API_KEY and the like, keys of endpoints, known forms), and names of secret files.

Law: tool output passes through here before it reaches the screen, the conversation or a store.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from urllib.parse import unquote

from yohaku.analysis.secret_formats import MAX_HELD_CHARS, NAMES, OnSecret, hide_formats, open_secret, placeholder

MIN_SECRET_CHARS = 8
"""Shorter values could be ordinary words."""

_NAME = re.compile(
    r"(?:^|_)(?:api_?keys?|keys?|tokens?|secrets?|passw(?:or)?d|passphrase|pass|pwd|pw|credentials?|creds|auth|private"
    r"|pat|sk|jwt|bearer|cookie|salt)(?:_|$)|(?:apikey|token|secret|password)$",
    re.IGNORECASE,
)
_ADDRESS_NAME = re.compile(
    r"(?:^|_)(?:dsn|webhook(?:_ur[il])?|conn(?:ection)?_?str(?:ing)?)$"
    r"|(?:^|_)(?:database|db|redis|mongo(?:db)?|postgres(?:ql)?|pg|mysql|mariadb|amqp|rabbitmq|broker|celery|kafka|nats"
    r"|elastic(?:search)?|clickhouse|cassandra|couchdb|neo4j|smtp|mail|memcached?|sqlalchemy)\w*_ur[il]$",
    re.IGNORECASE,
)
"""Variables whose value is an address that opens something."""
_LOCAL_ADDRESS = re.compile(
    r"(?i)(?:sqlite[\w+]*|file|unix):|[\w+]+://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:/|$)"
)
_URL_PASSWORD = re.compile(r"://[^\s:@/?#]*:([^\s/]+)@")
_COMMON_VALUES = frozenset(
    "password postgres changeme change-me required optional disabled enabled production development localhost "
    "undefined username database anonymous passw0rd".split()
)
"""Values that are no secrets even as passwords: each is a word in every second file."""


def secrets_in(environ: Mapping[str, str]) -> dict[str, str]:
    """Return names by value, also of the password within an address."""
    found: dict[str, str] = {}
    for name, given in environ.items():
        value = given.strip()
        if _ADDRESS_NAME.search(name):
            named = not _LOCAL_ADDRESS.match(value)
        else:
            named = bool(_NAME.search(name)) and not _is_path(value)
        if named:
            found[value] = name
        if (named or _ADDRESS_NAME.search(name)) and (within := _URL_PASSWORD.search(value)):
            found |= dict.fromkeys((within[1], unquote(within[1])), f"{name} password")
    return {
        value: name
        for value, name in found.items()
        if len(value) >= MIN_SECRET_CHARS and value.lower() not in _COMMON_VALUES
    }


def _is_path(value: str) -> bool:
    """Exclude values such as SSH_AUTH_SOCK: paths that exist, addresses without a user."""
    if value.startswith(("http://", "https://", "unix:")):
        return "@" not in value
    return value.startswith(("/", "~", "./")) and Path(value).expanduser().exists()


_REGISTERED: dict[str, str] = {}
_hiding = True


def set_hiding(on: bool) -> None:
    """Replace secrets from now on, or show them."""
    global _hiding
    _hiding = on


def register_secret(name: str, value: str) -> None:
    """Add a secret that is not in the environment, such as a key from the settings."""
    if len(value) >= MIN_SECRET_CHARS:
        _REGISTERED[value] = name


def known_secrets() -> list[tuple[str, str]]:
    """Return (value, name), the longest first, because one may contain another."""
    found = {**secrets_in(os.environ), **_REGISTERED}
    return sorted(found.items(), key=lambda pair: -len(pair[0]))


def redact(text: str) -> str:
    """Return the text with a placeholder for each secret, unless the user wants to see them."""
    return _hide(text, known_secrets()) if _hiding else text


def has_secret(text: str) -> bool:
    return _hide(text, known_secrets()) != text


def _hide(text: str, known: Iterable[tuple[str, str]], instead: OnSecret | None = None) -> str:
    instead = instead or (lambda name, value: placeholder(name))
    for value, name in known:
        if value in text:
            text = text.replace(value, instead(name, value))
    return hide_formats(text, instead)


class UnknownSecret(Exception):
    """Raised where a placeholder stands for no secret of a file, or for more than one."""


def restore_secrets(text: str, original: str) -> str:
    """Return a model's text with the secrets of the file it was made from in place of their placeholders.

    The model was shown placeholders only: it could neither change such a file nor write it back without losing them.
    """
    if not _hiding or " hidden]" not in text:
        return text
    values: dict[str, set[str]] = {}

    def note(name: str, value: str) -> str:
        values.setdefault(name, set()).add(value)
        return placeholder(name)

    known = known_secrets()
    _hide(original, known, note)
    for name in (*NAMES, *(name for _, name in known)):
        shown = placeholder(name)
        if shown not in text or shown in original:
            continue
        if len(found := values.get(name, set())) != 1:
            raise UnknownSecret(
                f"{shown} stands for a secret that you are not shown"
                + (", and for more than one here: leave those lines as they are, and edit around them." if found else
                   ": name where it comes from instead, such as an environment variable.")
            )  # fmt: skip
        text = text.replace(shown, next(iter(found)))
    return text


class StreamRedactor:
    """`redact` for a stream of bytes, also where a secret arrives in two pieces."""

    def __init__(self) -> None:
        # bytes as letters, one each: the patterns are for texts
        self._known = [(value.encode().decode("latin-1"), name) for value, name in known_secrets()]
        self._held = ""

    def feed(self, data: bytes) -> bytes:
        """Return what can be shown; hold back the end, which may be the beginning of a secret."""
        if not _hiding:
            return data
        self._held += data.decode("latin-1")
        return self._release(open_secret(self._held))

    def idle(self) -> bytes:
        """Return what is held back when nothing more arrives: a prompt without a line feed."""
        return self._release(open_secret(self._held, paused=True)) if self._held else b""

    def end(self) -> bytes:
        return self._release(len(self._held), ended=True)

    def _release(self, until: int, *, ended: bool = False) -> bytes:
        if not ended:
            tail = max((n for value, _ in self._known for n in _partial_lengths(self._held, value)), default=0)
            until = min(until, len(self._held) - tail)
            for value, _ in self._known:
                at = self._held.find(value, max(0, until - len(value) + 1), until + len(value))
                until = at if 0 <= at < until < at + len(value) else until
            if len(self._held) - until > MAX_HELD_CHARS:
                until = len(self._held)
        text, self._held = self._held[:until], self._held[until:]
        return _hide(text, self._known).encode("latin-1") if text else b""


def _partial_lengths(data: str, value: str) -> list[int]:
    """Return the lengths of all beginnings of the value that the data ends with."""
    return [n for n in range(1, min(len(value), len(data)) + 1) if data.endswith(value[:n])]


_SECRET = re.compile(
    r"\.env(?!\.(?:example|sample|template|dist|defaults?)$)(?:\..+)?$|\.envrc$|id_(?:rsa|dsa|ecdsa|ed25519)(?:_\w+)?$"
    r"|(?!(?:example|sample|template|dist|defaults?)\.)[\w-]+\.env$|.*\.tfstate(?:\.backup)?$|kubeconfig$"
    r"|\.(?:vault-token|my\.cnf|s3cfg|boto|password-store)$"
    r"|.*\.(?:pem|key|p8|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg)$|(?:aws_)?credentials(?:\.\w+)?$|\.git-credentials$"
    r"|\.(?:netrc|pgpass|npmrc|pypirc|htpasswd|dockercfg)$|_netrc$|client_secrets?.*\.json$|secrets?\.(?:json|ya?ml|toml)$"
    r"|service[-_]?account.*\.json$|tokens?\.json$|shadow$",
    re.IGNORECASE,
)
_HINT = re.compile(r"\.|id_|cred|secret|token|shadow|netrc|kubeconfig", re.IGNORECASE)
"""Cheap test before the full one."""
_FOLDERS = frozenset((".ssh", ".gnupg", ".aws", ".kube", ".azure", ".gcloud", ".docker"))


def holds_secrets(path: str) -> bool:
    """Return whether a file of this name may hold keys or passwords."""
    if not _HINT.search(path) or len(path) > 4096 or path.endswith(".pub"):
        return False
    parts = PurePath(path.rstrip("/")).parts
    return bool(parts) and (bool(_SECRET.match(parts[-1])) or not _FOLDERS.isdisjoint(parts))
