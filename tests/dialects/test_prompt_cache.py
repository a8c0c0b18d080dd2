from __future__ import annotations

import json
from pathlib import Path

from tests import checkers
from tests.agent.scripted import agent, calls, play, says, sent

from yohaku.client.endpoint import Endpoint
from yohaku.dialects import dialect_named
from yohaku.dialects.anthropic import CACHE_MARK
from yohaku.session.session import Session
from yohaku.testing import ByteMeter

CLAUDE = Endpoint("Anthropic", "anthropic", "anthropic", "https://api.example", "claude-sonnet-4-5")


def test_the_system_prompt_and_the_newest_entries_are_marked(tmp_path: Path) -> None:
    session = Session(60_000, dialect="anthropic", meter=ByteMeter())
    lines = [says("", calls("read", number, path=f"{number}.py")) for number in range(4)]
    one = agent(tmp_path, *lines, says("Done."), endpoint=CLAUDE, session=session, window=60_000)
    play(one, "Go.")
    counts = [json.dumps(body).count("cache_control") for body in sent(one)]
    assert counts == [2, 3, 3, 3, 3]
    assert [checkers.DIALECTS["anthropic"].problems(body) for body in sent(one)] == [[]] * 5
    last = sent(one)[-1]
    blocks = last["system"][-1], last["messages"][-1]["content"][-1]
    assert [block["cache_control"] for block in blocks] == [CACHE_MARK["cache_control"]] * 2
    assert "cache_control" not in json.dumps(one.conversation.body)


def test_a_mark_changes_nothing_of_what_is_said() -> None:
    body = {"system": "Be kind.", "messages": [{"role": "user", "content": "Hi."}], "max_tokens": 9}
    before = json.dumps(body)
    dialect = dialect_named("anthropic")
    assert dialect.read(dialect.mark_cache(body)).history() == dialect.read(body).history()
    assert json.dumps(body) == before


def test_others_are_sent_what_they_were(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "Hi."}]}
    assert dialect_named("openai_chat").mark_cache(body) is body
    here = Endpoint("llama.cpp", "llama.cpp", "anthropic", "http://127.0.0.1:1", "m", local=True)
    session = Session(60_000, dialect="anthropic", meter=ByteMeter())
    one = agent(tmp_path, says("Done."), endpoint=here, session=session, window=60_000)
    play(one, "Go.")
    assert "cache_control" not in json.dumps(sent(one))
