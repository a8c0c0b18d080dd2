"""Fitting of one conversation: reading on, planning with the folds made earlier, keeping what was folded.

Law: nothing that is known not to fit is handed out, but for a body that is left alone because the provider holds
earlier turns of it; and nothing is folded before its original is stored.
A body that only adds to the last one costs as much as it adds.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from yohaku import dialects, meters
from yohaku.config import resolve
from yohaku.config import settings as setting
from yohaku.config.settings import Notice, Settings
from yohaku.config.summary_models import SAME, SummaryModel, summary_model_for
from yohaku.core.budget import Budget
from yohaku.core.cache_break_even import CachePrices
from yohaku.core.engine import Outcome, plan
from yohaku.core.errors import BadSetting, DoesNotFit, Malformed
from yohaku.core.folds import UNKNOWN_MAKER, Cut, Fold, MadeFor
from yohaku.core.meter import Meter
from yohaku.core.model import History
from yohaku.core.recipe import Effect, FoldStarting, PlanOptions, Recipe
from yohaku.core.reuse import ALLOWED, Reusable, select_reusable, serves
from yohaku.core.verdict import LeftAlone, TooBig
from yohaku.core.view import View
from yohaku.core.weigh import Weigher, weigh
from yohaku.dialects.detect import detect
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.reader import IncrementalReader
from yohaku.meters.calibration import Calibration
from yohaku.recipes.auto import RECIPES
from yohaku.recipes.builtin import sums_up
from yohaku.session.background import BackgroundGists, Planning
from yohaku.session.count_gaps import CountGaps
from yohaku.session.counting import Counting
from yohaku.session.driver import EffectHandlers, Hook, Summarise, drive
from yohaku.session.file_watch import FileWatch
from yohaku.session.incremental import LastFit, settled_mark, steps_since, write_body
from yohaku.session.outputs import OutputLog, keeps_outputs
from yohaku.session.persistence import Persistence, open_recorder
from yohaku.session.receipt import Receipt, SummaryOptions
from yohaku.session.recorder import TranscriptFolder
from yohaku.session.server_state import leave_alone, notice_of_state
from yohaku.session.stored_folds import ShownFolds, StoredFolds
from yohaku.stores import Store


class _Planned(NamedTuple):
    outcome: Outcome
    before: View
    """The view with the folds made earlier."""
    stored: StoredFolds
    reused: tuple[Fold, ...] = ()


class Fitting:
    """State and steps of the fits of one conversation; `Session` is what callers see of it."""

    kept_lines: tuple[str, ...] = ()
    """Lines that stay in the stub of a text that has them (`PlanOptions.kept_lines`)."""
    notes: dict[str, str]
    """Texts to show in place of prompts that are too big, by their refs (`PlanOptions.notes`)."""
    unasked = ""
    """Code of the reason not to ask the model for summaries now (`PlanOptions.unasked`); empty: it is asked."""

    def __init__(
        self,
        window: int | None = None,
        reserve: int | None = None,
        recipe: str | Recipe = "auto",
        model: str | None = None,
        *,
        dialect: str | None = None,
        provider: str | None = None,
        meter: Meter | None = None,
        store: Store | str | None = None,
        transcript: str | Path | bool | TranscriptFolder = False,
        summarise: Summarise | None = None,
        look: Callable[[str], str | None] | None = None,
        before: Hook | None = None,
        after: Callable[[Receipt], None] | None = None,
        remind: Callable[[], str] | None = None,
        prices: CachePrices | None = None,
        background: bool = False,
        summary_model: SummaryModel | str | None = None,
        gaps: CountGaps | None = None,
        settings: Settings | Mapping[str, object] | None = None,
    ) -> None:
        _check_tokens(window=window, reserve=reserve)
        settings = _choose_settings(settings, window, recipe)
        found = resolve.window_for(model, settings, provider=provider, dialect=dialect, window=window)
        self.budget = Budget.of(found.tokens, reserve, found.output_limit)
        self.warnings = found.warnings
        self.recipe = resolve.recipe_for(recipe, settings) if isinstance(recipe, str) else recipe
        self.model = model
        self._persistence = Persistence(store, self._warn)
        self.store = self._persistence.store
        self._outputs = OutputLog(self.store)
        if transcript:
            self._record(transcript, settings)
        self.receipt: Receipt | None = None
        self._dialect = dialect
        meter = meter or (meters.from_file(settings.tokenizer, model) if settings.tokenizer else None)
        self._counting = Counting(model, provider, meter, gaps, self._warn)
        self._before = before
        self.remind = remind
        self._handlers = EffectHandlers(summarise, look, self._call_before if before else None, self._call_remind)
        self._after = after
        self._prices = prices or CachePrices()
        self._last: LastFit | None = None
        self._shown_folds = ShownFolds()
        self._background = background
        self.summary_model = _choose_summary_model(summary_model, model, settings)
        if settings.options.compaction.ask == "never":
            self.unasked = "never"
        self._lock = RLock()
        self._drafts = BackgroundGists(summarise, self._lock)
        self._watch = FileWatch(look) if look else None
        self.notes = {}

    def _plan_fit(self, body: Any, options: PlanOptions) -> Generator[Effect, str, Any]:
        reader, last = self._read_on(body)
        history, state = reader.history(), reader.dialect.state_in(body)
        meter, version = self._begin(reader, last, history, body)
        mark = settled_mark(last.outcome.view.history) if last else Cut(0, 0)
        if self._watch:
            self._watch.observe(steps_since(history, mark))
        planned = self._extend(last, history, meter) if last and not options.manual else None
        planned = planned or (yield from self._plan_view(last, history, meter, options, state))
        outcome = planned.outcome
        whole = weigh(history, meter).total if planned.reused else 0
        about = self.scale.total, planned.reused, whole, state, self._summary_options(options)
        self.receipt = Receipt(outcome, self.budget.limit, meter.exact, meter.name, *about)
        if isinstance(outcome.verdict, TooBig):
            raise DoesNotFit(outcome.verdict)
        if self.keeps_outputs:
            self._outputs.keep(steps_since(history, mark))
        if state:
            self._tell_of_state(self.receipt)
            return body
        if outcome.folds:
            self._persistence.keep(outcome, self.receipt, planned.before, self._drafts.source_of)
            planned.stored.note_made(outcome.folds)
        version = self._persistence.version_after(version, bool(outcome.folds))
        fitted_for = self.recipe, self.budget
        out, self._last = write_body(reader, outcome, last, version, planned.stored, fitted_for)
        if outcome.announced and self._after:
            self._after(self.receipt)
        return out

    def _begin(self, reader: IncrementalReader, last: LastFit | None, history: History, body: Any) -> tuple[Meter, int]:
        """Record what was said and switch to its conversation; return the meter for it, and the store's version."""
        if history.pending:
            call = history.pending.calls[0]
            raise Malformed(f"call {call.id!r} has no result; send its result with it", "the last reply")
        if self._persistence.recorder:
            self._persistence.recorder.record(reader.dialect.name, body, last.entry_count if last else 0)
        meter = self.meter_for(reader.dialect.name)
        self._counting.tune(meter)
        self.warn_if_estimated(reader.dialect.name)
        version = self._persistence.switch_to(history)
        if last and (last.store_version != version or last.fitted_for != (self.recipe, self.budget)):
            last.stale = True
        return meter, version

    def _read_on(self, body: Any) -> tuple[IncrementalReader, LastFit | None]:
        """Read a body: only what it adds if it extends the last one, and the whole of it otherwise."""
        last, self._last, self.receipt = self._last, None, None
        fresh = last is None or last.reader.dialect.state_in(body)
        if last and not fresh and last.extends_to(body, check_dialect=not self._dialect):
            reader = last.reader
            reader.body = body
        else:
            reader, last = IncrementalReader(self._dialect_of(body), body), None
        reader.read_on()
        return reader, last

    def _extend(self, last: LastFit, history: History, meter: Meter) -> _Planned | None:
        """Return the last outcome with what was added to it; None if something is to be folded."""
        starts_at = self.recipe.starts_at(self._calibrated_budget, quiet=True)
        outcome = last.extend_outcome(history, Weigher(meter), starts_at, self.store)
        return _Planned(outcome, outcome.view, last.stored) if outcome else None

    def _plan_view(
        self, last: LastFit | None, history: History, meter: Meter, options: PlanOptions, state: str
    ) -> Generator[Effect, str, _Planned]:
        """Plan with the folds made earlier; `state`: the field by which the provider holds earlier turns."""
        view, stored = self._build_view(last, history, meter)
        held = self._persistence.log.held(self._serves)
        options = replace(options, drafts=self._drafts.usable(view), held=held, made_for=stored.limit)
        planning = plan(view, self._calibrated_budget, self.recipe, meter, options)
        if state:
            outcome = leave_alone(drive(planning), state, Weigher(meter), self._calibrated_budget.limit)
            return _Planned(outcome, view, stored)
        outcome = yield from planning
        too_big = isinstance(outcome.verdict, TooBig)
        return _Planned(outcome, view, stored, () if too_big else self._shown_folds.add(outcome.view, outcome.folds))

    def _build_view(self, last: LastFit | None, history: History, meter: Meter) -> tuple[View, StoredFolds]:
        recipe, budget, limit = self.recipe, self._calibrated_budget, self.budget.limit
        # A conversation that only grew still reaches what it did, whatever a provider's reports have taught since.
        reach = last.stored.reach if last and last.fitted_for == (recipe, self.budget) else "none"

        def select(found: Iterable[Fold]) -> Reusable:
            return select_reusable(found, history, Weigher(meter), recipe, budget, limit, reach)

        before, stored = (last.outcome.view, last.stored) if last and not last.stale else (None, StoredFolds())
        return self._persistence.build_view(before, history, stored, select)

    def _serves(self, made_for: MadeFor) -> bool:
        """Test whether folds made for this may show here. Those of an older version may."""
        return made_for == UNKNOWN_MAKER or serves(made_for, self.recipe.name, self.budget.limit)

    def _shows(self, made_for: MadeFor) -> bool:
        """Test whether folds made for this show now: below the first rung only those made by hand do."""
        reach = self._last.stored.reach if self._last else "all"
        return self._serves(made_for) and made_for.how in ALLOWED[reach]

    def _dialect_of(self, body: Any) -> Dialect:
        return dialects.dialect_named(self._dialect or detect(body))

    @property
    def _calibrated_budget(self) -> Budget:
        """The budget in tokens of our meter, corrected by the provider's reports."""
        return self._counting.calibrate(self.budget)

    def _options(self, fold: bool, words: str) -> PlanOptions:
        model, unasked = self.asks_model, self.unasked or "no_model"
        options = PlanOptions(fold, words, model=model, unasked=unasked, notes=self.notes, prices=self._prices)
        options = replace(options, kept_lines=self.kept_lines)
        name, window, share = self.summary_model.name, self.summary_model.window, self.summary_model.share
        return replace(options, summary_model=name, summary_window=window, summary_share=share)

    def _summary_options(self, options: PlanOptions) -> SummaryOptions:
        unasked = options.unasked if self.sums_up and not options.model else ""
        return SummaryOptions(options.words, self.summary_model.name or self.model or "", unasked)

    @property
    def asks_model(self) -> bool:
        """True if a model is asked for the next summary."""
        return self._handlers.summarise is not None and not self.unasked

    @property
    def sums_up(self) -> bool:
        """True if the recipe sums up what is old, with or without a model, instead of leaving it out."""
        return sums_up(self.recipe)

    @property
    def scale(self) -> Calibration:
        """What the provider's reports have taught about our counts."""
        return self._counting.scale

    def meter_for(self, dialect: str) -> Meter:
        return self._counting.meter_for(dialect)

    def warn_if_estimated(self, dialect: str) -> None:
        """Add a notice, once for a model, where its counts are estimates that no server checks."""
        self._counting.warn_if_estimated(dialect)

    @property
    def keeps_outputs(self) -> bool:
        """True if the recipe keeps every tool output as it arrives, folded or not."""
        return keeps_outputs(self.recipe)

    @property
    def key(self) -> str:
        """Key of the conversation, as `yohaku receipts` lists it; empty before the first fit."""
        return self._persistence.conversation

    @property
    def transcript_path(self) -> Path | None:
        """The file with everything that was said so far; None if none is written."""
        recorder = self._persistence.recorder
        return recorder.path.absolute() if recorder and recorder.path else None

    def _plan_draft_if_due(self) -> Planning | None:
        return self._plan_due_draft(self.asks_model) if self._background and self.asks_model else None

    def _plan_due_draft(self, model: bool) -> Planning | None:
        """Plan the gist that is due after the last fit; `model`: there is one to ask, the session's or another."""
        last, budget = self._last, self._calibrated_budget
        if last is None or not self._drafts.is_due(last.outcome, budget, self.recipe.starts_at(budget)):
            return None
        options = replace(self._options(True, ""), model=model)
        return plan(last.outcome.view, budget, self.recipe, self.meter_for(last.reader.dialect.name), options)

    def _plan_draft_of(self, body: Any) -> Planning | None:
        if not self.asks_model:
            return None
        dialect = self._dialect_of(body)
        meter = self.meter_for(dialect.name)
        return self._plan_draft(self._build_view(None, dialect.read(body).history(), meter)[0], meter)

    def _plan_draft(self, view: View, meter: Meter) -> Planning:
        return plan(view, self._calibrated_budget, self.recipe, meter, self._options(True, ""))

    def _call_before(self, starting: FoldStarting) -> Any:
        """Call the user's hook, with the tokens as the provider counts them."""
        assert self._before is not None
        weight, limit = self.scale.total(starting.weight), self.budget.limit
        path = str(self.transcript_path or "")
        return self._before(replace(starting, weight=weight, limit=limit, session=self.key, transcript=path))

    def _call_remind(self) -> str:
        return self.remind() if self.remind else ""

    def _record(self, transcript: str | Path | bool | TranscriptFolder, settings: Settings) -> None:
        data = setting.read().data if transcript is True and settings.data == Path() else settings.data
        self._persistence.recorder = open_recorder(transcript, data, self.model, self._warn)

    def _warn(self, notice: Notice) -> None:
        self.warnings = (*self.warnings, notice)

    def _tell_of_state(self, receipt: Receipt) -> None:
        """Add a notice, once, that a body was left alone; and once that one was although it is over the limit."""
        if isinstance(receipt.verdict, LeftAlone):
            notice = notice_of_state(receipt.verdict, receipt.after, receipt.limit)
            if all(each.code != notice.code for each in self.warnings):
                self._warn(notice)


def _choose_settings(
    given: Settings | Mapping[str, object] | None, window: int | None, recipe: str | Recipe
) -> Settings:
    """Return the given settings, else those of the user where window or recipe need them."""
    if given is None:
        ours = not isinstance(recipe, str) or recipe in RECIPES
        return Settings() if window and ours else setting.read()
    return given if isinstance(given, Settings) else setting.from_mapping(given)


def _choose_summary_model(given: SummaryModel | str | None, model: str | None, settings: Settings) -> SummaryModel:
    if isinstance(given, SummaryModel):
        return given
    return summary_model_for(model, settings, default=given or SAME) or SummaryModel("")


def _check_tokens(**given: object) -> None:
    for name, value in given.items():
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise BadSetting(f"{name} must be a whole number of tokens, not {value!r}")
