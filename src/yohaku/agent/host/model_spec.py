"""Parser of `--model`, and default models of providers.

Law: pure. A word before a slash is a provider only if it is in the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from yohaku.config.catalog import Catalog
from yohaku.core.errors import YohakuError
from yohaku.messages import say

PREFERRED_PROVIDERS = ("openai", "anthropic", "gemini", "openrouter")
"""Providers whose key is used first; the others follow in the order of the catalogue."""

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
"""Model used where only a key is set: it calls tools, and is neither the dearest nor the smallest."""

PROVIDER_TITLES = {
    "openai": "OpenAI", "anthropic": "Anthropic", "gemini": "Gemini", "openrouter": "OpenRouter", "xai": "xAI",
    "deepseek": "DeepSeek", "mistral": "Mistral", "moonshot": "Moonshot", "zai": "Z.ai", "dashscope": "DashScope",
    "groq": "Groq", "cerebras": "Cerebras", "together": "Together", "fireworks": "Fireworks", "ollama": "Ollama",
    "llamacpp": "llama.cpp", "lmstudio": "LM Studio", "vllm": "vLLM",
}  # fmt: skip
"""Names for people."""

KEY_PREFIXES = {
    "sk-ant-": "anthropic", "sk-or-": "openrouter", "sk-proj-": "openai", "AIza": "gemini", "gsk_": "groq",
    "xai-": "xai", "csk-": "cerebras", "fw_": "fireworks", "tgp_": "together",
}  # fmt: skip
"""Beginnings of keys that belong to one provider; many others begin with `sk-`."""

EMBEDDED = "embedded"


class ModelNotFound(YohakuError):
    """Raised where the model the user named is not there."""

    def __init__(self, code: str, **facts: object) -> None:
        super().__init__(say(f"host_{code}", "en", **facts), **facts)
        self.code = code

    def said(self, lang: str) -> str:
        return say(f"host_{self.code}", lang, **self.facts)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    kind: Literal["file", "url", "provider", "name"]
    where: str
    """Path, address or provider; empty for a bare name."""
    model: str = ""


def parse_model_spec(text: str, known: Catalog) -> ModelSpec:
    """Parse `provider/model`, a provider, an address with `#model`, a GGUF file, or the name of a model."""
    text = text.strip()
    if text.startswith(("http://", "https://")):
        url, _, model = text.partition("#")
        return ModelSpec("url", url.rstrip("/"), model)
    if text.lower().endswith(".gguf") or text.startswith(("/", "./", "../", "~")):
        return ModelSpec("file", text)
    head, _, model = text.partition("/")
    if head == EMBEDDED:
        return ModelSpec("provider", EMBEDDED, model)
    if provider := known.provider(head):
        return ModelSpec("provider", provider.name, model)
    return ModelSpec("name", "", text)
