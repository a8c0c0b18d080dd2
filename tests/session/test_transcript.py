from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.checkers import DIALECTS as CHECKERS
from tests.dialects.recordings import told

from yohaku import Session
from yohaku.core.errors import BadSetting, Malformed, Unreadable
from yohaku.core.folds import Gist, Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Reply, Step, Text, Turn
from yohaku.core.originals import Slot
from yohaku.core.view import View
from yohaku.dialects import DIALECTS
from yohaku.dialects.load import load
from yohaku.dialects.recordings import Recording
from yohaku.dialects.recordings.transcript import transcribed
from yohaku.session.transcript import Transcript, compose_with_open_reply, export, import_session, read

LIVES = int(os.environ.get("YOHAKU_CRASHES", "80"))
"""How often a writer is killed; `YOHAKU_CRASHES=1000` is the long run."""

STUB = Stub("k1", Slot("result", 0, 1), "[folded]", "abcdefghijkl", "a result", "old", 900, 12)
GIST = Gist("k2", "[all of it]", "mnopqrstuvwx", "3 steps", "full", 9000, 120, ack="Understood.")


def entry(number: int, size: int = 0) -> dict[str, Any]:
    return {"role": "user", "content": f"{number} " + "余白 " * size}


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_transcript_is_a_header_and_a_line_for_each_entry_and_folding(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Transcript(path, "anthropic", "claude-x") as written:
        written.record({"model": "claude-x", "system": "Careful.", "messages": [entry(1)]})
        written.record_folds([STUB, GIST])
    header, beside, said, folding = lines(path)
    assert header == {"format": "yohaku-transcript-1", "dialect": "anthropic", "model": "claude-x"}
    assert (beside, said) == ({"beside": {"system": "Careful."}}, {"entry": entry(1)})
    assert folding["folds"][0] == {
        "key": "k1",
        "slot": ["result", 0, 1],
        "text": "[folded]",
        "ref": "abcdefghijkl",
        "what": "a result",
        "why": "old",
        "before": 900,
        "after": 12,
        "kind": "stub",
        "made_for": ["", 0, ""],
    }
    assert read(path).folds == (STUB, GIST)
    assert read(path).body == {"model": "claude-x", "system": "Careful.", "messages": [entry(1)]}


def test_what_is_undone_is_no_longer_folded(tmp_path: Path) -> None:
    with Transcript(tmp_path / "a.jsonl") as written:
        written.record_folds([STUB, GIST])
        written.record_undone([STUB])
    assert read(tmp_path / "a.jsonl").folds == (GIST,)


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Transcript(path) as written:
        written.record({"messages": [entry(1)], "tools": []})
        size = path.stat().st_size
        written.record({"messages": [entry(1)], "tools": []})
        assert path.stat().st_size == size
        written.record({"messages": [entry(1), entry(2)], "tools": []})
    assert lines(path)[2:] == [{"entry": entry(1)}, {"entry": entry(2)}]


def test_a_conversation_that_goes_back_says_so_and_keeps_what_was_said(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Transcript(path) as written:
        written.record([entry(1), entry(2), entry(3)])
        written.record([entry(1), entry(4)])
        written.back(1)
    assert lines(path)[1:] == [
        {"entry": entry(1)},
        {"entry": entry(2)},
        {"entry": entry(3)},
        {"back": 1},
        {"entry": entry(4)},
        {"back": 1},
    ]
    assert read(path).entries == (entry(1),)


def test_an_entry_edited_in_place_is_noticed(tmp_path: Path) -> None:
    said = [{"role": "user", "content": [{"type": "text", "text": "one"}]}]
    with Transcript(tmp_path / "a.jsonl") as written:
        written.record(said)
        said[0]["content"][0]["text"] = "two"  # type: ignore[index]
        written.record(said)
    assert read(tmp_path / "a.jsonl").entries == ({"role": "user", "content": [{"type": "text", "text": "two"}]},)


def test_one_cannot_go_back_to_what_was_never_said(tmp_path: Path) -> None:
    with Transcript(tmp_path / "a.jsonl") as written, pytest.raises(BadSetting):
        written.back(1)


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    Transcript(tmp_path / "deep" / "a.jsonl").close()
    assert stat.S_IMODE((tmp_path / "deep" / "a.jsonl").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a.jsonl"]


def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")
    with pytest.raises(Unreadable):
        Transcript(path)
    assert path.read_text() == "my notes\n"


def test_a_transcript_goes_on_in_its_own_dialect_only(tmp_path: Path) -> None:
    Transcript(tmp_path / "a.jsonl", "gemini").close()
    with pytest.raises(BadSetting):
        Transcript(tmp_path / "a.jsonl", "ollama")
    with pytest.raises(BadSetting):
        Transcript(tmp_path / "a.jsonl", "gemini", resume=False)


def test_an_empty_file_becomes_a_transcript(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    with Transcript(tmp_path / "a.jsonl") as written:
        written.add(entry(1))
    assert read(tmp_path / "a.jsonl").entries == (entry(1),)


def test_cut_anywhere_it_reads_and_goes_on_and_nothing_before_the_cut_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Transcript(path, "openai_chat", "m") as written:
        written.record({"messages": [entry(1, 2), entry(2, 2)], "user": "me"})
        written.record_folds([GIST])
    whole = path.read_bytes()
    header = whole.index(b"\n")
    for cut in range(header, len(whole) + 1):
        path.write_bytes(whole[:cut])
        acknowledged = read(path).entries
        assert len(acknowledged) >= whole[:cut].count(b'"entry"') - 1
        with Transcript(path) as written:
            assert written.found.entries == acknowledged
            written.add(entry(9))
        assert path.read_bytes().startswith(whole[:cut])
        assert read(path).entries == (*acknowledged, entry(9))
        assert isinstance(load(path.read_bytes()), Recording)


def test_a_torn_line_followed_by_others_is_reported_unless_a_writer_found_it(tmp_path: Path) -> None:
    header = b'{"format":"yohaku-transcript-1","dialect":"openai_chat","model":""}\n'
    with pytest.raises(Malformed) as caught:
        transcribed(header + b'{"entry":{"ro\n{"entry":{"role":"user","content":"x"}}\n')
    assert caught.value.where.startswith("line 2")
    found = transcribed(header + b'{"entry":{"ro\n{"to\n{"torn":true}\n{"entry":{"role":"user","content":"x"}}\n')
    assert found.entries == ({"role": "user", "content": "x"},)


@given(st.lists(st.text(st.characters(exclude_categories=()), min_size=1), min_size=1, max_size=5))
def test_every_text_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("texts") / "a.jsonl"
    said = [{"role": "user", "content": text} for text in texts]
    with Transcript(path) as written:
        written.record(said)
    assert read(path).entries == tuple(said)
    recording = load(path.read_bytes())
    assert isinstance(recording, Recording)
    assert [part for turn in recording.history.turns for part in turn.prompt] == [Text(text) for text in texts]


def test_what_is_no_json_is_refused_and_the_file_stays_whole(tmp_path: Path) -> None:
    with Transcript(tmp_path / "a.jsonl") as written:
        with pytest.raises(Malformed):
            written.add({"role": "user", "content": object()})
        written.add(entry(1))
    assert read(tmp_path / "a.jsonl").entries == (entry(1),)


def test_threads_write_whole_lines(tmp_path: Path) -> None:
    with Transcript(tmp_path / "a.jsonl") as written:

        def write(first: int) -> None:
            for number in range(first, first + 50):
                written.add(entry(number, 500))

        threads = [threading.Thread(target=write, args=(first,)) for first in (0, 50, 100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = sorted(int(said["content"].split()[0]) for said in read(tmp_path / "a.jsonl").entries)
    assert found == list(range(150))


@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
def test_a_full_disk_is_said_and_the_next_line_is_fresh(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    script = f"""
        import resource, signal
        from yohaku.session.transcript import Transcript
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        written = Transcript({str(path)!r})
        written.add({{"role": "user", "content": "kept"}})
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, resource.RLIM_INFINITY))
        try:
            written.add({{"role": "user", "content": "x" * 4000}})
        except OSError:
            print("full")
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        written.add({{"role": "user", "content": "room again"}})
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert ran.stdout == "full\n"
    assert [said["content"] for said in read(path).entries] == ["kept", "room again"]
    assert b"xxxx\n" in path.read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked writer")
def test_a_writer_killed_at_any_moment_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(7)
    acknowledged: list[int] = []
    path = tmp_path / "a.jsonl"
    for life in range(LIVES):
        if life % 5 == 0:
            path, acknowledged = tmp_path / f"{life}.jsonl", []
        first = (life + 1) * 1_000_000
        acknowledged += _killed_writer(path, first, chance)
        if not path.exists():
            continue
        numbers = [int(said["content"].split()[0]) for said in read(path).entries]
        assert set(acknowledged) <= set(numbers)
        assert numbers == sorted(numbers)
        if numbers:
            assert isinstance(load(path.read_bytes()), Recording)


def _killed_writer(path: Path, first: int, chance: random.Random) -> list[int]:
    """What a writer acknowledged before it was killed."""
    reads, writes = os.pipe()
    sizes = [chance.choice((1, 20, 3_000, 30_000)) for _ in range(40)]
    child = os.fork()
    if child == 0:
        try:
            written = Transcript(path)
            for number in range(first, first + 100_000):
                written.add(entry(number, sizes[number % 40]))
                os.write(writes, b"%d\n" % number)
        finally:
            os._exit(0)
    os.close(writes)
    time.sleep(chance.uniform(0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reads, "rb") as acknowledged:
        return [int(line) for line in acknowledged.read().split(b"\n")[:-1]]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_transcript_is_read_as_the_conversation_it_holds(tmp_path: Path, dialect: str) -> None:
    body = DIALECTS[dialect].compose(told.sample(), "m")
    with Transcript(tmp_path / "a.jsonl", dialect, "m") as written:
        written.record(body)
    recording = load((tmp_path / "a.jsonl").read_bytes())
    assert isinstance(recording, Recording)
    assert recording.history == DIALECTS[dialect].read(body).history()
    assert (recording.format, recording.model) == ("yohaku-transcript-1", "m")


TOOLS = (told.trajectory, told.claude_code, told.codex, told.gemini_cli, told.gemini_cli_lines)


@pytest.mark.parametrize("write", TOOLS, ids=lambda write: write.__name__)
def test_sessions_of_other_tools_are_brought_in_and_exported_to_any_dialect(tmp_path: Path, write: Any) -> None:
    source = tmp_path / "session.jsonl"
    source.write_bytes(write(told.sample()))
    brought = import_session(source, tmp_path / "mine.jsonl")
    original, mine = load(source.read_bytes()), load((tmp_path / "mine.jsonl").read_bytes())
    assert isinstance(original, Recording) and isinstance(mine, Recording)
    assert mine.history == original.history
    assert brought.model == original.model
    for name, checker in CHECKERS.items():
        assert checker.problems(export(tmp_path / "mine.jsonl", name)) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_open_reply_is_brought_in_too(dialect: str) -> None:
    calls = (Call("c1", "read", '{"path":"a"}'), Call("c2", "read", '{"path":"b"}'))
    history = history_of([Turn((Text("Go."),), (Step((Text("Yes."),)),)), Turn((Text("On."),))], pending=Reply(calls))
    found = DIALECTS[dialect].read(compose_with_open_reply(DIALECTS[dialect], history)).history()
    assert (found.turns, found.pending) == (history.turns, history.pending)


def test_a_session_resumes_from_its_transcript_with_its_folds(tmp_path: Path) -> None:
    messages: list[Any] = []
    for number in range(12):
        messages += [entry(number, 150), {"role": "assistant", "content": f"Answer {number}."}]
    messages.append(entry(12))
    session = Session(window=1_200)
    with Transcript(tmp_path / "a.jsonl") as written:
        written.record(messages)
        sent = session.fit(messages)
        assert session.receipt is not None and session.receipt.folds
        written.record_folds(session.receipt.folds)
    resumed = read(tmp_path / "a.jsonl")
    assert list(resumed.entries) == messages
    view = View(resumed.dialect.read(resumed.body).history()).with_(resumed.folds)
    assert resumed.dialect.write(messages, view) == sent


@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
def test_after_a_full_disk_the_file_says_what_the_next_call_says_and_no_entry_twice(tmp_path: Path) -> None:
    """Some lines of the call that failed are whole in the file, and one that goes back may be among them."""
    path = tmp_path / "a.jsonl"
    script = f"""
        import resource, signal
        from yohaku.session.transcript import Transcript
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        def said(*texts):
            return [{{"role": "user", "content": text}} for text in texts]

        def failing(room, act):
            resource.setrlimit(resource.RLIMIT_FSIZE, (written.path.stat().st_size + room, resource.RLIM_INFINITY))
            try:
                act()
            except OSError:
                print("full")
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

        written = Transcript({str(path)!r})
        written.record(said(*"abcdefghij"))
        failing(120, lambda: written.record(said(*"abc", "X", "Y" * 400)))
        written.record(said(*"abcdefgh", "Z"))
        failing(120, lambda: written.add(*said("1", "2" * 400)))
        written.add(*said("1", "2"))
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert ran.stdout == "full\nfull\n"
    assert [said["content"] for said in read(path).entries] == [*"abcdefgh", "Z", "1", "2"]
