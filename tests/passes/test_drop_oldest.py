from __future__ import annotations

from yohaku.core.budget import Budget
from yohaku.core.folds import Cut, Fold, Gist, Subject
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Opaque, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import ref_of, render_turns
from yohaku.core.recipe import PassContext
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.drop_oldest import drop_oldest, notice
from yohaku.testing import ByteMeter

METER = ByteMeter()


def context(view: View, limit: int, goal: int) -> PassContext:
    weigher = Weigher(METER)
    return PassContext(Budget(limit, 0), weigher, weigher.ledger(view.shown), goal)


def step(name: str, size: int = 100, thought: bool = False) -> Step:
    items = (Opaque("thought", "hm"),) if thought else ()
    return Step((*items, ToolUse(Call(name, "bash", "{}"), Result((Text("x" * size),)))))


def history(*turns: int, size: int = 100) -> History:
    """Turns of so many steps each."""
    return history_of(
        [
            Turn((Text(f"Task {number}."),), tuple(step(f"{number}.{n}", size) for n in range(count)))
            for number, count in enumerate(turns)
        ]
    )


def proposed(view: View, limit: int, goal: int, **how: object) -> list[Fold]:
    found = drop_oldest(**how)(view, context(view, limit, goal))  # type: ignore[arg-type]
    assert isinstance(found, list)
    return found


def cut(h: History | View, limit: int, goal: int, **how: object) -> Cut | None:
    view = h if isinstance(h, View) else View(h)
    folds = proposed(view, limit, goal, **how)
    return view.with_(folds).cut if folds else None


def weight(view: View, end: Cut) -> int:
    """What is left when all before `end` is one text."""
    steps = sum(len(turn.steps) for turn in view.hidden(end))
    text = f"[Earlier conversation folded: {steps} steps; ref={ref_of(render_turns(view.hidden(end)))}]"
    gist = Gist(view.key_at(end), text, "r" * 12, "all", "why", 9, 1)
    return context(view.with_([gist]), 1, 1).ledger.total + 4  # as if the gist were an entry of its own


def test_as_little_of_the_oldest_goes_as_the_goal_needs() -> None:
    h = history(10, size=1_000)  # each step weighs 1,014
    total = context(View(h), 1, 1).ledger.total
    assert cut(h, total, total - 500, asked=0, least=0) == Cut(0, 1)
    assert cut(h, total, total - 1_500, asked=0, least=0) == Cut(0, 2)
    assert cut(h, total, total - 4_500, asked=0) == Cut(0, 5)


def test_the_goal_is_met_with_the_notice_and_what_the_user_asked_in_it() -> None:
    h = history(3, 3, 3, 3, size=300)
    view = View(h)
    total = context(view, 1, 1).ledger.total
    for goal in range(1_000, total, 300):
        (gist,) = proposed(view, total, goal, least=0)
        assert context(view.with_([gist]), 1, 1).ledger.total <= goal


def test_a_gist_tells_what_it_weighs_in_place_of_what() -> None:
    view = View(history(2, 2, size=500))
    (gist,) = proposed(view, 2_000, 1_500, asked=0.1)
    ref = ref_of(render_turns(view.hidden(Cut(1, 0))))
    text = f"[Earlier conversation folded: 1 prompt, 2 steps; ref={ref}]\nThe user had asked:\n- Task 0."
    assert gist == Gist(
        view.history.turns[1].key,
        text,
        ref,
        Subject("before_prompt", steps=2),
        "window_full",
        context(view, 1, 1).weigher.turn(view.history.turns[0]),
        len(text) + len(gist.closing) + 4,
    )


def test_inside_a_turn_the_prompt_stays_and_the_steps_go() -> None:
    view = View(history(6, size=500))
    (gist,) = proposed(view, 3_000, 2_000, asked=0)
    shown = view.with_([gist]).shown
    assert shown.turns[0].prompt == (Text(f"{gist.text}{gist.closing}Task 0."),)
    assert gist.text == f"[Earlier conversation folded: 3 steps; ref={gist.ref}]"
    assert str(gist.what) == "the conversation before this step (3 steps)"


