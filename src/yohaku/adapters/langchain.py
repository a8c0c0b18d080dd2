"""LangChain agents: a middleware that fits every model call.

    from yohaku.adapters.langchain import FitMiddleware

    agent = create_agent(model, tools, middleware=[FitMiddleware(yohaku.Session(window=8192, model="gpt-4o"))])

The agent's state keeps all messages. Messages that are not folded reach the model as the same objects.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import convert_to_messages, convert_to_openai_messages
from langchain_core.utils.function_calling import convert_to_openai_tool

from yohaku.session.session import Session


class FitMiddleware(AgentMiddleware):  # type: ignore[misc]
    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        body = _body(request)
        return handler(_refill(request, body, self.session.fit(body)))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        body = _body(request)
        return await handler(_refill(request, body, await self.session.afit(body)))


def _body(request: ModelRequest) -> dict[str, Any]:
    """The request as an OpenAI chat body: the system prompt and the tools take room too."""
    system = [request.system_message] if request.system_message else []
    body: dict[str, Any] = {"messages": convert_to_openai_messages([*system, *request.messages])}
    if request.tools:
        body["tools"] = [convert_to_openai_tool(tool) for tool in request.tools]
    return body


def _refill(request: ModelRequest, body: dict[str, Any], fitted: dict[str, Any]) -> ModelRequest:
    """Put the fitted messages into the request; those that were not folded stay the objects they were."""
    if fitted is body:
        return request
    first = 1 if request.system_message else 0
    originals = {id(entry): message for entry, message in zip(body["messages"][first:], request.messages, strict=True)}
    messages = [
        originals[id(entry)] if id(entry) in originals else convert_to_messages([entry])[0]
        for entry in fitted["messages"][first:]
    ]
    return request.override(messages=messages)
