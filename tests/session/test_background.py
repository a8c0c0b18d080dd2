"""A gist prepared early spares the folding its question, and nothing else changes by it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from threading import Barrier, Event, RLock, Thread
from typing import Any

import pytest

from yohaku.core.errors import BadSetting, Unanswered, Unreadable
from yohaku.core.folds import Gist
from yohaku.core.originals import ref_of
from yohaku.core.recipe import Effect, FoldStarting, Question
from yohaku.session.driver import EffectHandlers, adrive, drive
from yohaku.session.session import Session
from yohaku.stores.memory import MemoryStore
from yohaku.testing import ByteMeter, ScriptedModel

Body = list[dict[str, Any]]

GOOD = "The user wants the tasks done, and some of them are."


def chat(turns: int, size: int = 300) -> Body:
    """So many turns that were answered, and a prompt."""
    said: Body = [{"role": "system", "content": "Be careful."}]
    for number in range(turns):
        said.append({"role": "user", "content": f"Task {number}."})
        said.append({"role": "assistant", "content": f"Result {number}. " * (size // 10)})
    return [*said, {"role": "user", "content": f"Task {turns}."}]


WARM, FOLDS = chat(20), 24
"""6,640 of 10,000 bytes; and how many turns are folded by `cache`, at 80 %."""


def session(summarise: Any, **how: Any) -> Session:
    return Session(10_000, 0, **{"recipe": "cache", "meter": ByteMeter(), "summarise": summarise, **how})


def texts(s: Session) -> list[str]:
    assert s.receipt
    return [fold.text for fold in s.receipt.folds if isinstance(fold, Gist)]


def soon(holds: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if holds():
            return
        time.sleep(0.005)
    raise AssertionError("it never came to hold")


# By hand


@pytest.mark.parametrize("recipe", ["cache", "layers", "snapshot"])
def test_a_draft_changes_nothing_and_the_folding_takes_it_instead_of_asking(recipe: str) -> None:
    model, store = ScriptedModel(GOOD), MemoryStore()
    s = session(model, recipe=recipe, store=store)
    assert s.fit(WARM) is WARM
    before, receipt = dict(vars(store)), s.receipt
    draft = s.draft(WARM)
    assert draft and GOOD in draft.text and len(model.asked) == 1
    assert vars(store) == before and s.receipt is receipt and s.fit(WARM) is WARM
    turns = next(turns for turns in range(21, 40) if s.fit(chat(turns)) is not None and texts(s))
    assert texts(s) == [draft.text] and len(model.asked) == 1
    assert s.receipt and s.receipt.asks == 0 and s.receipt.after <= 10_000
    assert ref_of(s.recall(draft.ref)) == draft.ref and turns > 21


def test_adraft_is_draft() -> None:
    async def later(question: Question) -> str:
        await asyncio.sleep(0)
        return GOOD

    a, s = session(later), session(ScriptedModel(GOOD))
    assert asyncio.run(a.adraft(WARM)) == s.draft(WARM) is not None
    a.fit(chat(FOLDS))  # and asks nobody, or it would have to be afit
    s.fit(chat(FOLDS))
    assert texts(a) == texts(s)


@pytest.mark.parametrize("recipe", ["auto", "cache", "local", "layers", "snapshot"])
def test_a_draft_serves_the_user_who_folds_by_hand(recipe: str) -> None:
    model = ScriptedModel(*[GOOD] * 3)
    s = session(model, recipe=recipe)
    draft = s.draft(WARM)
    asked = len(model.asked)
    s.fit(WARM, fold=True)
    assert draft and texts(s) == [draft.text] and len(model.asked) == asked > 0


def test_words_of_the_user_are_asked_about_whatever_is_ready() -> None:
    model = ScriptedModel(GOOD, "The user wants the tasks done, and all of them are.")
    s = session(model)
    draft = s.draft(WARM)
    s.fit(WARM, fold=True, words="keep the numbers")
    assert draft and texts(s) != [draft.text] and "keep the numbers" in model.asked[1].text


def test_words_a_hook_adds_are_asked_about_too() -> None:
    model = ScriptedModel(GOOD, "The user wants the tasks done, and all of them are.")
    s = session(model, before=lambda folding: "keep the numbers")
    s.draft(WARM)
    assert "keep the numbers" not in model.asked[0].text
    s.fit(chat(FOLDS))
    assert "keep the numbers" in model.asked[1].text


def test_a_draft_is_announced_to_nobody() -> None:
    told: list[FoldStarting] = []
    session(ScriptedModel(GOOD), before=told.append).draft(WARM)
    assert told == []


def test_files_come_back_as_they_are_when_it_is_folded_not_when_it_was_drafted() -> None:
    use = {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}
    read = [
        WARM[0],
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": None, "tool_calls": [use]},
        {"role": "tool", "tool_call_id": "c", "content": "x = 1"},
    ]
    disk = {"a.py": "x = 1"}
    s = session(ScriptedModel(GOOD), recipe="layers", look=disk.get)
    assert s.draft([*read, *WARM[1:]])
    disk["a.py"] = "x = 2"
    s.fit([*read, *chat(26)[1:]])
    (text,) = texts(s)
    assert GOOD in text and "x = 2" in text and "x = 1" not in text


def test_a_draft_whose_end_is_no_longer_in_the_history_is_dropped() -> None:
    model = ScriptedModel(*[GOOD] * 9)
    s = session(model)
    draft = s.draft(WARM)
    other = [chat(FOLDS)[0], {"role": "user", "content": "Another beginning."}, *chat(FOLDS)[2:]]
    s.fit(other)
    asked = len(model.asked)
    assert draft and asked > 1 and texts(s) != [draft.text]
    s.fit(chat(FOLDS))
    assert len(model.asked) > asked and texts(s) != [draft.text]


def test_what_a_draft_hides_is_recalled_as_it_was_when_it_was_made() -> None:
    thinking = [{**m, "reasoning_content": "hm"} if m["role"] == "assistant" else m for m in chat(FOLDS)]
    s = session(ScriptedModel(GOOD))
    draft = s.draft(thinking[: len(WARM)])
    s.fit(chat(FOLDS))
    assert draft and texts(s) == [draft.text]
    assert ref_of(s.recall(draft.ref)) == draft.ref


def test_a_draft_can_be_made_while_a_call_is_open() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    asks = {"role": "assistant", "content": None, "tool_calls": [call]}
    s = session(ScriptedModel(GOOD))
    draft = s.draft([*WARM, asks])
    s.fit([*WARM, asks, {"role": "tool", "tool_call_id": "c", "content": "x" * 1_500}])
    assert draft and texts(s) == [draft.text]


@pytest.mark.parametrize("answers", [(), ("", ""), ("...", "<summary>...</summary>")])
def test_what_the_model_cannot_say_is_no_draft(answers: tuple[str, ...]) -> None:
    s = session(ScriptedModel(*answers))
    assert s.draft(WARM) is None
    assert [type(trouble) for trouble in s.troubles] == ([] if answers else [Unanswered])


def test_nobody_to_ask_and_nothing_to_hide_give_no_draft() -> None:
    assert session(None).draft(WARM) is None
    assert asyncio.run(session(None).adraft(WARM)) is None
    assert session(ScriptedModel()).draft(chat(0)) is None


def test_misuse_by_hand_is_said_at_once() -> None:
    async def later(question: Question) -> str:
        return GOOD

    with pytest.raises(BadSetting, match="async"):
        session(later).draft(WARM)
    with pytest.raises(Unreadable):
        session(ScriptedModel()).draft("hi")


# In the background


class Slow:
    """A model that answers when it is let."""

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.go = Event()

    def __call__(self, question: Question) -> str:
        self.asked.append(question)
        assert self.go.wait(10)
        return GOOD


def test_from_warm_on_a_thread_drafts_and_fit_does_not_wait_for_it() -> None:
    model = Slow()
    s = session(model, background=True)
    assert s.fit(chat(5)) == chat(5) and not s.drafting and model.asked == []
    assert s.fit(WARM) is WARM and s.drafting
    assert s.fit(chat(21)) == chat(21) and s.drafting
    soon(lambda: len(model.asked) == 1)
    model.go.set()
    soon(lambda: not s.drafting)
    s.fit(chat(FOLDS))
    assert len(model.asked) == 1 and GOOD in texts(s)[0] and s.troubles == ()
    assert s.receipt and s.receipt.asks == 0


def test_there_are_never_two_at_once() -> None:
    model = Slow()
    s = session(model, background=True, recipe="layers")
    for turns in range(19, 26):
        s.fit(chat(turns))
    soon(lambda: bool(model.asked))
    assert s.drafting and len(model.asked) == 1
    model.go.set()
    soon(lambda: not s.drafting)
    assert len(model.asked) == 1


def test_a_late_draft_applies_at_a_later_fit() -> None:
    model = Slow()
    s = session(model, background=True, recipe="snapshot")
    s.fit(WARM)
    s.fit(chat(25))
    model.go.set()
    soon(lambda: not s.drafting)
    s.fit(chat(30))
    assert len(model.asked) == 1 and GOOD in texts(s)[0]


def test_what_goes_wrong_in_the_background_is_a_trouble_and_tried_once_a_level() -> None:
    def broken(question: Question) -> str:
        asked.append(question)
        raise ConnectionError("no network")

    asked: list[Question] = []
    s = session(broken, background=True, recipe="layers")
    told = "the question for summary failed: no network"
    for turns, tried in ((18, 0), (19, 1), (20, 1), (22, 1), (25, 2), (25, 2)):
        assert s.fit(chat(turns)) == chat(turns)
        soon(lambda: not s.drafting)
        assert [str(trouble) for trouble in s.troubles] == [told] * tried and len(asked) == tried


def test_an_async_function_cannot_be_asked_by_a_thread_and_fit_goes_on() -> None:
    async def later(question: Question) -> str:
        return GOOD

    s = session(later, background=True)
    assert s.fit(WARM) is WARM
    soon(lambda: not s.drafting)
    assert [str(trouble) for trouble in s.troubles] == ["summarise or before is async here: call afit instead of fit"]


def test_without_background_nothing_is_begun() -> None:
    s = session(ScriptedModel())
    s.fit(WARM)
    assert not s.drafting and s.troubles == ()
    alone = session(None, background=True)
    alone.fit(WARM)
    assert not alone.drafting


def test_afit_begins_a_task_and_does_not_await_it() -> None:
    async def run() -> None:
        asked, go = list[Question](), asyncio.Event()

        async def later(question: Question) -> str:
            asked.append(question)
            await go.wait()
            return GOOD

        s = session(later, background=True)
        assert await s.afit(WARM) is WARM and s.drafting
        while not asked:
            await asyncio.sleep(0.001)
        await s.afit(chat(21))
        go.set()
        while s.drafting:
            await asyncio.sleep(0.001)
        await s.afit(chat(FOLDS))
        assert len(asked) == 1 and GOOD in texts(s)[0]

    asyncio.run(run())


def test_a_function_that_blocks_does_not_block_the_loop() -> None:
    async def run() -> None:
        model = Slow()
        s = session(model, background=True)
        await s.afit(WARM)
        while not model.asked:
            await asyncio.sleep(0.001)
        model.go.set()  # nobody else could: the loop is free
        while s.drafting:
            await asyncio.sleep(0.001)
        await s.afit(chat(FOLDS))
        assert len(model.asked) == 1 and GOOD in texts(s)[0]

    asyncio.run(run())


def test_a_task_that_ended_with_its_loop_is_not_waited_for() -> None:
    async def never(question: Question) -> str:
        await asyncio.sleep(1_000)
        return GOOD

    s = session(never, background=True, recipe="layers")
    assert asyncio.run(s.afit(WARM)) is WARM
    assert not s.drafting and asyncio.run(s.afit(chat(25))) == chat(25)


def test_a_new_draft_is_begun_after_each_folding() -> None:
    asked: list[Question] = []

    def model(question: Question) -> str:
        asked.append(question)
        return GOOD

    s = session(model, background=True)
    for turns in range(15, 60):
        s.fit(chat(turns))
        soon(lambda: not s.drafting)
        assert s.receipt and s.receipt.asks == 0
    assert len(texts(s)) == 1 and 1 < len(asked) <= 4


# Taking turns


def test_two_plannings_work_one_at_a_time_and_wait_side_by_side() -> None:
    working, most = list[int](), list[int]()

    def planning(number: int) -> Generator[Effect, str, str]:
        said = ""
        for _ in range(20):
            working.append(number)
            most.append(len(working))
            time.sleep(0.0005)
            working.remove(number)
            said += yield Question("q", "", 1)
        return said

    def answer(question: Question) -> str:
        together.wait(10)  # until all of them wait
        return "a"

    def run(number: int) -> None:
        found.append(drive(planning(number), EffectHandlers(answer), lock))

    lock, together, found = RLock(), Barrier(4), list[str]()
    threads = [Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["a" * 20] * 4 and set(most) == {1}


def test_a_failed_answer_reaches_the_planning_with_the_lock_held() -> None:
    class Watched:
        held = False

        def __enter__(self) -> None:
            self.held = True

        def __exit__(self, *_: object) -> None:
            self.held = False

    def planning() -> Generator[Effect, str, tuple[str, bool]]:
        try:
            yield Question("q", "", 1)
        except Unanswered as nobody:
            return str(nobody), lock.held
        raise AssertionError

    def answer(question: Question) -> str:
        assert not lock.held
        raise Unanswered("nobody")

    lock = Watched()
    assert drive(planning(), EffectHandlers(answer), lock) == ("nobody", True)
    assert asyncio.run(adrive(planning(), EffectHandlers(answer), lock)) == ("nobody", True)
