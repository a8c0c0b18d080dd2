"""The two drivers of a planning: one asks its questions and waits, the other awaits. Nothing else is written twice."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from yohaku.core.errors import BadSetting, Refused, Unanswered
from yohaku.core.recipe import Effect, FoldStarting, Question, ReadFile

T = TypeVar("T")
Told: TypeAlias = str | bool | None
"""What comes of telling somebody of a folding: words for it, or False to have none."""
Summarise: TypeAlias = Callable[[Question], "str | Awaitable[str]"]


@dataclass(frozen=True, slots=True)
class EffectHandlers:
    """Who answers what a planning yields. Nobody need be there."""

    summarise: Summarise | None = None
    look: Callable[[str], str | None] | None = None
    """A file as it is now, or None where there is none to read."""
    before: Callable[[FoldStarting], Told | Awaitable[Told]] | None = None
    """Told of a folding before it begins; may return words for it, or False to have none."""

    def to(self, effect: Effect) -> str | Awaitable[str]:
        """The answer; raises `Unanswered` where there is none, `Refused` where a folding is not wanted."""
        match effect:
            case Question():
                try:
                    answer = self.summarise(effect) if self.summarise else None
                except (Unanswered, BadSetting):
                    raise
                except Exception as failed:  # whatever a summariser does, the conversation goes on without it
                    raise Unanswered(f"the question for {effect.purpose} failed: {failed}") from failed
                return answer if inspect.isawaitable(answer) else _said(answer, effect)
            case ReadFile():
                return (self.look(effect.path) if self.look else None) or ""
            case FoldStarting():
                told = self.before(effect) if self.before else None
                return _heard(told) if inspect.isawaitable(told) else _agreed(told)


NOBODY = EffectHandlers()


def drive(planning: Generator[Effect, str, T], answers: EffectHandlers = NOBODY) -> T:
    def answer(effect: Effect) -> str:
        answer = answers.to(effect)
        if isinstance(answer, str):
            return answer
        if inspect.iscoroutine(answer):
            answer.close()
        raise BadSetting("summarise or before is async here: call afit instead of fit", code="async_summarise")

    try:
        effect = next(planning)
        while True:
            try:
                reply = answer(effect)
            except (Unanswered, Refused) as nobody:
                effect = planning.throw(nobody)
            else:
                effect = planning.send(reply)
    except StopIteration as stop:
        outcome: T = stop.value
        return outcome


async def adrive(planning: Generator[Effect, str, T], answers: EffectHandlers = NOBODY) -> T:
    async def answer(effect: Effect) -> str:
        answer = answers.to(effect)
        if isinstance(answer, str):
            return answer
        if not isinstance(effect, Question):
            return await answer
        try:
            return _said(await answer, effect)
        except Unanswered:
            raise
        except Exception as failed:
            raise Unanswered(f"the question for {effect.purpose} failed: {failed}") from failed

    try:
        effect = next(planning)
        while True:
            try:
                reply = await answer(effect)
            except (Unanswered, Refused) as nobody:
                effect = planning.throw(nobody)
            else:
                effect = planning.send(reply)
    except StopIteration as stop:
        outcome: T = stop.value
        return outcome


async def _heard(told: Awaitable[Told]) -> str:
    return _agreed(await told)


def _agreed(told: Told) -> str:
    if told is False:
        raise Refused
    return told if isinstance(told, str) else ""


def _said(answer: object, effect: Question) -> str:
    if answer is None:
        raise Unanswered(f"nobody is there to answer a question for {effect.purpose}")
    if not isinstance(answer, str):
        raise Unanswered(f"the answer is not a text but a Python {type(answer).__name__}")
    return answer
