"""Every tool output has a ref with its size as data: in events, transcript, report and session. O1, O8."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.benches import ABench
from tests.agent.scripted import agent, calls, play, says, sent, tool
from tests.cli.test_agent import run as run_cli
from tests.config.test_options import chat_of, run, with_output
from yohaku.agent.events import ToolFinished, to_fields
from yohaku.agent.toolkit.tool import Arguments, ToolContext, ToolResult
from yohaku.agent.tools import tool_named
from yohaku.config.settings import Settings
from yohaku.core.originals import OutputRef, output_ref_of
from yohaku.dialects.recordings.transcript import transcribed
from yohaku.session.session import Session
from yohaku.testing import ByteMeter

LONG = "".join(f"line {number} of the log\n" for number in range(5_000))


async def give_long(context: ToolContext, arguments: Arguments) -> ToolResult:
    return ToolResult(LONG)


async def give_short(context: ToolContext, arguments: Arguments) -> ToolResult:
    return ToolResult("two\nlines")


TOOLS = (tool("read", give_short), tool("log", give_long))


def talk(root: Path) -> tuple[Any, list[ToolFinished]]:
    lines = (says("", calls("read", 1)), says("", calls("log", 2)), says("Done."))
    one = agent(root, *lines, tools=TOOLS, window=60_000, settings=Settings(data=root / "data"), session=session(root))
    finished = [event for event in play(one, "Look.") if isinstance(event, ToolFinished)]
    return one, finished


def session(root: Path) -> Session:
    store = f"sqlite:///{root}/store.db"
    return Session(60_000, dialect="openai_chat", meter=ByteMeter(), store=store, transcript=root / "talk.jsonl")


def test_every_output_has_its_ref_in_the_event_and_opens_by_it(tmp_path: Path) -> None:
    one, (short, long) = talk(tmp_path)
    assert to_fields(short)["output_ref"] == {"id": output_ref_of("two\nlines").id, "byte_size": 9, "line_count": 2}
    assert long.output == OutputRef(output_ref_of(LONG).id, len(LONG), 5_000)
    assert len(long.result.text) < len(LONG) and f"ref={long.output.id}" in long.result.text
    assert one.session.recall(long.output.id) == LONG and one.session.recall(short.output.id) == "two\nlines"


def test_the_session_tells_it_by_the_id_of_the_call_and_the_model_is_sent_none_of_it(tmp_path: Path) -> None:
    one, (short, long) = talk(tmp_path)
    assert one.session.output_ref("call_2") == long.output and one.session.output_ref("call_1") == short.output
    assert one.session.output_ref("call_3") is None
    assert [(each.call, each.tool, each.output_ref) for each in one.session.outputs] == [
        ("call_1", "read", short.output),
        ("call_2", "log", long.output),
    ]
    assert "output_ref" not in json.dumps(sent(one)) and "byte_size" not in json.dumps(sent(one))


def test_it_stands_in_the_transcript_and_is_there_again_after_resuming(tmp_path: Path) -> None:
    one, (short, long) = talk(tmp_path)
    one.session.close()
    path = tmp_path / "talk.jsonl"
    assert transcribed(path.read_bytes()).outputs == {"call_1": short.output, "call_2": long.output}
    other = agent(tmp_path, says("Yes."), tools=TOOLS, window=60_000)
    other.resume(path)
    play(other, "And?")
    assert other.session.output_ref("call_2") == long.output


def test_all_of_a_long_command_is_kept_whatever_the_room(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    given = bench.use("bash", command="seq 1 200000")
    assert given.output and bench.session
    expected = "".join(f"{number}\n" for number in range(1, 200_001))
    assert given.output == output_ref_of(expected) and bench.session.recall(given.output.id) == expected


def test_what_of_a_file_did_not_fit_is_kept_as_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(LONG)
    one = agent(tmp_path, says("", calls("read", path="a.log")), says("ok"), tools=(tool_named("read"),), window=20_000)
    finished, *_ = [event for event in play(one, "What is in it?") if isinstance(event, ToolFinished)]
    assert finished.output and finished.output.byte_size > len(finished.result.text)
    assert str(one.session.recall(finished.output.id)).startswith("1\tline 0 of the log\n2\t")


@pytest.mark.parametrize(("recipe", "more"), [("auto", ["--fold"]), ("cache", [])])
def test_the_report_of_a_fit_lists_every_output_with_its_ref(recipe: str, more: list[str], tmp_path: Path) -> None:
    rows = [f"row {number}" for number in range(40)]
    body = [*with_output(rows, 1), *with_output(["one"], 2), *chat_of(3), {"role": "user", "content": "And?"}]
    report, store = tmp_path / "report.json", f"sqlite:///{tmp_path}/store.db"
    given = json.dumps({"model": "gpt-4o", "messages": body})
    options = ["--window", "8192", "--recipe", recipe, "--report", str(report), "--store", store, *more]
    done = run("fit", "-", *options, stdin=given)
    assert done.returncode == 0 and "output_ref" not in done.stdout and "byte_size" not in done.stdout
    assert (json.loads(done.stdout)["messages"] == body) == (recipe == "cache")
    first, second = json.loads(report.read_text())["outputs"]
    text = "\n".join(rows)
    ref = {"id": output_ref_of(text).id, "byte_size": len(text), "line_count": 40}
    assert first == {"call": "c1", "tool": "bash", "output_ref": ref} and second["output_ref"]["line_count"] == 1
    opened = run("recall", ref["id"], "--raw", "--store", store)
    assert opened.stdout == text


def test_the_recipe_cache_keeps_every_output_as_it_arrives() -> None:
    fitted = Session(60_000, 0, "cache", meter=ByteMeter())
    body = [*with_output(["all of it"], 1), {"role": "user", "content": "And?"}]
    fitted.fit(body)
    assert fitted.recall(output_ref_of("all of it").id) == "all of it"
    plain = Session(60_000, 0, "auto", meter=ByteMeter())
    plain.fit(body)
    ref = plain.output_ref("c1")
    assert ref and plain.recall(ref.id) == "all of it", "elsewhere it is kept once somebody asks for its ref"


def test_a_line_of_json_carries_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    from tests.agent.fakes import FakeServer, spoken

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("YOHAKU_DATA", str(tmp_path / "data"))

    async def serve() -> None:
        script = [spoken("openai_chat", calls=[("bash", {"command": "seq 1 20000"})]), spoken("openai_chat", "Done.")]
        async with FakeServer(script) as server:
            await asyncio.to_thread(run_cli, server, "-p", "count", "--yolo", "--json")

    asyncio.run(serve())
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    (called,) = [row for row in rows if row["type"] == "called"]
    assert called["output_ref"] == output_ref_of("".join(f"{n}\n" for n in range(1, 20_001)))._asdict()
