from __future__ import annotations

from pathlib import Path

import pytest

from tests.models import tiny
from yohaku.agent.gauge import make_gauge, meter_for
from yohaku.client.endpoint import Endpoint
from yohaku.core.budget import Budget
from yohaku.core.weigh import Ledger, Weigher
from yohaku.meters import gguf
from yohaku.recipes.auto import AUTO, RECIPES
from yohaku.session.session import Session
from yohaku.testing import ByteMeter


def at(model: str = "qwen2.5-coder:1.5b", /, **info: object) -> Endpoint:
    return Endpoint("here", "llama.cpp", "openai_chat", "http://127.0.0.1:1", model, info=info)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("gguf", reason="gguf is needed to write a model: install the group `test`")
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    tiny.build(path)
    return path


def test_a_model_whose_file_is_here_is_counted_by_its_own_vocabulary(model: Path) -> None:
    assert meter_for(at(path=str(model))).count("こんにちは, port 8080") == len("こんにちは, port 8080".encode())


def test_one_whose_metadata_was_told_too(model: Path) -> None:
    meter = meter_for(at(**gguf.metadata(model)))
    assert meter.count("こんにちは") == 15 and meter.exact


@pytest.mark.parametrize("info", [{"path": "/nowhere/model.gguf"}, {"tokenizer.ggml.tokens": ["a"]}, {}])
def test_any_other_by_its_name(info: dict[str, object]) -> None:
    assert meter_for(at(**info)).count("hello world") == 2


def told(used: int, lang: str = "en", recipe: str = "auto") -> str:
    session = Session(10_000, 1_000, recipe, meter=ByteMeter())
    return make_gauge(session, Ledger(500, 500, used - 1_003, 0, 3), ByteMeter(), lang).coming


def test_it_says_what_comes_next_and_when() -> None:
    at = AUTO.starts_at(Budget(10_000, 1_000))
    does = "older steps become a gist with lines of them"
    assert told(2_000) == f"no folding until 99 % ({at:,} tokens); then {does}"
    assert told(6_000) == f"at 99 % ({at:,} tokens), {at - 6_000:,} from here: {does}"
    assert told(at) == f"before the next call, as it is over {at:,} tokens (99 %): {does}"
    assert told(10_300) == f"before it is sent, as it is 1,300 tokens more than fit: {does}"
    assert "1,300 トークン超えた" in told(10_300, "ja")


@pytest.mark.parametrize(
    ("recipe", "percent", "does"),
    [
        ("local", "at 80 % (7,200 tokens)", "old results are cleared"),
        ("chat", "nothing before it is full", "the oldest turns are left out"),
        ("cache", "at 80 % (7,200 tokens)", "all but the last turn"),
        ("snapshot", "at 95 % (8,550 tokens)", "a snapshot"),
    ],
)
def test_each_recipe_says_what_it_will_do(recipe: str, percent: str, does: str) -> None:
    assert told(6_000, recipe=recipe).startswith(percent) and does in told(6_000, recipe=recipe)
    assert does not in told(6_000)


@pytest.mark.parametrize("recipe", [name for name in RECIPES if name not in ("snapshot", "layers")])
def test_what_is_said_is_what_happens(recipe: str) -> None:
    """The panel's number is the one at which a session folds, and below it nothing is folded."""
    budget = Budget(10_000, 1_000)
    at = min(RECIPES[recipe].starts_at(budget), budget.limit + 1)
    for used, folds in ((at - 400, False), (at + 1, True)):
        session = Session(10_000, 1_000, recipe, meter=ByteMeter())
        reply, messages = "x" * 190, [{"role": "user", "content": "begin"}]
        while _weigh(session, messages) < used:
            messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": "and then?"}]
        session.fit({"messages": messages})
        assert session.receipt and bool(session.receipt.outcome.folds) is folds


def _weigh(session: Session, messages: list[dict[str, str]]) -> int:
    return Weigher(ByteMeter()).ledger(session.read({"messages": messages})).total
