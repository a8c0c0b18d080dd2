"""A model on a server: its address, its dialect, its key and its limits.

Law: a key is never shown: not in a repr, a log, a transcript or an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Endpoint:
    name: str
    """For people: `Ollama`, `llama.cpp`, `OpenAI`."""
    provider: str
    """Name in the catalogue, or the kind of local server: ollama, llama.cpp, lmstudio, vllm, embedded."""
    dialect: str
    url: str
    """Everything before the dialect's own path, as in the catalogue."""
    model: str
    key: str = field(default="", repr=False)
    window: int | None = None
    """Tokens that the server itself declares."""
    trained: int | None = None
    """Tokens the model was trained for."""
    output: int | None = None
    """Tokens of the longest reply."""
    local: bool = False
    info: dict[str, object] = field(default_factory=dict, repr=False, compare=False)
    """The model's metadata under the keys of a GGUF file."""
