"""Gists in a row: each folding adds one behind the others, whoever keeps them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests import checkers
from tests.session.test_session import agent

from yohaku import Session, dialects
from yohaku.core.folds import Fold, Gist, Subject
from yohaku.core.originals import ref_of_turns, render_turns
from yohaku.core.recipe import PassContext, Recipe, Rung
from yohaku.core.view import View
from yohaku.passes.drop_oldest import cuts, weigh_chapters
from yohaku.session.collect import collect
from yohaku.stores.memory import MemoryStore
from yohaku.stores.sqlite import SQLiteStore
from yohaku.testing import ByteMeter

DIALECTS = ("openai_chat", "openai_responses", "anthropic", "gemini", "ollama")


def add_chapter(view: View, context: PassContext) -> list[Fold]:
    """Hide the older half of what is visible behind one more gist."""
    before, places = weigh_chapters(view, context), list(cuts(view, context, "steps", newest=False))
    if not places:
        return []
    cut, removed = places[len(places) // 2]
    ref = ref_of_turns(view.between(view.cut, cut))
    start = view.gist.key if view.gist else ""
    text = f"[folded: {len(view.chapters) + 1}; ref={ref}]"
    return [Gist(view.key_at(cut), text, ref, Subject("stretch"), "window_full", removed - before, 99, start=start)]


CHAPTERS = Recipe("chapters", (Rung("full", add_chapter, goal="warm"),))


def session(store: Any = None, dialect: str = "openai_chat") -> Session:
    return Session(4_000, 500, CHAPTERS, meter=ByteMeter(), store=store, dialect=dialect)


def shown(one: Session) -> tuple[Gist, ...]:
    assert one.receipt is not None
    return one.receipt.outcome.view.chapters


def folded(one: Session, chapters: int, steps: int = 10) -> int:
    """Go on until there are so many chapters; return the steps it took."""
    while True:
        one.fit(agent(steps))
        if len(shown(one)) >= chapters:
            return steps
        steps += 1


def test_a_folding_adds_a_chapter_and_leaves_the_earlier_ones_as_they_are() -> None:
    one, before = session(), tuple[Gist, ...]()
    for count in range(1, 6):
        folded(one, count)
        assert shown(one)[:-1] == before and one.receipt and one.receipt.outcome.folds == shown(one)[-1:]
        before = shown(one)
        view = one.receipt.outcome.view
        assert [one.recall(gist.ref) for gist in before] == [render_turns(view.stretch(gist)) for gist in before]
        assert one.receipt.survived.kept + one.receipt.survived.by_ref == _count_pieces(view)
        assert [fold.ref for fold in one.receipt.folds] == [gist.ref for gist in before]


def _count_pieces(view: View) -> int:
    items = [item for step in view.history.steps for item in step.items]
    return (
        sum(len(turn.prompt) for turn in view.history.turns) + len(items) + sum(len(s.uses) for s in view.history.steps)
    )


def test_another_process_shows_the_same_chapters(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    with session(url) as one:
        steps = folded(one, 4)
        out = one.fit(agent(steps))
    with session(url) as other:
        assert other.fit(agent(steps)) == out and len(shown(other)) == 4
        assert other.receipt and other.receipt.outcome.folds == ()


def test_undo_takes_back_one_chapter_and_redo_brings_it_again() -> None:
    store = MemoryStore()
    one = session(store)
    steps = folded(one, 3)
    three = shown(one)
    assert len(one.undo()) == 1
    other = session(store)
    other.fit(agent(steps - 1))
    assert shown(other) == three[:2]
    assert len(one.redo()) == 1
    other.fit(agent(steps - 1))
    other.fit(agent(steps))
    assert shown(other) == three


def test_where_a_store_has_lost_a_chapter_those_behind_it_do_not_show_and_it_is_folded_again() -> None:
    store = MemoryStore()
    one = session(store)
    steps = folded(one, 3)
    first, second, third = shown(one)
    store.forget([second])
    other = session(store)
    out = other.fit(agent(steps))
    assert shown(other)[0] == first and third not in shown(other)
    assert other.receipt is not None
    view = other.receipt.outcome.view
    hidden = [step for gist in view.chapters for turn in view.stretch(gist) for step in turn.steps]
    assert hidden == [step for turn in view.hidden(view.cut) for step in turn.steps]
    assert session(store).fit(agent(steps)) == out


def test_originals_of_chapters_are_kept_as_long_as_they_show(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    one = session(store)
    folded(one, 4)
    collect(store, size=0)
    assert all(one.recall(gist.ref) for gist in shown(one))
    store.close()


@pytest.mark.parametrize("name", DIALECTS)
def test_chapters_stand_before_the_prompt_in_every_dialect(name: str) -> None:
    dialect = dialects.dialect_named(name)
    one = session(dialect=name)
    chat = dialects.dialect_named("openai_chat")
    steps = 10
    while not one.receipt or len(shown(one)) < 3:
        history = chat.read(agent(steps)).history()
        body = dialect.compose(history, "some-model")
        out = one.fit(body)
        steps += 1
    assert checkers.DIALECTS[name].problems(out) == [] == checkers.DIALECTS[name].intact(body, out)
    sent = json.dumps(out)
    places = [sent.index(f"ref={gist.ref}") for gist in shown(one)]
    assert places == sorted(places)
