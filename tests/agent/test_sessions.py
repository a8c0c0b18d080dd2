from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.agent.scripted import HERE
from yohaku.agent.agent import Agent
from yohaku.agent.sessions import StoredSession, count_messages, find_session, format_age, list_sessions
from yohaku.config.settings import Settings


def write(folder: Path, name: str, at: float, *entries: object, **about: Any) -> Path:
    path = folder / "transcripts" / name
    path.parent.mkdir(exist_ok=True)
    rows = ({"format": "x", **about}, *({"entry": e} for e in entries))
    path.write_text("\n".join(json.dumps(each, separators=(",", ":")) for each in rows))
    os.utime(path, (at, at))
    return path


def test_the_newest_comes_first_titled_by_what_was_asked_in_any_dialect(tmp_path: Path) -> None:
    system = {"role": "system", "content": "be brief"}
    one = write(tmp_path, "a1.jsonl", 10, system, {"role": "user", "content": [{"type": "text", "text": "Fix  it"}]})
    two = write(tmp_path, "a2.jsonl", 20, {"role": "user", "parts": [{"text": "直して"}]})
    write(tmp_path, "empty.jsonl", 30)
    assert list_sessions(tmp_path) == [StoredSession(two, 20.0, "直して"), StoredSession(one, 10.0, "Fix it")]
    assert list_sessions(tmp_path, 1) == [StoredSession(two, 20.0, "直して")]


def test_one_is_named_by_file_by_the_beginning_of_its_id_or_not_at_all(tmp_path: Path) -> None:
    one = write(tmp_path, "b1.jsonl", 10, {"role": "user", "content": "x"})
    two = write(tmp_path, "a2.jsonl", 20, {"role": "user", "content": "y"})
    assert (find_session(tmp_path, ""), find_session(tmp_path, "b"), find_session(tmp_path, str(one))) == (
        two,
        one,
        one,
    )
    assert find_session(tmp_path, "zz") is None and find_session(tmp_path / "nowhere", "") is None


def test_what_is_broken_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", 10, 5, {"role": "user"}, {"role": "user", "content": 7})
    path.write_bytes(path.read_bytes() + b"\n\xff\xfe{")
    assert list_sessions(tmp_path) == []


def test_what_cannot_be_the_name_of_a_file_names_no_session(tmp_path: Path) -> None:
    assert [find_session(tmp_path, name) for name in ("~nobody-of-this-name/x", "a" * 5_000)] == [None, None]


def ask(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def test_sessions_are_those_of_the_folder_unless_all_are_wanted(tmp_path: Path) -> None:
    one = write(tmp_path, "a.jsonl", 10, ask("here"), root=str(tmp_path))
    two = write(tmp_path, "b.jsonl", 20, ask("elsewhere"), root="/elsewhere")
    three = write(tmp_path, "c.jsonl", 30, ask("nobody knows where"))
    assert [each.path for each in list_sessions(tmp_path)] == [three, two, one]
    assert [each.path for each in list_sessions(tmp_path, root=tmp_path)] == [one]
    assert find_session(tmp_path, "", tmp_path) == one
    assert find_session(tmp_path, "b", tmp_path) == two, "by its id it is found from anywhere"


def test_a_session_that_went_on_in_another_file_is_listed_once_and_a_sub_agent_never(tmp_path: Path) -> None:
    one = write(tmp_path, "a.jsonl", 10, ask("begun"))
    write(tmp_path, "b.jsonl", 20, ask("begun"), continues="a")
    three = write(tmp_path, "c.jsonl", 30, ask("begun"), continues="b")
    write(tmp_path, "d.jsonl", 40, ask("helps"), beside=True)
    assert [each.path for each in list_sessions(tmp_path)] == [three]
    assert find_session(tmp_path, "a") == one, "what the user noted down still opens"


def test_a_row_tells_title_age_and_length(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", 1_000, ask("Fix it"), {"role": "assistant", "content": "Done"}, root="/p")
    with path.open("a") as file:
        file.write('\n{"entry":{}}\n{"back":2}\n')
    assert count_messages(path) == 2
    (session,) = (StoredSession(path, 1_000, "Fix it", "/p"),)
    assert session.describe("en", 1_000 + 3 * 3600) == "Fix it · 3 hours ago · 2 messages · a"
    assert session.describe("ja", 1_000 + 90, with_folder=True) == "Fix it · 1 分前 · 2 件 · a  /p"
    assert [format_age(seconds, "en") for seconds in (5, 3_700, 90_000, 200_000)] == [
        "just now", "1 hour ago", "yesterday", "2 days ago",
    ]  # fmt: skip


def test_another_window_and_another_wire_format_make_no_second_session_in_the_list(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    agent = Agent(HERE, window=8192, root=project, tools=(), settings=Settings(data=tmp_path))
    agent.context.add_prompt("Remember the port")

    async def work() -> None:
        await agent.context.fit()
        await agent.switch(HERE, 4096)
        await agent.switch(replace(HERE, dialect="anthropic"), 8192)
        await agent.close()

    asyncio.run(work())
    assert len(list((tmp_path / "transcripts").glob("*.jsonl"))) == 3
    (session,) = list_sessions(tmp_path, root=project)
    assert session.title == "Remember the port" and session.root == str(project)
    again = Agent(HERE, window=8192, root=project, tools=(), settings=Settings(data=tmp_path))
    again.resume(session.path)
    asyncio.run(again.context.fit())
    asyncio.run(again.close())
    (resumed,) = list_sessions(tmp_path, root=project)
    assert resumed.path != session.path
