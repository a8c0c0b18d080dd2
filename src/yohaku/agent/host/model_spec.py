"""What `--model` means, and what is taken where only a key is there: tables and one small grammar.

Law: pure. A word before a slash is a provider only if the catalogue knows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from yohaku.config.catalog import Catalog
from yohaku.core.errors import YohakuError
from yohaku.messages import say

PREFERRED_PROVIDERS = ("openai", "anthropic", "gemini", "openrouter")
"""Whose key is taken first; the others follow as the catalogue has them."""

DEFAULT_MODELS = {
    "openai": "gpt-6.1-sol",
    "anthropic": "claude-sonnet-5-5",
    "gemini": "gemini-flash-latest",
    "openrouter": "anthropic/claude-sonnet-4.5",
    "xai": "grok-build-latest",
    "deepseek": "deepseek-v4-flash",
    "mistral": "devstral-latest",
    "moonshot": "kimi-k2.7-code",
    "zai": "glm-5.3",
    "dashscope": "qwen3-coder-plus",
    "groq": "openai/gpt-oss-120b",
    "cerebras": "gpt-oss-120b",
    "together": "openai/gpt-oss-120b",
    "fireworks": "accounts/fireworks/models/gpt-oss-120b",
}
"""The model taken where only a key is there: it calls tools, and is neither the dearest nor the smallest."""

PROVIDER_TITLES = {
    "openai": "OpenAI", "anthropic": "Anthropic", "gemini": "Gemini", "openrouter": "OpenRouter", "xai": "xAI",
    "deepseek": "DeepSeek", "mistral": "Mistral", "moonshot": "Moonshot", "zai": "Z.ai", "dashscope": "DashScope",
    "groq": "Groq", "cerebras": "Cerebras", "together": "Together", "fireworks": "Fireworks", "ollama": "Ollama",
    "llamacpp": "llama.cpp", "lmstudio": "LM Studio", "vllm": "vLLM",
}  # fmt: skip
"""Names for people."""

EMBEDDED = "embedded"


class ModelNotFound(YohakuError):
    """What the user named is not there."""

    def __init__(self, code: str, **facts: object) -> None:
        super().__init__(say(f"host_{code}", "en", **facts), **facts)
        self.code = code

    def said(self, lang: str) -> str:
        return say(f"host_{self.code}", lang, **self.facts)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    kind: Literal["file", "url", "provider", "name"]
    where: str
    """The path, the address or the provider; empty for a bare name."""
    model: str = ""


def parse_model_spec(said: str, known: Catalog) -> ModelSpec:
    """`provider/model`, a provider, an address with `#model`, a GGUF file, or the name of a model."""
    said = said.strip()
    if said.startswith(("http://", "https://")):
        url, _, model = said.partition("#")
        return ModelSpec("url", url.rstrip("/"), model)
    if said.lower().endswith(".gguf") or said.startswith(("/", "./", "../", "~")):
        return ModelSpec("file", said)
    head, _, model = said.partition("/")
    if head == EMBEDDED:
        return ModelSpec("provider", EMBEDDED, model)
    if provider := known.provider(head):
        return ModelSpec("provider", provider.name, model)
    return ModelSpec("name", "", said)
