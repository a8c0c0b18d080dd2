"""Shared by all tests: the folder of recorded sessions, Hypothesis profiles, names of parametrised cases."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile(
    "yohaku", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], print_blob=True
)
settings.register_profile("quick", parent=settings.get_profile("yohaku"), max_examples=10)
settings.load_profile("yohaku")

MAX_ID_CHARS = 80


def pytest_make_parametrize_id(val: object) -> str | None:
    """Shorten the id of a case whose text is long: some are megabytes, and xdist sends every id to every worker."""
    if isinstance(val, str | bytes) and len(val) > MAX_ID_CHARS:
        start = val[:40] if isinstance(val, str) else val[:20].decode("ascii", "backslashreplace")
        return f"{start.encode('unicode_escape').decode()} ... {len(val)}"
    return None


def shared_folder() -> Path:
    return Path(os.environ.get("YOHAKU_SHARED", ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = shared_folder()
    if not (folder / "data" / "index.json").exists():
        pytest.skip(f"the recorded sessions are not at {folder}; set YOHAKU_SHARED to their folder")
    return folder
