"""What all tests share: where the recorded sessions are, and how hard to try."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile(
    "yohaku", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], print_blob=True
)
settings.load_profile("yohaku")


def shared_folder() -> Path:
    return Path(os.environ.get("YOHAKU_SHARED", ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = shared_folder()
    if not (folder / "data" / "index.json").exists():
        pytest.skip(f"the recorded sessions are not at {folder}; set YOHAKU_SHARED to their folder")
    return folder
