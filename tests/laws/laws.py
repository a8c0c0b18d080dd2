"""The ten laws, each a function that takes one folding apart. They hold for every conversation, window and dialect."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tests import checkers
from tests.laws.thinking import with_thoughts
from yohaku import dialects
from yohaku.core.budget import Budget
from yohaku.core.engine import Outcome, plan
from yohaku.core.folds import Fold, Gist, Stub
from yohaku.core.history_builder import history_of
from yohaku.core.meter import Meter
from yohaku.core.model import History, Opaque, Step, Text, Turn
from yohaku.core.originals import ref_of
from yohaku.core.recipe import Recipe
from yohaku.core.verdict import Fits, Folded, TooBig
from yohaku.core.view import View
from yohaku.core.weigh import weigh
from yohaku.dialects.dialect import Dialect
from yohaku.passes.trim_new_results import ARRIVED
from yohaku.session.driver import drive

AT_ARRIVAL = ("local", "cache", "layers")
"""Recipes of documents that cut a result when it comes in, before it was ever shown."""
HONEST = ("folded", "折りたたみました", "tool output trimmed", "tool result content cleared")
"""Ours, and the documents' own words."""
SHOWN_REF = re.compile(r"ref=([a-z2-7]{12})")


@dataclass(frozen=True)
class Folding:
    """One conversation in one dialect, fitted once."""

    history: History
    dialect: Dialect
    budget: Budget
    recipe: Recipe
    meter: Meter
    before: tuple[Fold, ...] = ()
    """Folds made earlier, while the conversation was shorter."""

    @cached_property
    def body(self) -> dict[str, Any]:
        return self.compose(self.history)

    def compose(self, history: History) -> dict[str, Any]:
        """With what the model thought, which is no part of a history that is compared: clients may drop it."""
        body: dict[str, Any] = with_thoughts(self.dialect.name, self.dialect.compose(history, "some-model"))
        return body

    @cached_property
    def read(self) -> History:
        return self.dialect.read(self.body).history()

    @cached_property
    def outcome(self) -> Outcome:
        return self.plan(self.view_of(self.read))

    def view_of(self, history: History) -> View:
        return View(history).with_(self.before)

    @cached_property
    def out(self) -> dict[str, Any]:
        return self.dialect.write(self.body, self.outcome.view)

    def plan(self, view: View) -> Outcome:
        return drive(plan(view, self.budget, self.recipe, self.meter))

    @property
    def untouched(self) -> bool:
        """Sent as the very object that came in, so there is nothing more to compare."""
        return self.out is self.body

    @property
    def refused(self) -> bool:
        return isinstance(self.outcome.verdict, TooBig)


def law_1_fits(f: Folding) -> None:
    sent = weigh(f.read if f.untouched else f.dialect.read(f.out).history(), f.meter).total
    images = sum(str(stub.what) == "image" for stub in f.outcome.view.live)
    assert 0 <= f.outcome.after.total - sent <= images * (f.meter.frame.message + 2), "what is sent weighs otherwise"
    if f.refused:
        verdict = f.outcome.verdict
        assert isinstance(verdict, TooBig) and verdict.what and verdict.needs > verdict.limit == f.budget.limit
    else:
        assert f.outcome.after.total <= f.budget.limit


def law_2_well_formed(f: Folding) -> None:
    found = checkers.DIALECTS[f.dialect.name].problems(f.out)
    assert found == [], found


def law_3_nothing_lost(f: Folding) -> None:
    assert (f.read.system, _said(f.read)) == (f.history.system, f.history.turns), "reading back what was composed"
    assert [tool.name for tool in f.read.tools] == [tool.name for tool in f.history.tools]
    assert f.outcome.view.history is f.read
    opened = {ref: original for fold in f.outcome.view.folds for ref, original in f.outcome.view.originals(fold)}
    assert all(ref == ref_of(original) for ref, original in opened.items())
    if f.untouched:
        return
    shown = set(SHOWN_REF.findall(json.dumps(f.out))) - set(SHOWN_REF.findall(json.dumps(f.body)))
    assert shown <= opened.keys(), "a ref that nothing opens"
    unfolded = f.dialect.write(f.body, View(f.outcome.view.history))
    assert unfolded is f.body


def law_4_never_bigger(f: Folding) -> None:
    assert f.outcome.after.total <= f.outcome.before.total
    assert all(fold.after < fold.before for fold in f.outcome.folds)
    if f.outcome.folds:
        assert f.outcome.after.total < f.outcome.before.total


def law_5_calm(f: Folding) -> None:
    if f.outcome.before.total < min(f.budget.at(rung.level) for rung in f.recipe.rungs):
        assert f.outcome.verdict == Fits() and (f.out is f.body or f.before)
    found = [] if f.untouched else checkers.DIALECTS[f.dialect.name].intact(f.body, _without_ack(f))
    assert found == [], found


def law_6_settled(f: Folding) -> None:
    if f.refused:
        return  # a refused folding is never kept, so there is nothing to plan again on
    again = f.plan(f.outcome.view)
    assert again.folds == () and f.dialect.write(f.body, again.view) == f.out
    grown = f.dialect.read(f.compose(_with_a_step(f.history)))
    view = View(grown.history()).with_(f.outcome.view.folds)
    after = f.plan(view)
    if not after.folds:
        entries = f.dialect.entries_of(f.out)
        assert f.dialect.entries_of(f.dialect.write(grown.body, after.view))[: len(entries)] == entries


