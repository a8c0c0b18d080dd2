"""The checks of chat templates that insist on alternation (Gemma, Llama 2, Mistral), for every wire format.

Law: the first message is the user's, and user and model take turns. System texts are passed over, and so are a reply
that only calls and the results of its calls, as Mistral's template does.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from . import anthropic, gemini, ollama, openai_chat, openai_responses


def problems(dialect: str, body: Any) -> list[str]:
    speakers = list(SPEAKERS[dialect](body))
    found = [] if not speakers or speakers[0] == "user" else ["the conversation begins with the model"]
    return found + [f"two messages of the {one} in a row" for one, other in pairwise(speakers) if one == other]


def _chat(body: Any) -> Iterator[str]:
    for message in openai_chat.messages_of(body):
        if message["role"] == "user" or (message["role"] == "assistant" and not message.get("tool_calls")):
            yield "user" if message["role"] == "user" else "model"


def _anthropic(body: Any) -> Iterator[str]:
    for message in anthropic.messages_of(body):
        kinds = {block["type"] for block in anthropic.blocks(message)}
        if message["role"] != "system" and not kinds & {"tool_use", "tool_result"}:
            yield "user" if message["role"] == "user" else "model"


def _gemini(body: Any) -> Iterator[str]:
    for content in gemini.contents_of(body):
        kinds = {kind for part in content["parts"] for _, kind in gemini.data_of(part)}
        if not kinds & {"call", "response"}:
            yield gemini.role_of(content)


def _responses(body: Any) -> Iterator[str]:
    """A message right before a call is of one reply with it."""
    items = openai_responses.items_of(body)
    for item, following in zip(items, [*items[1:], {}], strict=True):
        if openai_responses.type_of(item) != "message" or item["role"] in ("system", "developer"):
            continue
        if item["role"] == "user" or not str(following.get("type", "")).endswith("_call"):
            yield "user" if item["role"] == "user" else "model"


SPEAKERS = {
    "openai_chat": _chat,
    "ollama": lambda body: _chat({"messages": ollama.messages_of(body)}),
    "anthropic": _anthropic,
    "gemini": _gemini,
    "openai_responses": _responses,
}


def problems_of_two_roles(body: Any) -> list[str]:
    """The check of Gemma's template, for chat and Ollama: nothing but the user and the model, in turns."""
    roles = [message["role"] for message in openai_chat.messages_of(body)]
    wanted = ["assistant" if index % 2 else "user" for index in range(len(roles))]
    called = any(message.get("tool_calls") for message in openai_chat.messages_of(body))
    return [f"{roles} must be {wanted}"] * (roles != wanted) + ["calls are left"] * called
