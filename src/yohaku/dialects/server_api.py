"""Requests to a server of a wire format: path, headers, fields and habits.

The client reads all of it from here, so a new wire format changes nothing in the client. Every default suits a plain
JSON API with a bearer key; a dialect overrides what differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote

import msgspec

from yohaku.core.model import History
from yohaku.dialects import overflow, role_rules
from yohaku.dialects.json_values import Json
from yohaku.dialects.overflow import Overflow
from yohaku.dialects.replies.writer import ReplyFacts, ReplyWriter, RequestOptions
from yohaku.dialects.role_rules import RuleName

SCHEMA_FIELDS = ("input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema", "inputSchema")


class Signature(NamedTuple):
    """A tool as it is described to a model."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON schema of the arguments; that of an empty object where the definition has none."""
    hosted: bool = False
    """Run by the provider itself (web search, code execution): no other provider can be offered it."""


class _Model(msgspec.Struct):
    """The one field that is read of a body before it is fitted: bodies are megabytes."""

    model: Any = None


_MODEL = msgspec.json.Decoder(_Model)


class ServerApi:
    entries: ClassVar[str]
    path: ClassVar[str] = "/chat"
    """Follows the endpoint's URL; `{model}` stands for the model's name."""
    key_header: ClassVar[str] = ""
    """Header that carries the key; "" for `Authorization: Bearer`."""
    fixed_headers: ClassVar[Mapping[str, str]] = {}
    count_path: ClassVar[str] = ""
    """Follows the endpoint's URL: counts the tokens of a body without answering it."""
    loaded_models_path: ClassVar[str] = ""
    """Follows the endpoint's URL: lists the loaded models with their windows."""

    tools_field: ClassVar[str] = "tools"
    """The field of a body that holds the tool definitions."""
    proxied_paths: ClassVar[tuple[str, ...]] = ()
    """Ends of the paths by which a client asks for a reply; `{model}` stands for the model's name."""
    proxied_count_paths: ClassVar[tuple[str, ...]] = ()
    """Ends of the paths by which a client asks for a token count."""
    reply_limit_paths: ClassVar[tuple[tuple[str, ...], ...]] = (("max_tokens",),)
    """Where in a body the limit of the reply may stand."""
    state_fields: ClassVar[tuple[str, ...]] = ()
    """Fields that name a conversation the provider holds: a body with one has only the newest turns."""

    greeting: ClassVar[str] = ""
    """Text at the root of a server for which this dialect alone says everything: what comes to it in another one is
    translated."""
    link_field: ClassVar[str] = ""
    """The field by which a body goes on from an earlier reply."""
    names_model: ClassVar[bool] = True
    """Whether a body names its model."""
    progress_fields: ClassVar[Mapping[str, Json]] = {}
    """Fields that make a llama.cpp server tell how far it has read."""
    stream_fields: ClassVar[Mapping[str, Json]] = {"stream": True}
    whole_fields: ClassVar[Mapping[str, Json]] = {}
    """Fields by which a server answers in one piece, where that is not its default."""
    substitutes: ClassVar[Mapping[str, str]] = {
        "stream_options": "",
        "stream": "",
        "max_tokens": "max_completion_tokens",
        "max_completion_tokens": "max_tokens",
    }
    """Fields that some servers refuse, and the name to use instead ("": leave it out)."""

    cut_off_stops: ClassVar[tuple[str, ...]] = ("length", "max_tokens")
    """Stop reasons of a reply that reached its token limit."""
    images_in_results: ClassVar[bool] = False
    """Whether a tool result may hold images."""
    takes_prefill: ClassVar[bool] = True
    """Whether a body may end in an entry of the model that the reply continues."""
    takes_schema: ClassVar[bool] = False
    """Whether every server holds a reply to a JSON schema."""
    reports_cached_tokens: ClassVar[bool] = True
    """False where reported usage leaves out tokens that were found in the server's cache."""
    drops_silently: ClassVar[bool] = False
    """Whether a server may drop the beginning of a request that is too long, and answer the rest."""

    def url(self, base: str, model: str) -> str:
        return base.rstrip("/") + self.path.format(model=quote(model.removeprefix("models/")))

    def path_of_question(self, path: str) -> str:
        """Return the path by which a question is asked where a client asks for its replies by `path`."""
        return path

    def compose_question(self, history: History, model: str) -> dict[str, Json]:
        """Write a body that ends in a question; differs from `compose` where servers are stricter about those."""
        return self.compose(history, model)

    def compose(self, history: History, model: str = "") -> dict[str, Json]:
        """Write a body that holds `history`, without an original to start from."""
        raise NotImplementedError

    def limit_fields(self, limit: int, model: str) -> dict[str, Json]:
        """Fields that limit the reply to `limit` tokens."""
        return {"max_tokens": limit}

    def window_fields(self, window: int) -> dict[str, Json]:
        """Fields by which a server loads the model with a context window of `window` tokens."""
        return {}

    def asked_window(self, body: Json) -> int | None:
        """Return the context window that a body asks the server for, where it can."""
        return None

    def with_window(self, body: Json, window: int) -> Json:
        """Return a body by which the server really uses this window; the same object where it does so anyway."""
        return body

    def read_options(self, body: dict[str, Json], path: str) -> RequestOptions:
        """Return what a request asks for beside its conversation; `path`: with its query."""
        return RequestOptions()

    def option_fields(self, options: RequestOptions) -> dict[str, Json]:
        """Write what a request in another dialect asks for beside its conversation."""
        return {}

    def linkable(self, reply: Json) -> tuple[str, list[Json]] | None:
        """Return the id and the entries of a whole reply, or of the event that ends one, that a body may go on from."""
        return None

    def without_refused(self, body: dict[str, Json], refusal: str) -> dict[str, Json] | None:
        """Return a translated body without a field that a server refused; None where it refused something else."""
        return None

    def reply_writer(self, facts: ReplyFacts) -> ReplyWriter | None:
        """Return a writer of one reply; None where replies in this dialect are only read."""
        return None

    def temperature_fields(self, temperature: float) -> dict[str, Json]:
        return {}

    def stop_fields(self, texts: tuple[str, ...], model: str) -> dict[str, Json]:
        """Fields that end the reply at any of these texts."""
        return {}

    def schema_fields(self, name: str, schema: Json) -> dict[str, Json]:
        """Fields that hold the reply to a JSON schema."""
        return {}

    def continues_prefill(self, model: str) -> bool:
        """Tell whether this model continues a reply begun for it on every server."""
        return False

    def tool_definition(self, name: str, about: str, schema: Json) -> dict[str, Json]:
        """Write the definition of one tool."""
        return {"name": name, "description": about, "parameters": schema}

    def tool_definitions(self, tools: Iterable[Signature]) -> list[Json]:
        """Write the tool definitions of a request."""
        return [self.tool_definition(tool.name, tool.description, tool.parameters) for tool in tools]

    def without_tool_calls(self, body: dict[str, Json]) -> dict[str, Json]:
        """Make the model answer in words; the tools stay where the format allows, for the sake of the prompt cache."""
        return {name: value for name, value in body.items() if name != self.tools_field}

    def lets_model_choose(self, body: Json) -> bool:
        """Tell whether the model may decide which tool it calls, if any."""
        choice = body.get("tool_choice")
        return (choice.get("type") if isinstance(choice, dict) else choice) in (None, "auto")

    def mark_cache(self, body: dict[str, Json]) -> dict[str, Json]:
        """Return a copy of `body` with the marks that tell the server what to keep in its prompt cache."""
        return body

    def read_overflow(self, status: int, body: str | dict[str, Json]) -> Overflow | None:
        """Recognise a request that was too long, by the server's answer; None for any other answer."""
        return overflow.recognise(status, body)

    def read_role_refusal(self, status: int, text: str) -> tuple[RuleName, ...]:
        """Recognise a refusal because of roles: the rules that may be meant, the likeliest first."""
        return role_rules.recognise(status, text)

    def state_in(self, body: Json) -> str:
        """Return the field by which a body leaves earlier turns to the provider; "" if all of them are in it."""
        return next((name for name in self.state_fields if body.get(name)), "") if isinstance(body, dict) else ""

    def model_of(self, raw: bytes) -> str:
        """Name of the model in an encoded body; "" where there is none."""
        try:
            return str(_MODEL.decode(raw).model or "")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return ""

    def error_body(self, message: str, status: int) -> Json:
        """An error as a client of this format expects it."""
        return {"error": {"message": message, "type": "api_error", "param": None, "code": status}}

    def too_long_body(self, message: str, needs: int, limit: int) -> Json:
        """The error by which clients recognise a prompt that is too long."""
        text = (
            f"This model's maximum context length is {limit} tokens. However, your messages resulted in {needs} tokens."
        )
        kind, code = "invalid_request_error", "context_length_exceeded"
        return {"error": {"message": f"{text} {message}", "type": kind, "param": self.entries, "code": code}}

    def count_body(self, tokens: int) -> Json:
        """The answer to a request for a token count."""
        return {"input_tokens": tokens}

    def read_count(self, reply: Json) -> int | None:
        """Tokens in the answer from `count_path`."""
        found = reply.get("input_tokens") if isinstance(reply, dict) else None
        return found if isinstance(found, int) and found > 0 else None

    def read_loaded_window(self, reply: Json, model: str) -> int | None:
        """Context window of `model` in the answer from `loaded_models_path`."""
        return None


def signature(definition: str) -> Signature:
    """Read a tool's definition, the JSON text that a `Tool` carries, in any dialect."""
    try:
        tool = json.loads(definition)
    except (ValueError, RecursionError):
        tool = None
    if not isinstance(tool, dict):
        return Signature("", "", {}, hosted=True)
    inner = next((tool[key] for key in ("function", "custom") if isinstance(tool.get(key), dict)), tool)
    name, description = inner.get("name"), inner.get("description")
    schema: dict[str, Any] = next((inner[key] for key in SCHEMA_FIELDS if isinstance(inner.get(key), dict)), {})
    return Signature(
        name if isinstance(name, str) else "",
        description if isinstance(description, str) else "",
        {"type": "object", "properties": {}, **_lower_types(schema)},
        hosted=not name or tool.get("type", "function") not in ("function", "custom"),
    )


def _lower_types(schema: Any) -> Any:
    """Write type names in lower case: Gemini's older form has them in capitals."""
    if isinstance(schema, list):
        return [_lower_types(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    lowered = {key: _lower_types(value) for key, value in schema.items()}
    if isinstance(lowered.get("type"), str):
        lowered["type"] = lowered["type"].lower()
    return lowered
