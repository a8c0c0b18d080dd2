from __future__ import annotations

from pathlib import Path

import pytest

from tests.models import tiny
from yohaku.agent.gauge import make_gauge, meter_for
from yohaku.client.endpoint import Endpoint
from yohaku.core.budget import Budget
from yohaku.core.weigh import Ledger
from yohaku.meters import gguf
from yohaku.recipes.auto import AUTO
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


def told(used: int, lang: str = "en") -> str:
    session = Session(10_000, 1_000, meter=ByteMeter())
    return make_gauge(session, Ledger(500, 500, used - 1_003, 0, 3), ByteMeter(), lang).coming


def test_it_says_what_comes_next_and_why() -> None:
    at = AUTO.starts_at(Budget(10_000, 1_000))
    assert told(2_000) == "nothing: there is room"
    assert told(6_000) == f"folds at {at:,} tokens, {at - 6_000:,} from here"
    assert told(at) == f"folds before the next call: over {at:,} tokens"
    assert "圧縮します" in told(8_900, "ja")


def test_over_the_limit_it_says_by_how_much_and_that_it_is_folded_before_it_is_sent() -> None:
    assert told(9_000) == f"folds before the next call: over {AUTO.starts_at(Budget(10_000, 1_000)):,} tokens"
    assert told(10_300) == "folds before it is sent: 1,300 tokens more than fit"
    assert told(10_300, "ja") == "収まる量を 1,300 トークン超えたので、送る前に圧縮します"
