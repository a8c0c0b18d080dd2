from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.agent.scripted import HERE, READ, ScriptedClient, ended, play, says
from yohaku.agent.agent import Agent
from yohaku.agent.conversation import load_history
from yohaku.agent.factory import choose_reserve, open_session, read_project_file
from yohaku.agent.hooks import Hooks
from yohaku.agent.summary_writer import SummaryWriter
from yohaku.client.endpoint import Endpoint
from yohaku.config.settings import Settings

FAR = Endpoint("API", "openai", "openai_chat", "https://api.example", "gpt-4o", key="sk-0123456789abcdef", output=4_096)


def test_everything_is_kept_in_the_data_folder(tmp_path: Path) -> None:
    talk: Any = ScriptedClient(says("Hello."))
    settings = Settings(data=tmp_path / "data")
    one = Agent(HERE, window=60_000, root=tmp_path, tools=(READ,), client=talk, settings=settings)
    assert (
        ended(
            play(
                one,
                "Hi.",
            )
        ).why
        == "done"
    )
    asyncio.run(one.close())
    (transcript,) = (tmp_path / "data" / "transcripts").glob("*.jsonl")
    assert load_history(transcript).turns == one.conversation.history.turns
    assert (tmp_path / "data" / "store.db").exists()


def test_no_key_gets_into_it(tmp_path: Path) -> None:
    talk: Any = ScriptedClient(says("Hello."))
    one = Agent(FAR, window=60_000, root=tmp_path, tools=(), client=talk, settings=Settings(data=tmp_path / "data"))
    play(one, "Hi.")
    asyncio.run(one.close())
    kept = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert kept and FAR.key.encode() not in kept and FAR.key not in repr(one.endpoint)


def test_a_model_far_away_sums_up_beside_the_work_and_one_here_only_when_it_is_asked(tmp_path: Path) -> None:
    talk: Any = ScriptedClient()
    writers = [SummaryWriter(talk, each, Settings(), lambda *_: talk) for each in (FAR, HERE)]
    far, here = (
        open_session(each, 60_000, tmp_path, writer, Hooks(), Settings())
        for each, writer in zip((FAR, HERE), writers, strict=True)
    )
    assert far._handlers.summarise == writers[0].ask and far._background
    assert here._handlers.summarise == writers[1].ask and not here._background


def test_the_reserve_is_what_the_model_can_say(tmp_path: Path) -> None:
    assert choose_reserve(FAR, 128_000, Settings()) == 4_096
    assert choose_reserve(HERE, 8_192, Settings()) == 1_024
    assert choose_reserve(HERE, 8_192, Settings(reserve=2_000)) == 2_000
    assert choose_reserve(HERE, 8_192, Settings(reserve=9_000)) == 1_024, "that would leave nothing"


def test_only_files_of_the_project_are_looked_at(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("x = 1")
    (tmp_path / "secret").write_text("no")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "picture").write_bytes(b"\xff\xfe\x00\x80")
    seen = {name: read_project_file(root, name) for name in ("a.py", "../secret", "link", "picture", "none", "\0")}
    assert seen == {"a.py": "x = 1", "../secret": None, "link": None, "picture": None, "none": None, "\0": None}


def test_the_hook_of_the_settings_is_asked(tmp_path: Path) -> None:
    talk: Any = ScriptedClient()
    hooks = Hooks(before="exit 2", root=tmp_path)
    writer = SummaryWriter(talk, HERE, Settings(), lambda *_: talk)
    assert open_session(HERE, 60_000, tmp_path, writer, hooks, Settings())._before == hooks.run_before
