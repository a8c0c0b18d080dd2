from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.budget import Budget
from yohaku.core.errors import Unanswered
from yohaku.core.folds import Cut, Fold, Gist, Subject
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Opaque, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import ref_of, render_turns
from yohaku.core.recipe import PassContext, PlanOptions, Question
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.passes.digest import digest
from yohaku.testing import ByteMeter, ScriptedModel, histories

QUIET = PlanOptions(model=False)
GOOD = "The user wants the parts looked at, and all of them were."


class FourMeter(ByteMeter):
    """A token for each four bytes, as in most texts."""

    def count(self, text: str) -> int:
        return -(-super().count(text) // 4)


def context(
    v: View, limit: int, options: PlanOptions = QUIET, goal: float = 0.6, meter: ByteMeter | None = None
) -> PassContext:
    weigher = Weigher(meter or FourMeter())
    return PassContext(Budget(limit, 0), weigher, weigher.ledger(v.shown), int(limit * goal), options)


def total(v: View) -> int:
    return context(v, 1).ledger.total


def proposed(v: View, r: PassContext, model: ScriptedModel | None = None, **how: float) -> list[Fold]:
    asking = digest(**how)(v, r)
    assert not isinstance(asking, list)
    try:
        question = next(asking)
        while True:
            assert isinstance(question, Question) and model is not None
            try:
                answer = model(question)
            except Unanswered as nobody:
                question = asking.throw(nobody)
            else:
                question = asking.send(answer)
    except StopIteration as stop:
        folds: list[Fold] = stop.value
        return folds


def folded(v: View, limit: int, options: PlanOptions = QUIET, model: ScriptedModel | None = None, **how: float) -> View:
    return v.with_(proposed(v, context(v, limit, options), model, **how))


def gist(v: View) -> Gist:
    assert v.gist is not None
    return v.gist


def step(n: int, lines: int = 30, names: int = 5) -> Step:
    """A look at a part; one line in `names` names something."""
    text = "\n".join(f"row_{n}_{k} = compute({k})" if k % names == 0 else "all is well here" for k in range(lines))
    call = Call(str(n), "bash", json.dumps({"command": f"cat src/part_{n}.py"}))
    return Step((Text(f"I look at part_{n}."), ToolUse(call, Result((Text(text),)))))


def history(*turns: int, prompt: str = "Look at some.", lines: int = 30, names: int = 5) -> History:
    """Turns of so many steps each."""
    starts = [sum(turns[:n]) for n in range(len(turns))]
    return history_of(
        [
            Turn((Text(prompt),), tuple(step(n, lines, names) for n in range(start, start + count)))
            for start, count in zip(starts, turns, strict=True)
        ]
    )


# What stays


@given(histories(interleaved=True), st.integers(200, 20_000), st.floats(0.1, 0.9))
def test_the_newest_step_and_prompt_are_untouched_and_every_fold_opens_to_what_it_hides(
    h: History, limit: int, goal: float
) -> None:
    v = View(h)
    folds = proposed(v, context(v, limit, goal=goal, meter=ByteMeter()))
    w = v.with_(folds)
    assert w.stubbed[-1].prompt == h.turns[-1].prompt
    steps = [each for turn in w.shown.turns for each in turn.steps]
    assert steps[-1:] == list(h.steps[-1:])
    for fold in folds:
        originals = dict(w.originals(fold))
        assert fold.ref in originals and f"ref={fold.ref}]" in fold.text
        assert all(ref_of(original) == ref for ref, original in originals.items())


@given(histories(), st.integers(200, 20_000))
def test_the_same_view_gives_the_same_folds(h: History, limit: int) -> None:
    v = View(h)
    assert proposed(v, context(v, limit)) == proposed(View(history_of(h.turns, h.system, h.tools)), context(v, limit))


def test_the_newest_steps_stay_whole_and_all_before_them_is_hidden() -> None:
    v = View(history(12, 8))
    w = folded(v, 2_000, recent=0.35)
    assert w.cut > Cut(1, 0) and [type(fold) for fold in w.folds] == [Gist]
    first = sum(len(turn.steps) for turn in v.hidden(w.cut))
    assert first < 19 and w.shown.turns[-1].steps == v.history.steps[first:]


@pytest.mark.parametrize("limit", [1_000, 1_500, 2_000, 3_000, 5_000])
def test_the_goal_is_all_but_met_and_most_of_what_it_leaves_is_used(limit: int) -> None:
    v = View(history(20, 20, lines=60))
    assert limit * 0.34 < total(folded(v, limit)) < limit * 0.75


def test_nothing_is_proposed_where_the_newest_alone_is_too_big() -> None:
    v = View(history_of([*history(12).turns, Turn((Text("x" * 8_000),))]))
    assert proposed(v, context(v, 1_900)) == []
    assert proposed(v, context(v, 4_000)) != []
    big = View(history_of([Turn((Text("go"),), (*(step(n) for n in range(9)), step(9, lines=600)))]))
    assert proposed(big, context(big, 2_000)) == []


def test_without_steps_there_is_nothing_to_fold() -> None:
    for h in (History(), history_of([Turn((Text("hello"),))]), history(1)):
        assert proposed(View(h), context(View(h), 5_000)) == []


def test_nothing_is_done_for_too_little_unless_it_is_over_the_limit() -> None:
    v = View(history_of([Turn((Text("go"),), (step(0, 20), step(1, 400)))]))
    assert proposed(v, context(v, total(v))) == []
    assert len(proposed(v, context(v, total(v)), least=0.001)) == 1
    assert len(proposed(v, context(v, total(v) - 1))) == 1


def test_what_the_lines_do_not_use_keeps_more_steps_whole() -> None:
    silent = [
        Step((ToolUse(Call(str(n), "bash", "{}"), Result((Text("all is well here\n" * 30),))),)) for n in range(40)
    ]
    v = View(history_of([Turn((Text("go"),), tuple(silent))]))
    weight = context(v, 1).weigher.step(silent[0])
    w = folded(v, 4_000)
    assert w.cut.steps < 40 - 4_000 * 0.6 * 0.6 / weight
    assert 4_000 * 0.5 < total(w) < 4_000 * 0.65


def test_a_turn_with_thoughts_is_cut_where_it_may_be() -> None:
    thought = [Step((Opaque("thought", "hm"), *step(n).items)) if n % 7 == 0 else step(n) for n in range(20)]
    v = View(history_of([Turn((Text("go"),), tuple(thought))]))
    assert folded(v, 2_000).cut.steps in (7, 14)


# Chapters


def growing(limit: int, steps: int = 150, prompts: dict[int, str] | None = None) -> Iterator[tuple[View, View]]:
    """A conversation that grows by a step at a time, before and after each folding."""
    said, view, turns = prompts or {}, View(History()), [Turn((Text("Look at some."),))]
    for number in range(steps):
        if number in said:
            turns.append(Turn((Text(said[number]),)))
        turns[-1] = Turn(turns[-1].prompt, (*turns[-1].steps, step(number)))
        grown = View(history_of(turns), view.stubs, view.gists)
        view = grown
        if total(grown) > limit:
            view = grown.with_(proposed(grown, context(grown, limit)))
            assert total(view) <= limit
            yield grown, view


def test_a_folding_adds_a_chapter_about_what_it_hides_and_leaves_the_others_as_they_are() -> None:
    added = anew = 0
    for old, new in growing(4_000):
        last = gist(new)
        if last.start:
            added += 1
            assert new.chapters[:-1] == old.chapters and last.start == gist(old).key
            assert dict(new.originals(last))[last.ref] == render_turns(new.between(old.cut, new.cut))
            assert abs(last.before - last.after - (total(old) - total(new))) <= 4, "it stands in one text with a prompt"
            assert last.what == Subject("stretch", steps=new.cut.steps - old.cut.steps)
        elif old.chapters:
            anew += 1
            assert new.chapters == (last,)
            assert dict(new.originals(last))[last.ref] == render_turns(new.hidden(new.cut))
            assert last.after < sum(one.after for one in old.chapters)
    assert added > 2 * anew > 0


def test_chapters_are_told_anew_only_when_they_fill_their_room() -> None:
    shares = [sum(one.after for one in old.chapters) / 4_000 for old, new in growing(4_000) if not gist(new).start]
    assert shares[0] == 0 and all(0.5 < share < 0.75 for share in shares[1:])


def test_prompts_and_rules_stand_in_the_chapter_that_hides_them() -> None:
    taken_back = 0
    for at in range(74, 125, 5):  # in the middle of chapters and at their ends
        taken_back += _take_back_a_rule(at)
    assert taken_back


def _take_back_a_rule(at: int) -> bool:
    """Check the chapters of a conversation in which a rule no longer holds; True if one of them says so."""
    rules = {
        30: "Never push to main. Go on.",
        60: "Always run the linter. Go on.",
        at: "You may push to main now, forget that rule.",
        at + 4: "Go on.",
    }
    taken_back = False
    for old, new in growing(4_000, prompts=rules):
        texts = [one.text for one in new.chapters]
        assert sum("User: Look at some." in text for text in texts) <= 1
        stated = [line for text in texts for line in text.split("\n") if line.startswith("- ")]
        assert all(stated.count(f"- {rule.partition('.')[0]}.") <= 1 for rule in rules.values())
        if gist(new).start and new.cut.turn > 3 and old.cut.turn <= 3 and "- Never push to main." in stated:
            taken_back = True
            assert "Rules above that the user has taken back since:\n× Never push to main." in gist(new).text
        if not gist(new).start and new.cut.turn > 3:
            assert "- Never push to main." not in stated and "× " not in texts[0]
    return taken_back


def test_names_of_an_earlier_chapter_are_not_shown_again_in_the_next() -> None:
    rows = [new.chapters for _, new in growing(4_000) if gist(new).start]
    for row in rows:
        names = [set(re.findall(r"row_\d+_\d+", one.text)) for one in row]
        assert not names[-1] & set().union(*names[:-1])
    assert any("row_" in row[-1].text for row in rows)


def test_a_chapter_in_a_turn_whose_prompt_is_visible_is_told_in_the_language_of_the_prompt() -> None:
    h = history_of([Turn((Text("順に確認してください。"),), tuple(step(n) for n in range(20)))])
    assert gist(folded(View(h), 2_000)).text.startswith("[これまでの会話を折りたたみました: 1")


# The gist


def test_a_gist_is_a_story_with_lines_under_their_calls() -> None:
    v = View(history(6, 2, prompt="Never push. Look at some."))
    w = folded(v, 1_000, recent=0)
    ref = ref_of(render_turns(v.hidden(w.cut)))
    assert gist(w).text.startswith(
        f"[Earlier conversation folded: 1 prompt, 7 steps; ref={ref}]\n"
        "The user's rules, still in force:\n- Never push.\n"
        "What happened, in order (what tools gave stands behind |):\nUser: Never push. Look at some.\n"
    )
    assert "\n- looked at `cat src/part_5.py`:\n  | row_5_" in gist(w).text
    assert gist(w).key == v.history.steps[6].key and gist(w).what == Subject("before_step", steps=7)
    assert gist(w).after == 4 + FourMeter().count(gist(w).text + gist(w).closing)


def test_what_the_newest_steps_are_about_is_shown_where_it_stood() -> None:
    kept = Step((Text("Of these row_5_0 and row_5_5 and row_5_10 matter."),))
    h = history_of([Turn((Text("go"),), tuple(step(n) for n in range(12))), Turn((Text("on"),), (kept,))])
    shown = re.findall(r"row_5_\d+", gist(folded(View(h), 1_500, recent=0)).text)
    assert {"row_5_0", "row_5_5", "row_5_10"} <= set(shown)


def test_the_rules_of_the_user_stand_in_the_gist_word_for_word() -> None:
    h = history_of(
        [
            Turn((Text("Never touch the database. 必ず日本語で答えてください。"),), (step(0),)),
            *(Turn((Text(f"Look at {n}."),), (step(n),)) for n in range(1, 20)),
        ]
    )
    for limit in (600, 1_500, 3_000):
        told = gist(folded(View(h), limit)).text
        assert "\n- Never touch the database.\n- 必ず日本語で答えてください。\n" in told


def test_a_japanese_conversation_is_told_in_japanese_with_the_lines_as_they_were() -> None:
    asked = ToolUse(
        Call("0", "read_file", '{"path":"設定.toml"}'), Result((Text("名前は\n認証サーバーの設定\nおわり"),))
    )
    first = Turn((Text("設定を確認してください。必ず日本語で答えること。"),), (Step((asked,)),))
    h = history_of([first, *(Turn((Text("次をお願いします。"),), (step(n),)) for n in range(1, 15))])
    text = gist(folded(View(h), 1_500)).text
    assert text.startswith("[これまでの会話を折りたたみました: ")
    assert "\n- 必ず日本語で答えること。\n" in text and "\n- 閲覧 設定.toml\n  | " in text
    assert "\n  | 認証サーバーの設定\n" in text


@pytest.mark.parametrize("limit", [1_000, 4_000, 40_000])
def test_a_gist_stays_within_its_share_of_what_is_free(limit: int) -> None:
    v = View(history(100, 100, lines=100))
    assert FourMeter().count(gist(folded(v, limit)).text) <= limit * 0.6


def test_what_the_user_wants_kept_brings_its_lines() -> None:
    text = "\n".join(
        [*(f"other_{n} = {n}" for n in range(295)), "quiet_place = 1", *(f"other_row_{n} = {n}" for n in range(300))]
    )
    h = history_of([Turn((Text("go"),), (Step((ToolUse(Call("q", "bash", "{}"), Result((Text(text),))),)), step(1)))])
    wished = replace(QUIET, words="keep the quiet place")
    assert "quiet_place" not in gist(folded(View(h), 1_000)).text
    assert "quiet_place" in gist(folded(View(h), 1_000, wished)).text


# With a model


def test_a_checked_summary_takes_the_place_of_what_is_told_and_the_lines_stay() -> None:
    v = View(history(12, 30, prompt="Never push. Look at some."))
    model = ScriptedModel(*[f"<summary>{GOOD}</summary>"] * 9)
    summed = folded(v, 4_000, PlanOptions(), model)
    ref = gist(summed).ref
    steps = sum(len(turn.steps) for turn in v.hidden(summed.cut))
    head = f"[Earlier conversation folded: 1 prompt, {steps} steps; ref={ref}]\nThe user's rules, still in force:\n"
    summary = f"Summary of it, to go on from (not a new request):\n{GOOD}"
    assert gist(summed).text.startswith(f"{head}- Never push.\n{summary}\n")
    assert re.search(r"\n\[cat src/part_\d+\.py\]\n.*row_\d+_\d+", gist(summed).text)
    assert gist(summed).why == "by_model"
    assert {question.purpose for question in model.asked} == {"summary"}, "parts stand one behind the other"
    assert gist(summed).after == context(v, 1).weigher.turn(gist(summed).turn)


class Chronicler(ScriptedModel):
    """Tells what it reads, line by line, as long as it may."""

    def __call__(self, question: Question) -> str:
        self.asked.append(question)
        name = "notes" if question.purpose == "merge" else "transcript"
        record = question.text.partition(f"<{name}>\n")[2].partition(f"\n</{name}>")[0]
        told: list[str] = []
        for line in dict.fromkeys(record.split("\n")):
            if FourMeter().count("\n".join([*told, line])) > question.limit - 10:
                break
            told.append(line)
        return "<summary>\n{}\n</summary>".format("\n".join(told))


def chronicle(steps: int) -> Iterator[tuple[View, View, list[Question]]]:
    """A conversation that grows, told by a model: before and after each folding, and what was asked for it."""
    budget = Budget.of(8_192)
    view, model, turn = View(History()), Chronicler(), Turn((Text("Look at some."),))
    for number in range(steps):
        turn = Turn(turn.prompt, (*turn.steps, step(number)))
        grown = view = View(history_of([turn]), view.stubs, view.gists)
        if total(grown) > budget.limit:
            asked = len(model.asked)
            given = replace(context(grown, budget.limit, PlanOptions()), budget=budget)
            view = grown.with_(proposed(grown, given, model))
            yield grown, view, model.asked[asked:]


def test_a_model_is_asked_for_what_is_new_behind_the_chapters_as_they_stand() -> None:
    added = merged = 0
    for old, new, asked in chronicle(250):
        assert gist(new).why == "by_model" and total(new) <= 7_168
        stretch = new.stretch(gist(new))
        told = [f"I look at {one.items[0].text[10:]}" for turn in stretch for one in turn.steps]
        if gist(new).start or not old.chapters:
            assert all(any(line in question.text for question in asked) for line in told), "it is there in full"
        else:
            merged += 1
            assert [question.purpose for question in asked] == ["merge", "summary"], "once for those there are"
            assert all(chapter.text.split("\n")[0] in asked[0].text for chapter in old.chapters)
        if gist(new).start:
            added += 1
            assert new.chapters[:-1] == old.chapters
            told = [chapter.text for chapter in old.chapters]
            assert all(text.split("\n")[0] in asked[0].text for text in told) and len(asked) <= 2
    assert added >= 3 and merged


def test_a_model_that_tells_the_middle_of_a_turn_sees_the_prompt_that_stays() -> None:
    _, _, asked = next(chronicle(160))
    record = asked[0].text.partition("<transcript>\n")[2]
    assert record.startswith("USER (still visible): Look at some.\nASSISTANT")


def test_chapters_of_a_model_have_most_of_what_gists_may_take() -> None:
    wrote: list[int] = []
    sums: list[int] = []
    for _, new, asked in chronicle(250):
        wrote = wrote if gist(new).start else []
        wrote.append(sum(question.limit for question in asked))
        sums.append(sum(wrote))
    assert sums[0] > 700 and 2_500 <= max(sums) <= 3_500


def test_the_share_of_a_small_model_is_small() -> None:
    limits = []
    for share in (0.7, 0.3):
        model, v = Chronicler(), View(history(40))
        folded(v, 7_000, PlanOptions(summary_share=share), model)
        limits.append(sum(question.limit for question in model.asked))
    assert abs(limits[0] * 3 / 7 - limits[1]) <= 2


def test_what_a_model_says_of_nothing_in_the_record_is_left_out_and_counted() -> None:
    answer = f"<summary>\n{GOOD}\nThen src/invented.py was deleted.\n</summary>"
    told = gist(folded(View(history(40)), 7_000, PlanOptions(), ScriptedModel(*[answer] * 9)))
    assert "invented" not in told.text and told.why == "by_model" and int(told.detail) >= 1


def test_where_the_model_says_nothing_of_use_the_gist_is_told_without_it() -> None:
    v = View(history(12, 30))
    for model in (ScriptedModel(), ScriptedModel("", "")):
        w = folded(v, 4_000, PlanOptions(), model)
        text = gist(w).text
        assert text.startswith("[Earlier conversation folded: 1 prompt, ") and "\nUser: Look at some.\n" in text
        assert "src/part_30.py" in text and "row_" in text
        assert gist(w).why.startswith("without_model.")


def test_a_model_is_not_asked_for_what_it_could_not_say_in_the_room_there_is() -> None:
    v = View(history(12, 8))
    model = ScriptedModel(GOOD)
    assert gist(folded(v, 200, PlanOptions(), model)).why == "window_full"
    assert model.asked == []


def test_what_the_user_wants_kept_is_put_to_the_model() -> None:
    model = ScriptedModel(GOOD)
    folded(View(history(12, 8)), 4_000, PlanOptions(words="keep the part numbers"), model)
    assert "What the user asked for in this: keep the part numbers" in model.asked[0].text


def test_of_a_log_errors_and_warnings_are_shown_and_the_rest_is_counted() -> None:
    rows = [f"10:{n // 60:02}:{n % 60:02} INFO [req={n * 7919:08x}] GET /items/{n} 200" for n in range(2_000)]
    for n in range(5, 2_000, 97):
        rows[n] = rows[n].replace("INFO", "WARN" if n % 2 else "ERROR")
    uses = [
        ToolUse(Call(str(n), "read_file", f'{{"path":"app.log","offset":{n}}}'), Result((Text("\n".join(part)),)))
        for n, part in ((n, rows[n : n + 100]) for n in range(0, 2_000, 100))
    ]
    h = history_of([Turn((Text("Read the log."),), tuple(Step((use,)) for use in uses))])
    text = gist(folded(View(h), 7_000)).text
    hidden = [row for row in rows[:-200] if "INFO" not in row]
    assert all(row in text for row in hidden) and "INFO" not in text
    assert "(100 lines, 1 with errors or warnings)" in text
