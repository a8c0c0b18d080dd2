from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.client.endpoint import Endpoint
from yohaku.client.window_cache import FILE_NAME, MAX_ROWS, CachedWindow, WindowCache, cache_key, still_valid

AT = Endpoint("llama.cpp", "llama.cpp", "openai_chat", "http://127.0.0.1:8080/v1", "m", window=32_768, local=True)


def test_what_a_server_refused_is_known_the_next_time(tmp_path: Path) -> None:
    WindowCache(tmp_path).learn(AT, 8_192, "overflow")
    assert WindowCache(tmp_path).window(AT) == 8_192


def test_another_model_and_another_server_know_nothing_of_it(tmp_path: Path) -> None:
    WindowCache(tmp_path).learn(AT, 8_192, "overflow")
    others = (replace(AT, model="n"), replace(AT, url="http://127.0.0.1:8081/v1"))
    assert [WindowCache(tmp_path).window(each) for each in others] == [None, None]


def test_a_newer_lesson_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    learned = WindowCache(tmp_path)
    learned.learn(AT, 8_192, "overflow")
    learned.learn(AT, 12_000, "discovered")
    assert learned.window(AT) == 12_000


def test_a_lesson_stands_only_as_long_as_the_server_declares_the_same(tmp_path: Path) -> None:
    WindowCache(tmp_path).learn(AT, 8_192, "overflow")
    assert WindowCache(tmp_path).window(replace(AT, window=65_536)) is None
    assert WindowCache(tmp_path).window(replace(AT, window=None)) == 8_192


def test_nothing_is_larger_than_declared_unless_the_user_says_so(tmp_path: Path) -> None:
    learned = WindowCache(tmp_path)
    learned.learn(AT, 100_000, "discovered")
    assert learned.window(AT) == 32_768
    learned.learn(AT, 100_000, "told")
    assert learned.window(AT) == 100_000


@given(st.integers(1, 1 << 24), st.sampled_from(["declared", "discovered", "overflow"]), st.integers(1, 1 << 24))
def test_no_lesson_is_believed_beyond_what_is_declared(tokens: int, source: str, declared: int) -> None:
    for then in (None, declared, declared + 1):
        found = still_valid(CachedWindow(tokens, source, then), declared)  # type: ignore[arg-type]
        assert found is None or found <= declared


def test_only_its_owner_can_read_the_file_and_nothing_secret_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    secret = replace(AT, url="http://user:hunter2@127.0.0.1:8080/v1?key=hunter3", key="hunter4")
    WindowCache(folder).learn(secret, 8_192, "overflow")
    assert "hunter" not in (folder / FILE_NAME).read_text("utf-8")
    assert [path.name for path in folder.iterdir()] == [FILE_NAME]
    if os.name == "posix":
        assert stat.S_IMODE((folder / FILE_NAME).stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", '{"windows": []}', "\ufeff{}", '{"windows": {"a": 5}}', "[" * 100_000,
        '{"windows": {"a": {"tokens": -1, "source": "told"}, "b": {"tokens": 5, "source": "dream"}}}',
    ],
    ids=range(8),
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text, "utf-8")
    assert WindowCache(tmp_path).rows() == {}
    WindowCache(tmp_path).learn(AT, 8_192, "overflow")
    assert WindowCache(tmp_path).window(AT) == 8_192


def test_a_row_nobody_understands_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    good = f'"{cache_key(AT)}": {{"tokens": 9000, "source": "overflow", "declared": 32768, "new_field": 1}}'
    (tmp_path / FILE_NAME).write_text(f'{{"windows": {{"x": {{"tokens": "many"}}, {good}}}}}', "utf-8")
    assert WindowCache(tmp_path).window(AT) == 9_000


def test_the_oldest_rows_go(tmp_path: Path) -> None:
    learned = WindowCache(tmp_path)
    rows = {f"http://x#{number}": CachedWindow(5, "told", None, float(number)) for number in range(MAX_ROWS)}
    learned.path.write_bytes(msgspec.json.encode({"windows": rows}))
    learned.learn(AT, 8_192, "told", at=1e9)
    kept = learned.rows()
    assert len(kept) == MAX_ROWS and "http://x#0" not in kept and cache_key(AT) in kept


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    learned = WindowCache(tmp_path / "file")
    learned.learn(AT, 8_192, "overflow")
    learned.forget(AT)
    assert learned.window(AT) is None


def test_what_was_learned_can_be_forgotten(tmp_path: Path) -> None:
    learned = WindowCache(tmp_path)
    learned.learn(AT, 8_192, "overflow")
    learned.forget(AT)
    assert learned.window(AT) is None
