"""Sessions of 60,000 tokens folded into 8,192, summed up over HTTP by a model on a real llama.cpp server.

The scripted model always answers the same, so all that is shown here is that the way there and back works; the real
one, where it is at hand, is held to the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests import checkers
from tests.models.conftest import WINDOW
from tests.models.serving import Refusal, Served
from tests.models.sessions import VOICES, Body, TinyMeter, Voice, working
from tests.models.tiny import SUMMARY
from yohaku import meters
from yohaku.core.engine import Outcome
from yohaku.core.folds import Gist
from yohaku.core.meter import Meter
from yohaku.core.originals import ref_of
from yohaku.core.recipe import Question
from yohaku.core.verdict import Folded
from yohaku.recipes.auto import recipe_named
from yohaku.session.session import Session

pytestmark = pytest.mark.slow  # a real server with a tiny model

RECIPES = ("layers", "snapshot", "chat-hybrid", "auto")
REF = re.compile(r"ref=([a-z2-7]{12})")
MOST = 8 + 1 + 1
"""Questions of one summary: stretches, a merge, a repair."""


class Fitted(NamedTuple):
    voice: Voice
    before: Body
    after: Body
    session: Session

    @property
    def outcome(self) -> Outcome:
        assert self.session.receipt
        return self.session.receipt.outcome

    @property
    def gist(self) -> Gist:
        assert self.outcome.view.gist
        return self.outcome.view.gist


def fitted(voice: str, recipe: str, meter: Meter, summarise: Callable[[Question], str]) -> Fitted:
    body = working(VOICES[voice], 60_000, meter.count)
    session = Session(WINDOW, recipe=recipe_named(recipe), meter=meter, summarise=summarise)
    return Fitted(VOICES[voice], body, session.fit(body), session)


def check(found: Fitted) -> None:
    """It fits, is well formed and says so; nothing is lost, and a model was asked, not too often."""
    outcome = found.outcome
    assert outcome.verdict == Folded()
    assert outcome.before.total > 60_000 and outcome.after.total <= found.session.budget.limit
    assert checkers.DIALECTS["openai_chat"].problems(found.after) == []
    shown = set(REF.findall(json.dumps(found.after)))
    assert shown and all(ref_of(found.session.recall(ref)) == ref for ref in shown)
    assert 1 <= outcome.asks <= MOST * len(found.session.recipe.rungs)
    assert found.gist.why == "by_model" or found.gist.why.startswith("without_model.")
    assert found.voice.rule in found.gist.text, "a rule of the user is handed on word for word"


@pytest.fixture(scope="module", params=[(voice, recipe) for voice in VOICES for recipe in RECIPES], ids="-".join)
def folded(request: pytest.FixtureRequest, served: Served) -> Fitted:
    voice, recipe = request.param
    return fitted(voice, recipe, TinyMeter(), served.summariser())


def test_a_long_session_is_summed_up_over_http_and_fits(folded: Fitted) -> None:
    check(folded)
    assert folded.gist.why == "by_model"
    assert "The tests are not run yet." in folded.gist.text or SUMMARY in folded.gist.text


def test_the_server_takes_what_was_folded_and_counts_no_more_than_we_did(folded: Fitted, served: Served) -> None:
    reply = served.ask("openai_chat", {"messages": folded.after, "max_tokens": folded.session.budget.reserve})
    assert reply["choices"][0]["message"]["content"] == "I have read the file."
    assert reply["usage"]["prompt_tokens"] <= folded.outcome.after.total


def test_without_folding_the_server_refuses_the_session(served: Served) -> None:
    body = working(VOICES["english"], 60_000, TinyMeter().count)
    with pytest.raises(Refusal, match="exceeds the available context size"):
        served.ask("openai_chat", {"messages": body})


@pytest.mark.parametrize("dialect", ["openai_responses", "anthropic"])
def test_the_question_may_be_put_in_any_dialect_the_server_speaks(served: Served, dialect: str) -> None:
    found = fitted("english", "layers", TinyMeter(), served.summariser(dialect))
    assert found.gist.why == "by_model" and SUMMARY in found.gist.text


def test_an_answer_that_is_begun_for_the_model_is_understood(served: Served) -> None:
    found = fitted("english", "chat-hybrid", TinyMeter(), served.summariser(prefill=True))
    assert found.gist.why == "by_model" and SUMMARY in found.gist.text


def test_what_a_model_makes_of_a_schema_it_does_not_understand_is_not_used(served: Served) -> None:
    """The scripted model cannot write JSON. The server makes it, and there is nothing in it."""
    found = fitted("english", "chat-hybrid", TinyMeter(), served.summariser(schema=True))
    check(found)
    assert found.gist.why == "without_model.empty"


def test_where_the_server_refuses_the_gist_is_made_without_it_and_says_why(served: Served) -> None:
    def too_long(question: Question) -> str:
        return served.summariser()(Question(question.purpose, question.text * 9, question.limit))

    found = fitted("english", "layers", TinyMeter(), too_long)
    check(found)
    assert "exceeds the available context size" in found.outcome.failed[0]
    assert found.gist.why == "without_model.unanswered"
    assert found.gist.detail.startswith("the question for summary failed")


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("voice", VOICES)
def test_a_real_model_is_held_to_the_same(qwen: Served, voice: str, recipe: str) -> None:
    found = fitted(voice, recipe, meters.from_file(qwen.model), qwen.summariser())
    check(found)
    usage = qwen.ask("openai_chat", {"messages": found.after, "max_tokens": 16})["usage"]
    assert usage["prompt_tokens"] <= found.session.budget.limit
