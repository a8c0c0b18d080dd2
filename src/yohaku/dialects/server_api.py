"""How a server of a wire format is called: its path, headers, request fields and habits.

The client reads all of it from here, so a new wire format changes nothing in the client. Every default suits a plain
JSON API with a bearer key; a dialect overrides what differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from yohaku.dialects import overflow
from yohaku.dialects.overflow import Overflow

if TYPE_CHECKING:
    from yohaku.core.model import History
    from yohaku.dialects.tool_definitions import Signature

Json = Any


class ServerApi:
    path: ClassVar[str] = "/chat"
    """Follows the endpoint's URL; `{model}` stands for the model's name."""
    key_header: ClassVar[str] = ""
    """Header that carries the key; "" for `Authorization: Bearer`."""
    fixed_headers: ClassVar[Mapping[str, str]] = {}
    count_path: ClassVar[str] = ""
    """Follows the endpoint's URL: counts the tokens of a body without answering it."""
    loaded_models_path: ClassVar[str] = ""
    """Follows the endpoint's URL: lists the loaded models with their windows."""

    names_model: ClassVar[bool] = True
    """Whether a body names its model."""
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
        """Write the `tools` of a request."""
        return [self.tool_definition(tool.name, tool.description, tool.parameters) for tool in tools]

    def without_tool_calls(self, body: dict[str, Json]) -> dict[str, Json]:
        """Make the model answer in words; the tools stay where the format allows, for the sake of the prompt cache."""
        return {name: value for name, value in body.items() if name != "tools"}

    def mark_cache(self, body: dict[str, Json]) -> dict[str, Json]:
        """Return a copy of `body` with the marks that tell the server what to keep in its prompt cache."""
        return body

    def read_overflow(self, status: int, body: str | dict[str, Json]) -> Overflow | None:
        """Recognise a request that was too long, by the server's answer; None for any other answer."""
        return overflow.recognise(status, body)

    def read_count(self, reply: Json) -> int | None:
        """Tokens in the answer from `count_path`."""
        found = reply.get("input_tokens") if isinstance(reply, dict) else None
        return found if isinstance(found, int) and found > 0 else None

    def read_loaded_window(self, reply: Json, model: str) -> int | None:
        """Context window of `model` in the answer from `loaded_models_path`."""
        return None


def merge(body: Mapping[str, Json], more: Mapping[str, Json]) -> dict[str, Json]:
    """Add fields to a body; objects in both are merged one level deep, so that options stand side by side."""
    both = {key: {**body[key], **value} for key, value in more.items() if _are_objects(body.get(key), value)}
    return {**body, **more, **both}


def _are_objects(*values: Json) -> bool:
    return all(isinstance(value, dict) for value in values)
