"""An estimate is marked as one wherever its number is seen, its risk is said once for a model, and its gap is kept."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.agent.fakes import Asked, FakeServer, Played, spoken
from tests.tui.seen import run as run_screen
from tests.tui.seen import seen, send
from textual.pilot import Pilot

from yohaku.agent.startup import Starter
from yohaku.cli import main
from yohaku.config import settings
from yohaku.tui.app import YohakuApp

pytestmark = pytest.mark.usefixtures("project")

Serve = Callable[..., FakeServer]
RISK = "may still refuse"


def bill(body: dict[str, Any]) -> int:
    """Return a token for three characters, and 40 that the provider adds itself."""
    text = "".join(str(entry["content"]) for entry in body["messages"])
    return 40 + len(text + json.dumps(body.get("tools") or "")) // 3


def billed(asked: Asked) -> Played:
    return spoken("openai_chat", "Hello.", prompt=bill(asked.body))


def ask(server: FakeServer, *arguments: str) -> int:
    return main.main(["--model", f"{server.url}/v1#m", *arguments])


@pytest.mark.parametrize("how", [(), ("--chat",), ("--json",)])
def test_one_task_says_the_risk_once_for_a_model(
    serve: Serve, capfd: pytest.CaptureFixture[str], how: tuple[str, ...]
) -> None:
    server = serve(billed)
    said = []
    for _ in range(2):
        assert ask(server, *how, "-p", "say hello") == 0
        out, err = capfd.readouterr()
        said.append((out if "--json" in how else err).count(RISK))
    assert said == [1, 0]


def test_the_risk_is_said_in_japanese_with_the_way_to_exact_counts(
    serve: Serve, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ask(serve(billed), "--lang", "ja", "-p", "hi") == 0
    assert "API に拒否される場合があります。正確に数えるには: --tokenizer FILE" in capfd.readouterr().err


def test_an_estimate_stays_one_after_the_reply(serve: Serve, capfd: pytest.CaptureFixture[str]) -> None:
    assert ask(serve(billed), "-p", "say hello", "--json") == 0
    gauges = [row for line in capfd.readouterr().out.splitlines() if (row := json.loads(line))["type"] == "gauge"]
    assert gauges and not any(gauge["exact"] for gauge in gauges)


def test_the_screen_marks_it_and_context_shows_the_gap(serve: Serve, project: Path) -> None:
    server = serve(billed)
    how = settings.with_flags(settings.read(), {"model": f"{server.url}/v1#m"})
    app = YohakuApp(Starter(how, project))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "say hello")
        assert RISK in " ".join(seen(app).split())
        assert "~" in seen(app)
        await send(pilot, "/context")
        assert "billed" in seen(app)
        assert app.agent
        await app.agent.close()

    run_screen(app, script, (140, 60))


def test_an_exact_count_is_not_warned_of(serve: Serve, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(LETTERS), encoding="utf-8")
    assert ask(serve(billed), "--tokenizer", str(tmp_path / "tokenizer.json"), "-p", "hi", "--json") == 0
    out = capfd.readouterr().out
    assert RISK not in out
    assert all(row["exact"] for line in out.splitlines() if (row := json.loads(line))["type"] == "gauge")


def test_the_gap_is_kept_shown_and_tunes_the_next_start(serve: Serve, capfd: pytest.CaptureFixture[str]) -> None:
    assert main.main(["count", "--gap"]) == 0
    assert "Nothing has been billed yet" in capfd.readouterr().err
    server = serve(billed)
    used = []
    for _ in range(2):
        assert ask(server, "-p", "say hello " * 300, "--chat", "--json") == 0
        rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        used.append(next(row["used"] for row in rows if row["type"] == "gauge"))
    *_, reported = bills = [bill(asked.body) for asked in server.asked]
    assert abs(used[1] - reported) < abs(used[0] - reported), "the second start knew no better than the first"
    assert used[1] >= reported, "on the safe side"
    assert main.main(["count", "--gap", "--json"]) == 0
    (row,) = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert (row["model"], row["replies"]) == ("m", 2) and row["billed"] == sum(bills)
    assert main.main(["count", "--gap"]) == 0
    shown = capfd.readouterr().out
    assert "next start" in shown and f"{sum(bills):,}" in shown


def test_counting_and_fitting_say_it_too(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    body = tmp_path / "body.json"
    body.write_text(json.dumps({"model": "grok-9", "messages": [{"role": "user", "content": "hi"}]}), encoding="utf-8")
    for command in (["count", str(body)], ["fit", str(body), "--window", "4096"], ["count", str(body)]):
        assert main.main(command) == 0
    out, err = capfd.readouterr()
    assert err.count(RISK) == 1 and '"exact": false' in out


def test_a_tokenizer_that_is_not_there_is_said_in_a_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"hi")))
    assert main.main(["count", "--text", "--model", "m", "--tokenizer", "nowhere.json"]) == 2
    err = capfd.readouterr().err
    assert "nowhere.json" in err and err.count("\n") == 1


LETTERS = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True},
    "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True},
    "model": {"type": "BPE", "vocab": {"h": 0, "i": 1}, "merges": []},
}