def test_the_newest_step_stays_unless_it_may_go_as_well() -> None:
    h = history(3, size=5_000)
    assert cut(h, 6_000, 500) == Cut(0, 2)
    assert cut(h, 6_000, 500, newest=True) == Cut(0, 3)
    assert cut(history(1, size=5_000), 1_000, 500) is None


def test_where_the_newest_step_goes_it_is_told_even_if_the_goal_is_out_of_reach() -> None:
    asked = history_of([Turn((Text("x" * 8_000),), (step("only", 5_000),))])
    (gist,) = proposed(View(asked), 10_000, 500, newest=True)
    assert "The last step was:\n" in gist.text and "bash" in gist.text
    assert 8_000 + gist.after < 9_500, "and there is room for the next one"


def test_nothing_is_hidden_where_even_the_biggest_cut_would_leave_it_over_the_limit() -> None:
    h = history_of([Turn((Text("go"),), (*(step(str(n), 300) for n in range(5)), step("huge", 5_000)))])
    least = weight(View(h), Cut(0, 5))
    assert cut(h, least, 500) == Cut(0, 5)
    assert cut(h, least - 1, 500) is None
    assert cut(h, least - 1, 500, by="turns") is None
    assert cut(h, least - 1, 500, newest=True) == Cut(0, 6)
    asked = history_of([*h.turns, Turn((Text("x" * 5_000),))])
    assert cut(asked, 1_000, 500) is None
    assert cut(asked, 1_000, 500, newest=True) == Cut(1, 0)


def test_the_newest_step_is_that_of_the_turn_before_when_a_prompt_just_came() -> None:
    h = history(1, 2, 0, size=500)
    assert cut(h, 1_000, 500) == Cut(1, 1)
    assert cut(h, 1_000, 500, newest=True) == Cut(2, 0)
    assert cut(h, 1_300, 500, by="turns") == Cut(1, 0)


def test_behind_a_whole_turn_the_next_one_begins() -> None:
    h = history(3, 3, 3, size=500)
    total = context(View(h), 1, 1).ledger.total
    found = {cut(h, total, goal, asked=0, least=0, newest=True) for goal in range(0, total, 50)}
    inside = {Cut(turn, steps) for turn in range(3) for steps in (1, 2)}
    assert found == inside | {Cut(1, 0), Cut(2, 0), Cut(2, 3)}


def test_by_turns_only_whole_turns_go() -> None:
    h = history(2, 2, 2, size=500)
    total = context(View(h), 1, 1).ledger.total
    assert cut(h, total, total - 600, by="turns") == Cut(1, 0)
    assert cut(h, total, total - 1_200, by="turns") == Cut(2, 0)
    assert cut(h, total, 0, by="turns") == Cut(2, 0)
    assert cut(history(5, size=500), 1_000, 500, by="turns") is None


def test_nothing_is_cut_where_there_is_nothing_to_cut() -> None:
    assert proposed(View(History()), 100, 10) == []
    assert proposed(View(history(0)), 1, 1) == []


