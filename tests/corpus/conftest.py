from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.recorded import FILES


@pytest.fixture(params=range(len(FILES)) or [None], ids=lambda n: FILES[n].name.split(".")[0] if FILES else "none")
def session_file(request: pytest.FixtureRequest, shared: Path) -> tuple[int, Path]:
    return request.param, FILES[request.param]
