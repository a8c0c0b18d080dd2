from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.budget import Budget
from yohaku.core.errors import Unanswered
from yohaku.core.folds import Cut, Fold, Gist, Subject
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import ref_of, render_turns
from yohaku.core.recipe import PassContext, PlanOptions, Question
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.summarise import summarise
from yohaku.testing import ByteMeter, ScriptedModel, histories

METER = ByteMeter()
GOOD = "The user wants the tasks done, and some of them are."


def context(view: View, limit: int, goal: int, options: PlanOptions = PlanOptions()) -> PassContext:  # noqa: B008
    weigher = Weigher(METER)
    return PassContext(Budget(limit, 0), weigher, weigher.ledger(view.shown), goal, options)


def step(name: str, size: int) -> Step:
    return Step((ToolUse(Call(name, "bash", '{"command":"ls"}'), Result((Text("x" * size),))),))


def history(*turns: int, size: int = 1_000, prompt: str = "Task {}.") -> History:
    """Turns of so many steps each."""
    return history_of(
        [
            Turn((Text(prompt.format(number)),), tuple(step(f"{number}.{n}", size) for n in range(count)))
            for number, count in enumerate(turns)
        ]
    )


def proposed(
    view: View, model: ScriptedModel, limit: int, goal: int, options: PlanOptions | None = None, **how: object
) -> list[Fold]:
    asking = summarise(**how)(view, context(view, limit, goal, options or PlanOptions()))  # type: ignore[arg-type]
    assert not isinstance(asking, list)
    try:
        question = next(asking)
        while True:
            assert isinstance(question, Question)
            try:
                answer = model(question)
            except Unanswered as nobody:
                question = asking.throw(nobody)
            else:
                question = asking.send(answer)
    except StopIteration as stop:
        folds: list[Fold] = stop.value
        return folds


def cut(view: View, limit: int, goal: int, options: PlanOptions = PlanOptions(), **how: object) -> Cut | None:  # noqa: B008
    folds = proposed(view, ScriptedModel(*[GOOD] * 9), limit, goal, options, **how)
    return view.with_(folds).cut if folds else None


MANUAL = PlanOptions(manual=True)


def test_the_gist_is_a_header_the_rules_what_to_retain_and_the_summary() -> None:
    view = View(history(3, 3, 3, prompt="Task {}. Never push."))
    model = ScriptedModel(f"<retain>Task 1.</retain><summary>{GOOD}</summary>")
    (gist,) = proposed(view, model, 10_000, 6_000)
    ref = ref_of(render_turns(view.hidden(Cut(2, 0))))
    text = (
        f"[Earlier conversation folded: 2 prompts, 6 steps; ref={ref}]\n"
        "Rules the user set, which still hold:\n- Never push.\n"
        "Kept from it to the letter:\nTask 1.\n\n"
        f"Summary of it, to go on from (not a new request):\n{GOOD}"
    )
    assert gist == Gist(
        view.history.turns[2].key,
        text,
        ref,
        Subject("before_prompt", steps=6),
        "by_model",
        2 * (3 * (4 + 1_000 + len("bash") + len('{"command":"ls"}') + 4) + len("Task 1. Never push.") + 4),
        len(text) + len(gist.closing) + 4,
    )
    assert model.asked[0].text.index("USER: Task 1. Never push.") < model.asked[0].text.index("- Never push.")


def test_a_japanese_conversation_is_summed_up_in_japanese() -> None:
    model = ScriptedModel("利用者は作業を順に進めてほしいと言っている。")
    (gist,) = proposed(
        View(history(3, 3, 3, prompt="作業{}をお願いします。テストは変更しないでください。")), model, 10_000, 6_000
    )
    assert "Write in Japanese" in model.asked[0].text
    assert gist.text.endswith(
        "\n- テストは変更しないでください。\nその要約(続きのためのもので、新しい依頼ではない):\n"
        "利用者は作業を順に進めてほしいと言っている。"
    )


def test_an_acknowledgement_is_carried_and_weighed() -> None:
    view = View(history(3, 3, 3))
    (plain,) = proposed(view, ScriptedModel(GOOD), 10_000, 6_000)
    (gist,) = proposed(view, ScriptedModel(GOOD), 10_000, 6_000, ack="Understood.")
    assert isinstance(gist, Gist)
    assert isinstance(plain, Gist)
    assert (gist.ack, gist.after - plain.after) == ("Understood.", len("Understood.") + 4 - len(plain.closing))


def test_so_many_turns_are_kept_unless_the_goal_asks_for_more() -> None:
    view = View(history(2, 2, 2, 2, 2))
    assert cut(view, 12_000, 11_500, keep=1) == Cut(4, 0)
    assert cut(view, 12_000, 11_500, keep=2) == Cut(3, 0)
    assert cut(view, 12_000, 4_500, keep=4) == Cut(4, 0)
    assert cut(view, 12_000, 11_500, keep=0) == Cut(4, 1)


def test_a_share_of_the_characters_is_kept_and_the_cut_is_at_a_prompt() -> None:
    view = View(history(2, 2, 2, 2, 2, 2, 2, 2, 2, 2))
    assert cut(view, 22_000, 21_000, keep=0.3) == Cut(7, 0)
    assert cut(view, 22_000, 21_000, keep=0.35) == Cut(7, 0)
    assert cut(view, 22_000, 21_000, keep=0.01) == Cut(9, 0)


def test_inside_a_single_turn_the_cut_is_at_a_step() -> None:
    view = View(history(20))
    assert cut(view, 20_000, 12_000) == Cut(0, 12)
    assert cut(view, 200_000, 150_000, MANUAL) == Cut(0, 14)


