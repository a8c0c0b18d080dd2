"""Hooks as docs/hooks.md shows them, installed as it says, on the program as a user starts it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.agent.fakes import FakeServer, spoken
from tests.cli.test_main import session_of

from yohaku.cli.main import main

pytestmark = pytest.mark.usefixtures("project")
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "hooks.md").read_text("utf-8")


def block(title: str, kind: str) -> str:
    """A block of code of the page, under a title."""
    return PAGE.partition(title)[2].partition(f"```{kind}\n")[2].partition("```")[0]


@pytest.fixture
def home() -> Path:
    """Config file and script, word for word and where the page has them."""
    home = Path(os.environ["HOME"])
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "yohaku" / "config.toml"
    for path, text in (
        (config, block("# Hooks", "toml")),
        (home / "bin" / "save_copy.py", block("## Save a copy", "python")),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return home


def test_the_documented_copy_holds_everything_said_before_the_folding(
    home: Path, project: Path, serve: Callable[..., FakeServer], capfd: pytest.CaptureFixture[str]
) -> None:  # S6, S10
    for number in range(6):
        rows = (f"line {row} of file {number} has words of its own: {row * 7919 % 1000}\n" for row in range(150))
        (project / f"f{number}.txt").write_text("".join(rows))
    reads = [spoken("openai_chat", calls=[("read", {"path": f"f{number}.txt"})]) for number in range(6)]
    server = serve(*reads, spoken("openai_chat", "Done."))
    assert main(["--model", f"{server.url}/v1#m", "-p", "read them all"]) == 0
    said = capfd.readouterr().err
    copies = sorted((home / "conversations").glob("*-auto.jsonl"), key=lambda path: path.stat().st_size)
    assert len(copies) == said.count("Folded: ") > 0, said
    whole = copies[-1].read_text()
    assert all(f"line 0 of file {number} has" in whole for number in range(4)) and "read them all" in whole
    after = [json.loads(line) for line in (home / "foldings.jsonl").read_text().splitlines()]
    assert [row["event"] for row in after] == ["after_folding"] * len(copies)
    assert {copies[0].name[:8]} == {row["session_id"][:8] for row in after}
    assert all(Path(row["transcript_path"]).is_file() for row in after)
    assert main(["show", str(copies[-1])]) == 0 and "read them all" in capfd.readouterr().out
    assert main(["--model", f"{server.url}/v1#m", "--resume", str(copies[-1]), "-p", "go on"]) == 0


def test_fit_runs_the_hooks_too_and_a_refusal_is_its_own_verdict(
    home: Path, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:  # S5, S6
    (project / "in.json").write_text(json.dumps(session_of(40)))
    fit = ["fit", "in.json", "--out", "out.json", "--report", "report.json"]
    assert main([*fit, "--window", "4096", "--transcript", "talk.jsonl"]) == 0
    (copy,) = (home / "conversations").iterdir()
    assert "Read the logs" in copy.read_text()
    capfd.readouterr()
    assert main([*fit, "--window", "128000", "--fold", "--hook-before", "exit 2"]) == 0
    assert "the hook refused the folding" in capfd.readouterr().err
    assert json.loads((project / "report.json").read_text())["verdict"] == "refused"
    assert json.loads((project / "out.json").read_text()) == session_of(40)
    assert main([*fit, "--window", "4096", "--hook-before", "exit 2"]) == 3
    assert json.loads((project / "report.json").read_text())["verdict"] == "too_big"


def test_without_a_transcript_the_documented_copy_is_passed_over_and_that_is_told(
    home: Path, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / "in.json").write_text(json.dumps(session_of(40)))
    assert main(["fit", "in.json", "--window", "4096", "--out", "out.json"]) == 0
    assert "save_copy.py: " in capfd.readouterr().err and not list((home / "conversations").iterdir())
