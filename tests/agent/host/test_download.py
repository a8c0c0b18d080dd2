from __future__ import annotations

import asyncio
import hashlib
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.loopback import Asked, Reply, loopback
from yohaku.agent.host.download import DownloadFailed, download
from yohaku.agent.host.downloadable_models import DownloadableModel, ModelFile, partial_path

pytest.importorskip("aiohttp", reason="aiohttp is needed to bring files: install the extra `agent`")

DATA = random.Random(0).randbytes(3_000_000)
PATH = "/maker/model/resolve/main/model.gguf"


def weights(data: bytes = DATA, **more: object) -> ModelFile:
    pinned = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "billions": 1.0, **more}
    return ModelFile("Model", "maker/model", "model.gguf", **pinned)  # type: ignore[arg-type]


def ranged(asked: Asked, data: bytes = DATA, cut: int | None = None) -> Reply:
    """As a server of files answers that can go on in the middle."""
    begin = int(asked.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
    rest = data[begin:]
    if not begin:
        return Reply(200, rest, cut=cut)
    return Reply(206, rest, {"Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"}, cut)


def brought(folder: Path, route: Callable[[Asked], Reply], wanted: ModelFile | None = None) -> tuple[Path, list[Asked]]:
    offer = DownloadableModel(wanted or weights(), folder / "models" / "model.gguf")
    with loopback({PATH: route, "/cdn": route}) as server:
        return asyncio.run(download(offer, home=server.url, tries=2)), server.asked


def test_a_file_comes_down_whole_and_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    offer = DownloadableModel(weights(), tmp_path / "models" / "model.gguf")
    with loopback({PATH: ranged}) as server:
        path = asyncio.run(download(offer, lambda here, whole: told.append((here, whole)), home=server.url))
    assert path.read_bytes() == DATA and list(path.parent.iterdir()) == [path]
    assert told[-1] == (len(DATA), len(DATA)) and told == sorted(told)


def test_a_file_that_is_there_is_not_brought_again(tmp_path: Path) -> None:
    path, _ = brought(tmp_path, ranged)
    again, asked = brought(tmp_path, ranged)
    assert (again, asked) == (path, [])


def test_a_connection_that_breaks_is_taken_up_where_it_broke(tmp_path: Path) -> None:
    cuts = iter([1_000_000, 700_000, None])
    path, asked = brought(tmp_path, lambda question: ranged(question, cut=next(cuts)))
    begins = [each.headers.get("Range", "") for each in asked]
    assert path.read_bytes() == DATA
    assert begins[0] == "" and len(begins) == 3 and all(each.startswith("bytes=") for each in begins[1:])


def test_what_an_earlier_start_brought_is_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    partial_path(tmp_path / "models" / "model.gguf").write_bytes(DATA[:1_234_567])
    path, asked = brought(tmp_path, ranged)
    assert path.read_bytes() == DATA and [each.headers.get("Range") for each in asked] == ["bytes=1234567-"]


def test_a_server_that_cannot_go_on_in_the_middle_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    partial_path(tmp_path / "models" / "model.gguf").write_bytes(b"?" * 500_000)
    path, _ = brought(tmp_path, lambda question: Reply(200, DATA))
    assert path.read_bytes() == DATA


def test_a_server_that_goes_on_elsewhere_than_asked_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    partial_path(tmp_path / "models" / "model.gguf").write_bytes(DATA[:500_000])
    path, _ = brought(tmp_path, lambda question: Reply(206, DATA, {"Content-Range": "bytes 0-2999999/3000000"}))
    assert path.read_bytes() == DATA


def test_a_file_may_lie_elsewhere(tmp_path: Path) -> None:
    def moved(asked: Asked) -> Reply:
        return Reply(302, headers={"Location": "/cdn"}) if asked.path == PATH else ranged(asked)

    path, asked = brought(tmp_path, moved)
    assert path.read_bytes() == DATA and [each.path for each in asked] == [PATH, "/cdn"]


def test_a_file_with_another_hash_is_thrown_away_and_never_stands_under_its_name(tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match="not the file it should be") as failed:
        brought(tmp_path, lambda question: Reply(200, DATA[:-1] + b"!"))
    assert "破棄しました" in failed.value.said("ja")
    assert sum(path.stat().st_size for path in (tmp_path / "models").iterdir()) == 0
    path, _ = brought(tmp_path, ranged)
    assert path.read_bytes() == DATA


def test_more_bytes_than_the_file_has_are_not_taken(tmp_path: Path) -> None:
    path, _ = brought(tmp_path, lambda question: Reply(200, DATA + b"more" * 1_000))
    assert path.read_bytes() == DATA


def test_without_room_on_the_disk_nothing_is_begun(tmp_path: Path) -> None:
    asked: list[Asked] = []
    with pytest.raises(DownloadFailed, match="on disk") as failed:
        _, asked = brought(tmp_path, ranged, weights(bytes=1 << 60))
    assert asked == [] and "YOHAKU_DATA" in failed.value.said("ja")


@pytest.mark.parametrize(("status", "asks"), [(404, 1), (503, 2)])
def test_a_server_that_refuses_is_given_up_with_its_words(tmp_path: Path, status: int, asks: int) -> None:
    seen: list[Asked] = []

    def refuse(asked: Asked) -> Reply:
        seen.append(asked)
        return Reply(status)

    with pytest.raises(DownloadFailed, match=str(status)) as failed:
        brought(tmp_path, refuse)
    assert len(seen) == asks and "127.0.0.1" not in str(failed.value)


def test_what_came_down_stays_when_it_is_given_up(tmp_path: Path) -> None:
    replies = iter([Reply(200, DATA, cut=1_000_000), Reply(503), Reply(503)])
    with pytest.raises(DownloadFailed, match="is kept"):
        brought(tmp_path, lambda question: next(replies))
    kept = partial_path(tmp_path / "models" / "model.gguf").read_bytes()
    assert 0 < len(kept) <= 1_000_000 and DATA.startswith(kept)


def test_what_came_down_stays_when_it_is_cancelled(tmp_path: Path) -> None:
    offer = DownloadableModel(weights(), tmp_path / "model.gguf")

    async def cancelled(home: str) -> None:
        def stop(here: int, whole: int) -> None:
            task.cancel()

        task = asyncio.ensure_future(download(offer, stop, home=home))
        await task

    with loopback({PATH: ranged}) as server, pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled(server.url))
    kept = partial_path(offer.path).read_bytes()
    assert not offer.path.exists() and kept and DATA.startswith(kept)
    with loopback({PATH: ranged}) as server:
        assert asyncio.run(download(offer, home=server.url)).read_bytes() == DATA


@pytest.mark.skipif(os.name != "posix", reason="locks of this kind are there on POSIX only")
def test_two_do_not_write_to_one_file(tmp_path: Path) -> None:
    import fcntl

    offer = DownloadableModel(weights(), tmp_path / "model.gguf")
    with partial_path(offer.path).open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(DownloadFailed, match="Another yohaku"):
            asyncio.run(download(offer, home="http://127.0.0.1:1"))


def test_a_folder_that_cannot_be_written_to_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadFailed, match="cannot be written"):
        asyncio.run(download(DownloadableModel(weights(), tmp_path / "file" / "model.gguf"), home="http://127.0.0.1:1"))
