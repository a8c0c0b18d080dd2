"""A store of another package is found by how its URL begins, and does all that ours do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.stores.conformance import Clock, Conformance, chat
from tests.stores.outside.folder_store import FolderStore

from yohaku import plugins, stores
from yohaku.core.errors import BadSetting
from yohaku.session.session import Session
from yohaku.stores import Store


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> FolderStore:
    return FolderStore(tmp_path / "kept", clock)


@pytest.fixture
def again(tmp_path: Path, clock: Clock) -> Callable[[], Store]:
    return lambda: FolderStore(tmp_path / "kept", clock)


class TestFolder(Conformance):
    pass


@pytest.fixture(params=["registered", "installed"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(plugins, "_registered", {})
    if request.param == "registered":
        plugins.register("stores", "folder", FolderStore)
    else:
        (tmp_path / "folder_plugin-1.0.dist-info").mkdir()
        rows = "[yohaku.stores]\nfolder = tests.stores.outside.folder_store:FolderStore\n"
        (tmp_path / "folder_plugin-1.0.dist-info" / "entry_points.txt").write_text(rows, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
    return f"folder:{tmp_path}/kept"


def test_a_session_keeps_its_folds_in_a_store_that_is_given_by_url(url: str) -> None:
    first, second = (Session(window=4000, model="gpt-4o", store=url) for _ in range(2))
    folded = first.fit(chat(60))
    assert first.receipt and first.receipt.folds
    assert second.fit(chat(60)) == folded
    assert all("all is well" in str(second.recall(fold.ref)) for fold in first.receipt.folds)


def test_a_tenant_may_be_named_with_the_url(url: str) -> None:
    stores.open(url, "someone").record("c", "a row")
    assert stores.open(url, "someone").recorded("c") == ["a row"]
    assert stores.open(url.replace("folder:", "FOLDER:")).recorded("c") == []


def test_an_unknown_store_is_said_with_those_of_other_packages(url: str) -> None:
    with pytest.raises(BadSetting, match=r"unknown store 'shelf:x'.*postgresql://host/name, folder:"):
        stores.open("shelf:x")
