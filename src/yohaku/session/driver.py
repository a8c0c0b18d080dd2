"""Drivers of a planning: they carry out the effects it yields and send the answers back.

`drive` calls a model and waits for it; `adrive` awaits it. Nothing else is written twice.
Law: the lock is held while a planning works, and free while an answer is awaited.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from yohaku.core.errors import BadSetting, Refused, Unanswered
from yohaku.core.recipe import Effect, FoldStarting, Question, ReadFile, ReadReminder

T = TypeVar("T")
HookReply: TypeAlias = str | bool | None
"""Result of a hook before a folding: words for the summary, or False to prevent the folding."""
Hook: TypeAlias = Callable[[FoldStarting], "HookReply | Awaitable[HookReply]"]
Summarise: TypeAlias = Callable[[Question], "str | Awaitable[str]"]
Lock: TypeAlias = AbstractContextManager[Any]


@dataclass(frozen=True, slots=True)
class EffectHandlers:
    """Functions for the effects of a planning. Each may be missing."""

    summarise: Summarise | None = None
    look: Callable[[str], str | None] | None = None
    """Returns the text of a file as it is now, or None if there is none to read."""
    before: Hook | None = None
    """Called before a folding begins."""
    remind: Callable[[], str] | None = None
    """Returns a text that is to stand in a new gist."""

    def handle(self, effect: Effect) -> str | Awaitable[str]:
        """Return the answer; raise `Unanswered` if there is none, `Refused` if the hook prevents the folding."""
        match effect:
            case Question():
                try:
                    answer = self.summarise(effect) if self.summarise else None
                except (Unanswered, BadSetting):
                    raise
                except Exception as failed:  # whatever a summariser does, the conversation goes on without it
                    raise Unanswered(f"the question for {effect.purpose} failed: {failed}") from failed
                return answer if inspect.isawaitable(answer) else _check_answer(answer, effect)
            case ReadFile():
                return (self.look(effect.path) if self.look else None) or ""
            case ReadReminder():
                return self.remind() if self.remind else ""
            case FoldStarting():
                reply = self.before(effect) if self.before else None
                return _await_hook(reply) if inspect.isawaitable(reply) else _check_hook_reply(reply)


NO_HANDLERS = EffectHandlers()
NO_LOCK: Lock = nullcontext()


def drive(planning: Generator[Effect, str, T], handlers: EffectHandlers = NO_HANDLERS, lock: Lock = NO_LOCK) -> T:
    """Run a planning to its end and return its result."""
    reply: str | Exception | None = None
    try:
        while True:
            effect = _resume(planning, reply, lock)
            try:
                reply = _answer(effect, handlers)
            except (Unanswered, Refused) as failed:
                reply = failed
    except StopIteration as stop:
        result: T = stop.value
        return result


async def adrive(
    planning: Generator[Effect, str, T], handlers: EffectHandlers = NO_HANDLERS, lock: Lock = NO_LOCK
) -> T:
    """Run a planning to its end and return its result; the functions in `handlers` may be async."""
    reply: str | Exception | None = None
    try:
        while True:
            effect = _resume(planning, reply, lock)
            try:
                reply = await _await_answer(effect, handlers)
            except (Unanswered, Refused) as failed:
                reply = failed
    except StopIteration as stop:
        result: T = stop.value
        return result


def _resume(planning: Generator[Effect, str, T], reply: str | Exception | None, lock: Lock) -> Effect:
    """Run a planning up to its next effect; raise `StopIteration` at its end."""
    with lock:
        if isinstance(reply, Exception):
            return planning.throw(reply)
        return next(planning) if reply is None else planning.send(reply)


def _answer(effect: Effect, handlers: EffectHandlers) -> str:
    answer = handlers.handle(effect)
    if isinstance(answer, str):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()
    raise BadSetting("summarise or before is async here: call afit instead of fit", code="async_summarise")


async def _await_answer(effect: Effect, handlers: EffectHandlers) -> str:
    answer = handlers.handle(effect)
    if isinstance(answer, str):
        return answer
    if not isinstance(effect, Question):
        return await answer
    try:
        return _check_answer(await answer, effect)
    except Unanswered:
        raise
    except Exception as failed:
        raise Unanswered(f"the question for {effect.purpose} failed: {failed}") from failed


async def _await_hook(reply: Awaitable[HookReply]) -> str:
    return _check_hook_reply(await reply)


def _check_hook_reply(reply: HookReply) -> str:
    if reply is False:
        raise Refused
    return reply if isinstance(reply, str) else ""


def _check_answer(answer: object, effect: Question) -> str:
    if answer is None:
        raise Unanswered(f"nobody is there to answer a question for {effect.purpose}")
    if not isinstance(answer, str):
        raise Unanswered(f"the answer is not a text but a Python {type(answer).__name__}")
    return answer
