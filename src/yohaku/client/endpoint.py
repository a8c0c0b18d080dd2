"""Where a model is served, and by which dialect it is spoken to.

Law: a key is held, used and never shown: not in a repr, a log, a transcript or an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yohaku.config.catalog import Dialect


@dataclass(frozen=True, slots=True)
class Endpoint:
    name: str
    """For people: `Ollama`, `llama.cpp`, `OpenAI`."""
    provider: str
    """As in the catalogue, or the kind of local server: ollama, llama.cpp, lmstudio, vllm, embedded."""
    dialect: Dialect
    url: str
    """Everything before the dialect's own path, as in the catalogue."""
    model: str
    key: str = field(default="", repr=False)
    window: int | None = None
    """Tokens the server itself declares, where it does."""
    trained: int | None = None
    """Tokens the model was trained for."""
    output: int | None = None
    """The longest reply, where that is known."""
    local: bool = False
    info: dict[str, object] = field(default_factory=dict, repr=False, compare=False)
    """The model's metadata with the keys of a GGUF file, where it could be read."""
