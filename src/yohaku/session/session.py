"""What every surface holds: a reading of the conversation, its folds, and where their originals are kept.

Law: nothing that is known not to fit is handed out, and nothing is folded before its original is stored.
A body that only adds to the last one costs what it adds.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
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
from yohaku.core.engine import Outcome, plan
from yohaku.core.errors import BadSetting, DoesNotFit, Malformed, Unreadable
from yohaku.core.folds import Cut, Gist
from yohaku.core.meter import Meter
from yohaku.core.model import History, newest_step
from yohaku.core.pins import Pin
from yohaku.core.recipe import Effect, FoldStarting, PlanOptions, Recipe
from yohaku.core.verdict import Fits, TooBig
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.dialects.answer import Usage, prompt_tokens, total_tokens
from yohaku.dialects.detect import detect
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.reader import IncrementalReader, SentEntries
from yohaku.meters.calibration import Calibration
from yohaku.meters.guarded import GuardedMeter
from yohaku.recipes.auto import RECIPES
from yohaku.session.background import BackgroundGists, Planning
from yohaku.session.driver import EffectHandlers, Summarise, adrive, drive
from yohaku.session.file_watch import FileWatch
from yohaku.session.fold_log import FoldingRecord
from yohaku.session.incremental import keys_since, settled, since, steps_since
from yohaku.session.persistence import Persistence, minutes_of
from yohaku.session.receipt import Receipt
from yohaku.stores import Store


@dataclass(slots=True)
class _Last:
    """What the last fit found, to go on from."""

    reading: IncrementalReader
    outcome: Outcome
    entries: int
    """How many entries of the body it had."""
    written: list[Any] | None
    """The entries it handed out; None when nothing was folded."""
    version: int
    """Of the store: another session may have folded on since."""
    sent: SentEntries
    """Which entries it sent."""
    stale: bool = False
    """Whether others kept, undid or pinned something since."""


PLAIN = "openai_chat"
"""What a conversation of plain texts is taken for."""


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

        `store` is one of ours or its URL, as `sqlite:///path`; while it fails the session goes on in memory, and says
        so in `warnings`. `transcript` is a file for all that is said and folded, or True for one in the data folder.
        `look` reads a file as it is now; `before` is told of a folding, and may add words to it or
        refuse it by returning False; `after` is given the receipt of each. With `background` a gist is prepared, from
        "warm" on, beside the conversation, and what goes wrong with that is in `troubles`.
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
        self._keeping = Persistence(store, self._tell)
        self.store = self._keeping.store
        if transcript:
            data = setting.read().data if transcript is True and settings.data == Path() else settings.data
            self._keeping.minutes = minutes_of(transcript, data, model, self._tell)
        self.receipt: Receipt | None = None
        self.scale = Calibration()
        self._dialect = dialect
        self._meters: dict[str, Meter] = {}
        self._meter = GuardedMeter(meter) if meter is not None else None
        self._handlers = EffectHandlers(summarise, look, before)
        self._after = after
        self._prices = prices or CachePrices()
        self._last: _Last | None = None
        self._background = background
        self._lock = RLock()
        self._drafts = BackgroundGists(summarise, self._lock)
        self._watch = FileWatch(look) if look else None

    def fit(self, body: Any, *, fold: bool = False, words: str = "") -> Any:
        """The same conversation, in the same shape, within the limit; raises `DoesNotFit` when there is no way.

        `fold` folds now, whatever the weight, and `words` say what the user wants kept.
        What comes out shares its entries with what went in and with the session: copy before you edit.
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
        """Prepares a gist of this conversation without folding it; a later fit takes it instead of asking.

        None where the model gave nothing that can be used, or nobody is there to ask.
        """
        planning = self._plan_draft_of(body)
        return self._drafts.prepare(planning) if planning else None

    async def adraft(self, body: Any) -> Gist | None:
        planning = self._plan_draft_of(body)
        return await self._drafts.aprepare(planning) if planning else None

    @property
    def drafting(self) -> bool:
        """Whether a gist is being prepared in the background."""
        return self._drafts.running

    @property
    def troubles(self) -> tuple[Exception, ...]:
        """What went wrong with the last drafts, none of which the conversation needed."""
        return tuple(self._drafts.troubles)

    def should_fold(self, usage: Any = None) -> bool:
        """Whether the conversation is so large that the recipe folds: by what the provider reports, or by our weight.

        With `usage` what the model answered counts too: it is part of the next request.
        """
        if usage is not None:
            total = usage.total if isinstance(usage, Usage) else total_tokens(usage)
        elif self.receipt is not None:
            total = self.scale.total(self.receipt.outcome.after.total)  # as taught since
        else:
            return False
        return total >= self.recipe.starts_at(self.budget)

    def changed(self) -> tuple[str, ...]:
        """Files the conversation has read that are something else now, or gone; none where nobody can `look`."""
        return self._watch.changed() if self._watch else ()

    def learn(self, usage: Any) -> None:
        """What the provider reported for the request handed out last: its prompt tokens, or its usage in any dialect.

        From then on only what was added since is weighed by our own meter, and what the provider adds is reckoned with.
        """
        if self.receipt is not None:
            reported = usage.prompt if isinstance(usage, Usage) else prompt_tokens(usage)
            self.scale = self.scale.learn(self.receipt.outcome.after.total, reported)

    def recall(self, ref: str) -> str | bytes:
        """The original a ref stands for."""
        return self.store.get(ref.removeprefix("ref="))

    def meter_for(self, dialect: str) -> Meter:
        if self._meter is not None:
            return self._meter
        if dialect not in self._meters:
            self._meters[dialect] = GuardedMeter(meters.for_model(self.model, dialect))
        return self._meters[dialect]

    def read(self, body: Any) -> History:
        """What a body says, in our language."""
        return self._dialect_of(body).read(body).history()

    def undo(self, n: int = 1) -> tuple[FoldingRecord, ...]:
        """The last `n` foldings of this conversation undone, in every process on this store; what they were.

        What they hid is shown again from the next fit on, and left open as long as the conversation fits without.
        """
        return self._keeping.undo(n)

    def redo(self, n: int = 1) -> tuple[FoldingRecord, ...]:
        """The last `n` that were undone stand again."""
        return self._keeping.redo(n)

    def pin(self, what: str) -> Pin:
        """From the next fit on this is shown as it was said: a piece by its ref, a prompt or step by its key, or words.

        `DoesNotFit` says so when there is no room for it.
        """
        return self._keeping.pin(what)

    def unpin(self, what: str) -> Pin:
        return self._keeping.unpin(what)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return self._keeping.pins()

    def diff(self, one: str | int | None = None, other: str | int | None = None) -> str:
        """What changed between two foldings of this conversation, by number or id; of none given, the last did."""
        return "\n".join(self._keeping.diff(one, other))

    def close(self) -> None:
        """Closes the transcript, and the store if the session opened it."""
        self._keeping.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _tell(self, notice: Notice) -> None:
        self.warnings = (*self.warnings, notice)

    def _options(self, fold: bool, words: str) -> PlanOptions:
        return PlanOptions(manual=fold, words=words, model=self._handlers.summarise is not None, prices=self._prices)

    def _plan_fit(self, body: Any, options: PlanOptions) -> Generator[Effect, str, Any]:
        last, self._last, self.receipt = self._last, None, None
        if last and last.reading.extends_to(body, last.sent) and self._still_speaks(last, body):
            reading = last.reading
            reading.body = body
        else:
            reading, last = IncrementalReader(self._dialect_of(body), body), None
        reading.read_on()
        history = reading.history()
        if history.pending:
            call = history.pending.calls[0]
            raise Malformed(f"call {call.id!r} has no result; send its result with it", "the last reply")
        if self._keeping.minutes:
            self._keeping.minutes.record(reading.dialect.name, body, last.entries if last else 0)
        meter = self.meter_for(reading.dialect.name)
        version = self._keeping.look(history)
        if last and last.version != version:
            last.stale = True
        outcome = self._still_calm(last, history, meter) if last and not options.manual else None
        if self._watch:
            self._watch.see(steps_since(history, settled(last.outcome.view.history) if last else Cut(0, 0)))
        if outcome is None:
            view = self._view(last, history)
            options = replace(options, drafts=self._drafts.usable(view), held=self._keeping.past.held)
            outcome = yield from plan(view, self._calibrated_budget, self.recipe, meter, options)
        self.receipt = Receipt(outcome, self.budget.limit, meter.exact, meter.name, self.scale.total)
        if isinstance(outcome.verdict, TooBig):
            raise DoesNotFit(outcome.verdict)
        if outcome.folds:
            self._keeping.keep(outcome, self.receipt, view, self._drafts.source_of)
        written = self._write(last, reading, outcome, self._keeping.seen(version, bool(outcome.folds)))
        if outcome.folds and self._after:
            self._after(self.receipt)
        return written

    @property
    def _calibrated_budget(self) -> Budget:
        """The budget in what our meter weighs, by what the provider's reports have taught."""
        if not self.scale.lessons:
            return self.budget
        limit = max(1, self.scale.weight(self.budget.limit))
        return Budget(limit + self.budget.reserve, self.budget.reserve)

    def _plan_draft_if_due(self) -> Planning | None:
        """The draft to be made beside the conversation as the last fit left it, if it is time for one."""
        last = self._last
        if not (self._background and self._handlers.summarise and last):
            return None
        budget = self._calibrated_budget
        if not self._drafts.is_due(last.outcome, budget, self.recipe.starts_at(budget)):
            return None
        return self._plan_draft(last.outcome.view, self.meter_for(last.reading.dialect.name))

    def _plan_draft_of(self, body: Any) -> Planning | None:
        if self._handlers.summarise is None:
            return None
        dialect = self._dialect_of(body)
        return self._plan_draft(self._view(None, dialect.read(body).history()), self.meter_for(dialect.name))

    def _plan_draft(self, view: View, meter: Meter) -> Planning:
        return plan(view, self._calibrated_budget, self.recipe, meter, PlanOptions(manual=True, prices=self._prices))

    def _dialect_of(self, body: Any) -> Dialect:
        return dialects.dialect_named(self._dialect or detect(body))

    def _still_speaks(self, last: _Last, body: Any) -> bool:
        """Whether what was added is in the dialect read so far: plain texts alone do not tell one from another."""
        dialect = last.reading.dialect
        added = dialect.entries_of(body)[last.entries :]
        if self._dialect or not added:
            return True
        try:
            sign = detect(added)
        except Unreadable:
            return True  # no sign of anything
        return sign in (dialect.name, PLAIN) or detect(body) == dialect.name

    def _view(self, last: _Last | None, history: History) -> View:
        return self._keeping.view(last.outcome.view if last and not last.stale else None, history)

    def _still_calm(self, last: _Last, history: History, meter: Meter) -> Outcome | None:
        """The outcome without planning, when what was added leaves it below the first rung and has no folds."""
        before = last.outcome
        old = before.view.history
        if last.stale or (old.system, old.tools) != (history.system, history.tools):
            return None
        mark = settled(before.view.history)
        touched = any(key in before.view.stubs for key in keys_since(before.view.history, mark))
        if touched or before.view.cut > mark or self.store.folds(keys_since(history, mark)):
            return None
        weigher = Weigher(meter)
        added = weigher.turns(since(history, mark)) - weigher.turns(since(before.view.history, mark))
        newest = newest_step(history.turns)
        results = sum(weigher.parts(use.result.parts) for use in newest.uses) if newest else 0
        ledger = replace(before.after, turns=before.after.turns + added, last=results)
        if ledger.total >= self.recipe.starts_at(self._calibrated_budget, quiet=True):
            return None
        return Outcome(before.view.grown(history), ledger, ledger, Fits())

    def _write(self, last: _Last | None, reading: IncrementalReader, outcome: Outcome, version: int) -> Any:
        dialect, body = reading.dialect, reading.body
        entries = dialect.entries_of(body)
        if last and not outcome.folds and last.outcome.view.stubs is outcome.view.stubs:
            written = None if last.written is None else [*last.written, *entries[last.entries :]]
            out = body if written is None else dialect.with_entries(body, list(written))
            sent = last.sent
        else:
            out = dialect.write(body, outcome.view)
            written = None if out is body else list(dialect.entries_of(out))
            sent = dialect.sent_entries(outcome.view, len(entries))
        self._last = _Last(reading, outcome, len(entries), written, version, sent)
        return out