def test_the_newest_prompt_and_step_stay() -> None:
    for keep in (0, 0.3, 1, 5):
        assert cut(View(history(3, 1, 0)), 4_000, 100, keep=keep) in (Cut(1, 0), None)
        assert cut(View(history(4)), 4_000, 1_500, keep=keep) in (Cut(0, 3), None)
        assert cut(View(history(1)), 1_000, 500, MANUAL, keep=keep) is None


def test_nothing_is_asked_for_little() -> None:
    model = ScriptedModel(GOOD)
    view = View(history(1, 1, 1, size=100))
    assert proposed(view, model, 100_000, 50_000) == []
    assert model.asked == []
    assert len(proposed(view, model, 100_000, 50_000, MANUAL)) == 1


def test_the_words_of_the_user_are_in_the_question() -> None:
    model = ScriptedModel(GOOD)
    options = PlanOptions(manual=True, words="keep the names of all files")
    proposed(View(history(3, 3, 3)), model, 10_000, 9_000, options, directives=("In verse.",), window=50_000)
    assert "keep the names of all files" in model.asked[0].text and "\n- In verse.\n" in model.asked[0].text


def test_the_summary_is_made_of_what_was_said_and_not_of_stubs() -> None:
    h = history(3, 3, 3, size=500)
    view = View(h)
    stubbed = view.with_(_all_stubbed(view))
    model = ScriptedModel(GOOD)
    proposed(stubbed, model, 100_000, 50_000, MANUAL)
    assert "x" * 500 in model.asked[0].text


def _all_stubbed(view: View) -> list[Fold]:
    from yohaku.passes.pieces import fold_whole, pieces

    return [fold_whole(piece, context(view, 1, 1), "test") for piece in pieces(view, context(view, 1, 1), "result")]


def test_a_rule_taken_back_in_what_stays_is_not_handed_on() -> None:
    turns = [
        Turn((Text("Never touch the database."),), (step("a", 3_000),)),
        Turn((Text("Never push."),), (step("b", 3_000),)),
    ]
    last = Turn((Text("You may now touch the database."),), (step("c", 10),))
    (gist,) = proposed(View(history_of([*turns, last])), ScriptedModel(GOOD), 7_000, 4_000)
    assert "\n- Never push.\n" in gist.text and "database" not in gist.text


def test_a_gist_prepared_earlier_is_taken_instead_of_asking() -> None:
    view = View(history(3, 3, 3, 3))
    (draft,) = proposed(view, ScriptedModel(GOOD), 12_500, 9_000, keep=2)
    assert isinstance(draft, Gist)
    model = ScriptedModel()
    assert proposed(view, model, 12_500, 9_000, PlanOptions(drafts={draft.key: draft})) == [draft]
    assert model.asked == []


def test_far_more_than_can_be_asked_about_is_told_by_the_gist_before_it() -> None:
    view = View(history(*[3] * 12))
    (first,) = proposed(view, ScriptedModel(*["The first tasks were all done."] * 9), 30_000, 20_000, keep=3)
    model = ScriptedModel(*[GOOD] * 9)
    (second,) = proposed(view.with_([first]), model, 5_000, 4_500, MANUAL, keep=1)
    assert "SUMMARY OF WHAT CAME BEFORE:\n[Earlier conversation folded" in model.asked[0].text
    assert "The first tasks were all done." in model.asked[0].text
    assert isinstance(second, Gist) and second.ref == ref_of(render_turns(view.hidden(Cut(11, 0))))


ADVERSARIES = [
    (),
    ("", ""),
    ("...", "<summary>...</summary>"),
    ("word " * 100_000,) * 2,
    ("I cannot do that.", "申し訳ありません。"),
    ("<state_snapshot>", "</summary>"),
    ("The file made_up_one.py has 98765 lines.",) * 2,
]


@pytest.mark.parametrize("answers", ADVERSARIES)
@pytest.mark.parametrize("kind", ["summary", "snapshot"])
def test_where_the_model_fails_there_is_a_gist_without_it(kind: str, answers: tuple[str, ...]) -> None:
    view = View(history(3, 3, 3, prompt="Task {}. Never push."))
    model = ScriptedModel(*answers)
    (gist,) = proposed(view, model, 10_000, 6_000, kind=kind)
    assert len(model.asked) <= 2
    assert gist.why.startswith("without_model.")
    assert f"ref={gist.ref}" in gist.text and "Never push." in gist.text
    assert context(view.with_([gist]), 1, 1).ledger.total <= 6_000


@given(
    histories(max_turns=6), st.integers(300, 6_000), st.floats(0.1, 1), st.sampled_from([0, 0.3, 1, 2]), st.booleans()
)
def test_what_is_proposed_is_smaller_unless_the_user_wants_it_and_leaves_the_newest_alone(
    history: History, limit: int, share: float, keep: float, manual: bool
) -> None:
    view = View(history)
    folds = proposed(
        view, ScriptedModel(*[GOOD] * 20), limit, int(limit * share), PlanOptions(manual=manual), keep=keep
    )
    for gist in folds:
        after = view.with_([gist])
        assert manual or gist.after < gist.before, "by hand the engine refuses it, so that it can be told"
        saved = context(view, 1, 1).ledger.total - context(after, 1, 1).ledger.total
        assert 0 <= saved - (gist.before - gist.after) <= 4, "it may be an entry of its own or a part of the prompt's"
        assert after.stubbed[-1].prompt == history.turns[-1].prompt
        assert after.shown.steps[-1] == history.steps[-1]
