"""Plugins are found by name, whether a program registered them or a package lists them as entry points."""

from __future__ import annotations

from pathlib import Path

import pytest

from yohaku import plugins
from yohaku.core.errors import BadSetting


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with one entry point that can be loaded and one that cannot."""
    (tmp_path / "plugin_for_tests.py").write_text("def make():\n    return 'made'\n", encoding="utf-8")
    info = tmp_path / "plugin_for_tests-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-for-tests\nVersion: 1.0\n", encoding="utf-8")
    rows = "[yohaku.stores]\ninstalled = plugin_for_tests:make\nbroken = plugin_for_tests:missing\n"
    (info / "entry_points.txt").write_text(rows, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "_registered", {})
    return tmp_path


def test_a_registered_plugin_is_found_in_its_group_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_registered", {})
    plugins.register("passes", "mine", len)
    assert plugins.find("passes", "mine") is len
    assert plugins.find("tools", "mine") is None
    assert plugins.names("passes") == ("mine",)


def test_an_entry_point_is_loaded_when_it_is_looked_up(package: Path) -> None:
    assert plugins.names("stores") == ("broken", "installed")
    found = plugins.find("stores", "installed")
    assert found is not None
    assert found() == "made"


def test_an_entry_point_that_cannot_be_loaded_says_so(package: Path) -> None:
    with pytest.raises(BadSetting, match="plugin_for_tests:missing"):
        plugins.find("stores", "broken")
