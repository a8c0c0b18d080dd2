"""However a store is damaged: errors of ours only, and nothing from it that was not put there."""

from __future__ import annotations

import io
import json
import os
import shutil
import traceback
from collections.abc import Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import pytest
from tests.stores import damage
from tests.stores.damage import WINDOW, HealthyStore, conversation
from tests.stores.reading import WAYS_TO_READ, read_in_every_way

from yohaku import recall
from yohaku.cli.main import main
from yohaku.core.errors import StoreFailed, UnknownRef, YohakuError
from yohaku.stores.chunks import encode
from yohaku.stores.sqlite import SQLiteStore

COUNT = int(os.environ.get("YOHAKU_DAMAGED", "300"))
"""How many damaged files; `YOHAKU_DAMAGED=10000` is the long run."""
COMMANDS_PER_FILE = 3


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> HealthyStore:
    return damage.build(tmp_path_factory.mktemp("healthy"))


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


def damaged_files(healthy: HealthyStore, folder: Path, count: int = COUNT) -> Iterator[tuple[int, str, Path]]:
    for seed in range(count):
        path = folder / str(seed) / "store.db"
        path.parent.mkdir()
        yield seed, damage.break_file(healthy.file, path, seed), path
        shutil.rmtree(path.parent)


def test_a_healthy_file_gives_all(healthy: HealthyStore, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(healthy.file)
    with closing(SQLiteStore(path)) as store:
        assert [wrong for ref in healthy.originals for wrong in read_in_every_way(store, ref, healthy)] == []
        assert {kept.ref for kept in store.kept()} == healthy.originals.keys()
        assert {name: store.recorded(name) for name in store.conversations()} == healthy.records
        assert recall.search(store, "plain").hits and list(store.standing(0)) == healthy.folds


@pytest.mark.slow
def test_no_damaged_file_gives_another_original(healthy: HealthyStore, tmp_path: Path) -> None:
    found = []
    failed = 0
    for seed, how, path in damaged_files(healthy, tmp_path):
        with closing(SQLiteStore(path)) as store:
            for ref in healthy.originals:
                try:
                    found += [f"{seed} {how}: {wrong}" for wrong in read_in_every_way(store, ref, healthy)]
                except (StoreFailed, UnknownRef):
                    failed += 1
                except Exception:
                    found.append(f"{seed} {how}: {traceback.format_exc()[-300:]}")
    assert found == []
    assert failed > COUNT


def test_a_file_without_checksums_gives_all(healthy: HealthyStore, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(healthy.file)
    damage.remove_checksums(path)
    with closing(SQLiteStore(path)) as store:
        assert [wrong for ref in healthy.originals for wrong in read_in_every_way(store, ref, healthy)] == []
        assert {name: store.recorded(name) for name in store.conversations()} == healthy.records
        assert list(store.standing(0)) == healthy.folds
        store.erase(healthy.conversation, healthy.records[healthy.conversation])
        assert store.conversations() == []


@pytest.mark.slow
def test_a_damaged_file_without_checksums_gives_no_other_original(healthy: HealthyStore, tmp_path: Path) -> None:
    """Its originals are compared with their refs, so that lines from the middle of one are not checked."""
    path = tmp_path / "old.db"
    path.write_bytes(healthy.file)
    damage.remove_checksums(path)
    old = replace(healthy, file=path.read_bytes())
    found = []
    for seed, how, path in damaged_files(old, tmp_path, COUNT // 3):
        with closing(SQLiteStore(path)) as store:
            for ref, original in healthy.originals.items():
                try:
                    if encode(store.get(ref)) != encode(original):
                        found.append(f"{seed} {how}: {ref}")
                except YohakuError:
                    pass
            for name, read in WAYS_TO_READ.items():
                try:
                    read(store, healthy)
                except YohakuError:
                    pass
                except Exception:
                    found.append(f"{seed} {how}: {name} {traceback.format_exc()[-400:]}")
    assert found == []


@pytest.mark.slow
def test_no_way_of_reading_a_damaged_file_ends_in_another_error(healthy: HealthyStore, tmp_path: Path) -> None:
    found = []
    for seed, how, path in damaged_files(healthy, tmp_path):
        with closing(SQLiteStore(path)) as store:
            for name, read in WAYS_TO_READ.items():
                try:
                    if wrong := read(store, healthy):
                        found.append(f"{seed} {how}: {name} gave {wrong}")
                except YohakuError:
                    pass
                except Exception:
                    found.append(f"{seed} {how}: {name} {traceback.format_exc()[-400:]}")
    assert found == []


@pytest.mark.slow
def test_no_command_on_a_damaged_file_ends_in_a_traceback(healthy: HealthyStore, tmp_path: Path) -> None:
    given = tmp_path / "given.json"
    given.write_text(json.dumps(conversation(24)))
    found = []
    for seed, how, path in damaged_files(healthy, tmp_path):
        url = f"sqlite://{path}"
        for turn in range(COMMANDS_PER_FILE):
            ref = sorted(healthy.originals)[seed % len(healthy.originals)]
            arguments = commands(ref, given)[(seed // 5 + 5 * turn) % 15]
            try:
                code, out, errors = run_command([*arguments, "--store", url])
                if code not in (0, 2, 3) or errors.count("\n") > 1 or (code and not errors):
                    found.append(f"{seed} {how}: {arguments[:2]} ended with {code}: {errors}")
                if "--raw" in arguments and not encode(healthy.originals[ref]).startswith(out):
                    found.append(f"{seed} {how}: {arguments[:2]} gave {out[:40]!r}")
            except Exception:
                found.append(f"{seed} {how}: {arguments} {traceback.format_exc()[-300:]}")
    assert found == []


def commands(ref: str, given: Path) -> list[list[str]]:
    return [
        ["recall", ref],
        ["recall", ref, "--raw"],
        ["recall", ref, "--grep", "all is well"],
        ["recall", ref, "--offset", "50", "--limit", "3"],
        ["recall", "--search", "well 余白"],
        ["receipts"],
        ["why", ref],
        ["pins"],
        ["show", "--diff"],
        ["collect", "--dry-run"],
        ["undo"],
        ["redo"],
        ["pin", ref],
        ["collect", "--older-than", "0", "--size", "1"],
        ["fit", str(given), "--window", str(WINDOW), "--recipe", "local", "-q"],
    ]


def run_command(arguments: list[str]) -> tuple[int, bytes, str]:
    out, errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        code = main(arguments)
        out.flush()
    return code, out.buffer.getvalue(), errors.getvalue()