def test_nothing_is_done_for_too_little_unless_it_is_over_the_limit() -> None:
    view = View(history_of([Turn((Text("go"),), (step("a", 250), step("b", 3_000)))]))
    total = context(view, 1, 1).ledger.total
    assert proposed(view, total, total // 2) == []
    assert len(proposed(view, total, total // 2, least=0.01)) == 1
    assert len(proposed(view, total - 1, total // 2)) == 1


def test_a_second_cut_goes_on_from_the_first_and_its_gist_tells_everything() -> None:
    view = View(history(8, size=500))
    first = view.with_(proposed(view, 4_000, 3_000, asked=0))
    second = first.with_(proposed(first, 3_000, 1_500, asked=0))
    assert first.cut < second.cut and second.gist is not None
    assert dict(second.originals(second.gist))[second.gist.ref] == render_turns(view.hidden(second.cut))
    assert len(second.shown.turns[0].prompt) == 1
    old = context(first, 1, 1).weigher
    gone = old.turn(first.gist.turn) if first.gist else 0
    assert second.gist.before == gone + sum(map(old.step, view.history.steps[first.cut.steps : second.cut.steps]))


def thinking() -> tuple[Step, ...]:
    """Five steps, of which the second and the fourth begin with a thought."""
    return tuple(step(name, 500, thought=name in "bd") for name in "abcde")


def every_cut(turns: list[Turn], **how: object) -> set[Cut | None]:
    h = history_of(turns)
    total = context(View(h), 1, 1).ledger.total
    return {cut(h, total, goal, asked=0, least=0, **how) for goal in range(0, total, 50)}


def test_what_is_left_of_the_newest_turn_begins_with_a_thought_where_it_thinks() -> None:
    asked = Turn((Text("go"),), thinking())
    assert every_cut([asked]) == {Cut(0, 1), Cut(0, 3)}
    assert every_cut([asked], newest=True) == {Cut(0, 1), Cut(0, 3), Cut(0, 5)}


def test_an_older_turn_may_be_cut_before_any_of_its_steps() -> None:
    older = Turn((Text("go"),), thinking())
    newest = Turn((Text("and now"),), (step("f", 500), step("g", 500)))
    assert every_cut([older, newest]) == {*(Cut(0, steps) for steps in (1, 2, 3, 4)), Cut(1, 0), Cut(1, 1)}


def test_a_turn_that_only_began_with_a_thought_is_not_cut_inside() -> None:
    steps = (step("a", 500, thought=True), step("b", 500), step("c", 500))
    assert every_cut([Turn((Text("go"),), steps)]) == {None}
    assert every_cut([Turn((Text("go"),), steps)], newest=True) == {Cut(0, 3)}


def test_a_thought_that_does_not_come_first_in_its_step_is_no_beginning() -> None:
    late = Step((*step("b", 500).items, Opaque("thought", "hm")))
    assert every_cut([Turn((Text("go"),), (step("a", 500), late, step("c", 500)))]) == {Cut(0, 1), Cut(0, 2)}


# The notice


def prompts(*texts: str) -> tuple[Turn, ...]:
    return tuple(Turn((Text(text),), (Step((Text("ok"),)),)) for text in texts)


def test_the_newest_of_what_was_asked_is_told_within_its_share() -> None:
    hidden = prompts("first", "second", "third")
    head = "[Earlier conversation folded: 3 prompts, 3 steps; ref=r]"
    assert notice(hidden, "r", METER, 1_000) == f"{head}\nThe user had asked:\n- first\n- second\n- third"
    assert notice(hidden, "r", METER, 17) == f"{head}\nThe user had asked (the last 2 of 3):\n- second\n- third"
    assert notice(hidden, "r", METER, 5) == notice(hidden, "r", METER, 0) == head


def test_a_long_prompt_is_told_by_its_beginning_on_one_line() -> None:
    text = notice(prompts("Fix\n\n  this: " + "x" * 1_000), "r", METER, 1_000)
    assert text.split("\n")[2] == "- Fix this: " + "x" * 190


def test_images_in_prompts_are_not_told_as_asked() -> None:
    hidden = (Turn((Opaque("image", "x"), Text("look")), ()),)
    assert notice(hidden, "r", METER, 100) == (
        "[Earlier conversation folded: 1 prompt, 0 steps; ref=r]\nThe user had asked:\n- look"
    )


def test_what_the_system_said_in_between_is_not_told_as_the_users() -> None:
    hidden = (Turn((Text("Budget: 3 calls left.", by="system"), Text("look")), ()),)
    assert "- Budget" not in notice(hidden, "r", METER, 100)
