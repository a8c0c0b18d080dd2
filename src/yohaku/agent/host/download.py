"""Download of the built-in model's file, resumed where it was interrupted.

Law: a file has its own name only when it is complete and its sha256 is the pinned one. After any interruption the
bytes so far are kept for the next attempt.
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

MAX_IDLE_TRIES = 5
"""Connections in a row without a byte before the download fails."""

MIN_FREE_BYTES = 256 << 20
"""Bytes that stay free on the disk."""

STALL_TIMEOUT = 60.0
"""Seconds without a byte after which a connection counts as lost."""

Progress = Callable[[int, int], None]
"""Called with the bytes so far, and the total."""


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
    """Download the file and return its path; raises `DownloadFailed` with what to do next."""
    weights, path = offer.weights, offer.path
    if file_size(path) == weights.bytes:
        return path
    with _lock_partial(weights, path) as partial:
        await asyncio.to_thread(partial.hash_all)
        _check_space(weights, path, partial.size)
        await _download_rest(weights, partial, progress, home, stall, tries)
        if partial.sha256() != weights.sha256:
            partial.empty()
            raise DownloadFailed("wrong_hash", name=weights.name, home=_host(home))
    partial_path(path).replace(path)
    return path


class _PartialFile:
    """The bytes so far, and their hash."""

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
        """Flush to disk and return the hash."""
        self.file.flush()
        os.fsync(self.file.fileno())
        return self._digest.hexdigest()


async def _download_rest(
    weights: ModelFile, partial: _PartialFile, progress: Progress, home: str, stall: float, tries: int
) -> None:
    """Open connections until the file is complete, or `tries` in a row brought nothing."""
    import aiohttp

    timeouts = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=stall)
    idle, why = 0, "nothing came"
    async with aiohttp.ClientSession(timeout=timeouts, trust_env=True, auto_decompress=False) as session:
        while partial.size < weights.bytes:
            before = partial.size
            try:
                await _download_some(session, weights, partial, progress, home)
            except aiohttp.ClientResponseError as answer:  # its own text holds an address that may hold a token
                why = f"{answer.status} {answer.message}"
                idle = tries if 400 <= answer.status < 500 and answer.status not in (408, 429) else idle
            except (aiohttp.ClientError, TimeoutError, ConnectionError) as broken:
                why = str(broken) or type(broken).__name__
            except OSError as full:
                raise DownloadFailed("not_writable", folder=Path(partial.file.name).parent, why=full.strerror) from full
            idle = 0 if partial.size > before else idle + 1
            if idle >= tries:
                raise DownloadFailed("download_cut", name=weights.name, why=why)
            await asyncio.sleep(min(2.0, 0.05 * 4**idle) if idle else 0)


async def _download_some(
    session: ClientSession, weights: ModelFile, partial: _PartialFile, progress: Progress, home: str
) -> None:
    here = partial.size
    async with session.get(weights.url(home), headers={"Range": f"bytes={here}-"} if here else {}) as reply:
        reply.raise_for_status()
        if here and not _resumes_at(reply.status, reply.headers.get("Content-Range", ""), here):
            partial.empty()  # this server starts again from 0
        async for piece in reply.content.iter_chunked(CHUNK_BYTES):
            partial.add(piece[: weights.bytes - partial.size])
            progress(partial.size, weights.bytes)
            if partial.size >= weights.bytes:
                return


def _resumes_at(status: int, answer: str, here: int) -> bool:
    return status == 206 and answer.startswith(f"bytes {here}-")


def _check_space(weights: ModelFile, path: Path, here: int) -> None:
    free, needs = shutil.disk_usage(path.parent).free, weights.bytes - here + MIN_FREE_BYTES
    if free < needs:
        facts = {"name": weights.name, "folder": path.parent, "needs": needs / 1e9, "free": free / 1e9}
        raise DownloadFailed("no_space", **facts)


@contextmanager
def _lock_partial(weights: ModelFile, path: Path) -> Iterator[_PartialFile]:
    """Open the partial file and lock it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = partial_path(path).open("a+b")
    except OSError as why:
        raise DownloadFailed("not_writable", folder=path.parent, why=why.strerror) from why
    with file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows, where a second download fails because it cannot replace the open file
            pass
        except OSError as why:
            raise DownloadFailed("download_busy", name=weights.name) from why
        yield _PartialFile(file)


def _host(home: str) -> str:
    return home.partition("://")[2]
