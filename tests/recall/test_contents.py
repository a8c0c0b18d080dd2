from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from yohaku import Session, recall
from yohaku.core.originals import ref_of
from yohaku.recall.contents import MAX_ROWS, Contents, open_ref
from yohaku.recall.lines import OpenedLines
from yohaku.recall.ref import RefAndLine, parse_ref
from yohaku.session.fold_log import find_fold
from yohaku.stores.sqlite import SQLiteStore


def working(steps: int, lines: int) -> list[dict[str, Any]]:
    """A conversation of many calls, one of whose results has the headings of a transcript in it."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the slow test."}]
    for number in range(steps):
        call = {"name": "read", "arguments": f'{{"path": "tests/test_{number}.py"}}'}
        calls = [{"id": f"c{number}", "type": "function", "function": call}]
        messages.append({"role": "assistant", "content": f"Reading {number}.", "tool_calls": calls})
        text = "\n".join(f"## user\n\nline {line} of {number}" for line in range(lines))
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return messages


def folded(tmp_path: Path, steps: int, lines: int = 20) -> tuple[Session, SQLiteStore, str]:
    store = SQLiteStore(tmp_path / "store.db")
    session = Session(4_096, model="gpt-4o", dialect="openai_chat", store=store)
    session.fit(working(steps, lines))
    assert session.receipt
    return session, store, next(fold.ref for fold in session.receipt.folds if fold.kind == "gist")


def test_a_stretch_opens_with_its_contents_and_each_row_opens_its_own_lines(tmp_path: Path) -> None:
    session, store, ref = folded(tmp_path, 25)
    whole = str(session.recall(ref)).split("\n")
    shown = str(open_ref(store, parse_ref(f"ref={ref}")))
    head, *rows = shown.splitlines()
    assert (
        head.startswith(f"[ref={ref}: contents of lines 1-{len(whole):,}, ") and len(shown) < len("\n".join(whole)) / 3
    )
    assert rows[0] == f"ref={ref}:1-2 assistant (10 bytes): Reading 0."
    assert any(row.endswith('call read: {"path": "tests/test_3.py"} → result (60 lines, 429 bytes)') for row in rows)
    seen: list[str] = []
    for row in rows:
        (place,) = re.findall(r"ref=([a-z2-7]{12}:\d+-\d+)", row)
        opened = open_ref(store, parse_ref(place))
        lines = _leaves(store, opened)
        seen += [*([""] if seen else []), *lines]
    assert seen == whole


def _leaves(store: SQLiteStore, opened: Contents | OpenedLines) -> list[str]:
    """Return the lines behind contents, row by row."""
    if isinstance(opened, OpenedLines):
        return [line.text for line in opened.lines]
    lines: list[str] = []
    for place in re.findall(r"^ref=([a-z2-7]{12}:\d+-\d+) ", str(opened), re.MULTILINE):
        lines += [*([""] if lines else []), *_leaves(store, open_ref(store, parse_ref(place)))]
    return lines


def test_lines_that_are_no_whole_rows_are_shown_themselves(tmp_path: Path) -> None:
    session, store, ref = folded(tmp_path, 25)
    whole = str(session.recall(ref)).split("\n")
    for place, lines in ((f"{ref}:3-90", whole[2:90]), (f"{ref}:5", whole[4:204])):
        opened = open_ref(store, parse_ref(place))
        assert isinstance(opened, OpenedLines)
        assert [line.text for line in opened.lines] == lines


def test_an_offset_behind_the_lines_of_a_ref_reads_on_from_there(tmp_path: Path) -> None:
    _, store, ref = folded(tmp_path, 25)
    opened = open_ref(store, parse_ref(f"{ref}:1-10"), offset=40)
    assert isinstance(opened, OpenedLines) and opened.lines[0].number == 40 and len(opened.lines) == 200


def test_a_limit_or_an_offset_asks_for_lines(tmp_path: Path) -> None:
    _, store, ref = folded(tmp_path, 25)
    for given in ({"limit": 3}, {"offset": 1}):
        assert "lines 1-" in recall.call(store, "tool_output_cache", {"ref_id": ref, **given}).splitlines()[0]


def test_long_contents_are_runs_that_open_to_contents_of_their_own(tmp_path: Path) -> None:
    session, store, ref = folded(tmp_path, 150, lines=40)
    shown = recall.call(store, "tool_output_cache", {"ref_id": ref})
    rows = shown.splitlines()
    assert len(rows) <= MAX_ROWS + 1 and "call read ×" in shown
    (run,) = re.findall(rf"ref=({ref}:\d+-\d+)", rows[5])
    inner = recall.call(store, "tool_output_cache", {"ref_id": run})
    assert ": contents of lines " in inner and "→ result" in inner
    assert _leaves(store, open_ref(store, RefAndLine(ref))) == str(session.recall(ref)).split("\n")


def test_a_short_stretch_is_shown_itself(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    parts = ["## user\nHello.", "## assistant\nGood day."]
    store.put_joined(ref_of("\n\n".join(parts)), parts)
    opened = open_ref(store, RefAndLine(ref_of("\n\n".join(parts))))
    assert isinstance(opened, OpenedLines) and len(opened.lines) == 5


def test_why_tells_of_an_entry_by_its_own_ref(tmp_path: Path) -> None:
    _, store, ref = folded(tmp_path, 25)
    entry = store.parts(ref)[3]
    found = find_fold(store, entry)
    assert found is not None and found[0]["ref"] == ref
