"""However a file is broken, the doctor mends it or says in one sentence that it cannot."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.checkers import DIALECTS as CHECKERS
from tests.dialects.recordings import told
from tests.doctor.damage import broken, disordered, files
from yohaku.core.errors import Unreadable
from yohaku.core.model import History, Opaque
from yohaku.dialects import DIALECTS
from yohaku.dialects.load import Request, load
from yohaku.dialects.recordings import Recording
from yohaku.doctor import Repaired, repair

COUNT = int(os.environ.get("YOHAKU_DAMAGED", "500"))
"""How many broken files; `YOHAKU_DAMAGED=10000` is the long run."""

HEALTHY = files()
NAMES = sorted(HEALTHY)


def problems(data: bytes) -> list[str]:
    """What the strict validators say to a file: in its own dialect, and to what it says in every dialect."""
    loaded = load(data)
    if not isinstance(loaded, Request):
        return composed_problems(loaded.history)
    found = [f"{loaded.dialect}: {why}" for why in CHECKERS[loaded.dialect].problems(loaded.value)]
    history = DIALECTS[loaded.dialect].read(loaded.value).history()
    return found + ["an open call"] * bool(history.pending) + composed_problems(history)


def composed_problems(history: History) -> list[str]:
    results = [use.result for step in history.steps for use in step.uses]
    # What a tool gave as a document has no place in a result of OpenAI chat, broken or not.
    documents = any(isinstance(part, Opaque) and part.kind != "image" for result in results for part in result.parts)
    names = [name for name in DIALECTS if not (documents and name == "openai_chat")]
    return [f"as {name}: {why}" for name in names for why in CHECKERS[name].problems(DIALECTS[name].compose(history))]


@pytest.mark.parametrize("name", NAMES)
def test_a_healthy_file_is_not_touched(name: str) -> None:
    assert repair(HEALTHY[name]) == Repaired(None)
    assert problems(HEALTHY[name]) == []


@pytest.mark.slow
def test_broken_files_are_repaired_or_refused_in_one_sentence() -> None:
    outcomes, wrong = treated(HEALTHY, COUNT)
    assert wrong == []
    assert outcomes["repaired"] > COUNT / 2
    assert outcomes["refused"] < COUNT / 20


def test_broken_recordings_are_repaired_or_refused(shared: Path) -> None:
    """The beginnings of the smallest recorded sessions, as each tool and dialect would have them."""
    sizes = sorted((path.stat().st_size, path) for path in (shared / "data").rglob("*.jsonl.gz"))
    recorded: dict[str, bytes] = {}
    for _, path in sizes[:8]:
        lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)[:25]
        begun = repair(b"".join(lines)).data or b"".join(lines)
        recorded |= {f"{path.name}, {name}": data for name, data in written(begun).items()}
    outcomes, wrong = treated(recorded, COUNT // 4)
    assert wrong == []
    assert outcomes["refused"] < COUNT / 80


def written(data: bytes) -> dict[str, bytes]:
    """A recording, and the same in every other form."""
    loaded = load(data)
    assert isinstance(loaded, Recording)
    made = {name: json.dumps(dialect.compose(loaded.history)).encode() for name, dialect in DIALECTS.items()}
    tools = (told.trajectory, told.claude_code, told.codex, told.gemini_cli, told.gemini_cli_lines)
    return {"as it is": data, **made, **{write.__name__: write(loaded.history) for write in tools}}


def treated(healthy: dict[str, bytes], count: int) -> tuple[Counter[str], list[str]]:
    """How so many broken files fared, and what went wrong."""
    names = sorted(healthy)
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(count):
        name = names[seed % len(names)]
        data = broken(healthy[name], random.Random(seed))
        try:
            repaired = repair(data)
        except Unreadable as refused:
            outcomes["refused"] += 1
            wrong += [f"{seed} {name}: {refused}"] * ("\n" in str(refused))
            continue
        outcomes["healthy" if repaired.data is None else "repaired"] += 1
        if repaired.data is None:
            loaded = load(data)
            found = CHECKERS[loaded.dialect].problems(loaded.value) if isinstance(loaded, Request) else []
            wrong += [f"{seed} {name}: called healthy, but {why}" for why in found]
        elif found := problems(repaired.data):
            wrong.append(f"{seed} {name}: {found[0]}")
        elif repair(repaired.data).data is not None:
            wrong.append(f"{seed} {name}: repaired again")
    return outcomes, wrong


WORDS = (
    "I look at both.",
    "def main()",
    "two files",
    "make test",
    "exit 2",
    "Found it.",
    "return 0",
    "直しました",
    "No.",
)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("transcript") and "pretty" not in name])
def test_entries_lost_doubled_or_out_of_order_cost_no_words(name: str) -> None:
    for seed in range(max(6, COUNT // 100)):
        data = disordered(HEALTHY[name], random.Random(seed))
        repaired = repair(data).data or data
        found, kept = set(words(data)), set(words(repaired))
        assert found <= kept, seed


def words(data: bytes) -> list[str]:
    return re.findall("|".join(map(re.escape, WORDS)), data.decode())


def test_packed_files_stay_packed_and_give_what_they_hold() -> None:
    lines = HEALTHY["trajectory"].splitlines(keepends=True)
    del lines[5]
    repaired = repair(gzip.compress(b"".join(lines)))
    assert repaired.data is not None
    assert gzip.decompress(repaired.data) == repair(b"".join(lines)).data
    half = gzip.compress(HEALTHY["trajectory"] * 1)
    torn = repair(half[:-30])
    assert torn.data is not None and problems(torn.data) == []
    assert torn.notes[0].code == "broken_gzip"


@pytest.mark.parametrize("junk", [b"", b" \n", b"\x00" * 50, b"[" * 100_000, b"{" * 100_000, b'"' * 9999, b"\xff" * 99])
def test_what_holds_no_words_is_refused(junk: bytes) -> None:
    with pytest.raises(Unreadable):
        repair(junk)
