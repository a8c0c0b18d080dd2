"""Session: what callers see of a conversation and its folds. Every surface has one."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from yohaku.core.folds import Gist
from yohaku.core.model import History
from yohaku.core.originals import OutputRef
from yohaku.core.pins import Pin
from yohaku.dialects.answer import Usage, prompt_tokens, total_tokens
from yohaku.recipes.builtin import refuses
from yohaku.session.count_gaps import CountedModel, CountGaps
from yohaku.session.driver import Summarise, adrive, drive
from yohaku.session.fitting import Fitting
from yohaku.session.fold_log import FoldingRecord
from yohaku.session.outputs import KeptOutput


class Session(Fitting):
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
            planning = self._plan_due_draft(model=True)
        return (lambda: self._drafts.prepare(planning, summarise)) if planning else None

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
            self._counting.learn(self.receipt.outcome.after.total, reported, self.receipt.meter, billed=billed)

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

    def keep_output(self, call: str, ref: OutputRef) -> None:
        """Note the ref of all that a tool gave, where its message shows only a part of it."""
        self._outputs.whole[call] = ref
        if self._persistence.recorder:
            self._persistence.recorder.record_outputs({call: ref})

    @property
    def gaps(self) -> CountGaps | None:
        return self._counting.gaps

    @property
    def server_counts(self) -> bool:
        """True while somebody asks the server for the tokens of each request: then an estimate carries no risk."""
        return self._counting.server_counts

    @server_counts.setter
    def server_counts(self, asked: bool) -> None:
        self._counting.server_counts = asked

    def counted_model(self, meter: str) -> CountedModel:
        return self._counting.counted_model(meter)

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
