"""The real OpenAI Agents SDK with a fake model: the run keeps everything, the model gets what fits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("agents.run_config", reason="openai-agents is not installed: see CONTRIBUTING, adapters")

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from tests.adapters.conftest import LONG, WINDOW

from yohaku import Session
from yohaku.adapters.openai_agents import fit_input

STEPS = 30


class Scripted(Model):
    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **more: Any) -> ModelResponse:  # noqa: A002
        self.sent.append(input)
        number = len(self.sent)
        item: Any = (
            ResponseFunctionToolCall(
                call_id=f"c{number}", name="look", arguments=f'{{"part": {number}}}', type="function_call"
            )
            if number <= STEPS
            else ResponseOutputMessage(
                id="m", role="assistant", status="completed", type="message",
                content=[ResponseOutputText(text="Done.", type="output_text", annotations=[])],
            )
        )  # fmt: skip
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **more: Any) -> Any:
        raise AssertionError("not streamed here")


@function_tool
def look(part: int) -> str:
    """Look at a part of the log."""
    return f"part {part}: {LONG}"


def test_the_run_is_whole_the_view_fits_and_refs_open() -> None:
    session = Session(window=WINDOW, model="gpt-4o")
    model = Scripted()
    agent = Agent("a", instructions="Be careful.", model=model, tools=[look])
    prompt = "Find the error. Never touch the database."
    config = RunConfig(call_model_input_filter=fit_input(session), tracing_disabled=True)
    result = asyncio.run(Runner.run(agent, prompt, run_config=config, max_turns=100))
    assert result.final_output == "Done."
    assert sum(LONG in str(item) for item in result.to_input_list()) == STEPS
    meter = session.meter_for("openai_responses")
    for sent in model.sent:
        texts = (str(item.get("content") or item.get("output") or "") for item in sent)
        assert sum(map(meter.count, texts)) <= session.budget.limit
        calls = [item["call_id"] for item in sent if item.get("type") == "function_call"]
        assert calls == [item["call_id"] for item in sent if item.get("type") == "function_call_output"]
    assert "Never touch the database." in str(model.sent[-1])
    assert session.receipt
    fold = session.receipt.folds[0]
    assert f"ref={fold.ref}" in str(model.sent[-1]) and "part 1:" in str(session.recall(fold.ref))
