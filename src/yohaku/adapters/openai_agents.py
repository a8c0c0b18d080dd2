"""OpenAI Agents SDK: a filter that fits the input of every model call.

    from yohaku.adapters.openai_agents import fit_input

    session = yohaku.Session(window=8192, model="gpt-4o")
    await Runner.run(agent, "…", run_config=RunConfig(call_model_input_filter=fit_input(session)))

The run keeps all items. Tool definitions are not in the data of the filter: leave room for them in `reserve`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agents.run_config import CallModelData, ModelInputData

from yohaku.session.session import Session


def fit_input(session: Session) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
    async def fit(data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        fitted = await session.afit({"instructions": given.instructions or "", "input": given.input})
        return ModelInputData(input=fitted["input"], instructions=given.instructions)

    return fit
