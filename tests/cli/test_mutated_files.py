"""Whatever is in a file, a command reads it or says in one line what is wrong."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from tests.doctor.damage import files
from tests.mutations import mutate_bytes, mutate_values

from yohaku.cli.main import MODULES, main
from yohaku.dialects import DIALECTS
from yohaku.dialects.load import Request, load

COUNT = int(os.environ.get("YOHAKU_DAMAGED", "200"))
"""How many mutated files; `YOHAKU_DAMAGED=10000` is the long run."""
MAX_RECORDING_BYTES = 4_000
COMMANDS_PER_FILE = 2

COMMANDS = (
    "fit FILE --window 3000 -q",
    "fit FILE --window 2000 --recipe local --dialect anthropic",
    "fit FILE --window 2000 --recipe snapshot --fold -q",
    "fit FILE --window 2000 --recipe layers --dialect gemini",
    "show FILE --window 2000",
    "show FILE",
    "count FILE --model gpt-4o",
    "count FILE --model claude-sonnet-4-5",
    "count FILE --text",
    "doctor FILE --out OUT",
    "export FILE --to openai_responses",
)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


def recordings(shared: Path) -> list[bytes]:
    """Return recorded sessions as they are, unpacked, and as a request in every dialect."""
    found = []
    for path in sorted((shared / "data").glob("*/*.jsonl.gz")):
        packed = path.read_bytes()
        if len(packed) > MAX_RECORDING_BYTES:
            continue
        loaded = load(packed, path.name)
        assert not isinstance(loaded, Request)
        requests = (dialect.compose(loaded.history, "gpt-4o") for dialect in DIALECTS.values())
        found += [
            packed,
            gzip.decompress(packed),
            *(json.dumps(each, ensure_ascii=False).encode() for each in requests),
        ]
    return found


@pytest.mark.slow
def test_no_mutated_file_ends_in_a_traceback(shared: Path, tmp_path: Path) -> None:
    healthy = [*recordings(shared), *files().values()]
    file = tmp_path / "file.json"
    found = []
    for seed in range(COUNT):
        chance = random.Random(seed)
        data = chance.choice((mutate_bytes, mutate_values))(chance.choice(healthy), chance)
        file.write_bytes(data)
        for command in chance.sample(COMMANDS, COMMANDS_PER_FILE):
            places = {"FILE": str(file), "OUT": str(tmp_path / "out.json")}
            try:
                code, _, errors = run([places.get(word, word) for word in command.split()])
            except Exception:
                found.append(f"{seed} {command}: {traceback.format_exc()[-500:]}")
                continue
            if code not in (0, 2, 3) or (code and not errors.startswith("yohaku: ")):
                found.append(f"{seed} {command}: ended with {code}: {errors[:300]}")
    assert found == []


def run(arguments: list[str]) -> tuple[int, bytes, str]:
    out, errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
        out.flush()
    return code, out.buffer.getvalue(), errors.getvalue()


IN_ANY_LANGUAGE = (
    "mcp --store nonsense:", "proxy --upstream nonsense: --store nonsense:", "run nobody", "fit missing --window 9",
    "show missing", "count missing", "recall", "recall aaaaaaaaaaaa", "recall --search x", "receipts",
    "why aaaaaaaaaaaa", "undo", "redo", "pin aaaaaaaaaaaa", "unpin aaaaaaaaaaaa", "pins", "collect", "doctor missing",
    "export missing --to anthropic", "config", "config nonsense", "lab run missing", "-p hi --model missing.gguf",
    "demo --window 1", "acp --model missing.gguf",
)  # fmt: skip
"""Each ends at once, most with an error, which is where sentences are looked up."""


@pytest.mark.parametrize("lang", ["fr_FR.UTF-8", "zh_CN.UTF-8", "C", "nonsense"])
@pytest.mark.parametrize("command", IN_ANY_LANGUAGE)
def test_a_language_that_is_not_ours_is_answered_in_english(
    command: str, lang: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LC_ALL")
    monkeypatch.setenv("LANG", lang)
    code, _, errors = run(command.split())
    assert code in (0, 2, 3, 4) and (not code or errors.count("\n") in (1, 3))


def test_every_command_is_tried_in_another_language() -> None:
    known = {command for commands in MODULES.values() for command in commands}
    assert {command.split()[0] for command in IN_ANY_LANGUAGE} | {"agent"} >= known - {"agent"}
