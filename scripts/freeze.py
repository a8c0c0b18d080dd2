"""Record what users can observe, and compare it later: for changes that must not change behaviour.

    python3 dev.py freeze             compare with tests/freeze/golden.json; exit 1 and list what differs
    python3 dev.py freeze --quick     the same with six sessions
    python3 dev.py freeze --write     record it again, after a change on purpose

Recorded: the help page of every command, the public names, exit codes, digests of folded requests (24 recorded
sessions × 3 windows × every recipe, and step by step with `auto`), and the figures of a small `lab run`.
Only digests and numbers are kept, no recorded text. Needs the folder of recorded sessions (YOHAKU_SHARED, ../shared).
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
GOLDEN = HERE / "tests" / "freeze" / "golden.json"
WINDOWS = (4096, 8192, 32768)
RECIPES = ("auto", "local", "chat", "chat-summary", "chat-hybrid", "cache", "layers", "snapshot")
DIALECTS = ("openai_chat", "anthropic", "gemini", "openai_responses", "ollama")
SESSIONS = 24
PREFIXES = 25
"""Fits of one growing conversation."""
COMMANDS = (
    (), ("fit",), ("show",), ("count",), ("demo",), ("doctor",), ("export",), ("recall",), ("receipts",), ("why",),
    ("collect",), ("undo",), ("redo",), ("pin",), ("unpin",), ("pins",), ("mcp",), ("config",), ("lab",),
    ("lab", "run"), ("lab", "exam"), ("proxy",), ("run",),
)  # fmt: skip


def shared() -> Path:
    return Path(os.environ.get("YOHAKU_SHARED") or HERE.parent / "shared")


def run(*argv: str, stdin: bytes = b"") -> tuple[int, str]:
    """Run a command in this process. Return its exit code and standard output."""
    from yohaku.cli.main import main

    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([*argv])
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 2
    finally:
        sys.stdin = before
    out.seek(0)
    return code, out.read()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def sample() -> list[Path]:
    """Return the largest and the median session of each source, by size, up to 24."""
    found: list[Path] = []
    for folder in sorted(path for path in (shared() / "data").iterdir() if path.is_dir()):
        by_size = sorted(folder.glob("*.jsonl.gz"), key=lambda path: (path.stat().st_size, path.name))
        if by_size:
            found += {by_size[-1]: 0, by_size[len(by_size) // 2]: 0}
    return found[:SESSIONS]


def messages(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a recorded session as OpenAI chat messages."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file][1:]
    for row in rows:
        message = {name: row[name] for name in ("role", "content", "tool_call_id") if name in row}
        if row.get("tool_calls"):
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in row["tool_calls"]
            ]
        yield message


def fold_session(job: tuple[int, Path]) -> dict[str, str]:
    """Return a digest of each folded body, with its verdict and sizes."""
    number, path = job
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        out, report = Path(folder, "out.json"), Path(folder, "report.json")
        for window in WINDOWS:
            for index, recipe in enumerate(RECIPES):
                dialect = DIALECTS[(number + index) % len(DIALECTS)]
                for file in (out, report):
                    file.unlink(missing_ok=True)
                code, _ = run(
                    "fit", str(path), "--window", str(window), "--recipe", recipe, "--dialect", dialect,
                    "--out", str(out), "--report", str(report), "--store", "memory:", "--quiet",
                )  # fmt: skip
                data = json.loads(report.read_bytes()) if report.exists() else {}
                facts = [code, *(data.get(name) for name in ("verdict", "before", "after", "limit", "exact"))]
                folds = [[fold[name] for name in ("kind", "ref", "before", "after")] for fold in data.get("folds", ())]
                body = out.read_bytes() if out.exists() else b""
                found[f"{path.name} {window} {recipe} {dialect}"] = digest(body + json.dumps([facts, folds]).encode())
    return found


def fold_steps(path: Path) -> dict[str, str]:
    """Return a digest of what one session returns while a conversation grows."""
    from yohaku import DoesNotFit, Session, YohakuError

    whole = list(messages(path))
    ends = [n for n in range(1, len(whole) + 1) if n == len(whole) or whole[n]["role"] == "assistant"]
    found = {}
    for window in WINDOWS:
        state = hashlib.sha256()
        session = Session(window, recipe="auto", model="gpt-4o")
        for end in ends[:: max(1, len(ends) // PREFIXES)]:
            try:
                state.update(json.dumps(session.fit(whole[:end]), ensure_ascii=False).encode("utf-8", "surrogatepass"))
            except DoesNotFit:
                state.update(b"does not fit")
            except YohakuError as error:
                state.update(type(error).__name__.encode())
        found[f"{path.name} {window}"] = state.hexdigest()[:16]
    return found


def help_pages() -> dict[str, str]:
    os.environ["COLUMNS"] = "80"
    return {" ".join(("yohaku", *command)): run(*command, "--help")[1] for command in COMMANDS}


def public_names() -> list[str]:
    import yohaku

    return sorted(yohaku.__all__)


def exit_codes() -> dict[str, int]:
    """Return the exit codes of misuse and bad input."""
    with tempfile.TemporaryDirectory() as folder:
        good, broken, huge = (str(Path(folder, name)) for name in ("good.json", "broken.json", "huge.json"))
        Path(good).write_text(json.dumps([{"role": "user", "content": "Hello."}]))
        Path(broken).write_text('[{"role": "user", "content": "Hel')
        system = {"role": "system", "content": "word " * 20_000}
        Path(huge).write_text(json.dumps([system, {"role": "user", "content": "Hello."}]))
        cases: dict[str, tuple[str, ...]] = {
            "version": ("--version",),
            "a file that fits": ("fit", good, "--window", "8192", "--store", "memory:"),
            "no such file": ("fit", f"{folder}/nowhere.json", "--window", "8192"),
            "broken JSON": ("fit", broken, "--window", "8192"),
            "no such recipe": ("fit", good, "--window", "8192", "--recipe", "nonsense"),
            "no such dialect": ("fit", good, "--window", "8192", "--dialect", "nonsense"),
            "a window that is no number": ("fit", good, "--window", "many"),
            "no such option": ("fit", good, "--nonsense"),
            "no such command": ("nonsense",),
            "a system prompt over the window": ("fit", huge, "--window", "4096", "--store", "memory:"),
            "show": ("show", good, "--window", "8192"),
            "count": ("count", good, "--model", "gpt-4o"),
            "count broken JSON": ("count", broken, "--model", "gpt-4o"),
            "no such ref": ("recall", "ref=aaaaaaaaaaaa", "--store", f"sqlite:///{folder}/store.db"),
            "not a ref": ("recall", "!", "--store", f"sqlite:///{folder}/store.db"),
            "doctor on broken JSON": ("doctor", broken),
            "lab without a path": ("lab", "run"),
        }
        return {name: run(*argv)[0] for name, argv in cases.items()}


def lab_figures() -> Any:
    paths = [str(path) for path in sample()[2:14:3]]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "lab.json")
        run("lab", "run", *paths, "--windows", "8192", "--recipes", "auto,sliding", "--sample", "6", "--out", str(out))
        windows = json.loads(out.read_bytes())["windows"]
    figures = {}
    for window, found in windows.items():
        for recipe, means in found["recipes"].items():
            figures[f"{window} {recipe}"] = {name: mean["mean"] for name, mean in means.items() if name != "cpu_ms"}
    return figures


def observe(sessions: int = SESSIONS) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HOME": home, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home, "LC_ALL": "C.UTF-8"}
        paths = sample()[:sessions]
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            folded = [pool.submit(fold_session, job) for job in enumerate(paths)]
            stepped = [pool.submit(fold_steps, path) for path in paths]
            found = {
                "public names": public_names(),
                "help": help_pages(),
                "exit codes": exit_codes(),
                "lab": lab_figures(),
                "folded": {key: value for done in folded for key, value in done.result().items()},
                "step by step": {key: value for done in stepped for key, value in done.result().items()},
            }
    return found


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key), new.get(key), f"{where} / {key}" if where else key)
    elif old != new:
        yield where if len(repr(old)) + len(repr(new)) > 120 else f"{where}: {old!r} -> {new!r}"


def main(argv: list[str] | None = None, show: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="compare six of the sessions only")
    parser.add_argument("--write", action="store_true", help="record again instead of comparing")
    arguments = parser.parse_args(argv)
    if not (shared() / "data").is_dir():
        show(f"freeze: no recorded sessions at {shared()}; set YOHAKU_SHARED to the folder that has them")
        return 2
    found = observe(6 if arguments.quick and not arguments.write else SESSIONS)
    if arguments.write:
        GOLDEN.parent.mkdir(parents=True, exist_ok=True)
        GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        show(f"freeze: written, {len(found['folded'])} folded requests")
        return 0
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    if arguments.quick:
        for part in ("folded", "step by step"):
            golden[part] = {key: golden[part][key] for key in found[part] if key in golden[part]}
    wrong = list(differences(golden, found))
    for line in wrong:
        show(line)
    show(f"freeze: {len(wrong)} differences in {len(found['folded'])} folded requests, help, names, exit codes, lab")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
