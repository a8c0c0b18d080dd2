"""The built-in model's file, brought from its official home once: asked for first, resumed where it broke off.

Law: a file stands under its own name only when it is whole and its sha256 is the pinned one. Whatever interrupts a
download, a cut, a cancel, a kill, what came down stays for the next time.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from yohaku.agent.host.downloadable_models import HUB_URL, DownloadableModel, ModelFile, file_size, partial_path
from yohaku.core.errors import YohakuError
from yohaku.messages import say

if TYPE_CHECKING:
    from aiohttp import ClientSession

CHUNK_BYTES = 1 << 20
"""Bytes read at once."""

MAX_IDLE_TRIES = 5
"""Connections in a row that bring nothing before it is given up."""

MIN_FREE_BYTES = 256 << 20
"""Bytes of the disk that stay free."""

STALL_TIMEOUT = 60.0
"""Seconds without a byte after which a connection counts as lost."""

Progress = Callable[[int, int], None]
"""Told the bytes that are there, and all."""


class DownloadFailed(YohakuError):
    def __init__(self, code: str, **facts: object) -> None:
        super().__init__(say(f"host_{code}", "en", **facts), **facts)
        self.code = code

    def said(self, lang: str) -> str:
        return say(f"host_{self.code}", lang, **self.facts)


async def download(
    offer: DownloadableModel,
    progress: Progress = lambda here, whole: None,
    *,
    home: str = HUB_URL,
    stall: float = STALL_TIMEOUT,
    tries: int = MAX_IDLE_TRIES,
) -> Path:
    """Brings the file down and returns its path; raises `DownloadFailed` with what to do next."""
    weights, path = offer.weights, offer.path
    if file_size(path) == weights.bytes:
        return path
    with _lock_partial(weights, path) as half:
        await asyncio.to_thread(half.hash_all)
        _check_space(weights, path, half.size)
        await _download_rest(weights, half, progress, home, stall, tries)
        if half.sha256() != weights.sha256:
            half.empty()
            raise DownloadFailed("wrong_hash", name=weights.name, home=_host(home))
    partial_path(path).replace(path)
    return path


class _PartialFile:
    """The file as far as it came, and the hash of that."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.size = 0
        self._digest = hashlib.sha256()

    def hash_all(self) -> None:
        self.file.seek(0)
        while piece := self.file.read(8 * CHUNK_BYTES):
            self._digest.update(piece)
            self.size += len(piece)

    def add(self, piece: bytes) -> None:
        self.file.write(piece)
        self._digest.update(piece)
        self.size += len(piece)

    def empty(self) -> None:
        self.file.truncate(0)
        self.size = 0
        self._digest = hashlib.sha256()

    def sha256(self) -> str:
        """With everything on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())
        return self._digest.hexdigest()


async def _download_rest(
    weights: ModelFile, half: _PartialFile, progress: Progress, home: str, stall: float, tries: int
) -> None:
    """Connection after connection, as long as one in a few brings something."""
    import aiohttp

    patience = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=stall)
    idle, why = 0, "nothing came"
    async with aiohttp.ClientSession(timeout=patience, trust_env=True, auto_decompress=False) as session:
        while half.size < weights.bytes:
            before = half.size
            try:
                await _download_some(session, weights, half, progress, home)
            except aiohttp.ClientResponseError as told:  # its own text names an address that may hold a ticket
                why = f"{told.status} {told.message}"
                idle = tries if 400 <= told.status < 500 and told.status not in (408, 429) else idle
            except (aiohttp.ClientError, TimeoutError, ConnectionError) as broken:
                why = str(broken) or type(broken).__name__
            except OSError as full:
                raise DownloadFailed("not_writable", folder=Path(half.file.name).parent, why=full.strerror) from full
            idle = 0 if half.size > before else idle + 1
            if idle >= tries:
                raise DownloadFailed("download_cut", name=weights.name, why=why)
            await asyncio.sleep(min(2.0, 0.05 * 4**idle) if idle else 0)


async def _download_some(
    session: ClientSession, weights: ModelFile, half: _PartialFile, progress: Progress, home: str
) -> None:
    here = half.size
    async with session.get(weights.url(home), headers={"Range": f"bytes={here}-"} if here else {}) as reply:
        reply.raise_for_status()
        if here and not _resumes_at(reply.status, reply.headers.get("Content-Range", ""), here):
            half.empty()  # this server begins anew
        async for piece in reply.content.iter_chunked(CHUNK_BYTES):
            half.add(piece[: weights.bytes - half.size])
            progress(half.size, weights.bytes)
            if half.size >= weights.bytes:
                return


def _resumes_at(status: int, told: str, here: int) -> bool:
    return status == 206 and told.startswith(f"bytes {here}-")


def _check_space(weights: ModelFile, path: Path, here: int) -> None:
    free, needs = shutil.disk_usage(path.parent).free, weights.bytes - here + MIN_FREE_BYTES
    if free < needs:
        facts = {"name": weights.name, "folder": path.parent, "needs": needs / 1e9, "free": free / 1e9}
        raise DownloadFailed("no_space", **facts)


@contextmanager
def _lock_partial(weights: ModelFile, path: Path) -> Iterator[_PartialFile]:
    """The half-finished file, which nobody else writes to meanwhile."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = partial_path(path).open("a+b")
    except OSError as why:
        raise DownloadFailed("not_writable", folder=path.parent, why=why.strerror) from why
    with file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # not there on Windows, where a second one cannot replace the file and fails by that
            pass
        except OSError as why:
            raise DownloadFailed("download_busy", name=weights.name) from why
        yield _PartialFile(file)


def _host(home: str) -> str:
    return home.partition("://")[2]
