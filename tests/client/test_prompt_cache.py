from __future__ import annotations

import json
from pathlib import Path

from tests import checkers
from tests.agent.scripted import agent, calls, play, says, sent
from yohaku.client.endpoint import Endpoint
from yohaku.client.prompt_cache import MARK, marked
from yohaku.dialects import dialect_named
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
    assert [block["cache_control"] for block in blocks] == [MARK["cache_control"]] * 2
    assert "cache_control" not in json.dumps(one.conversation.body)


def test_a_mark_changes_nothing_of_what_is_said() -> None:
    body = {"system": "Be kind.", "messages": [{"role": "user", "content": "Hi."}], "max_tokens": 9}
    before = json.dumps(body)
    read = dialect_named("anthropic").read
    assert read(marked(body, CLAUDE)).history() == read(body).history() and json.dumps(body) == before


def test_others_are_sent_what_they_were() -> None:
    body = {"messages": [{"role": "user", "content": "Hi."}]}
    here = Endpoint("llama.cpp", "llama.cpp", "anthropic", "http://127.0.0.1:1", "m", local=True)
    other = Endpoint("OpenAI", "openai", "openai_chat", "https://api.example", "m")
    assert marked(body, here) is body and marked(body, other) is body
