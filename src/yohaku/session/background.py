"""Gists prepared before they are needed, so that a folding need not wait for a model.

Law: a prepared gist changes nothing that is shown. One is made at a time and at most once a level; it is used only
while everything it covers is in the conversation; and its failures are kept in `troubles`, never raised.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Callable, Generator
from threading import Thread
from typing import NamedTuple, TypeAlias, get_args

from yohaku.core.budget import Budget, Level
from yohaku.core.engine import Outcome
from yohaku.core.errors import Unanswered
from yohaku.core.folds import Fold, Gist
from yohaku.core.recipe import Effect, Question
from yohaku.core.view import View
from yohaku.session.driver import EffectHandlers, Lock, Summarise, adrive, drive
from yohaku.summary.request import BY_MODEL

Planning: TypeAlias = Generator[Effect, str, Outcome]
LEVELS: tuple[Level, ...] = get_args(Level)
MAX_TROUBLES = 32


class PreparedGist(NamedTuple):
    gist: Gist
    view: View
    """The view it was planned on. A client may send other thoughts with the same texts later; its ref opens these."""


class BackgroundGists:
    def __init__(self, summarise: Summarise | None, lock: Lock) -> None:
        """`lock` is held while a gist is planned, and not while the model writes it."""
        self.troubles: deque[Exception] = deque(maxlen=MAX_TROUBLES)
        self._summarise = summarise
        self._lock = lock
        self._prepared: dict[str, PreparedGist] = {}
        self._level_tried: Level = "calm"
        self._is_running: Callable[[], bool] = lambda: False

    def prepare(self, planning: Planning, summarise: Summarise | None = None) -> Gist | None:
        """Make and remember the gist of a folding without applying it; None if the model gave none that is usable."""
        return self._remember(drive(planning, EffectHandlers(summarise or self._summarise), self._lock))

    async def aprepare(self, planning: Planning, *, in_thread: bool = False) -> Gist | None:
        """Do the same; `in_thread` keeps a function that blocks out of the event loop, which others are using."""
        summarise = _call_in_thread(self._summarise) if in_thread and self._summarise else self._summarise
        return self._remember(await adrive(planning, EffectHandlers(summarise), self._lock))

    def is_due(self, outcome: Outcome, budget: Budget, starts_at: int) -> bool:
        """Return whether to begin one now. `starts_at` is the weight at which folding will start."""
        level = budget.level(outcome.after.total)
        if any(isinstance(fold, Gist) for fold in outcome.folds):
            self._level_tried = "calm"
            return False
        if LEVELS.index(level) <= LEVELS.index(self._level_tried):
            self._level_tried = level
            return False
        if self.running:
            return False
        self._level_tried = level
        enough = max(0, starts_at - budget.at("hot"))
        return not any(gist.before - gist.after >= enough for gist in self.usable(outcome.view).values())

    @property
    def running(self) -> bool:
        return self._is_running()

    def start_thread(self, planning: Planning) -> None:
        def run() -> None:
            try:
                self.prepare(planning)
            except Exception as failed:  # nobody waits for it here
                self.troubles.append(failed)

        thread = Thread(target=run, name="yohaku-draft", daemon=True)
        self._is_running = thread.is_alive
        thread.start()

    def start_task(self, planning: Planning) -> None:
        async def run() -> None:
            try:
                await self.aprepare(planning, in_thread=True)
            except Exception as failed:
                self.troubles.append(failed)

        loop = asyncio.get_running_loop()
        task = loop.create_task(run(), name="yohaku-draft")
        self._is_running = lambda: not (task.done() or loop.is_closed())  # also keeps the task from being collected

    def usable(self, view: View) -> dict[str, Gist]:
        """Return the gists whose end is in the history and shown, by key, and drop the others.

        A chapter has to begin where the newest gist ends.
        """
        if not self._prepared:
            return {}
        keys = {key for turn in view.visible() for key in (turn.key, *(step.key for step in turn.steps))}
        newest = view.gist.key if view.gist else ""
        keys -= {newest}
        for key, prepared in list(self._prepared.items()):
            if key not in keys or prepared.gist.start not in ("", newest):
                del self._prepared[key]
        return {key: prepared.gist for key, prepared in list(self._prepared.items())}

    def source_of(self, fold: Fold, view: View) -> View:
        """Return the view that has the originals of a fold: for a prepared gist, the one it was planned on."""
        prepared = self._prepared.get(fold.key)
        if prepared and isinstance(fold, Gist) and fold.ref == prepared.gist.ref:
            return prepared.view
        return view

    def _remember(self, outcome: Outcome) -> Gist | None:
        self.troubles += map(Unanswered, outcome.failed)
        gist = next((fold for fold in outcome.folds if isinstance(fold, Gist) and fold.why == BY_MODEL), None)
        if gist is not None:
            self._prepared[gist.key] = PreparedGist(gist, outcome.view)
        return gist


def _call_in_thread(summarise: Summarise) -> Summarise:
    """Return a function that calls `summarise` in a thread, unless it is async; awaitables are awaited in the loop."""
    if any(map(inspect.iscoroutinefunction, (summarise, type(summarise).__call__))):
        return summarise

    async def ask(question: Question) -> str:
        answer = await asyncio.to_thread(summarise, question)
        return await answer if inspect.isawaitable(answer) else answer

    return ask
