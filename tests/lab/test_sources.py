from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from yohaku.core.errors import Unreadable
from yohaku.lab.sources import files, held_out, source_of

NAMES = (
    "agentv aider-history aider-swe-bench asdc-ja cipher-box context-evaluator entire-cli mini-swe-gemini3 nimbus "
    "openhands pi-mono repiq swe-agent tau-bench"
).split()


def test_the_sources_kept_apart_stay_the_same() -> None:
    apart = [name for name in NAMES if held_out(name)]
    assert apart == ["aider-swe-bench", "cipher-box", "context-evaluator", "pi-mono", "repiq"]


def test_a_third_of_all_names_is_kept_apart() -> None:
    assert 300 < sum(held_out(f"source {number}") for number in range(1_000)) < 370


def test_a_source_is_told_by_the_header_or_the_folder(tmp_path: Path) -> None:
    header = json.dumps({"format": "trajectory-v1", "source": "here"}).encode()
    packed, plain, bare, broken = (tmp_path / name for name in ("a.jsonl.gz", "b.jsonl", "c.json", "d.json.gz"))
    packed.write_bytes(gzip.compress(header + b"\n{}\n"))
    plain.write_bytes(header)
    bare.write_text("[]")
    broken.write_bytes(b"\x1f\x8bnot gzip")
    assert [source_of(path) for path in (packed, plain, bare, broken)] == ["here", "here", tmp_path.name, tmp_path.name]


def test_folders_are_searched_and_each_file_is_taken_once(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.jsonl", "deep/a.json", "notes.md"):
        (tmp_path / name).write_text("{}")
    found = list(files([str(tmp_path), str(tmp_path / "b.jsonl"), str(tmp_path / "notes.md")]))
    assert [path.name for path in found] == ["b.jsonl", "a.json", "notes.md"]
    with pytest.raises(Unreadable, match="there is no such file or folder"):
        list(files([str(tmp_path / "missing")]))
