from __future__ import annotations

import json
import os
from pathlib import Path

from yohaku.agent.sessions import StoredSession, find_session, list_sessions


def write(folder: Path, name: str, at: float, *entries: object) -> Path:
    path = folder / "transcripts" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(json.dumps(each) for each in ({"format": "x"}, *({"entry": e} for e in entries))))
    os.utime(path, (at, at))
    return path


def test_the_newest_comes_first_titled_by_what_was_asked_in_any_dialect(tmp_path: Path) -> None:
    system = {"role": "system", "content": "be brief"}
    one = write(tmp_path, "a1.jsonl", 10, system, {"role": "user", "content": [{"type": "text", "text": "Fix  it"}]})
    two = write(tmp_path, "a2.jsonl", 20, {"role": "user", "parts": [{"text": "直して"}]})
    write(tmp_path, "empty.jsonl", 30)
    assert list_sessions(tmp_path) == [StoredSession(two, 20.0, "直して"), StoredSession(one, 10.0, "Fix it")]
    assert list_sessions(tmp_path, 1) == [StoredSession(two, 20.0, "直して")]


def test_one_is_named_by_file_by_the_beginning_of_its_id_or_not_at_all(tmp_path: Path) -> None:
    one = write(tmp_path, "b1.jsonl", 10, {"role": "user", "content": "x"})
    two = write(tmp_path, "a2.jsonl", 20, {"role": "user", "content": "y"})
    assert (find_session(tmp_path, ""), find_session(tmp_path, "b"), find_session(tmp_path, str(one))) == (
        two,
        one,
        one,
    )
    assert find_session(tmp_path, "zz") is None and find_session(tmp_path / "nowhere", "") is None


def test_what_is_broken_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", 10, 5, {"role": "user"}, {"role": "user", "content": 7})
    path.write_bytes(path.read_bytes() + b"\n\xff\xfe{")
    assert list_sessions(tmp_path) == []


def test_what_cannot_be_the_name_of_a_file_names_no_session(tmp_path: Path) -> None:
    assert [find_session(tmp_path, name) for name in ("~nobody-of-this-name/x", "a" * 5_000)] == [None, None]