def law_7_recall(f: Folding) -> None:
    body = json.loads(json.dumps(f.body))
    folds = f.outcome.view.folds
    view = View(f.dialect.read(body).history()).with_(folds)
    assert f.dialect.write(body, view) == f.out
    if not f.untouched:
        assert f.plan(f.view_of(f.dialect.read(body).history())).folds == f.outcome.folds


def law_8_progress(f: Folding) -> None:
    assert f.outcome.asks <= len(f.recipe.rungs)
    if f.outcome.before.fixed > f.budget.limit:
        assert f.refused


def law_9_recent_is_sacred(f: Folding) -> None:
    view = f.outcome.view
    newest = f.read.turns[-1]
    steps = f.read.steps
    sacred = {newest.key, *([steps[-1].key] if steps else [])}
    touched = [stub for stub in view.live if stub.key in sacred]
    allowed = {"over_limit"} | ({ARRIVED} if f.recipe.name in AT_ARRIVAL else set())
    assert {stub.why for stub in touched} <= allowed, "touched before the last rung"
    last_rung = f.recipe.rungs[-2:] if f.recipe.name == "auto" else f.recipe.rungs[-1:]
    hidden = {step.key for turn in view.hidden(view.cut) for step in turn.steps} if view.gist else set()
    if hidden & sacred:
        assert all(rung.level == "over" for rung in last_rung)
        assert f.outcome.before.total > f.budget.limit
    shown = view.shown.turns[-1].prompt
    assert len(shown) >= len(newest.prompt), "the newest prompt is never hidden altogether"


def law_10_honest(f: Folding) -> None:
    sent = json.dumps(f.out, ensure_ascii=False)
    for fold in f.outcome.folds:
        assert fold.what and fold.why
        if isinstance(fold, Stub) and fold.slot.where == "thought":
            # Told to the user in the receipt. To the model nothing is shown in its place, as some servers would take
            # any word there for what it thought; what must be true is that it is gone, and that is looked at below.
            assert (fold.text, fold.after, str(fold.what)) == ("", 0, "thought")
            continue
        assert f"ref={fold.ref}" in fold.text and any(word in fold.text for word in HONEST)
        assert json.dumps(fold.text, ensure_ascii=False)[1:-1] in sent or _twice(fold.text) in sent
    _check_words_behind_gist(f)
    assert f.untouched or _thoughts(f.dialect.read(f.out).history()) == _thoughts(f.outcome.view.shown)
    if f.outcome.folds and not f.refused:
        assert f.outcome.verdict == Folded()
        assert any(isinstance(fold, Gist) for fold in f.outcome.folds) or f.outcome.view.live


def _check_words_behind_gist(f: Folding) -> None:
    """A prompt behind a gist is whole, behind a line that names the ref: nothing quoted in the gist can hold that."""
    view = f.outcome.view
    shown = f.dialect.read(f.out).history().turns[0].prompt if view.gist else ()
    words = view.stubbed[0].prompt[0] if shown and view.stubbed[0].prompt else None
    if view.gist and isinstance(shown[0], Text) and isinstance(words, Text) and not view.gist.ack:
        told = "\n\n".join(gist.text for gist in view.chapters)
        assert shown[0].text.startswith(f"{told}\n\n[")
        line, _, behind = shown[0].text[len(told) + 2 :].partition("\n")
        assert f"ref={view.gist.ref}" in line and behind.startswith(words.text)  # Ollama adds the stubs of images


LAWS = (
    law_1_fits, law_2_well_formed, law_3_nothing_lost, law_4_never_bigger, law_5_calm,
    law_6_settled, law_7_recall, law_8_progress, law_9_recent_is_sacred, law_10_honest,
)  # fmt: skip


def _said(history: History) -> tuple[Turn, ...]:
    """The turns without their thoughts."""
    return tuple(Turn(turn.prompt, tuple(Step(step.solid) for step in turn.steps)) for turn in history.turns)


def _thoughts(history: History) -> list[Opaque]:
    return [thought for step in history.steps for thought in step.thoughts]


def _twice(text: str) -> str:
    """As it stands in arguments, which are JSON inside JSON."""
    return json.dumps(json.dumps(text, ensure_ascii=False)[1:-1], ensure_ascii=False)[1:-1]


def _without_ack(f: Folding) -> dict[str, Any]:
    """What is sent, without the words the model is shown to have said to a gist: they are nobody's."""
    gist = f.outcome.view.gist
    if gist is None or not gist.ack:
        return f.out
    entries, ack = f.dialect.entries_of(f.out), json.dumps(gist.ack, ensure_ascii=False)
    assert [ack in json.dumps(entry, ensure_ascii=False) for entry in entries].count(True) == 1
    return f.dialect.write(f.body, f.outcome.view.with_([replace(gist, ack="")]))


def _with_a_step(history: History) -> History:
    *turns, last = history.turns
    step = Step((Text("And then I looked once more."),))
    if last.steps and not last.steps[-1].uses:
        more = [*turns, last, Turn((Text("go on"),), (step,))]
    else:
        more = [*turns, Turn(last.prompt, (*last.steps, step))]
    return history_of(more, history.system, history.tools)


def dialect(name: str) -> Dialect:
    return dialects.dialect_named(name)
