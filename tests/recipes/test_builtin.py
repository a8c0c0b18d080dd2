"""The recipes of the documents do what the documents say: each requirement by its id."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from yohaku import Session
from yohaku.config.settings import Settings
from yohaku.core.budget import Budget
from yohaku.core.engine import Outcome, plan
from yohaku.core.errors import BadSetting, DoesNotFit, UnknownModel
from yohaku.core.folds import Fold, Gist
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Reply, Result, Step, Text, ToolUse, Turn
from yohaku.core.recipe import FoldStarting, PassContext, PlanOptions, Recipe, Rung
from yohaku.core.verdict import Fits, Folded, FoldingRefused, Inflated, TooBig
from yohaku.core.view import View
from yohaku.core.weigh import Weigher
from yohaku.dialects.openai_chat import OpenAIChat
from yohaku.passes.limit_tool_output import context_budget
from yohaku.recipes.builtin import ACK, LAST_RESORT, cache, chat, hardly_fits, layers, local, near_the_limit, snapshot
from yohaku.session.driver import EffectHandlers, drive
from yohaku.testing import ByteMeter, ScriptedModel


class Quarter(ByteMeter):
    """A token for four bytes, so that questions take no more room than they do in life."""

    def count(self, text: str) -> int:
        return (super().count(text) + 3) // 4


METER = Quarter()
SUMMARY = "<summary>\nThe user asks simple questions and gets simple answers, one after the other.\n</summary>"
SNAPSHOT = """<state_snapshot><overall_goal>Answer all the questions of the user.</overall_goal>
<key_knowledge>Answers are short, and the user is content with them.</key_knowledge></state_snapshot>"""


def bash(number: int, size: int) -> Step:
    call = Call(f"c{number}", "bash", json.dumps({"command": f"make part_{number}"}))
    return Step((ToolUse(call, Result((Text(f"{number:03}\n" * size),))),))


def chatting(turns: int, size: int = 400, *, last: str = "And now?", system: str = "Be brief.") -> History:
    said = [Turn((Text(f"Question {n}?"),), (Step((Text(f"Answer {n}. " * (size * 4 // 11)),)),)) for n in range(turns)]
    return history_of([*said, Turn((Text(last),))], [Text(system)])


def working(*sizes: int, last: str = "") -> History:
    steps = tuple(bash(n, size) for n, size in enumerate(sizes))
    return history_of([Turn((Text("Build it."),), steps), *([Turn((Text(last),))] if last else [])])


def filling(history: History, share: float) -> Budget:
    """A budget of which a conversation takes that share."""
    return Budget(int(Weigher(METER).ledger(history).total / share), 0)


def folded(history: History, recipe: Recipe, budget: Budget, *said: str, options: PlanOptions | None = None) -> Outcome:
    model = ScriptedModel(*said) if said else None
    return drive(plan(View(history), budget, recipe, METER, options), EffectHandlers(model))


def whys(outcome: Outcome) -> list[str]:
    return [fold.why for fold in outcome.folds]


# Local


@pytest.mark.parametrize("window", [2_048, 8_192, 16_384, 65_536])
def test_local_folds_in_the_order_of_the_document(window: int) -> None:  # L6
    """At 80 %: old results, then history; at 90 % a cut by force; what is left over is refused."""
    limit = Budget.of(window).limit
    levels = [(rung.level, rung.quiet) for rung in local().rungs]
    assert levels == [*[("calm", True)] * 2, *[("hot", False)] * 2, (0.9, False), *[("over", False)] * 6]
    full = folded(working(*[limit // 20] * 19), local(), Budget.of(window))
    assert set(whys(full)) == {"read_once" if window < 16_384 else "old_and_big"}
    chatty = folded(chatting(limit // 350), local(), Budget.of(window), SUMMARY)
    assert any(isinstance(fold, Gist) for fold in chatty.folds)
    pasted = folded(history_of([Turn((Text("paste " * window),))]), local(), Budget.of(window))
    assert whys(pasted) == ["over_limit"]
    refused = folded(history_of([Turn((Text("hi"),))], [Text("x" * 4 * window)]), local(), Budget.of(window))
    assert isinstance(refused.verdict, TooBig)


def test_local_never_sends_what_is_known_to_overflow() -> None:  # L6
    for sizes in ([9_000], [3_000] * 9, [100] * 300):
        outcome = folded(working(*sizes), local(), Budget.of(4_096), *[SUMMARY] * 20)
        assert outcome.after.total <= Budget.of(4_096).limit


def test_what_is_too_big_for_local_is_refused_in_plain_words() -> None:  # L10, C4
    with pytest.raises(DoesNotFit) as raised:
        Session(2_048, recipe="local", meter=METER).fit(
            [{"role": "system", "content": "x" * 9_000}, {"role": "user", "content": "hi"}]
        )
    assert str(raised.value) == (
        "does not fit: the system prompt would need 2,257 tokens and the limit is 1,792; "
        "shorten it, or use a larger window"
    )


# Chat


def test_chat_takes_whole_old_turns_away_until_it_fits() -> None:  # C3
    outcome = folded(chatting(20), chat(), Budget.of(4_096))
    assert outcome.verdict == Folded() and outcome.view.cut.steps == 0
    assert outcome.after.total <= Budget.of(4_096).at("hot")


def test_chat_refuses_a_system_prompt_over_the_maximum() -> None:  # C4
    verdict = folded(chatting(2, system="x" * 20_000), chat(), Budget.of(4_096)).verdict
    assert isinstance(verdict, TooBig) and verdict.what == "system_prompt"


def test_chat_refuses_a_newest_turn_over_the_maximum() -> None:  # C5
    outcome = folded(chatting(5, last="x" * 20_000), chat(), Budget.of(4_096))
    assert isinstance(outcome.verdict, TooBig) and outcome.verdict.what == "newest_prompt"


def test_the_meter_of_a_recipe_is_whichever_is_given() -> None:  # C6
    class Words(ByteMeter):
        def count(self, text: str) -> int:
            return len(text.split())

    view, budget = View(chatting(20, 100)), Budget.of(2_048)
    assert drive(plan(view, budget, chat(), METER)).verdict == Folded()
    assert drive(plan(view, budget, chat(), Words())).verdict == Fits()


def test_chat_has_three_methods() -> None:  # C7
    history, budget = chatting(20), Budget.of(4_096)
    sliding = folded(history, chat(), budget)
    summary = folded(history, chat(method="summary", model="cheap"), budget, *[SUMMARY] * 9)
    hybrid = folded(history, chat(method="hybrid"), budget, *[SUMMARY] * 9)
    assert [whys(outcome) for outcome in (sliding, summary, hybrid)] == [
        ["window_full"],
        ["by_model"],
        ["by_model"],
    ]
    left = [len(outcome.view.shown.turns) for outcome in (sliding, summary, hybrid)]
    assert left[1] == 2 and 6 <= left[2] < left[0]
    with pytest.raises(BadSetting, match="method must be sliding, summary or hybrid, not 'none'"):
        chat(method="none")


def test_the_summary_of_a_chat_is_asked_of_the_model_named() -> None:  # C7, S7
    model = ScriptedModel(*[SUMMARY] * 9)
    drive(
        plan(View(chatting(20)), Budget.of(4_096), chat(method="summary", model="cheap"), METER), EffectHandlers(model)
    )
    assert {question.model for question in model.asked} == {"cheap"}


# Cache


def test_every_output_can_be_opened_by_its_ref() -> None:  # O1
    outcome = folded(working(*[900] * 6), cache(), Budget.of(8_192))
    assert set(whys(outcome)) == {"tool_output_budget"}
    for fold in outcome.folds:
        ((ref, original),) = outcome.view.originals(fold)
        assert ref == fold.ref and isinstance(original, str) and len(original) == 3_600


@pytest.mark.parametrize("window", [4_096, 16_384, 65_536, 262_144])
def test_the_outputs_in_context_are_within_their_budget(window: int) -> None:  # O3, O4
    budget = Budget.of(window)
    size = context_budget(window) // 10
    outcome = folded(working(*[size] * 14), cache(), budget)
    shown = [use.result.text for step in outcome.view.shown.steps for use in step.uses]
    whole = [text for text in shown if not text.startswith("[tool output trimmed; ref=")]
    assert sum(map(METER.count, whole)) <= context_budget(window)
    assert outcome.view.shown.steps[-9:] == outcome.view.history.steps[-9:]


def test_the_cache_of_outputs_has_settings() -> None:  # O7
    history, budget = working(*[900] * 6), Budget.of(8_192)
    assert folded(history, cache(enabled=False), budget).verdict == Fits()
    assert folded(history, cache(context_budget_tokens=5_400), budget).verdict == Fits()
    assert len(folded(history, cache(context_budget_tokens=1_000), budget).folds) == 5
    cut = folded(history, cache(max_message_bytes=500, context_budget_tokens=9_999), budget)
    assert {len(use.result.text) < 500 for step in cut.view.shown.steps for use in step.uses} == {True}
    use = ToolUse(Call("1", "bash", "{}"), Result((Text("abcdefgh\n" * 300),)))
    short = folded(history_of([Turn((Text("go"),), (Step((use,)),))]), cache(max_line_length=3), budget)
    assert short.view.shown.steps[0].uses[0].result.text.startswith("abc…\nabc…\n")


def test_a_summary_is_made_at_eighty_percent() -> None:  # K4
    under, at = (folded(chatting(8), cache(), filling(chatting(8), share), SUMMARY) for share in (0.79, 0.81))
    assert (under.verdict, under.asks) == (Fits(), 0)
    assert (at.verdict, at.asks, whys(at)) == (Folded(), 1, ["by_model"])


def test_no_summary_is_made_where_it_is_off_or_waits_for_the_user() -> None:  # K1, K4
    budget = filling(chatting(8), 0.85)
    for recipe in (cache(compaction=False), cache(auto=False)):
        assert folded(chatting(8), recipe, budget, SUMMARY).verdict == Fits()
    asked = folded(chatting(8), cache(auto=False), budget, SUMMARY, options=PlanOptions(manual=True))
    assert whys(asked) == ["by_model"]


def test_the_settings_of_a_summary_reach_the_question() -> None:  # K1, K5
    model = ScriptedModel(SUMMARY)
    recipe = cache(
        model="small",
        threshold_ratio=0.5,
        summary_prompt="Tell it short.",
        summary_directives=("Keep all refs", "Keep decisions"),
        retain_prompt="What must stay?",
        retain_directives=("The name of the branch",),
    )
    drive(plan(View(chatting(8)), filling(chatting(8), 0.6), recipe, METER), EffectHandlers(model))
    (question,) = model.asked
    assert question.model == "small"
    for said in ("Tell it short.\n- Keep all refs\n- Keep decisions", "What must stay?\n- The name of the branch"):
        assert said in question.text


def test_what_is_retained_and_the_summary_are_headed_parts_of_one_message_before_the_last_turn() -> None:  # K5, K7
    said = "<retain>The answers must stay short.</retain>" + SUMMARY
    body = OpenAIChat().compose(chatting(9))
    outcome = folded(OpenAIChat().read(body).history(), cache(), filling(chatting(9), 0.85), said)
    _, first, reply, last = OpenAIChat().write(body, outcome.view)["messages"]
    assert [first["role"], reply["role"], last["role"]] == ["user", "assistant", "user"]
    header, retained, summary, prompt = re.split(r"\n(?=Kept from it|Summary of it|\n\[End of)", first["content"])
    assert header.startswith("[Earlier conversation folded")
    assert retained == "Kept from it to the letter:\nThe answers must stay short.\n"
    assert summary.startswith("Summary of it, to go on from (not a new request):\nThe user asks simple questions")
    assert prompt.endswith("The user's own message follows:]\nQuestion 8?") and last["content"] == "And now?"


def test_more_turns_may_be_retained() -> None:  # K1
    recipe = cache(retain_last_turns=4)
    outcome = folded(chatting(9), recipe, filling(chatting(9), 0.85), SUMMARY)
    assert len(outcome.view.shown.turns) == 4


def test_an_open_call_at_the_end_is_no_part_of_the_question() -> None:  # K6
    history = chatting(9)
    open_call = Reply((Text("I look."), Call("open", "bash", '{"command":"sleep 1"}')))
    pending = history_of(history.turns, history.system, pending=open_call)
    model = ScriptedModel(SUMMARY)
    outcome = drive(plan(View(pending), filling(history, 0.85), cache(), METER), EffectHandlers(model))
    assert outcome.verdict == Folded() and "sleep 1" not in model.asked[0].text
    assert outcome.view.shown.pending is None


def messages(turns: int) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    for n in range(turns):
        said += [{"role": "user", "content": f"Question {n}?"}, {"role": "assistant", "content": f"Answer {n}. " * 145}]
    return [*said, {"role": "user", "content": "And now?"}]


def test_what_a_provider_is_sent_is_made_anew_from_the_folded_history() -> None:  # K8
    session = Session(4_600, recipe="cache", meter=METER, dialect="openai_responses", summarise=ScriptedModel(SUMMARY))
    out = session.fit({"model": "m", "input": messages(9)})
    assert len(out["input"]) < 9 and "Question 3?" not in json.dumps(out)
    assert out["input"][-1] == {"role": "user", "content": "And now?"}


def test_it_is_checked_before_every_call_with_the_last_usage() -> None:  # K2, K9
    session = Session(9_600, recipe="cache", meter=METER, summarise=ScriptedModel(SUMMARY))
    assert session.fit(messages(9)) == messages(9)
    session.learn({"input_tokens": 4_000, "cache_read_input_tokens": 3_000, "cache_creation_input_tokens": 500})
    assert len(session.fit([*messages(9), {"role": "assistant", "content": "ok"}, *messages(1)])) < 9


def test_an_unknown_limit_is_an_error_in_strict_mode_only() -> None:  # K3
    assert Session(model="nobody-knows-it", recipe="cache", settings=Settings()).budget.window == 4_096
    with pytest.raises(UnknownModel):
        Session(model="nobody-knows-it", recipe="cache", settings=Settings(strict=True))


# Layers


def test_the_first_layer_is_silent_and_works_at_every_turn() -> None:  # P1
    told: list[FoldStarting] = []
    view = View(working(*[2_000] * 9))
    outcome = drive(plan(view, Budget.of(65_536), layers(), METER), EffectHandlers(before=told.append))
    assert set(whys(outcome)) == {"old_result"} and len(outcome.folds) == 6 and told == []
    assert [use.call for step in outcome.view.shown.steps for use in step.uses] == [
        use.call for step in view.history.steps for use in step.uses
    ]


def test_what_is_done_silently_stays_where_the_rest_is_refused() -> None:
    first = working(*[900] * 6)
    history = history_of([*first.turns, *chatting(14).turns])
    budget = filling(history, 1.2)
    outcome = drive(plan(View(history), budget, layers(), METER), EffectHandlers(before=lambda folding: False))
    assert set(whys(outcome)) == {"old_result"} and outcome.after.total < outcome.before.total
    assert outcome.verdict == FoldingRefused() and outcome.after.total <= budget.limit


def test_what_the_first_layer_hides_is_given_in_full_to_the_summary() -> None:  # P1, Ruling
    model = ScriptedModel(SUMMARY)
    first = drive(plan(View(working(*[900] * 6)), Budget.of(8_192), layers(), METER))
    assert set(whys(first)) == {"old_result"}
    grown = View(history_of([*first.view.history.turns, *chatting(14).turns])).with_(first.view.folds)
    drive(plan(grown, filling(grown.shown, 0.95), layers(), METER), EffectHandlers(model))
    assert "001\n" * 100 in model.asked[0].text


@pytest.mark.parametrize(
    ("window", "output", "level"),
    [
        (200_000, 16_384, 170_616),
        (1_000_000, 64_000, 936_000),
        (128_000, 20_000, 95_000),
        (32_768, 4_096, 15_672),
        (16_384, 2_048, 12_185),
        (4_096, 512, 3_046),
        (2_048, 256, 1_523),
    ],
)
def test_the_second_layer_begins_near_the_limit(window: int, output: int, level: int) -> None:  # P2, Ruling
    budget = Budget(window, output)
    assert budget.at(near_the_limit()) == level <= budget.limit


def test_the_second_layer_sums_up_everything() -> None:  # P2, P5
    history = chatting(20, system="Be brief.")
    outcome = folded(history, layers(), Budget.of(8_192), SUMMARY)
    shown = outcome.view.shown
    assert [turn.prompt for turn in shown.turns[1:]] == [(Text("Question 19?"),), (Text("And now?"),)]
    assert shown.turns[0].steps == (Step((Text(ACK),)),)
    assert shown.system == history.system


def test_by_hand_the_words_of_the_user_go_with_it() -> None:  # P3
    model = ScriptedModel(SUMMARY)
    session = Session(20_000, recipe="layers", meter=METER, summarise=model)
    out = session.fit(messages(9), fold=True, words="Keep the names of the tables.")
    assert len(out) < 9 and "Keep the names of the tables." in model.asked[0].text


def test_files_come_back_after_the_second_layer_only() -> None:  # P4
    call = Call("r", "read", '{"path":"src/a.py"}')
    turns = [
        Turn((Text("Look."),), (Step((ToolUse(call, Result((Text("old content " * 9),))),)),)),
        *chatting(17).turns,
    ]
    looked: list[str] = []

    def look(path: str) -> str:
        looked.append(path)
        return "new content"

    small = drive(plan(View(history_of(turns)), Budget.of(65_536), layers(), METER), EffectHandlers(look=look))
    assert small.verdict == Fits() and looked == []
    answers = EffectHandlers(ScriptedModel(SUMMARY), look)
    outcome = drive(plan(View(history_of(turns)), Budget.of(8_192), layers(), METER), answers)
    assert looked == ["src/a.py"] and outcome.view.gist is not None
    assert outcome.view.gist.text.endswith("Files as they are now:\n\n### src/a.py\nnew content")


def test_a_huge_output_is_kept_outside_with_a_preview() -> None:  # P6
    (stub,) = folded(working(50_000), layers(), Budget.of(200_000)).folds
    note = f"[Output too large: 50,001 lines, 200,000 characters folded; ref={stub.ref}]"
    assert stub.text == f"{note}\nPreview:\n" + "000\n" * 500 + "…"


# Snapshot


@pytest.mark.parametrize(
    ("history", "new", "fires"),
    [(900, 94, False), (900, 96, True), (499, 480, False), (500, 480, True), (0, 999, False)],
)
def test_a_snapshot_is_taken_where_the_next_request_hardly_fits(history: int, new: int, fires: bool) -> None:  # S1
    meter = ByteMeter()
    around = meter.frame.request + 2 * meter.frame.message + 10
    turns = [Turn((Text("x" * 10),), (Step((Text("y" * (history - around)),)),))] if history else []
    view = View(history_of([*turns, Turn((Text("z" * (new - meter.frame.message)),))]))
    weigher = Weigher(meter)
    context = PassContext(Budget(1_000, 0), weigher, weigher.ledger(view.shown), 0)
    assert hardly_fits()(view, context) == fires


def test_the_newest_thirty_percent_stay() -> None:  # S2, S4
    outcome = folded(chatting(20), snapshot(), filling(chatting(20), 1.001), SNAPSHOT)
    first, *rest = outcome.view.shown.turns
    gist = first.prompt[0]
    assert isinstance(gist, Text) and "<state_snapshot>" in gist.text
    assert first.steps == (Step((Text(ACK),)),)
    assert [turn.prompt for turn in rest] == [*((Text(f"Question {n}?"),) for n in range(15, 20)), (Text("And now?"),)]


def test_without_a_prompt_to_cut_at_old_steps_go() -> None:  # S2
    outcome = folded(working(*[400] * 20), snapshot(), filling(working(*[400] * 20), 1.001), SNAPSHOT)
    assert outcome.view.cut.turn == 0 and 0 < outcome.view.cut.steps < 20
    assert outcome.view.shown.turns[-1].prompt == (Text("Build it."),)


def test_a_snapshot_holds_the_state_of_the_work() -> None:  # S3
    model = ScriptedModel(SNAPSHOT)
    drive(plan(View(chatting(20)), filling(chatting(20), 1.001), snapshot(), METER), EffectHandlers(model))
    for tag in ("overall_goal", "key_knowledge", "file_system_state", "recent_actions", "current_plan"):
        assert f"<{tag}>" in model.asked[0].text


def test_a_snapshot_that_is_not_smaller_is_refused() -> None:  # S5
    """Statuses: folded, inflated, nothing to do; counting cannot fail here, as no meter raises."""
    history = chatting(2, 60)

    def bigger(view: View, context: PassContext) -> list[Fold]:
        return [Gist(view.history.turns[1].key, "x" * 9_000, "r", "all", "test", 9_999, 9_000)]

    recipe = Recipe("test", (Rung(0.1, bigger, goal="calm"),))
    outcome = folded(history, recipe, Budget(1_000, 0))
    assert outcome.verdict == Inflated() and outcome.view.shown == View(history).shown
    assert folded(history, snapshot(), Budget(100_000, 0)).verdict == Fits()


def test_a_hook_is_told_before_a_snapshot_and_only_then() -> None:  # S6
    told: list[FoldStarting] = []
    answers = EffectHandlers(ScriptedModel(*[SNAPSHOT] * 2), before=told.append)
    calm = drive(plan(View(chatting(20)), filling(chatting(20), 0.9), snapshot(), METER), answers)
    assert calm.verdict == Fits() and told == []
    drive(plan(View(chatting(20)), filling(chatting(20), 1.001), snapshot(), METER), answers)
    assert [folding.manual for folding in told] == [False]
    drive(plan(View(chatting(20)), Budget(50_000, 0), snapshot(), METER, PlanOptions(manual=True)), answers)
    assert [folding.manual for folding in told] == [False, True]


def test_the_limits_of_models_are_known() -> None:  # S7
    windows = [
        Session(model=name, recipe="snapshot", settings=Settings()).budget.window
        for name in ("gemini-1.5-pro", "gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite")
    ]
    assert windows == [2_097_152, 1_048_576, 1_048_576, 1_048_576]


def test_the_receipt_tells_what_happened_with_the_counts() -> None:  # S8
    big = Session(100_000, recipe="snapshot", meter=METER)
    big.fit(messages(11))
    assert big.receipt is not None
    total = big.receipt.before
    session = Session(total - 1, 0, recipe="snapshot", meter=METER, summarise=ScriptedModel(SNAPSHOT))
    session.fit(messages(11))
    assert session.receipt is not None
    report = session.receipt.report()
    assert (report["verdict"], report["asks"], report["before"]) == ("folded", 1, total)
    assert 0.3 * total < report["after"] < 0.5 * total


# All of them


@pytest.mark.parametrize("recipe", [local(), cache(), layers(), snapshot()], ids=lambda recipe: recipe.name)
def test_every_recipe_but_chat_ends_in_the_last_resort(recipe: Recipe) -> None:
    assert recipe.rungs[-len(LAST_RESORT) :] == LAST_RESORT
    assert set(chat().rungs).isdisjoint(LAST_RESORT)


@pytest.mark.parametrize("name", ["threshold_ratio", "trigger_share", "threshold", "keep_share"])
def test_a_share_is_a_share(name: str) -> None:
    with pytest.raises(BadSetting, match=f"{name} must be a share, more than 0 and at most 1.*, not 80"):
        snapshot(**{name: 80})


@pytest.mark.parametrize("method", ["sliding", "summary", "hybrid"])
def test_a_chat_can_be_folded_by_hand_before_it_is_full(method: str) -> None:  # P3, S1
    history = chatting(20)
    options = PlanOptions(manual=True, model=False)
    outcome = drive(plan(View(history), Budget.of(1_000_000), chat(method=method), METER, options))
    assert outcome.verdict == Folded() and outcome.after.total <= outcome.before.total * 0.6
