"""The transcript a session keeps by itself."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.session.test_session import agent, session
from tests.stores.conftest import small_disk  # noqa: F401  (a fixture)

from yohaku.core.recipe import FoldStarting
from yohaku.dialects.load import load
from yohaku.session import transcript


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def entries(path: Path) -> list[Any]:
    return list(transcript.read(path).entries)


def test_all_of_a_body_is_in_the_file_before_anything_of_it_is_folded(tmp_path: Path) -> None:
    path, seen = tmp_path / "talk.jsonl", []

    def before(folding: FoldStarting) -> None:
        seen.append(entries(path))

    s = session(4_000, transcript=path, before=before)
    for steps in (5, 14, 30):
        s.fit(agent(steps))
    assert seen == [agent(14), agent(30)]
    assert entries(path) == agent(30)


def test_foldings_are_written_before_what_they_give_is_handed_out_and_undoings_too(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    s = session(4_000, transcript=str(path))
    s.fit(agent(30))
    assert s.receipt and set(transcript.read(path).folds) == set(s.receipt.outcome.folds)
    s.undo()
    assert transcript.read(path).folds == ()
    s.redo()
    assert set(transcript.read(path).folds) == set(s.receipt.outcome.folds)


def test_a_turn_costs_what_it_adds(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    s = session(1_000_000, transcript=path)
    s.fit(agent(200))
    before = path.stat().st_size
    for steps in (201, 202, 202):
        s.fit(agent(steps))
    added = path.read_bytes()[before:]
    assert [json.loads(line)["entry"] for line in added.splitlines()] == agent(202)[-4:]


def test_what_was_said_is_not_compared_again_at_every_turn(tmp_path: Path) -> None:
    class Entry(dict[str, Any]):
        def __eq__(self, other: object) -> bool:
            compared.append(self)
            return super().__eq__(other)

        def __ne__(self, other: object) -> bool:
            return not self == other

        __hash__ = None  # type: ignore[assignment]

    compared: list[Any] = []
    with transcript.Transcript(tmp_path / "talk.jsonl") as written:
        body = [Entry(entry) for entry in agent(50)]
        written.record(body)
        compared.clear()
        more = [*body, *map(Entry, agent(51)[-2:])]
        written.record(more, len(body))
        assert compared == []
        written.record(more)
        assert len(compared) >= len(body)


def test_an_edit_early_on_is_written_down_as_going_back(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    s = session(100_000, transcript=path)
    s.fit(agent(10))
    edited = agent(11)
    edited[1] = {"role": "user", "content": "Break it."}
    s.fit(edited)
    assert entries(path) == edited
    assert [row["back"] for row in rows(path) if "back" in row] == [1]


def test_true_is_a_file_of_its_own_in_the_data_folder_that_only_its_owner_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.delenv("YOHAKU_DATA", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for steps in (10, 11):
        with session(4_000, transcript=True) as s:
            s.fit(agent(steps))
    folder = tmp_path / "share" / "yohaku" / "transcripts"
    assert sorted(len(entries(path)) for path in folder.iterdir()) == [22, 24]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent, tmp_path / "share")}
    assert modes == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_a_transcript_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    for steps in (10, 12):
        with session(4_000, transcript=path) as s:
            s.fit(agent(steps))
    assert entries(path) == agent(12)
    loaded = load(path.read_bytes())
    assert len(loaded.history.steps) == 12  # type: ignore[union-attr]


def test_a_transcript_that_cannot_be_written_is_told_once_and_tried_again(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file where a folder should be")
    path = tmp_path / "blocked" / "talk.jsonl"
    s, plain = session(4_000, transcript=path), session(4_000)
    for steps in (5, 20, 25):
        assert s.fit(agent(steps)) == plain.fit(agent(steps))
    assert [notice.code for notice in s.warnings] == ["transcript_failed"]
    assert str(path) in s.warnings[0].text
    (tmp_path / "blocked").unlink()
    s.fit(agent(26))
    assert entries(path) == agent(26) and len(s.warnings) == 1


def test_a_file_of_another_dialect_or_of_no_conversation_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    transcript.Transcript(path, "anthropic").close()
    other = tmp_path / "notes.txt"
    other.write_text("my notes\n")
    for taken in (path, other):
        before = taken.read_bytes()
        s = session(4_000, transcript=taken)
        s.fit(agent(20))
        assert taken.read_bytes() == before and [notice.code for notice in s.warnings] == ["transcript_failed"]


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_file_is_not_replaced_by_one(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "there"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    s = session(4_000, transcript=path)
    assert s.fit(agent(20)) == session(4_000).fit(agent(20))
    assert [notice.code for notice in s.warnings] == ["transcript_failed"]
    assert not path.is_file()


def test_a_full_disk_stops_no_conversation(small_disk: Path) -> None:  # noqa: F811
    path = small_disk / "talk.jsonl"
    s, plain = session(4_000, transcript=path), session(4_000)
    long = [*agent(10), {"role": "user", "content": "x" * 3_000_000}, {"role": "assistant", "content": "Ah."}]
    assert s.fit(agent(10)) == plain.fit(agent(10))
    for body in (long, [*long, {"role": "user", "content": "And?"}]):
        assert s.fit(body) == plain.fit(body)
    assert [notice.code for notice in s.warnings] == ["transcript_failed"]
    assert "No space left" in s.warnings[0].text
    assert entries(path)[:22] == agent(10)


def test_a_conversation_that_went_back_while_the_file_was_out_of_reach_is_written_as_it_is(tmp_path: Path) -> None:
    path, away = tmp_path / "talk" / "talk.jsonl", tmp_path / "away"
    session(1_000_000, transcript=path).fit(agent(10))
    path.parent.rename(away)
    path.parent.write_text("a file where a folder should be")
    s = session(1_000_000, transcript=path)
    other = [*agent(3), {"role": "assistant", "content": "Not so."}, {"role": "user", "content": "But how?"}]
    s.fit(other)
    path.parent.unlink()
    away.rename(path.parent)
    other += [{"role": "assistant", "content": "So."}, {"role": "user", "content": "Ah."}]
    s.fit(other)
    assert entries(path) == other


def test_fit_on_the_command_line_keeps_one_too(tmp_path: Path) -> None:
    given, path = tmp_path / "given.json", tmp_path / "talk.jsonl"
    given.write_text(json.dumps({"messages": agent(60)}))
    command = [sys.executable, "-m", "yohaku", "fit", str(given), "--window", "4000", "--store", "memory:", "-q"]
    subprocess.run([*command, "--transcript", str(path)], check=True, capture_output=True)
    assert entries(path) == agent(60) and transcript.read(path).folds
