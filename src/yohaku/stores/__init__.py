"""Where originals, folds and receipts are kept. One small protocol; one store a file.

Law: what was acknowledged is there, in every process and whatever dies next; what cannot be kept is said
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
    """What is known of an original without opening it."""

    ref: str
    size: int
    """Bytes, of a text in UTF-8."""
    lines: int
    """Parted by line feeds; the last may have none."""
    binary: bool = False


class StoredBytes(NamedTuple):
    """Some of an original's bytes. One that holds a line feed ends with one, unless it is the last."""

    line: int
    """How many lines end before it."""
    data: bytes


class OpenedOriginal(NamedTuple):
    original: Original
    pieces: Iterator[StoredBytes]


class StoredOriginal(NamedTuple):
    ref: str
    stored: int
    """Bytes it takes where it is kept."""
    at: int
    """When it was put last, in seconds since 1970; to within an hour."""
    joined: bool = False
    """Whether it is others, one after the other: all that stands in it stands in them."""


class Store(Protocol):
    @property
    def version(self) -> int:
        """Changes whenever folds were kept or forgotten, by whomever. Cheap."""
        ...

    def put(self, ref: str, original: str | bytes) -> None:
        """Keep an original under its ref. Putting the same again is free."""
        ...

    def put_all(self, originals: Iterable[tuple[str, str | bytes]]) -> None:
        """The same for many, at the price of one."""
        ...

    def put_joined(self, ref: str, parts: Sequence[str]) -> None:
        """Keep an original given in parts, which it is with a blank line between them; each part is kept once."""
        ...

    def parts(self, ref: str) -> tuple[str, ...]:
        """The refs of the parts an original was put in; none for others."""
        ...

    def put_stream(self, source: Source, *, binary: bool = False) -> Original:
        """Keep what an open file or any iterable gives, without ever holding it whole. Its ref is known at the end."""
        ...

    def get(self, ref: str) -> str | bytes:
        """The original, or `UnknownRef`."""
        ...

    def about(self, ref: str) -> Original: ...

    def open(self, ref: str, line: int = 0) -> OpenedOriginal:
        """The original's bytes piece by piece, from the one in which a line (counted from 0) begins."""
        ...

    def keep(self, folds: Iterable[Fold]) -> None: ...

    def forget(self, folds: Iterable[Fold]) -> None:
        """Undo folds: what they hid is shown again. Their originals stay."""
        ...

    def folds(self, keys: Iterable[str]) -> list[Fold]:
        """The folds that stand on any of these keys, in the order of the keys."""
        ...

    def record(self, conversation: str, row: str) -> None:
        """Append a row, such as a receipt in JSON, to what is recorded of a conversation."""
        ...

    def recorded(self, conversation: str) -> list[str]:
        """Its rows, in the order they were recorded."""
        ...

    def conversations(self) -> list[str]:
        """Those of which something is recorded."""
        ...

    def erase(self, conversation: str, rows: Iterable[str]) -> None:
        """Remove these rows, each once, and no other that is recorded meanwhile. For `yohaku.stores.collect`."""
        ...

    def kept(self) -> Iterator[StoredOriginal]:
        """Every original, the one put last first."""
        ...

    def standing(self, since: int) -> Iterator[Fold]:
        """The folds that were kept or found since then (seconds since 1970; noted once a day)."""
        ...

    def expire(self, before: int) -> int:
        """Forget the folds not kept or found since then; how many."""
        ...

    def drop(self, refs: Iterable[str], before: int) -> int:
        """Remove the originals among these that were not put again since then; return how many."""
        ...

    def of(self, tenant: str) -> Store:
        """The same store for another tenant: nothing of one is seen by the other."""
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
        raise BadSetting(f"unknown store {redacted(url)!r}: give {known}", "unknown_store", known=known)
    store = kind.at(url)
    return store.of(tenant) if tenant else store


def _class_of(scheme: str) -> type[StoreClass] | None:
    if scheme not in KINDS:
        return plugins.find("stores", scheme)
    module, name = KINDS[scheme]
    found: type[StoreClass] = getattr(import_module(f"yohaku.stores.{module}"), name)
    return found


def url_in(folder: Path) -> str:
    """The store of a user who chose none: a file in the data folder of their settings."""
    return "sqlite://" + quote((folder.expanduser().absolute() / "store.db").as_posix())


def path_of(url: str) -> Path:
    """The file an `sqlite:` URL names: `sqlite:///var/store.db`, or `sqlite:store.db` from where we are."""
    path = unquote(url.partition(":")[2])
    path = path[2:] if path.startswith("//") else path
    if re.match(r"/+(~|[A-Za-z]:)", path):  # a home folder or a drive, which no slash stands before
        path = path.lstrip("/")
    if not path.strip("/"):
        raise BadSetting("a store in SQLite needs a file: give sqlite:///path", "no_store_file")
    return Path(re.sub("^/+", "/", path)).expanduser()


def redacted(url: str) -> str:
    """The URL without its password, to be shown."""
    try:
        secret = urlsplit(url).password
    except ValueError:
        return url.partition(":")[0] + ":"
    return url.replace(f":{secret}@", ":…@", 1) if secret else url


def address(ref: str) -> str:
    """The ref, if it can be one: nothing else ever reaches a path, a key or a query."""
    if not (isinstance(ref, str) and _REF.fullmatch(ref)):
        raise UnknownRef(str(ref)[:80])
    return ref
