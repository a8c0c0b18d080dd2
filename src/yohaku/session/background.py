"""Gists prepared before they are needed, so that a folding need not wait for a model.

Law: a draft changes nothing that is shown. One is made at a time and at most once a level, it stands only where
everything it tells of was said, and what goes wrong with it is a trouble to be read, never an error.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Callable, Generator
from threading import RLock, Thread
from typing import NamedTuple, TypeVar, get_args

from yohaku.core.budget import Budget, Level
from yohaku.core.engine import Outcome
from yohaku.core.errors import Unanswered
from yohaku.core.folds import Fold, Gist
from yohaku.core.recipe import Effect, Question
from yohaku.core.view import View
from yohaku.session.driver import EffectHandlers, Summarise, adrive, drive
from yohaku.summary.request import BY_MODEL

T = TypeVar("T")
LEVELS: tuple[Level, ...] = get_args(Level)
MOST = 32
"""Troubles that are remembered."""


class PreparedGist(NamedTuple):
    gist: Gist
    view: View
    """The one it was planned on: a client may say the same with other thoughts later, and a ref opens to these."""


class BackgroundGists:
    def __init__(self, summarise: Summarise | None) -> None:
        self.troubles: deque[Exception] = deque(maxlen=MOST)
        self._summarise = summarise
        self._ready: dict[str, PreparedGist] = {}
        self._tried: Level = "calm"
        self._busy: Callable[[], bool] = lambda: False
        self._lock = RLock()

    def make(self, planning: Generator[Effect, str, Outcome]) -> Gist | None:
        """The gist of a folding, remembered and not applied; None where the model gave none that can be used."""
        return self._take(drive(in_turns(planning, self._lock), EffectHandlers(self._summarise)))

    async def amake(self, planning: Generator[Effect, str, Outcome], *, aside: bool = False) -> Gist | None:
        """The same; `aside` keeps a function that blocks away from the loop, which others are using."""
        answers = EffectHandlers(_aside(self._summarise) if aside and self._summarise else self._summarise)
        return self._take(await adrive(in_turns(planning, self._lock), answers))

    def due(self, outcome: Outcome, budget: Budget, first: int) -> bool:
        """Whether to begin one now. `first` is the weight at which folding will start."""
        level = budget.level(outcome.after.total)
        if any(isinstance(fold, Gist) for fold in outcome.folds):
            self._tried = "calm"
            return False
        if LEVELS.index(level) <= LEVELS.index(self._tried):
            self._tried = level
            return False
        if self.busy:
            return False
        self._tried = level
        enough = max(0, first - budget.at("hot"))
        return not any(gist.before - gist.after >= enough for gist in self.standing(outcome.view).values())

    @property
    def busy(self) -> bool:
        return self._busy()

    def in_thread(self, planning: Generator[Effect, str, Outcome]) -> None:
        def run() -> None:
            try:
                self.make(planning)
            except Exception as failed:  # nobody waits for it here
                self.troubles.append(failed)

        thread = Thread(target=run, name="yohaku-draft", daemon=True)
        self._busy = thread.is_alive
        thread.start()

    def in_task(self, planning: Generator[Effect, str, Outcome]) -> None:
        async def run() -> None:
            try:
                await self.amake(planning, aside=True)
            except Exception as failed:
                self.troubles.append(failed)

        loop = asyncio.get_running_loop()
        task = loop.create_task(run(), name="yohaku-draft")
        self._busy = lambda: not (task.done() or loop.is_closed())  # and by this the task is held on to

    def standing(self, view: View) -> dict[str, Gist]:
        """Those that may still be used, by key: the end of each is in the history, and shown. Others are dropped."""
        if not self._ready:
            return {}
        keys = {key for turn in view.visible() for key in (turn.key, *(step.key for step in turn.steps))}
        keys -= {view.gist.key} if view.gist else set()
        for key in [key for key in list(self._ready) if key not in keys]:
            del self._ready[key]
        return {key: draft.gist for key, draft in list(self._ready.items())}

    def origin(self, fold: Fold, view: View) -> View:
        """Where what a fold hides is found: a draft's is what was said when it was made."""
        draft = self._ready.get(fold.key)
        return draft.view if draft and isinstance(fold, Gist) and fold.ref == draft.gist.ref else view

    def by_turns(self, planning: Generator[Effect, str, T]) -> Generator[Effect, str, T]:
        """A planning that works only while no draft is being worked on; they wait for models side by side."""
        return in_turns(planning, self._lock)

    def _take(self, outcome: Outcome) -> Gist | None:
        self.troubles += map(Unanswered, outcome.failed)
        gist = next((fold for fold in outcome.folds if isinstance(fold, Gist) and fold.why == BY_MODEL), None)
        if gist is not None:
            self._ready[gist.key] = PreparedGist(gist, outcome.view)
        return gist


def _aside(summarise: Summarise) -> Summarise:
    """The same, called in a thread, unless it says that it does not block; what it gives is awaited here."""
    if any(map(inspect.iscoroutinefunction, (summarise, type(summarise).__call__))):
        return summarise

    async def ask(question: Question) -> str:
        said = await asyncio.to_thread(summarise, question)
        return await said if inspect.isawaitable(said) else said

    return ask


def in_turns(planning: Generator[Effect, str, T], lock: RLock) -> Generator[Effect, str, T]:
    """The same planning, with the lock held while it works and not while it waits for an answer."""
    step: Callable[[], Effect] = planning.__next__
    while True:
        try:
            with lock:
                effect = step()
        except StopIteration as stop:
            result: T = stop.value
            return result
        try:
            answer = yield effect
        except Exception as failed:  # an answer that failed is the planning's own affair
            step = _throwing(planning, failed)
        else:
            step = _sending(planning, answer)


def _sending(planning: Generator[Effect, str, T], answer: str) -> Callable[[], Effect]:
    return lambda: planning.send(answer)


def _throwing(planning: Generator[Effect, str, T], failed: Exception) -> Callable[[], Effect]:
    return lambda: planning.throw(failed)
