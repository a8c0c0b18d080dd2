"""Session: the conversation as last read, its folds, and the store that keeps their originals. Every surface has one.

Law: nothing that is known not to fit is handed out, but for a body that is left alone because the provider holds
earlier turns of it; and nothing is folded before its original is stored.
A body that only adds to the last one costs as much as it adds.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self

from yohaku import dialects, meters
from yohaku.config import resolve
from yohaku.config import settings as setting
from yohaku.config.settings import Notice, Settings
from yohaku.config.summary_models import SAME, SummaryModel, summary_model_for
from yohaku.core.budget import Budget
from yohaku.core.cache_break_even import CachePrices
from yohaku.core.engine import plan
from yohaku.core.errors import BadSetting, DoesNotFit, Malformed
from yohaku.core.folds import UNKNOWN_MAKER, Cut, Fold, Gist, MadeFor
from yohaku.core.meter import Meter
from yohaku.core.model import History
from yohaku.core.originals import OutputRef
from yohaku.core.pins import Pin
from yohaku.core.recipe import Effect, FoldStarting, PlanOptions, Recipe
from yohaku.core.reuse import ALLOWED, Reusable, select_reusable, serves
from yohaku.core.verdict import LeftAlone, TooBig, Verdict
from yohaku.core.view import View
from yohaku.core.weigh import Weigher, weigh
from yohaku.dialects.answer import Usage, prompt_tokens, total_tokens
from yohaku.dialects.detect import detect
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.reader import IncrementalReader
from yohaku.meters.calibration import Calibration
from yohaku.meters.guarded import GuardedMeter
from yohaku.recipes.auto import RECIPES
from yohaku.recipes.builtin import refuses, sums_up
from yohaku.session.background import BackgroundGists, Planning
from yohaku.session.count_gaps import CountedModel, CountGaps, notice_of_estimate
from yohaku.session.driver import EffectHandlers, Hook, Summarise, adrive, drive
from yohaku.session.file_watch import FileWatch
from yohaku.session.fold_log import FoldingRecord
from yohaku.session.incremental import LastFit, settled_mark, steps_since, write_body
from yohaku.session.outputs import KeptOutput, OutputLog, keeps_outputs
from yohaku.session.persistence import Persistence, open_recorder
from yohaku.session.receipt import Receipt, SummaryOptions
from yohaku.session.recorder import TranscriptFolder
from yohaku.session.server_state import leave_alone, notice_of_state
from yohaku.session.stored_folds import ShownFolds, StoredFolds
from yohaku.stores import Store


class Session:
    """Fits the requests of one conversation. `window` or `model` is needed; everything else has a default.

    `provider` is a name of the catalogue or of a registered meter: it tells who serves the model, where its name
    does not.
    `store` is a store or its URL, as `sqlite:///path`; while it fails the session goes on in memory and adds a
    notice to `warnings`. `transcript` is a file for everything said and folded, or True for one in the data folder.
    `look` reads a file as it is now; `before` is called before a folding, and may return words for it, or False
    to prevent it; `after` is called with the receipt of each, unless it was made silently as some are at every turn.
    `remind` returns a text that is to stand in each new gist, such as the model's plan.
    With `background` a gist is prepared, from "warm" on, beside the conversation; its failures are in `troubles`.
    `gaps` keeps how far our counts were from what was billed, by model, and tunes the next session by it. `settings`
    may be given by name, as in {"compaction.threshold_ratio": 0.7}; without it the user's config file is read only
    where it is needed.
    `summary_model` is the model that `summarise` asks, unless the settings name one ("cheaper": the catalogue's for
    `model`): questions carry its name and suit its window.
    """

    kept_lines: tuple[str, ...] = ()
    """Lines that stay in the stub of a text that has them (`PlanOptions.kept_lines`)."""
    notes: dict[str, str]
    """Texts to show in place of prompts that are too big, by their refs (`PlanOptions.notes`)."""
    server_counts = False
    """True while somebody asks the server for the tokens of each request: then an estimate carries no risk."""
    unasked = ""
    """Code of the reason not to ask the model for summaries now (`PlanOptions.unasked`); empty: it is asked."""
    _estimate_told = _state_told = _tuned = False

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
        self.scale = Calibration()
        self._dialect, self._provider = dialect, provider or ""
        self._meters: dict[str, Meter] = {}
        meter = meter or (meters.from_file(settings.tokenizer, model) if settings.tokenizer else None)
        self._meter = GuardedMeter(meter) if meter is not None else None
        self.gaps = gaps
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

    def draft_if_due(self, summarise: Summarise) -> Callable[[], Gist | None] | None:
        """Return a function that prepares a gist with this summariser; None if none is due after the last fit.

        It returns when the summariser has answered, and may run in a thread beside other calls of the session. Where a
        session has no summariser of its own, only such drafts are written by a model.
        """
        with self._lock:
            last, budget = self._last, self._calibrated_budget
            if last is None or not self._drafts.is_due(last.outcome, budget, self.recipe.starts_at(budget)):
                return None
            view, meter = last.outcome.view, self.meter_for(last.reader.dialect.name)
            planning = plan(view, budget, self.recipe, meter, replace(self._options(True, ""), model=True))
        return lambda: self._drafts.prepare(planning, summarise)

    @property
    def drafting(self) -> bool:
        """True while a gist is being prepared in the background."""
        return self._drafts.running

    @property
    def troubles(self) -> tuple[Exception, ...]:
        """The failures of the last drafts; the conversation needed none of them."""
        return tuple(self._drafts.troubles)

    @property
    def refuses(self) -> bool:
        """True if the recipe refuses a newest prompt that does not fit, instead of showing a part of it or notes."""
        return refuses(self.recipe)

    @property
    def sums_up(self) -> bool:
        """True if the recipe sums up what is old, with or without a model, instead of leaving it out."""
        return sums_up(self.recipe)

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

    def learn(self, usage: Any, *, billed: bool = True) -> None:
        """Learn from the provider's report on the last request: its prompt tokens, or its usage in any dialect.

        From then on our meter weighs only what was added since, and tokens that the provider adds are counted.
        `billed` is False for a count made before sending: it is not kept in `gaps`. Nothing is learned where the
        provider holds earlier turns: it reports them too.
        """
        if self.receipt is not None and not self.receipt.held_by:
            reported = usage.prompt if isinstance(usage, Usage) else prompt_tokens(usage)
            before = self.scale
            self.scale = before.learn(self.receipt.outcome.after.total, reported)
            if self.gaps and billed:
                self.gaps.record(self.counted_model(self.receipt.meter), before, self.scale)

    @property
    def key(self) -> str:
        """Key of the conversation, as `yohaku receipts` lists it; empty before the first fit."""
        return self._persistence.conversation

    @property
    def transcript_path(self) -> Path | None:
        """The file with everything that was said so far; None if none is written."""
        recorder = self._persistence.recorder
        return recorder.path.absolute() if recorder and recorder.path else None

    def note_in_transcript(self, **about: object) -> None:
        """Add fields to the first line of the transcript; they count until it is begun."""
        if self._persistence.recorder:
            self._persistence.recorder.about |= about

    def recall(self, ref: str) -> str | bytes:
        """Return the original of a ref."""
        return self.store.get(ref.removeprefix("ref="))

    def output_ref(self, call: str) -> OutputRef | None:
        """Return ref, bytes and lines of the output of a tool call, by its id; None if there is no such call.

        The ref opens with `recall` from now on, also where the output is not folded.
        """
        return self._outputs.find(self._last.outcome.view.history if self._last else History(), call)

    @property
    def outputs(self) -> tuple[KeptOutput, ...]:
        """Every tool output of the last fitted conversation with its ref; each opens with `recall` from now on."""
        return self._outputs.list(self._last.outcome.view.history if self._last else History())

    @property
    def keeps_outputs(self) -> bool:
        """True if the recipe keeps every tool output as it arrives, folded or not."""
        return keeps_outputs(self.recipe)

    def keep_output(self, call: str, ref: OutputRef) -> None:
        """Note the ref of all that a tool gave, where its message shows only a part of it."""
        self._outputs.whole[call] = ref
        if self._persistence.recorder:
            self._persistence.recorder.record_outputs({call: ref})

    def meter_for(self, dialect: str) -> Meter:
        if self._meter is not None:
            return self._meter
        if dialect not in self._meters:
            self._meters[dialect] = GuardedMeter(meters.for_model(self.model, dialect, self._provider))
        return self._meters[dialect]

    def counted_model(self, meter: str) -> CountedModel:
        return CountedModel(self.model or "", self._provider, meter)

    def warn_if_estimated(self, dialect: str) -> None:
        """Add a notice, once for a model, where its counts are estimates that no server checks."""
        meter = self.meter_for(dialect)
        if meter.exact or self.server_counts or self._estimate_told:
            return
        self._estimate_told = True
        if self.gaps is None or self.gaps.tell_once(self.counted_model(meter.name)):
            self._warn(notice_of_estimate(self.model, meter.name, meters.way_to_exact(self.model, dialect)))

    def read(self, body: Any) -> History:
        return self._dialect_of(body).read(body).history()

    def undo(self, n: int = 1) -> tuple[FoldingRecord, ...]:
        """Undo the last `n` foldings of this conversation, in every process on this store, and return them.

        Their originals are shown from the next fit on, for as long as the conversation fits with them.
        """
        return self._persistence.undo(n, self._shows)

    def redo(self, n: int = 1) -> tuple[FoldingRecord, ...]:
        """Redo the last `n` foldings that were undone, and return them."""
        return self._persistence.redo(n, self._serves)

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
        if self.gaps:
            self.gaps.flush()
        self._persistence.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _tune(self, meter: Meter) -> None:
        """Begin with what earlier conversations taught about the meter's counts for this model."""
        if self.gaps and not self._tuned and self.scale.neutral:
            self.scale = self.gaps.tuned(self.counted_model(meter.name))
        self._tuned = True

    def _record(self, transcript: str | Path | bool | TranscriptFolder, settings: Settings) -> None:
        data = setting.read().data if transcript is True and settings.data == Path() else settings.data
        self._persistence.recorder = open_recorder(transcript, data, self.model, self._warn)

    def _warn(self, notice: Notice) -> None:
        self.warnings = (*self.warnings, notice)

    def _tell_of_state(self, verdict: Verdict) -> None:
        """Add a notice, once, that a body was left alone."""
        if isinstance(verdict, LeftAlone) and not self._state_told:
            self._state_told = True
            self._warn(notice_of_state(verdict.field))

    def _call_before(self, starting: FoldStarting) -> Any:
        """Call the user's hook, with the tokens as the provider counts them."""
        assert self._before is not None
        weight, limit = self.scale.total(starting.weight), self.budget.limit
        path = str(self.transcript_path or "")
        return self._before(replace(starting, weight=weight, limit=limit, session=self.key, transcript=path))

    def _call_remind(self) -> str:
        return self.remind() if self.remind else ""

    def _options(self, fold: bool, words: str) -> PlanOptions:
        model, unasked = self.asks_model, self.unasked or "no_model"
        options = PlanOptions(fold, words, model=model, unasked=unasked, notes=self.notes, prices=self._prices)
        options = replace(options, kept_lines=self.kept_lines)
        name, window, share = self.summary_model.name, self.summary_model.window, self.summary_model.share
        return replace(options, summary_model=name, summary_window=window, summary_share=share)

    def _plan_fit(self, body: Any, options: PlanOptions) -> Generator[Effect, str, Any]:
        reader, last = self._read_on(body)
        history, state = reader.history(), reader.dialect.state_in(body)
        if history.pending:
            call = history.pending.calls[0]
            raise Malformed(f"call {call.id!r} has no result; send its result with it", "the last reply")
        if self._persistence.recorder:
            self._persistence.recorder.record(reader.dialect.name, body, last.entry_count if last else 0)
        meter = self.meter_for(reader.dialect.name)
        self._tune(meter)
        self.warn_if_estimated(reader.dialect.name)
        version = self._persistence.switch_to(history)
        if last and (last.store_version != version or last.fitted_for != (self.recipe, self.budget)):
            last.stale = True
        outcome, stored = None, last.stored if last else StoredFolds()
        reused: tuple[Fold, ...] = ()
        if last and not options.manual:
            starts_at = self.recipe.starts_at(self._calibrated_budget, quiet=True)
            outcome = last.extend_outcome(history, Weigher(meter), starts_at, self.store)
        mark = settled_mark(last.outcome.view.history) if last else Cut(0, 0)
        if self._watch:
            self._watch.observe(steps_since(history, mark))
        if outcome is None:
            view, stored = self._build_view(last, history, meter)
            held = self._persistence.log.held(self._serves)
            options = replace(options, drafts=self._drafts.usable(view), held=held, made_for=stored.limit)
            planning = plan(view, self._calibrated_budget, self.recipe, meter, options)
            outcome = leave_alone(drive(planning), state, Weigher(meter)) if state else (yield from planning)
            if not (state or isinstance(outcome.verdict, TooBig)):
                reused = self._shown_folds.add(outcome.view, outcome.folds)
        whole = weigh(history, meter).total if reused else 0
        about = self.scale.total, reused, whole, state, self._summary_options(options)
        self.receipt = Receipt(outcome, self.budget.limit, meter.exact, meter.name, *about)
        if isinstance(outcome.verdict, TooBig):
            raise DoesNotFit(outcome.verdict)
        if self.keeps_outputs:
            self._outputs.keep(steps_since(history, mark))
        if state:
            self._tell_of_state(outcome.verdict)
            return body
        if outcome.folds:
            self._persistence.keep(outcome, self.receipt, view, self._drafts.source_of)
            stored.note_made(outcome.folds)
        version = self._persistence.version_after(version, bool(outcome.folds))
        fitted_for = self.recipe, self.budget
        out, self._last = write_body(reader, outcome, last, version, stored, fitted_for)
        if outcome.announced and self._after:
            self._after(self.receipt)
        return out

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

    def _dialect_of(self, body: Any) -> Dialect:
        return dialects.dialect_named(self._dialect or detect(body))

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

    @property
    def _calibrated_budget(self) -> Budget:
        """The budget in tokens of our meter, corrected by the provider's reports."""
        if self.scale.neutral:
            return self.budget
        limit = max(1, self.scale.weight(self.budget.limit))
        return Budget(limit + self.budget.reserve, self.budget.reserve)

    def _summary_options(self, options: PlanOptions) -> SummaryOptions:
        unasked = options.unasked if self.sums_up and not options.model else ""
        return SummaryOptions(options.words, self.summary_model.name or self.model or "", unasked)

    @property
    def asks_model(self) -> bool:
        """True if a model is asked for the next summary."""
        return self._handlers.summarise is not None and not self.unasked

    def _plan_draft_if_due(self) -> Planning | None:
        last = self._last
        if not (self._background and self.asks_model and last):
            return None
        budget = self._calibrated_budget
        if not self._drafts.is_due(last.outcome, budget, self.recipe.starts_at(budget)):
            return None
        return self._plan_draft(last.outcome.view, self.meter_for(last.reader.dialect.name))

    def _plan_draft_of(self, body: Any) -> Planning | None:
        if not self.asks_model:
            return None
        dialect = self._dialect_of(body)
        meter = self.meter_for(dialect.name)
        return self._plan_draft(self._build_view(None, dialect.read(body).history(), meter)[0], meter)

    def _plan_draft(self, view: View, meter: Meter) -> Planning:
        return plan(view, self._calibrated_budget, self.recipe, meter, self._options(True, ""))


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
