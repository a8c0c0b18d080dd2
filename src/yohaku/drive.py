"""The two drivers of a planning: one asks its questions and waits, the other awaits. Nothing else is written twice."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator
from typing import TypeAlias, TypeVar

from yohaku.core.engine import Question
from yohaku.core.errors import BadSetting, Unanswered

T = TypeVar("T")
Summarise: TypeAlias = Callable[[Question], str | Awaitable[str]]


def drive(planning: Generator[Question, str, T], summarise: Summarise | None = None) -> T:
    def answer(question: Question) -> str:
        answer = summarise(question) if summarise else None
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise BadSetting("summarise is async here: call afit instead of fit", code="async_summarise")
        return _said(answer, question)

    try:
        question = next(planning)
        while True:
            try:
                reply = answer(question)
            except Unanswered as nobody:
                question = planning.throw(nobody)
            else:
                question = planning.send(reply)
    except StopIteration as stop:
        outcome: T = stop.value
        return outcome


async def adrive(planning: Generator[Question, str, T], summarise: Summarise | None = None) -> T:
    async def answer(question: Question) -> str:
        answer = summarise(question) if summarise else None
        return _said(await answer if inspect.isawaitable(answer) else answer, question)

    try:
        question = next(planning)
        while True:
            try:
                reply = await answer(question)
            except Unanswered as nobody:
                question = planning.throw(nobody)
            else:
                question = planning.send(reply)
    except StopIteration as stop:
        outcome: T = stop.value
        return outcome


def _said(answer: str | None, question: Question) -> str:
    if answer is None:
        raise Unanswered(f"nobody is there to answer a question for {question.purpose}")
    return answer
