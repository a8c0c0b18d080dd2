"""The real LangChain with a fake model: its state keeps everything, the model gets what fits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain.agents", reason="LangChain is not installed: see CONTRIBUTING, adapters")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from tests.adapters.conftest import LONG, WINDOW

from yohaku import Session
from yohaku.adapters.langchain import FitMiddleware


class Scripted(BaseChatModel):
    """Calls `look` a number of times, then answers; keeps what it was sent."""

    steps: int
    sent: list[list[BaseMessage]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> ChatResult:
        self.sent.append(messages)
        number = len(self.sent)
        call = {"id": f"c{number}", "name": "look", "args": {"part": number}}
        reply = AIMessage("", tool_calls=[call]) if number <= self.steps else AIMessage("Done.")
        return ChatResult(generations=[ChatGeneration(message=reply)])


def look(part: int) -> str:
    """Look at a part of the log."""
    return f"part {part}: {LONG}"


def run(steps: int, *, asynchronous: bool = False) -> tuple[Session, Scripted, dict[str, Any]]:
    session = Session(window=WINDOW, model="gpt-4o")
    model = Scripted(steps=steps, sent=[])
    agent = create_agent(model, [look], system_prompt="Be careful.", middleware=[FitMiddleware(session)])
    given: Any = {"messages": [("user", "Find the error. Never touch the database.")]}
    limits: Any = {"recursion_limit": 500}
    state = asyncio.run(agent.ainvoke(given, limits)) if asynchronous else agent.invoke(given, limits)
    return session, model, state


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_state_is_whole_and_the_view_fits(asynchronous: bool) -> None:
    session, model, state = run(30, asynchronous=asynchronous)
    assert len(state["messages"]) == 62 and LONG in state["messages"][2].content
    meter = session.meter_for("openai_chat")
    for sent in model.sent:
        assert sum(meter.count(str(message.content)) for message in sent) <= session.budget.limit
    assert any("Never touch the database." in str(message.content) for message in model.sent[-1])
    assert session.receipt and session.receipt.folds


def test_a_call_and_its_result_stay_together() -> None:
    _, model, _ = run(30)
    for sent in model.sent:
        calls = [call["id"] for message in sent if isinstance(message, AIMessage) for call in message.tool_calls]
        assert calls == [message.tool_call_id for message in sent if isinstance(message, ToolMessage)]


def test_what_is_hidden_opens_by_its_ref() -> None:
    session, model, _ = run(30)
    assert session.receipt
    fold = session.receipt.folds[0]
    assert f"ref={fold.ref}" in " ".join(str(message.content) for message in model.sent[-1])
    assert "part 1:" in str(session.recall(fold.ref))


def test_messages_that_are_not_folded_stay_the_same_objects() -> None:
    _, model, state = run(2)
    assert all(any(message is kept for kept in state["messages"]) for message in model.sent[1][1:])
