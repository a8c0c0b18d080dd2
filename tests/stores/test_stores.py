from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from yohaku import stores
from yohaku.core.errors import BadSetting, UnknownRef
from yohaku.core.originals import ref_of
from yohaku.stores.chunks import CHUNK_BYTES, Cutter, cut, first_chunk, pack, read_index, ref_from, unpack
from yohaku.stores.memory import MemoryStore
from yohaku.stores.sqlite import SQLiteStore


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///var/lib/store.db", "/var/lib/store.db"),
        ("sqlite:////var/lib/store.db", "/var/lib/store.db"),
        ("sqlite:store.db", "store.db"),
        ("sqlite:/tmp/store.db", "/tmp/store.db"),
        ("SQLITE:///tmp/a%20b/%E4%BD%99%E7%99%BD.db", "/tmp/a b/余白.db"),
        ("sqlite:///C:/data/store.db", "C:/data/store.db"),
        ("sqlite:~/store.db", str(Path("~/store.db").expanduser())),
        ("sqlite:///~/store.db", str(Path("~/store.db").expanduser())),
    ],
)
def test_a_url_names_a_file(url: str, path: str) -> None:
    assert stores.sqlite_path(url) == Path(path)


@pytest.mark.parametrize("url", ["sqlite:", "sqlite://", "sqlite:///", "sqlite:////"])
def test_a_url_without_a_file_is_said(url: str) -> None:
    with pytest.raises(BadSetting, match="needs a file"):
        stores.open(url)


@pytest.mark.parametrize(
    "url", ["", "store.db", "/tmp/store.db", "mysql://u:secret@host/db", "http://[", "c:\\store.db"]
)
def test_an_unknown_store_is_said_with_what_can_be_given(url: str) -> None:
    with pytest.raises(BadSetting, match=r"unknown store .* give memory:, sqlite:///path, redis://") as raised:
        stores.open(url)
    assert "secret" not in str(raised.value)


def test_a_url_opens_its_store(tmp_path: Path) -> None:
    assert isinstance(stores.open("memory:"), MemoryStore)
    for tenant in ("", "someone"):
        store = stores.open(f"sqlite://{tmp_path}/store.db", tenant)
        assert isinstance(store, SQLiteStore)
        store.put(ref_of(f"of {tenant}"), f"of {tenant}")
        store.close()
    store = stores.open(f"sqlite://{tmp_path}/store.db", "someone")
    assert store.get(ref_of("of someone")) == "of someone"
    with pytest.raises(UnknownRef):
        store.get(ref_of("of "))


def test_who_chose_none_has_one_in_the_data_folder(tmp_path: Path) -> None:
    folder = tmp_path / "my data %20"
    url = stores.default_url(folder)
    assert stores.sqlite_path(url) == folder / "store.db"


def test_a_password_is_never_shown() -> None:
    shown = {
        "redis://:secret@host:1/0": "redis://:…@host:1/0",
        "postgresql://me:secret@host/db?x=secret2": "postgresql://me:…@host/db?x=secret2",
        "redis://host/0": "redis://host/0",
    }
    assert {url: stores.redact(url) for url in shown} == shown


@pytest.mark.parametrize("original", ["", "a", "日本語" * 1000, "\ud800"])
def test_a_stream_has_the_ref_of_what_it_held(original: str) -> None:
    cutter = Cutter([original])
    list(cutter)
    assert cutter.original.ref == ref_of(original)


def test_any_digest_gives_a_lawful_ref() -> None:
    assert [ref_from(bytes(32)), ref_from(b"\xff" * 32)] == ["a" * 12, "7" * 12]
    assert stores.check_ref(ref_from(b"\xff" * 32)) == "7" * 12


def test_chunks_end_with_lines_wherever_lines_end() -> None:
    text = (b"x" * 999 + b"\n") * 1000 + b"y" * (3 * CHUNK_BYTES) + b"\n" + b"z\n" * 10
    chunks = list(cut([text[at : at + 100_001] for at in range(0, len(text), 100_001)]))
    assert b"".join(chunks) == text
    assert all(chunk.endswith(b"\n") or b"\n" not in chunk for chunk in chunks)
    assert all(0 < len(chunk) <= CHUNK_BYTES for chunk in chunks)


def test_a_line_is_found_by_the_marks() -> None:
    cutter = Cutter([(b"x" * 999 + b"\n") * 1000])
    chunks = [unpack(chunk, "here") for chunk in cutter.packed()]
    marks, sums = read_index(cutter.index, "here", sealed=True)
    assert marks[0] == 0 and len(marks) == len(sums) == len(chunks)
    for line in (0, 1, 64, 65, 66, 500, 999):
        start = first_chunk(marks, line)
        assert marks[start] <= line < marks[start] + chunks[start].count(b"\n")


def test_what_is_packed_is_unpacked() -> None:
    assert unpack(pack(b"abc" * 1000), "here") == b"abc" * 1000


@pytest.mark.parametrize(("url", "client"), [("redis://h", "redis"), ("postgresql://h/d", "psycopg")])
def test_a_client_that_is_not_installed_is_said(url: str, client: str) -> None:
    code = f"import sys; sys.modules[{client!r}] = None; from yohaku import stores; stores.open({url!r})"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert "BadSetting: the client for " in told and "pip install 'yohaku[" in told.splitlines()[-1]
