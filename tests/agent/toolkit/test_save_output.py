from __future__ import annotations

import asyncio
import io
from pathlib import Path

from tests.agent.benches import ABench
from yohaku.agent.toolkit.save_output import keep, size


def test_a_ref_opens_what_was_kept(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    for original in ("日本語\n", io.BytesIO("日本語\n".encode())):
        said = asyncio.run(keep(bench, original))
        assert said.startswith("; ref=")
        assert bench.session is not None
        assert bench.session.recall(said.removeprefix("; ")) == "日本語\n"


def test_without_a_session_there_is_no_ref(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    bench.session = None
    assert asyncio.run(keep(bench, "x")) == ""


def test_sizes_are_told_as_people_do() -> None:
    assert [size(count) for count in (0, 1_023, 1_536, 5 << 20, 3 << 30)] == [
        "0 bytes", "1023 bytes", "1.5 KB", "5.0 MB", "3.0 GB",
    ]  # fmt: skip
