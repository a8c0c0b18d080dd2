"""What every surface holds: a reading of the conversation, its folds, and where their originals are kept.

Law: nothing that is known not to fit is handed out, and nothing is folded before its original is stored.
A body that only adds to the last one costs what it adds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from yohaku import dialects, meters, stores
from yohaku import settings as setting
from yohaku.core.budget import Budget
from yohaku.core.engine import Effect, Fits, Folding, Outcome, Recipe, TooBig, Wish, plan
from yohaku.core.errors import BadSetting, DoesNotFit, Malformed, StoreFailed, Unreadable
from yohaku.core.fold import Cut, Gist, View
from yohaku.core.ledger import Scales
from yohaku.core.meter import Meter
from yohaku.core.model import History, Step, Turn
from yohaku.core.payback import Prices
from yohaku.core.receipt import Receipt
from yohaku.core.recipes import RECIPES
from yohaku.dialects.detect import detect
from yohaku.dialects.dialect import Dialect, Reading, Sent, Usage
from yohaku.dialects.usage import prompt_tokens, total_tokens
from yohaku.drafts import Drafts
from yohaku.drive import Answers, Summarise, adrive, drive
from yohaku.meters.guarded import Guarded
from yohaku.meters.scale import Scale
from yohaku.settings import Notice, Settings
from yohaku.stores import Store
from yohaku.stores.memory import MemoryStore
from yohaku.stores.sheltered import Sheltered
from yohaku.watch import Watch


@dataclass(slots=True)
class _Last:
    """What the last fit found, to go on from."""

    reading: Reading
    outcome: Outcome
    entries: int
    """How many entries of the body it had."""
    written: list[Any] | None
    """The entries it handed out; None when nothing was folded."""
    version: int
    """Of the store: another session may have folded on since."""
    sent: Sent
    """Which entries it sent."""


Drafting: TypeAlias = Generator[Effect, str, Outcome]

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
        summarise: Summarise | None = None,
        look: Callable[[str], str | None] | None = None,
        before: Callable[[Folding], str | bool | None] | None = None,
        after: Callable[[Receipt], None] | None = None,
        prices: Prices | None = None,
        background: bool = False,
        settings: Settings | None = None,
    ) -> None:
        """`window` or `model` is needed; everything else has a default that is a function of them.

        `store` is one of ours or its URL, as `sqlite:///path`; while it fails the session goes on in memory, and says
        so in `warnings`. `look` reads a file as it is now; `before` is told of a folding, and may add words to it or
        refuse it by returning False; `after` is given the receipt of each. With `background` a gist is prepared, from
        "warm" on, beside the conversation, and what goes wrong with that is in `troubles`.
        """
        for name, given in (("window", window), ("reserve", reserve)):
            if given is not None and (not isinstance(given, int) or isinstance(given, bool)):
                raise BadSetting(f"{name} must be a whole number of tokens, not {given!r}")
        if settings is None:
            ours = not isinstance(recipe, str) or recipe in RECIPES
            settings = Settings() if window and ours else setting.read()
        found = setting.window_for(model, settings, dialect=dialect, window=window)
        self.budget = Budget.of(found.tokens, reserve, found.output_limit)
        self.warnings = found.warnings
        self.recipe = setting.recipe_for(recipe, settings) if isinstance(recipe, str) else recipe
        self.model = model
        self.store = self._sheltered(store)
        self.receipt: Receipt | None = None
        self.scale = Scale()
        self._dialect = dialect
        self._meters: dict[str, Meter] = {}
        self._meter = Guarded(meter) if meter is not None else None
        self._answers = Answers(summarise, look, before)
        self._after = after
        self._prices = prices or Prices()
        self._last: _Last | None = None
        self._background = background
        self._drafts = Drafts(summarise)
        self._watch = Watch(look) if look else None

    def fit(self, body: Any, *, fold: bool = False, words: str = "") -> Any:
        """The same conversation, in the same shape, within the limit; raises `DoesNotFit` when there is no way.

        `fold` folds now, whatever the weight, and `words` say what the user wants kept.
        What comes out shares its entries with what went in and with the session: copy before you edit.
        """
        out = drive(self._drafts.by_turns(self._fitting(body, self._wish(fold, words))), self._answers)
        if drafting := self._due():
            self._drafts.in_thread(drafting)
        return out

    async def afit(self, body: Any, *, fold: bool = False, words: str = "") -> Any:
        out = await adrive(self._drafts.by_turns(self._fitting(body, self._wish(fold, words))), self._answers)
        if drafting := self._due():
            self._drafts.in_task(drafting)
        return out

    def draft(self, body: Any) -> Gist | None:
        """Prepares a gist of this conversation without folding it; a later fit takes it instead of asking.

        None where the model gave nothing that can be used, or nobody is there to ask.
        """
        drafting = self._drafting_of(body)
        return self._drafts.make(drafting) if drafting else None

    async def adraft(self, body: Any) -> Gist | None:
        drafting = self._drafting_of(body)
        return await self._drafts.amake(drafting) if drafting else None

    @property
    def drafting(self) -> bool:
        """Whether a gist is being prepared in the background."""
        return self._drafts.busy

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
        return total >= self._first(self.budget)

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
            self._meters[dialect] = Guarded(meters.for_model(self.model, dialect))
        return self._meters[dialect]

    def read(self, body: Any) -> History:
        """What a body says, in our language."""
        return self._dialect_of(body).read(body).history()

    def _sheltered(self, given: Store | str | None) -> Store:
        store = stores.open(given) if isinstance(given, str) else given if given is not None else MemoryStore()
        return store if isinstance(store, MemoryStore | Sheltered) else Sheltered(store, self._tell)

    def _tell(self, why: StoreFailed) -> None:
        self.warnings = (*self.warnings, in_memory(why))

    def _wish(self, fold: bool, words: str) -> Wish:
        return Wish(manual=fold, words=words, model=self._answers.summarise is not None, prices=self._prices)

    def _fitting(self, body: Any, wish: Wish) -> Generator[Effect, str, Any]:
        last, self._last, self.receipt = self._last, None, None
        if last and last.reading.extends_to(body, last.sent) and self._still_speaks(last, body):
            reading = last.reading
            reading.body = body
        else:
            reading, last = Reading(self._dialect_of(body), body), None
        reading.read_on()
        history = reading.history()
        if history.pending:
            call = history.pending.calls[0]
            raise Malformed(f"call {call.id!r} has no result; send its result with it", "the last reply")
        meter = self.meter_for(reading.dialect.name)
        outcome = self._still_calm(last, history, meter) if last and not wish.manual else None
        if self._watch:
            self._watch.see(_steps(history, _settled(last.outcome.view.history) if last else Cut(0, 0)))
        if outcome is None:
            view = self._view(last, history)
            wish = replace(wish, drafts=self._drafts.standing(view))
            outcome = yield from plan(view, self._weighable, self.recipe, meter, wish)
        self.receipt = Receipt(outcome, self.budget.limit, meter.exact, meter.name, self.scale.total)
        if isinstance(outcome.verdict, TooBig):
            raise DoesNotFit(outcome.verdict)
        self._keep(outcome)
        written = self._write(last, reading, outcome)
        if outcome.folds and self._after:
            self._after(self.receipt)
        return written

    @property
    def _weighable(self) -> Budget:
        """The budget in what our meter weighs, by what the provider's reports have taught."""
        if not self.scale.lessons:
            return self.budget
        limit = max(1, self.scale.weight(self.budget.limit))
        return Budget(limit + self.budget.reserve, self.budget.reserve)

    def _first(self, budget: Budget) -> int:
        """The weight at which the recipe begins to fold; what it does at every turn is not meant."""
        return min((budget.at(rung.level) for rung in self.recipe.rungs if not rung.quiet), default=1 << 62)

    def _due(self) -> Drafting | None:
        """The draft to be made beside the conversation as the last fit left it, if it is time for one."""
        last = self._last
        if not (self._background and self._answers.summarise and last):
            return None
        budget = self._weighable
        if not self._drafts.due(last.outcome, budget, self._first(budget)):
            return None
        return self._drafting(last.outcome.view, self.meter_for(last.reading.dialect.name))

    def _drafting_of(self, body: Any) -> Drafting | None:
        if self._answers.summarise is None:
            return None
        dialect = self._dialect_of(body)
        return self._drafting(self._view(None, dialect.read(body).history()), self.meter_for(dialect.name))

    def _drafting(self, view: View, meter: Meter) -> Drafting:
        return plan(view, self._weighable, self.recipe, meter, Wish(manual=True, prices=self._prices))

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
        """The history with the folds that were made on it before, here or in another process."""
        if last is None or self.store.version != last.version:
            return View(history).with_(self.store.folds(_keys(history, Cut(0, 0))))
        known = last.outcome.view
        found = self.store.folds(_keys(history, _settled(known.history)))
        view = View(history, known.stubs, known.gists)
        return view.with_(found) if found else view

    def _still_calm(self, last: _Last, history: History, meter: Meter) -> Outcome | None:
        """The outcome without planning, when what was added leaves it below the first rung and has no folds."""
        before = last.outcome
        old = before.view.history
        if self.store.version != last.version or (old.system, old.tools) != (history.system, history.tools):
            return None
        mark = _settled(before.view.history)
        touched = any(key in before.view.stubs for key in _keys(before.view.history, mark))
        if touched or before.view.cut > mark or self.store.folds(_keys(history, mark)):
            return None
        scales = Scales(meter)
        added = scales.turns(_since(history, mark)) - scales.turns(_since(before.view.history, mark))
        newest = next((turn.steps[-1] for turn in reversed(history.turns) if turn.steps), None)
        results = sum(scales.parts(use.result.parts) for use in newest.uses) if newest else 0
        ledger = replace(before.after, turns=before.after.turns + added, last=results)
        if ledger.total >= min((self._weighable.at(rung.level) for rung in self.recipe.rungs), default=1 << 62):
            return None
        return Outcome(before.view.grown(history), ledger, ledger, Fits())

    def _keep(self, outcome: Outcome) -> None:
        if not outcome.folds:
            return
        view, origin = outcome.view, self._drafts.origin
        self.store.put_all(pair for fold in outcome.folds for pair in origin(fold, view).originals(fold))
        self.store.keep(outcome.folds)
        if self.receipt:
            self.store.record(view.history.turns[0].key, _row(self.receipt, time.time()))

    def _write(self, last: _Last | None, reading: Reading, outcome: Outcome) -> Any:
        dialect, body = reading.dialect, reading.body
        entries = dialect.entries_of(body)
        if last and not outcome.folds and last.outcome.view.stubs is outcome.view.stubs:
            written = None if last.written is None else [*last.written, *entries[last.entries :]]
            out = body if written is None else dialect.with_entries(body, list(written))
            sent = last.sent
        else:
            out = dialect.write(body, outcome.view)
            written = None if out is body else list(dialect.entries_of(out))
            sent = dialect.sent(outcome.view, len(entries))
        self._last = _Last(reading, outcome, len(entries), written, self.store.version, sent)
        return out


