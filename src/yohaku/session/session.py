"""Session: the conversation as last read, its folds, and the store that keeps their originals. Every surface has one.

Law: nothing that is known not to fit is handed out, and nothing is folded before its original is stored.
A body that only adds to the last one costs as much as it adds.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self

from yohaku import dialects, meters
from yohaku.config import resolve
from yohaku.config import settings as setting
from yohaku.config.settings import Notice, Settings
from yohaku.core.budget import Budget
from yohaku.core.cache_break_even import CachePrices
from yohaku.core.engine import plan
from yohaku.core.errors import BadSetting, DoesNotFit, Malformed
from yohaku.core.folds import Cut, Gist
from yohaku.core.meter import Meter
from yohaku.core.model import History
from yohaku.core.pins import Pin
from yohaku.core.recipe import Effect, FoldStarting, PlanOptions, Recipe
from yohaku.core.verdict import TooBig
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.dialects.answer import Usage, prompt_tokens, total_tokens
from yohaku.dialects.detect import detect
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.reader import IncrementalReader
from yohaku.meters.calibration import Calibration
from yohaku.meters.guarded import GuardedMeter
from yohaku.recipes.auto import RECIPES
from yohaku.session.background import BackgroundGists, Planning
from yohaku.session.driver import EffectHandlers, Summarise, adrive, drive
from yohaku.session.file_watch import FileWatch
from yohaku.session.fold_log import FoldingRecord
from yohaku.session.incremental import LastFit, settled_mark, steps_since, write_body
from yohaku.session.persistence import Persistence, open_recorder
from yohaku.session.receipt import Receipt
from yohaku.stores import Store


class Session:
    def __init__(
        self,
        window: int | None = None,
        reserve: int | None = None,
        recipe: str | Recipe = "auto",
        model: str | None = None,
        *,
        dialect: str | None = None,
        meter: Meter | None = None,
        store: Store | str | None = None,
        transcript: str | Path | bool = False,
        summarise: Summarise | None = None,
        look: Callable[[str], str | None] | None = None,
        before: Callable[[FoldStarting], str | bool | None] | None = None,
        after: Callable[[Receipt], None] | None = None,
        prices: CachePrices | None = None,
        background: bool = False,
        settings: Settings | None = None,
    ) -> None:
        """`window` or `model` is needed; everything else has a default that is a function of them.

        `store` is a store or its URL, as `sqlite:///path`; while it fails the session goes on in memory and adds a
        notice to `warnings`. `transcript` is a file for everything said and folded, or True for one in the data folder.
        `look` reads a file as it is now; `before` is called before a folding, and may return words for it, or False
        to prevent it; `after` is called with the receipt of each. With `background` a gist is prepared, from "warm"
        on, beside the conversation; its failures are in `troubles`.
        """
        for name, given in (("window", window), ("reserve", reserve)):
            if given is not None and (not isinstance(given, int) or isinstance(given, bool)):
                raise BadSetting(f"{name} must be a whole number of tokens, not {given!r}")
        if settings is None:
            ours = not isinstance(recipe, str) or recipe in RECIPES
            settings = Settings() if window and ours else setting.read()
        found = resolve.window_for(model, settings, dialect=dialect, window=window)
        self.budget = Budget.of(found.tokens, reserve, found.output_limit)
        self.warnings = found.warnings
        self.recipe = resolve.recipe_for(recipe, settings) if isinstance(recipe, str) else recipe
        self.model = model
        self._persistence = Persistence(store, self._warn)
        self.store = self._persistence.store
        if transcript:
            data = setting.read().data if transcript is True and settings.data == Path() else settings.data
            self._persistence.recorder = open_recorder(transcript, data, model, self._warn)
        self.receipt: Receipt | None = None
        self.scale = Calibration()
        self._dialect = dialect
        self._meters: dict[str, Meter] = {}
        self._meter = GuardedMeter(meter) if meter is not None else None
        self._handlers = EffectHandlers(summarise, look, before)
        self._after = after
        self._prices = prices or CachePrices()
        self._last: LastFit | None = None
        self._background = background
        self._lock = RLock()
        self._drafts = BackgroundGists(summarise, self._lock)
        self._watch = FileWatch(look) if look else None

    def fit(self, body: Any, *, fold: bool = False, words: str = "") -> Any:
        """Return the same conversation, in the same shape, within the limit; raise `DoesNotFit` if that is impossible.

        `fold` folds now, whatever the weight; `words` are the user's, on what the summary is to keep.
        The result shares its entries with `body` and with the session: copy before you edit.
        """
        out = drive(self._plan_fit(body, self._options(fold, words)), self._handlers, self._lock)
        if planning := self._plan_draft_if_due():
            self._drafts.start_thread(planning)
        return out

    async def afit(self, body: Any, *, fold: bool = False, words: str = "") -> Any:
        out = await adrive(self._plan_fit(body, self._options(fold, words)), self._handlers, self._lock)
        if planning := self._plan_draft_if_due():
            self._drafts.start_task(planning)
        return out

    def draft(self, body: Any) -> Gist | None:
        """Prepare a gist of this conversation without folding it; a later fit uses it instead of asking the model.

        None if there is no model, or its answer cannot be used.
        """
        planning = self._plan_draft_of(body)
        return self._drafts.prepare(planning) if planning else None

    async def adraft(self, body: Any) -> Gist | None:
        planning = self._plan_draft_of(body)
        return await self._drafts.aprepare(planning) if planning else None

    @property
    def drafting(self) -> bool:
        """True while a gist is being prepared in the background."""
        return self._drafts.running

    @property
    def troubles(self) -> tuple[Exception, ...]:
        """The failures of the last drafts; the conversation needed none of them."""
        return tuple(self._drafts.troubles)

    def should_fold(self, usage: Any = None) -> bool:
        """Return whether the conversation is so large that the recipe folds, by `usage` or by our own weight.

        With `usage` the model's reply counts too: it is part of the next request.
        """
        if usage is not None:
            total = usage.total if isinstance(usage, Usage) else total_tokens(usage)
        elif self.receipt is not None:
            total = self.scale.total(self.receipt.outcome.after.total)  # with what was learned since
        else:
            return False
        folds_by_itself = any(not rung.quiet for rung in self.recipe.rungs)
        return folds_by_itself and total >= self.recipe.starts_at(self.budget)

    def changed(self) -> tuple[str, ...]:
        """Return the files the conversation has read that have changed since, or are gone; none without `look`."""
        return self._watch.changed() if self._watch else ()

    def learn(self, usage: Any) -> None:
        """Learn from the provider's report on the last request: its prompt tokens, or its usage in any dialect.

        From then on our meter weighs only what was added since, and tokens that the provider adds are counted.
        """
        if self.receipt is not None:
            reported = usage.prompt if isinstance(usage, Usage) else prompt_tokens(usage)
            self.scale = self.scale.learn(self.receipt.outcome.after.total, reported)

    def recall(self, ref: str) -> str | bytes:
        """Return the original of a ref."""
        return self.store.get(ref.removeprefix("ref="))

    def meter_for(self, dialect: str) -> Meter:
        if self._meter is not None:
            return self._meter
        if dialect not in self._meters:
            self._meters[dialect] = GuardedMeter(meters.for_model(self.model, dialect))
        return self._meters[dialect]

    def read(self, body: Any) -> History:
        return self._dialect_of(body).read(body).history()

    def undo(self, n: int = 1) -> tuple[FoldingRecord, ...]:
        """Undo the last `n` foldings of this conversation, in every process on this store, and return them.

        Their originals are shown from the next fit on, for as long as the conversation fits with them.
        """
        return self._persistence.undo(n)

    def redo(self, n: int = 1) -> tuple[FoldingRecord, ...]:
        """Redo the last `n` foldings that were undone, and return them."""
        return self._persistence.redo(n)

    def pin(self, what: str) -> Pin:
        """Show this unfolded from the next fit on: a piece by its ref, a prompt or step by its key, or words.

        That fit raises `DoesNotFit` if it is too large.
        """
        return self._persistence.pin(what)

    def unpin(self, what: str) -> Pin:
        return self._persistence.unpin(what)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return self._persistence.pins()

    def diff(self, one: str | int | None = None, other: str | int | None = None) -> str:
        """Return the changes between two foldings, by number or id; by default, those of the last one."""
        return "\n".join(self._persistence.diff(one, other))

    def close(self) -> None:
        """Close the transcript, and the store if the session opened it."""
        self._persistence.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _warn(self, notice: Notice) -> None:
        self.warnings = (*self.warnings, notice)

    def _options(self, fold: bool, words: str) -> PlanOptions:
        return PlanOptions(manual=fold, words=words, model=self._handlers.summarise is not None, prices=self._prices)

    def _plan_fit(self, body: Any, options: PlanOptions) -> Generator[Effect, str, Any]:
        reader, last = self._read_on(body)
        history = reader.history()
        if history.pending:
            call = history.pending.calls[0]
            raise Malformed(f"call {call.id!r} has no result; send its result with it", "the last reply")
        if self._persistence.recorder:
            self._persistence.recorder.record(reader.dialect.name, body, last.entry_count if last else 0)
        meter = self.meter_for(reader.dialect.name)
        version = self._persistence.switch_to(history)
        if last and last.store_version != version:
            last.stale = True
        outcome = None
        if last and not options.manual:
            starts_at = self.recipe.starts_at(self._calibrated_budget, quiet=True)
            outcome = last.extend_outcome(history, Weigher(meter), starts_at, self.store)
        if self._watch:
            self._watch.observe(steps_since(history, settled_mark(last.outcome.view.history) if last else Cut(0, 0)))
        if outcome is None:
            view = self._build_view(last, history)
            options = replace(options, drafts=self._drafts.usable(view), held=self._persistence.log.held)
            outcome = yield from plan(view, self._calibrated_budget, self.recipe, meter, options)
        self.receipt = Receipt(outcome, self.budget.limit, meter.exact, meter.name, self.scale.total)
        if isinstance(outcome.verdict, TooBig):
            raise DoesNotFit(outcome.verdict)
        if outcome.folds:
            self._persistence.keep(outcome, self.receipt, view, self._drafts.source_of)
        version = self._persistence.version_after(version, bool(outcome.folds))
        out, self._last = write_body(reader, outcome, last, version)
        if outcome.folds and self._after:
            self._after(self.receipt)
        return out

    def _read_on(self, body: Any) -> tuple[IncrementalReader, LastFit | None]:
        """Read a body: only what it adds if it extends the last one, and the whole of it otherwise."""
        last, self._last, self.receipt = self._last, None, None
        if last and last.extends_to(body, check_dialect=not self._dialect):
            reader = last.reader
            reader.body = body
        else:
            reader, last = IncrementalReader(self._dialect_of(body), body), None
        reader.read_on()
        return reader, last

    def _dialect_of(self, body: Any) -> Dialect:
        return dialects.dialect_named(self._dialect or detect(body))

    def _build_view(self, last: LastFit | None, history: History) -> View:
        return self._persistence.build_view(last.outcome.view if last and not last.stale else None, history)

    @property
    def _calibrated_budget(self) -> Budget:
        """The budget in tokens of our meter, corrected by the provider's reports."""
        if not self.scale.lessons:
            return self.budget
        limit = max(1, self.scale.weight(self.budget.limit))
        return Budget(limit + self.budget.reserve, self.budget.reserve)

    def _plan_draft_if_due(self) -> Planning | None:
        last = self._last
        if not (self._background and self._handlers.summarise and last):
            return None
        budget = self._calibrated_budget
        if not self._drafts.is_due(last.outcome, budget, self.recipe.starts_at(budget)):
            return None
        return self._plan_draft(last.outcome.view, self.meter_for(last.reader.dialect.name))

    def _plan_draft_of(self, body: Any) -> Planning | None:
        if self._handlers.summarise is None:
            return None
        dialect = self._dialect_of(body)
        return self._plan_draft(self._build_view(None, dialect.read(body).history()), self.meter_for(dialect.name))

    def _plan_draft(self, view: View, meter: Meter) -> Planning:
        return plan(view, self._calibrated_budget, self.recipe, meter, PlanOptions(manual=True, prices=self._prices))
