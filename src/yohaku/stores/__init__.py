"""Stores for originals, folds and receipts: one protocol, one store a file.

Law: a call that returned has stored its data for every process, whatever crashes next; a failure is raised
(`StoreFailed`), never swallowed. A ref opens within its own tenant only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from yohaku import plugins
from yohaku.core.errors import BadSetting, UnknownRef

if TYPE_CHECKING:
    from yohaku.core.folds import Fold

Source: TypeAlias = Iterable[bytes] | Iterable[str] | IO[bytes]


class Original(NamedTuple):
    """Facts about an original that need no opening."""

    ref: str
    size: int
    """Bytes, of a text in UTF-8."""
    lines: int
    """Separated by line feeds; the last may have none."""
    binary: bool = False


class StoredBytes(NamedTuple):
    """A run of an original's bytes. One that holds a line feed ends with one, unless it is the last."""

    line: int
    """Number of lines that end before it."""
    data: bytes


class OpenedOriginal(NamedTuple):
    original: Original
    pieces: Iterator[StoredBytes]


class StoredOriginal(NamedTuple):
    ref: str
    stored: int
    """Bytes it takes in the store."""
    at: int
    """Time it was put last, in seconds since 1970; precise to an hour."""
    joined: bool = False
    """True if it is made of other originals, one after the other."""


class Store(Protocol):
    @property
    def version(self) -> int:
        """Number that changes whenever any process keeps or forgets folds. Cheap."""
        ...

    def put(self, ref: str, original: str | bytes) -> None:
        """Store an original under its ref. Putting the same one again is free."""
        ...

    def put_all(self, originals: Iterable[tuple[str, str | bytes]]) -> None:
        """Put many at the price of one."""
        ...

    def put_joined(self, ref: str, parts: Sequence[str]) -> None:
        """Store an original given in parts (joined by a blank line); a part that others share is stored once."""
        ...

    def parts(self, ref: str) -> tuple[str, ...]:
        """Return the refs of the parts an original was put in, or ()."""
        ...

    def put_stream(self, source: Source, *, binary: bool = False) -> Original:
        """Store the content of a file or iterable without holding all of it; the ref is known at the end."""
        ...

    def get(self, ref: str) -> str | bytes:
        """Return the original, or raise `UnknownRef`."""
        ...

    def about(self, ref: str) -> Original: ...

    def open(self, ref: str, line: int = 0) -> OpenedOriginal:
        """Open an original at the piece in which a line (counted from 0) begins."""
        ...

    def keep(self, folds: Iterable[Fold]) -> None:
        """Keep folds. One replaces another that stands in its place and was made for the same recipe and limit."""
        ...

    def forget(self, folds: Iterable[Fold]) -> None:
        """Remove folds, so that what they hid is shown again. Their originals stay."""
        ...

    def folds(self, keys: Iterable[str]) -> list[Fold]:
        """Return the folds on any of these keys, in the order of the keys."""
        ...

    def record(self, conversation: str, row: str) -> None:
        """Append a row, such as a receipt in JSON, to the records of a conversation."""
        ...

    def recorded(self, conversation: str) -> list[str]:
        """Return its rows, in the order they were recorded."""
        ...

    def conversations(self) -> list[str]:
        """List the conversations with records."""
        ...

    def erase(self, conversation: str, rows: Iterable[str]) -> None:
        """Remove these rows, each once, and none that is recorded meanwhile. For garbage collection."""
        ...

    def kept(self) -> Iterator[StoredOriginal]:
        """Yield every original, the one put last first."""
        ...

    def standing(self, since: int) -> Iterator[Fold]:
        """Yield the folds that were kept or found since then (seconds since 1970; noted once a day)."""
        ...

    def expire(self, before: int) -> int:
        """Forget the folds not kept or found since then; return their number."""
        ...

    def drop(self, refs: Iterable[str], before: int) -> int:
        """Remove those of these originals that were not put again since then; return their number."""
        ...

    def of(self, tenant: str) -> Store:
        """Return the same store for another tenant, which shares nothing with this one."""
        ...

    def tenants(self) -> list[str]:
        """List the tenants that something is kept for, "" among them where it is kept for none."""
        ...

    def close(self) -> None: ...


class StoreClass(Store, Protocol):
    """A class that URLs open; plugins register one under the scheme of its URLs, in the group "stores"."""

    @classmethod
    def at(cls, url: str) -> Store: ...


KINDS: Mapping[str, tuple[str, str]] = {
    "memory": ("memory", "MemoryStore"),
    "sqlite": ("sqlite", "SQLiteStore"),
    "redis": ("redis", "RedisStore"),
    "rediss": ("redis", "RedisStore"),
    "postgresql": ("postgres", "PostgresStore"),
    "postgres": ("postgres", "PostgresStore"),
}
"""File and class of each built-in store, by the scheme of its URL."""

HOUR = 3600
DAY = 24 * HOUR
_REF = re.compile(r"[a-z2-7]{12}")


def open(url: str, tenant: str = "") -> Store:  # noqa: A001  (stores.open, as in gzip.open)
    """Open the store at `memory:`, `sqlite:///path`, `redis://…`, `postgresql://…` or the URL of a plugin's store."""
    scheme, colon, _ = url.partition(":")
    kind = _class_of(scheme.lower()) if colon else None
    if kind is None:
        others = "".join(f", {name}:" for name in plugins.names("stores"))
        known = f"memory:, sqlite:///path, redis://host, postgresql://host/name{others}"
        raise BadSetting(f"unknown store {redact(url)!r}: give {known}", "unknown_store", known=known)
    store = kind.at(url)
    return store.of(tenant) if tenant else store


def _class_of(scheme: str) -> type[StoreClass] | None:
    if scheme not in KINDS:
        return plugins.find("stores", scheme)
    module, name = KINDS[scheme]
    found: type[StoreClass] = getattr(import_module(f"yohaku.stores.{module}"), name)
    return found


def default_url(folder: Path) -> str:
    """Return the URL of the default store: a file in the data folder of the settings."""
    return "sqlite://" + quote((folder.expanduser().absolute() / "store.db").as_posix())


def sqlite_path(url: str) -> Path:
    """Return the file of an `sqlite:` URL: `sqlite:///var/store.db`, or `sqlite:store.db` in the current folder."""
    path = unquote(url.partition(":")[2])
    path = path[2:] if path.startswith("//") else path
    if re.match(r"/+(~|[A-Za-z]:)", path):  # a home folder or a drive has no slash before it
        path = path.lstrip("/")
    if not path.strip("/"):
        raise BadSetting("a store in SQLite needs a file: give sqlite:///path", "no_store_file")
    return Path(re.sub("^/+", "/", path)).expanduser()


def redact(url: str) -> str:
    """Return the URL without its password."""
    try:
        secret = urlsplit(url).password
    except ValueError:
        return url.partition(":")[0] + ":"
    return url.replace(f":{secret}@", ":…@", 1) if secret else url


def eviction_policy(store: Store) -> str:
    """Return the policy by which the server of a store drops what is kept in it; "" if it drops nothing."""
    return str(getattr(store, "eviction_policy", ""))


def check_ref(ref: str) -> str:
    """Return a well-formed ref, or raise `UnknownRef`: nothing else may reach a path, a key or a query."""
    if not (isinstance(ref, str) and _REF.fullmatch(ref)):
        raise UnknownRef(str(ref)[:80])
    return ref