def in_memory(why: StoreFailed) -> Notice:
    text = f"{why}; going on in memory: what is folded now cannot be opened later"
    return Notice("store_failed", text, {name: str(fact) for name, fact in why.facts.items()})


def _row(receipt: Receipt, at: float) -> str:
    """What is recorded of a folding: the folds made now, not all that stand, so that rows do not grow with them."""
    fields = ("kind", "ref", "what", "before", "after", "why")
    made = [{name: getattr(fold, name) for name in fields} for fold in receipt.outcome.folds]
    facts = {name: getattr(receipt, name) for name in ("before", "after", "limit", "exact", "meter")}
    return json.dumps({"at": int(at), **facts, "folds": made})


def _settled(history: History) -> Cut:
    """Up to here a history cannot change any more when something is added: all but its last step, or last prompt."""
    if not history.turns:
        return Cut(0, 0)
    return Cut(len(history.turns) - 1, max(0, len(history.turns[-1].steps) - 1))


def _since(history: History, mark: Cut) -> Iterator[Turn]:
    if not history.turns:
        return
    first = history.turns[mark.turn]
    yield replace(first, prompt=() if mark.steps else first.prompt, steps=first.steps[mark.steps :])
    yield from history.turns[mark.turn + 1 :]


def _steps(history: History, mark: Cut) -> Iterator[Step]:
    for number in range(mark.turn, len(history.turns)):
        yield from history.turns[number].steps[mark.steps if number == mark.turn else 0 :]


def _keys(history: History, mark: Cut) -> Iterator[str]:
    for number in range(mark.turn, len(history.turns)):
        turn = history.turns[number]
        yield turn.key
        for step in turn.steps[mark.steps if number == mark.turn else 0 :]:
            yield step.key
