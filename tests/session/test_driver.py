from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import pytest

from yohaku.core.errors import BadSetting, Refused, Unanswered
from yohaku.core.recipe import Effect, FoldStarting, Question, ReadFile
from yohaku.session.driver import EffectHandlers, Summarise, adrive, drive
from yohaku.testing import ScriptedModel

Planning = Generator[Question, str, str]


def question(number: int) -> Question:
    return Question(f"purpose {number}", f"text {number}", 10)


def asking(count: int) -> Planning:
    """Asks so many questions, and tells the answers."""
    answers = []
    for number in range(count):
        answers.append((yield question(number)))
    return " ".join(answers)


def making_do() -> Planning:
    try:
        return (yield question(0))
    except Unanswered:
        return "made without a model"


def driven(planning: Planning, summarise: Summarise | None = None) -> str:
    return drive(planning, EffectHandlers(summarise))


def adriven(planning: Planning, summarise: Summarise | None = None) -> str:
    return asyncio.run(adrive(planning, EffectHandlers(summarise)))


both = pytest.mark.parametrize("driver", [driven, adriven])
Driver = Callable[..., str]


@both
def test_a_planning_without_questions_needs_nobody(driver: Driver) -> None:
    assert driver(asking(0)) == ""


@both
def test_each_question_is_put_and_its_answer_sent_back(driver: Driver) -> None:
    model = ScriptedModel("one", "", "three")
    assert driver(asking(3), model) == "one  three"
    assert model.asked == [question(0), question(1), question(2)]


@both
@pytest.mark.parametrize("summarise", [None, ScriptedModel(), lambda question: None])
def test_where_nobody_answers_the_planning_may_do_without(driver: Driver, summarise: Any) -> None:
    assert driver(making_do(), summarise) == "made without a model"


@both
def test_where_nobody_answers_and_the_planning_cannot_do_without_it_is_an_error(driver: Driver) -> None:
    with pytest.raises(Unanswered) as raised:
        driver(asking(1))
    assert str(raised.value) == "nobody is there to answer a question for purpose 0"


@both
def test_a_planning_may_go_on_asking_after_a_question_without_an_answer(driver: Driver) -> None:
    def stubborn() -> Planning:
        try:
            yield question(0)
        except Unanswered:
            pass
        return (yield question(1))

    answers = iter([None, "second"])
    assert driver(stubborn(), lambda question: next(answers)) == "second"


@both
def test_a_model_that_fails_is_one_that_does_not_answer(driver: Driver) -> None:
    def broken(question: Question) -> str:
        raise TimeoutError("too slow")

    assert driver(making_do(), broken) == "made without a model"
    with pytest.raises(Unanswered, match="the question for purpose 0 failed: too slow"):
        driver(asking(1), broken)


@both
def test_a_file_is_looked_at_through_the_reader_given_and_empty_where_there_is_none(driver: Driver) -> None:
    def looking() -> Generator[Effect, str, str]:
        return (yield ReadFile("a.py")) + "|" + (yield ReadFile("gone.py"))

    def run(answers: EffectHandlers) -> str:
        return drive(looking(), answers) if driver is driven else asyncio.run(adrive(looking(), answers))

    assert run(EffectHandlers(look={"a.py": "x = 1"}.get)) == "x = 1|"
    assert run(EffectHandlers()) == "|"


@both
@pytest.mark.parametrize(
    ("said", "heard"), [(None, "go on: "), ("keep the paths", "go on: keep the paths"), (False, "refused")]
)
def test_before_a_folding_the_surface_may_add_words_or_refuse(driver: Driver, said: Any, heard: str) -> None:
    told: list[FoldStarting] = []

    def before(folding: FoldStarting) -> Any:
        told.append(folding)
        return said

    def folding() -> Generator[Effect, str, str]:
        try:
            return "go on: " + (yield FoldStarting(manual=False, weight=9, limit=8))
        except Refused:
            return "refused"

    answers = EffectHandlers(before=before)
    assert (drive(folding(), answers) if driver is driven else asyncio.run(adrive(folding(), answers))) == heard
    assert told == [FoldStarting(manual=False, weight=9, limit=8)]


async def slowly(question: Question) -> str:
    await asyncio.sleep(0)
    return question.text


def test_an_async_model_is_awaited() -> None:
    assert adriven(asking(2), slowly) == "text 0 text 1"


def test_an_async_model_cannot_be_waited_for_by_the_other_driver() -> None:
    with pytest.raises(BadSetting, match="call afit instead of fit"):
        driven(asking(1), slowly)


def test_an_async_model_that_has_nothing_to_say_leaves_the_question_unanswered() -> None:
    async def silent(question: Question) -> Any:
        return None

    assert adriven(making_do(), silent) == "made without a model"
