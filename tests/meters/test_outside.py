"""A meter of another package is one file, found by the name of a provider or of a family of models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from yohaku import plugins
from yohaku.agent.gauge import meter_for
from yohaku.client.endpoint import Endpoint
from yohaku.core.meter import Overhead
from yohaku.core.model import Opaque
from yohaku.meters import for_model
from yohaku.session.session import Session


@dataclass(frozen=True)
class LetterMeter:
    """One token for each letter."""

    model: str
    exact: bool = True
    frame: Overhead = field(default_factory=Overhead)

    @property
    def name(self) -> str:
        return f"letters of {self.model}"

    def count(self, text: str) -> int:
        return len(text)

    def weigh(self, part: Opaque) -> int:
        return 100


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(plugins, "_registered", {})
    plugins.register("meters", "acme", LetterMeter)
    yield


@pytest.mark.parametrize("model", ["acme", "acme-large-2", "acme/writer", "acme:7b", "router/acme-large"])
def test_it_counts_for_the_models_of_its_name(model: str) -> None:
    meter = for_model(model, "openai_chat")
    assert (meter.name, meter.exact, meter.count("hello")) == (f"letters of {model}", True, 5)
    assert for_model(model, "openai_chat") is meter


def test_it_counts_for_the_models_of_its_provider() -> None:
    assert for_model("writer-1", provider="acme").name == "letters of writer-1"
    assert meter_for(Endpoint("Acme", "acme", "openai_chat", "https://x", "writer-1")).name == "letters of writer-1"


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "qwen3:8b"])
def test_it_goes_before_ours_for_every_model_of_its_provider(model: str) -> None:
    assert for_model(model, provider="acme").name == f"letters of {model}"
    assert meter_for(Endpoint("Acme", "acme", "openai_chat", "https://x", model)).name == f"letters of {model}"
    session = Session(1_000, model=model, provider="acme")
    session.fit([{"role": "user", "content": "x" * 500}])
    assert session.receipt and 500 < session.receipt.before < 520


def test_it_goes_before_ours_for_a_name_we_know_too() -> None:
    plugins.register("meters", "qwen", lambda model: LetterMeter(model) if "coder" in model else None)
    assert for_model("qwen-3-coder-480b").name == "letters of qwen-3-coder-480b"
    assert for_model("qwen-3-8b").name == "qwen3"


def test_it_goes_before_the_vocabulary_of_a_local_model() -> None:
    plugins.register("meters", "ollama", LetterMeter)
    info: dict[str, object] = {"tokenizer.ggml.tokens": ["a"], "tokenizer.ggml.model": "gpt2"}
    endpoint = Endpoint("Ollama", "ollama", "ollama", "http://x", "mine", info=info)
    assert meter_for(endpoint).name == "letters of mine"


def test_a_session_finds_it() -> None:
    session = Session(1_000, model="acme-large")
    session.fit([{"role": "user", "content": "x" * 500}])
    assert session.receipt and 500 < session.receipt.before < 520


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "grok-9", None])
def test_other_models_are_counted_as_before(model: str | None) -> None:
    assert "letters" not in for_model(model, "openai_chat", "openai").name
