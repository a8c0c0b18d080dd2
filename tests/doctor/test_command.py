from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.dialects.recordings import told
from yohaku.cli.main import main
from yohaku.doctor import path_beside

BROKEN = [{"role": "user", "content": "Go."}, {"role": "tool", "tool_call_id": "c9", "content": "x"}]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("YOHAKU_LANG", "en")


def test_a_repaired_file_stands_beside_the_original(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(BROKEN))
    assert main(["doctor", str(path)]) == 0
    out = tmp_path / "chat.repaired.json"
    assert capsys.readouterr().out.splitlines() == [
        "messages[1]: a result without its call (c9); kept as a text of the user",
        f"{path}: 1 repairs; written to {out}",
    ]
    assert json.loads(path.read_text()) == BROKEN
    assert main(["doctor", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: nothing to repair\n"


def test_the_original_is_never_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(BROKEN))
    (tmp_path / "link.json").symlink_to(path)
    for out in (path, tmp_path / "link.json"):
        assert main(["doctor", str(path), "--out", str(out)]) == 2
    assert "never written over" in capsys.readouterr().err
    assert json.loads(path.read_text()) == BROKEN
    assert main(["doctor", str(path), "--out", str(tmp_path / "b.json")]) == 0
    assert len(json.loads((tmp_path / "b.json").read_text())) == 2


def test_what_cannot_be_saved_is_one_line_and_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "junk.json"
    path.write_bytes(b"{}")
    assert main(["doctor", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["junk.json"]


@pytest.mark.parametrize(
    ("name", "repaired"),
    [
        ("a.json", "a.repaired.json"),
        ("a.b.jsonl.gz", "a.b.repaired.jsonl.gz"),
        ("session", "session.repaired"),
        (".hidden", ".hidden.repaired"),
        ("a.gz", "a.repaired.gz"),
    ],
)
def test_names_of_repaired_files(tmp_path: Path, name: str, repaired: str) -> None:
    assert path_beside(tmp_path / name) == tmp_path / repaired


def test_an_earlier_repair_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.repaired.json").touch()
    assert path_beside(tmp_path / "a.json") == tmp_path / "a.repaired-2.json"


def test_a_session_is_exported_to_a_dialect_and_to_a_transcript(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, mine = tmp_path / "claude.jsonl", tmp_path / "mine.jsonl"
    path.write_bytes(told.claude_code(told.sample()))
    assert main(["export", str(path), "--to", "gemini"]) == 0
    assert "contents" in json.loads(capsys.readouterr().out)
    assert main(["export", str(path), "--to", "transcript"]) == 2
    assert main(["export", str(path), "--to", "transcript", "--out", str(mine)]) == 0
    assert json.loads(mine.read_bytes().splitlines()[0])["dialect"] == "anthropic"
    assert main(["export", str(mine), "--to", "anthropic", "--out", str(tmp_path / "b.json")]) == 0
    assert json.loads((tmp_path / "b.json").read_text())["messages"][0] == {"role": "user", "content": "Fix the build."}


def test_the_set_up_is_checked_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.startswith("ok Python ")
