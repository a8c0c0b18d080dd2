from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def outside_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run where there is no git repository: the panel tells the branch of the one around it."""
    monkeypatch.chdir(tmp_path)
