"""Foldings as a user is told of them: in lines, with `-p`, as JSON, by hooks and by commands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.agent.fakes import Answering, Asked, Played, spoken
from tests.agent.lines import Lines, once, typed
from yohaku import plugins
from yohaku.testing import ByteMeter

SAID = spoken("openai_chat", "Done.")
HOOKS = {"hook_before": "cat > before.json", "hook_after": "cat > after.json"}


def reads(folder: Path, count: int, lines: int = 260) -> list[Played]:
    """A script that reads as many files, and the files."""
    for number in range(count):
        rows = (f"line {row} of file {number} has words of its own: {row * 7919 % 1000}\n" for row in range(lines))
        (folder / f"f{number}.txt").write_text("".join(rows))
    return [*(spoken("openai_chat", calls=[("read", {"path": f"f{number}.txt"})]) for number in range(count)), SAID]


def cleared(body: Any) -> int:
    return json.dumps(body).count("Old tool result content cleared")


def kinds(done: Lines, *wanted: str) -> list[str]:
    return [row["type"] for row in done.rows if row["type"] in wanted]


# Layer 1 is silent, layer 2 is told (P1, P10)


def test_old_results_are_cleared_without_a_word_and_without_a_hook(tmp_path: Path) -> None:
    done = once(reads(tmp_path, 8), "read them all", tmp_path, served=65_536, recipe="layers", **HOOKS)
    assert done.code == 0 and cleared(done.bodies[-1]) >= 4
    assert "fold" not in done.err.lower()
    assert not (tmp_path / "before.json").exists() and not (tmp_path / "after.json").exists()


def test_the_summary_near_the_limit_is_told_to_user_and_hooks(tmp_path: Path) -> None:
    done = once(reads(tmp_path, 8), "read them all", tmp_path, served=16_384, recipe="layers", **HOOKS)
    assert done.code == 0 and "Folded: " in done.err
    before, after = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("before", "after"))
    assert before["trigger"] == after["trigger"] == "auto" and after["after"] < after["before"]


def test_json_has_a_folding_for_the_second_layer_only(tmp_path: Path) -> None:
    quiet = once(reads(tmp_path, 8), "read them all", tmp_path, served=65_536, recipe="layers", json=True)
    assert cleared(quiet.bodies[-1]) >= 4 and kinds(quiet, "folded", "reused") == []
    assert [row for row in quiet.rows if row["type"] == "gauge"][-1]["foldings"] == 0
    told = once(reads(tmp_path, 8), "read them again", tmp_path, served=16_384, recipe="layers", json=True)
    assert "folded" in kinds(told, "folded")


# Folds that are used again (S8, law 10)


def test_folds_made_by_another_process_are_told_once(tmp_path: Path) -> None:
    script = reads(tmp_path, 6, 150)
    first = once(script, "read them all", tmp_path, served=8_192)
    assert "Folded: " in first.err and "used again" not in first.err
    again = once(script, "read them all", tmp_path, served=8_192, json=True)
    told = [row for row in again.rows if row["type"] == "reused"]
    refs = [ref for row in told for ref in row["refs"]]
    assert refs and len(set(refs)) == len(refs), "each once, and not with every request that shows it"
    assert all(row["after"] < row["before"] for row in told)
    assert all(f"ref={ref}" in json.dumps(again.bodies) for ref in refs)


def test_a_resumed_conversation_says_in_lines_that_folds_are_used_again(tmp_path: Path) -> None:
    script = reads(tmp_path, 6, 150)
    once(script, "read them all", tmp_path, served=8_192)
    done = typed([SAID], ["/resume " + newest_transcript(tmp_path), "go on", "and on"], tmp_path, served=8_192)
    assert done.err.count("Folded earlier, and used again: ") == 1


def newest_transcript(root: Path) -> str:
    found = sorted((root / "home").rglob("transcripts/*.jsonl"), key=lambda path: path.stat().st_mtime)
    return str(found[-1])


def test_another_window_folds_or_unfolds_and_says_so(tmp_path: Path) -> None:
    lines = ["read them all", "/window 8192", "/window 32768", "/window 8000"]
    done = typed(reads(tmp_path, 6, 150), lines, tmp_path, served=32_768)
    _, small, large, again = done.err.split("The window is ")
    assert "Folded: " in small and "Folded: " not in large and "used again" not in large
    assert "used again: " in again and "Folded: " not in again


def test_folds_used_again_are_told_in_japanese_too(tmp_path: Path) -> None:
    script = reads(tmp_path, 6, 150)
    once(script, "read them all", tmp_path, served=8_192, lang="ja")
    assert "以前の圧縮を引き続き使います: " in once(script, "read them all", tmp_path, served=8_192, lang="ja").err


# Nothing to do, bigger, refused, not to be counted (S5, S10)


REFUSES = {"hook_before": "exit 2"}


def compacted(tmp_path: Path, *before: str, script: Sequence[Answering] = (SAID,), **how: Any) -> str:
    return typed(script, [*before, "/compact"], tmp_path, **how).err.splitlines()[-1]


def test_compact_says_that_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert compacted(tmp_path) == "There is nothing to fold."
    assert compacted(tmp_path, lang="ja") == "圧縮するものはありません。"


def test_compact_says_that_it_would_be_bigger(tmp_path: Path) -> None:
    said = compacted(tmp_path, "hi", "ho", recipe="snapshot")
    assert said == "Folding would make it bigger, so everything stays as it is."


def test_compact_says_that_the_hook_refused(tmp_path: Path) -> None:
    said = compacted(tmp_path, "read them all", script=reads(tmp_path, 3), served=32_768, **REFUSES)
    assert said == "Your hook (hook_before) refused the folding, so everything stays as it is."


def test_compact_says_what_it_did(tmp_path: Path) -> None:
    said = compacted(tmp_path, "read them all", script=reads(tmp_path, 3), served=32_768)
    assert "→" in said and "folds" in said


def test_a_refusal_is_told_once_while_it_still_fits(tmp_path: Path) -> None:
    script = reads(tmp_path, 24, 8)
    done = once(script, "read them all", tmp_path, served=8_192, recipe="layers", **REFUSES)
    assert done.err.count("your hook (hook_before) refused: it goes on unfolded") == 1


def test_where_it_does_not_fit_unfolded_the_user_is_told_that_the_hook_is_why(tmp_path: Path) -> None:
    done = once(reads(tmp_path, 6), "read them all", tmp_path, served=8_192, **REFUSES)
    assert done.code == 3 and "your hook (hook_before) refused the folding. Nothing was sent" in done.err


class FailingMeter(ByteMeter):
    """Counts until it is told to fail."""

    works = True

    def __init__(self, model: str) -> None:
        self.model = model

    def count(self, text: str) -> int:
        if not self.works:
            raise RuntimeError("the vocabulary is gone")
        return super().count(text)


@pytest.mark.parametrize(("lang", "said"), [("en", "cannot count this: the voc"), ("ja", "トークンを数えられません")])
def test_compact_says_that_the_tokens_cannot_be_counted(
    lang: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Asked) -> Played:
        monkeypatch.setattr(FailingMeter, "works", False)
        return SAID

    monkeypatch.setattr(plugins, "_registered", {("meters", "m"): FailingMeter})
    done = typed([fail], ["hi", "/compact"], tmp_path, served=32_768, lang=lang)
    assert said in done.err.splitlines()[-1]


def test_compress_makes_a_snapshot_with_the_users_words(tmp_path: Path) -> None:  # S1
    script = iter([*reads(tmp_path, 3, lines=60), SAID, SAID])
    snapshot = "<state_snapshot><overall_goal>All files are to be read.</overall_goal></state_snapshot>"

    def answer(asked: Asked) -> Played:
        return spoken("openai_chat", snapshot) if "tools" not in asked.body else next(script)

    lines = ["read them all", "what is in them?", "/compress Keep the port 8443.", "and now?"]
    done = typed(answer, lines, tmp_path, served=32_768, recipe="snapshot")
    (question,) = (body for body in done.bodies if "tools" not in body)
    assert "state_snapshot" in json.dumps(question) and "Keep the port 8443." in json.dumps(question)
    *_, before, after = (body for body in done.bodies if "tools" in body)
    assert len(json.dumps(after)) < len(json.dumps(before)) and "All files are to be read." in json.dumps(after)
    assert after["messages"][-1]["content"] == "and now?"
