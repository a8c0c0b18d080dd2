"""A wire format of another package is one file: everything works with it that works with ours."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agent.fakes import NDJSON, FakeServer, Played
from tests.agent.scripted import READ
from tests.dialects import telegraph
from tests.dialects.telegraph import Telegraph

from yohaku import plugins
from yohaku.agent.agent import Agent
from yohaku.agent.events import Event, TextDelta, ThoughtDelta, ToolFinished, TurnEnded
from yohaku.cli.main import main
from yohaku.client.endpoint import Endpoint
from yohaku.core.errors import BadSetting, Unreadable
from yohaku.dialects import dialect_named
from yohaku.dialects.detect import detect
from yohaku.session.session import Session
from yohaku.testing import ByteMeter


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(plugins, "_registered", {})
    plugins.register("dialects", "telegraph", Telegraph)
    yield


def body(steps: int = 3, size: int = 400) -> dict[str, Any]:
    wire: list[Any] = [{"from": "office", "text": "Be brief."}, {"from": "sender", "text": "Read them all."}]
    for number in range(steps):
        job = {"id": f"j{number}", "name": "read", "with": {"path": f"{number}.py"}}
        wire.append({"from": "engine", "text": f"File {number}.", "jobs": [job]})
        wire.append({"from": "clerk", "job": f"j{number}", "text": f"line {number} of a file\n" * size})
    return {"wire": wire, "kit": [{"name": "read", "description": "Reads.", "parameters": {}}], "colour": "blue"}


def lines(*events: dict[str, Any]) -> Played:
    return Played(tuple(json.dumps(event).encode() + b"\n" for event in events), kind=NDJSON)


def test_it_is_found_by_name_and_by_its_signs(registered: None) -> None:
    assert dialect_named("telegraph") is dialect_named("telegraph")
    assert detect(body()) == "telegraph"
    assert detect({"messages": [{"role": "user", "content": "Hi."}]}) == "openai_chat"


def test_it_is_unknown_until_it_is_registered() -> None:
    with pytest.raises(BadSetting, match="unknown dialect 'telegraph'"):
        dialect_named("telegraph")
    with pytest.raises(Unreadable):
        detect(body())


def test_it_is_found_where_a_package_lists_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(telegraph.__file__, tmp_path / "telegraph_of_others.py")
    installed = tmp_path / "telegraph-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: telegraph\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[yohaku.dialects]\ntelegraph = telegraph_of_others:Telegraph\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "_registered", {})
    assert detect(body()) == "telegraph"


def test_a_body_is_folded_only_where_a_fold_stands(registered: None) -> None:
    session = Session(6_000, dialect="telegraph", meter=ByteMeter())
    given = body()
    small = {**given, "wire": given["wire"][:2]}
    assert session.fit(small) is small
    out = session.fit(given)
    assert out["colour"] == "blue" and out["kit"] == given["kit"] and len(json.dumps(out)) < 8_000
    assert out["wire"][0] == given["wire"][0] and "Read them all." in json.dumps(out)
    assert [entry["from"] for entry in out["wire"]].count("engine") == [entry["from"] for entry in out["wire"]].count(
        "clerk"
    )
    refs = [fold.ref for fold in session.receipt.folds] if session.receipt else []
    assert refs and "line 0 of a file" in str(session.recall(refs[0]))


def test_the_command_line_counts_and_fits_it(registered: None, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(body()))
    assert main(["count", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] > 1_000
    assert main(["fit", str(file), "--window", "2048", "--dialect", "telegraph"]) == 0
    assert len(json.loads(capsys.readouterr().out)["wire"]) > 1


def test_the_agent_talks_through_it(registered: None, tmp_path: Path) -> None:
    looks = lines(
        {"hum": "Hm."},
        {"click": "I "},
        {"click": "look."},
        {"job": {"id": "j1", "name": "read", "with": {"path": "a.py"}}},
        {"stop": "done", "cost": {"in": 40, "out": 9}},
    )
    closing = lines({"click": "It holds "}, {"click": "x."}, {"stop": "done", "cost": {"in": 60, "out": 4}})

    async def work() -> tuple[list[Event], FakeServer]:
        async with FakeServer([looks, closing]) as server:
            there = Endpoint("Post", "post", "telegraph", server.url, "morse", "stamp")
            session = Session(20_000, dialect="telegraph", meter=ByteMeter())
            one = Agent(there, window=20_000, root=tmp_path, tools=(READ,), session=session)
            try:
                return [event async for event in one.work("What is in a.py?")], server
            finally:
                await one.close()

    events, server = asyncio.run(work())
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["I ", "look.", "It holds ", "x."]
    assert [event.text for event in events if isinstance(event, ThoughtDelta)] == ["Hm."]
    assert [event.result.text for event in events if isinstance(event, ToolFinished)] == ["the content of a.py"]
    assert isinstance(events[-1], TurnEnded) and events[-1].why == "done" and events[-1].text == "It holds x."
    first, second = server.asked
    assert (first.path, first.headers["x-stamp"], first.body["piecewise"]) == ("/send/morse", "stamp", True)
    assert first.body["kit"][0]["name"] == "read" and first.body["most"] > 0 and "model" not in first.body
    assert second.body["wire"][-2:] == [
        {"from": "engine", "text": "I look.", "jobs": [{"id": "j1", "name": "read", "with": {"path": "a.py"}}]},
        {"from": "clerk", "job": "j1", "text": "the content of a.py"},
    ]
