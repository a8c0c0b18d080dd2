from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Awaitable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checkers import openai_chat as checker

from yohaku.config.settings import Settings
from yohaku.core.budget import Budget
from yohaku.core.errors import (
    BadSetting,
    DoesNotFit,
    Malformed,
    Unanswered,
    Uncountable,
    UnknownModel,
    UnknownRecipe,
    UnknownRef,
    Unreadable,
)
from yohaku.core.folds import Fold, Gist
from yohaku.core.history_builder import history_of
from yohaku.core.model import Text, Turn
from yohaku.core.originals import ref_of
from yohaku.core.recipe import AskingPass, FoldStarting, PassContext, Question, Recipe, Rung
from yohaku.core.verdict import Fits, Folded, FoldingRefused, TooBig
from yohaku.core.view import View
from yohaku.core.weigh import weigh
from yohaku.dialects import dialect_named
from yohaku.dialects.answer import Usage
from yohaku.recipes import builtin
from yohaku.recipes.auto import AUTO, RECIPES
from yohaku.session.receipt import Receipt
from yohaku.session.session import Session
from yohaku.stores.memory import MemoryStore
from yohaku.testing import ByteMeter, ScriptedModel, conversation

Body = list[dict[str, Any]]


def session(window: int = 4_000, **how: Any) -> Session:
    """Of so many bytes, none of them kept for the reply."""
    return Session(window, 0, **{"meter": ByteMeter(), **how})


def used(number: int, text: str, arguments: str = "{}") -> Body:
    """One call and its result."""
    function = {"name": "bash", "arguments": arguments}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": f"I look for the {number}th time.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": text},
    ]


def agent(steps: int, size: int = 300) -> Body:
    """One prompt and so many steps."""
    said: Body = [{"role": "system", "content": "Be careful."}, {"role": "user", "content": "Fix it."}]
    for number in range(steps):
        said += used(number, f"result {number}\n" * (size // 9))
    return said


def asking_recipe() -> Recipe:
    def ask(view: View, room: PassContext) -> AskingPass:
        answer = yield Question("gist", "What was said?", 100)
        key = view.key_at(replace_cut(view))
        return [Gist(key, f"[{answer} folded; ref={ref_of('all')}]", ref_of("all"), "all", "asked", 10_000, 20)]

    return Recipe("asking", (Rung("over", ask, goal=1.0), *AUTO.rungs))


def replace_cut(view: View) -> Any:
    return view.cut._replace(turn=len(view.history.turns) - 1, steps=len(view.history.turns[-1].steps) - 1)


def prefixes(messages: Body) -> Iterator[Body]:
    """The conversation at each moment a request would be sent: not before a prompt, nor between call and result."""
    first = next(index for index, message in enumerate(messages, 1) if message["role"] == "user")
    for count in range(first, len(messages) + 1):
        following = messages[count]["role"] if count < len(messages) else "user"
        if following != "tool":
            yield messages[:count]


def tried(session: Session, body: Any) -> tuple[Any, ...]:
    """All there is to know about one fit."""
    try:
        out = session.fit(body)
    except DoesNotFit as refusal:
        out = str(refusal)
    assert session.receipt
    report = session.receipt.report()
    report.pop("reused", None)  # that depends on what this session has shown before
    return out, {**report, "folds": sorted(report["folds"], key=json.dumps)}


# What comes out


def test_what_fits_leaves_as_the_very_object_that_came() -> None:
    body = {"model": "m", "messages": agent(2), "temperature": 0.5, "unknown": {"x": 1}}
    s = session()
    assert s.fit(body) is body
    assert s.receipt and (s.receipt.verdict, s.receipt.folds) == (Fits(), ())
    body = {**body, "messages": agent(3)}
    assert s.fit(body) is body


def test_a_list_comes_back_as_a_list_and_a_body_as_a_body() -> None:
    messages = agent(20)
    beside = {"model": "m", "temperature": 0.5}
    listed, whole = session().fit(messages), session().fit({**beside, "messages": messages})
    assert isinstance(listed, list) and whole == {**beside, "messages": listed}
    assert listed != messages and checker.problems({"messages": listed}) == []


def test_what_came_in_is_not_changed() -> None:
    messages = agent(20)
    before = copy.deepcopy(messages)
    s = session()
    s.fit(messages)
    s.fit([*messages, *used(20, "more")])
    assert messages == before


def test_what_is_folded_fits_and_every_ref_opens_to_the_original() -> None:
    messages = agent(20)
    s = session()
    out = s.fit(messages)
    receipt = s.receipt
    assert receipt and receipt.verdict == Folded() and receipt.after <= receipt.limit == 4_000 < receipt.before
    for fold in receipt.folds:
        assert f"ref={fold.ref}" in json.dumps(out)
        assert ref_of(s.recall(fold.ref)) == fold.ref


def test_a_result_that_was_folded_is_recalled_as_it_was_said() -> None:
    text = "".join(f"{number}: 日本語\n" for number in range(400))
    messages = [*agent(0), *used(1, text), *used(2, "short")]
    s = session(5_000, recipe="local")
    s.fit(messages)
    assert s.receipt
    (fold,) = s.receipt.folds
    assert s.recall(fold.ref) == s.recall(f"ref={fold.ref}") == text


@pytest.mark.parametrize("ref", ["aaaaaaaaaaaa", "ref=aaaaaaaaaaaa", ""])
def test_an_unknown_ref_is_an_error_that_names_it(ref: str) -> None:
    with pytest.raises(UnknownRef) as raised:
        session().recall(ref)
    assert raised.value.facts == {"ref": ref.removeprefix("ref=")}


def test_reading_gives_the_history_without_folding_it() -> None:
    s = session()
    h = s.read([{"role": "user", "content": "hi"}])
    assert h == history_of([Turn((Text("hi"),))]) and s.receipt is None


# One fit after another


@given(st.integers(0, 2**32), st.sampled_from((400, 900, 2_000, 5_000)), st.sampled_from(("auto", "chat")))
@settings(max_examples=60)
def test_a_conversation_that_grows_is_shown_as_a_fresh_session_would_show_it(
    seed: int, window: int, recipe: str
) -> None:
    chance = Random(seed)
    body = dialect_named("openai_chat").compose(conversation(chance, max_turns=4, max_steps=4), "m")
    store = MemoryStore()
    growing = session(window, recipe=recipe, store=store)
    for messages in prefixes(body["messages"]):
        grown = {**body, "messages": messages}
        if chance.random() < 0.5:
            grown = json.loads(json.dumps(grown))
        kept = copy.deepcopy(store)
        assert tried(growing, grown) == tried(session(window, recipe=recipe, store=kept), grown)


@pytest.mark.slow
@given(st.integers(0, 2**32), st.sampled_from((900, 2_000, 5_000)))
@settings(max_examples=30)
def test_a_new_process_for_each_request_shows_what_one_session_shows(seed: int, window: int) -> None:
    body = dialect_named("openai_chat").compose(conversation(Random(seed), max_turns=4, max_steps=4), "m")
    store = MemoryStore()
    alone = session(window)
    for messages in prefixes(body["messages"]):
        grown = {**body, "messages": messages}
        assert tried(session(window, store=store), grown) == tried(alone, grown)


def test_a_folded_conversation_is_recalled_by_another_process() -> None:
    store = MemoryStore()
    messages = agent(20)
    out = session(store=store).fit(messages)
    other = session(store=store)
    assert other.fit(json.loads(json.dumps(messages))) == out
    assert other.receipt and other.receipt.verdict == Fits() and other.receipt.folds


def test_nothing_shown_before_changes_until_a_rung_fires_again() -> None:
    s, messages = session(8_000), agent(40)
    out = s.fit(messages)
    for number in range(40, 44):
        messages = [*messages, *used(number, "a short result")]
        grown = s.fit(messages)
        assert s.receipt and s.receipt.verdict == Fits()
        assert grown[: len(out)] == out and grown[len(out) :] == messages[-2:]
        out = grown


def test_an_earlier_message_edited_in_place_is_noticed() -> None:
    s, messages = session(), agent(3)
    assert s.fit(messages) is messages
    messages[3]["content"] = "edited " * 2_000
    out = s.fit(messages)
    fresh = session()
    assert out == fresh.fit(messages) != messages
    assert s.receipt and fresh.receipt and s.receipt.report() == fresh.receipt.report()


def test_a_conversation_that_got_shorter_is_read_anew() -> None:
    store = MemoryStore()
    s = session(store=store)
    s.fit(agent(20))
    assert s.fit(agent(2)) == session(store=store).fit(agent(2))
    other = [{"role": "user", "content": "something else"}]
    assert s.fit(other) is other
    assert s.fit(agent(20)) == session().fit(agent(20))


def test_an_edit_early_on_folds_anew_what_it_changed() -> None:
    s, messages = session(), agent(20)
    s.fit(messages)
    edited = copy.deepcopy(messages)
    edited[1]["content"] = "Fix it now."
    assert s.fit(edited) == session().fit(edited)


def test_a_client_that_drops_thoughts_gets_the_same_view() -> None:
    messages = agent(8, size=900)
    thinking = [{**m, "reasoning_content": "hm"} if m["role"] == "assistant" else m for m in messages]
    store = MemoryStore()
    first = session(store=store).fit(thinking)
    second = session(store=store).fit(messages)
    assert [{k: v for k, v in m.items() if k != "reasoning_content"} for m in first] == second


# What does not fit


def test_what_does_not_fit_is_refused_and_the_session_goes_on() -> None:
    store = MemoryStore()
    s = session(1_000, store=store)
    with pytest.raises(DoesNotFit) as raised:
        s.fit([{"role": "system", "content": "x" * 2_000}, {"role": "user", "content": "hi"}])
    assert raised.value.verdict == TooBig("system_prompt", 2_007, 1_000)
    assert s.receipt and (s.receipt.verdict, s.receipt.before) == (raised.value.verdict, 2_013)
    small = [{"role": "user", "content": "hi"}]
    assert s.fit(small) is small


def test_nothing_is_stored_for_a_refusal() -> None:
    store = MemoryStore()
    messages = [{"role": "system", "content": "x" * 1_500}, *agent(20)[1:]]
    with pytest.raises(DoesNotFit):
        session(1_000, store=store).fit(messages)
    assert vars(store) == vars(MemoryStore())


def test_an_open_call_is_malformed_and_says_which() -> None:
    s = session()
    with pytest.raises(Malformed) as raised:
        s.fit(agent(2)[:-1])
    assert (raised.value.where, raised.value.what) == (
        "the last reply",
        "call 'call_1' has no result; send its result with it",
    )
    assert s.fit(agent(2)) == agent(2)


def test_a_malformed_message_says_where_it_is_and_the_session_goes_on() -> None:
    s, messages = session(), agent(1)
    s.fit(messages)
    with pytest.raises(Malformed, match=r"^messages\[4\]: unknown role 'wizard'$"):
        s.fit([*messages, {"role": "wizard", "content": "hi"}])
    grown = [*messages, {"role": "user", "content": "hi"}]
    assert s.fit(grown) == grown


@pytest.mark.parametrize("body", [None, 3, "hi", [], {}, {"messages": "hi"}, [1, 2]])
def test_what_is_no_conversation_is_unreadable(body: object) -> None:
    with pytest.raises(Unreadable):
        session().fit(body)


# Asking a model


async def gives(text: str) -> str:
    await asyncio.sleep(0)
    return text


def test_afit_is_fit() -> None:
    messages = agent(20)
    s, a = session(), session()
    assert asyncio.run(a.afit(messages)) == s.fit(messages)
    assert a.receipt and s.receipt and a.receipt.report() == s.receipt.report()


def test_a_summary_comes_from_a_function_sync_or_async() -> None:
    model = ScriptedModel("A tale of ten steps")
    s = session(recipe=asking_recipe(), summarise=model)
    out = s.fit(agent(20))
    assert model.asked == [Question("gist", "What was said?", 100)]
    assert out[1]["content"].startswith("[A tale of ten steps folded") and s.receipt and s.receipt.asks == 1

    def later(question: Question) -> Awaitable[str]:
        return gives("A tale of ten steps")

    a = session(recipe=asking_recipe(), summarise=later)
    assert asyncio.run(a.afit(agent(20))) == out
    sync = session(recipe=asking_recipe(), summarise=ScriptedModel("A tale of ten steps"))
    assert asyncio.run(sync.afit(agent(20))) == out


def test_an_async_function_needs_afit() -> None:
    async def later(question: Question) -> str:
        return await gives("never")

    s = session(recipe=asking_recipe(), summarise=later)
    with pytest.raises(BadSetting) as raised:
        s.fit(agent(20))
    assert (raised.value.code, str(raised.value)) == (
        "async_summarise",
        "summarise or before is async here: call afit instead of fit",
    )
    assert s.fit(agent(1)) == agent(1)


@pytest.mark.parametrize("summarise", [None, ScriptedModel(), lambda question: None])
def test_a_question_nobody_answers_is_an_error(summarise: Any) -> None:
    s = session(recipe=asking_recipe(), summarise=summarise)
    with pytest.raises(Unanswered, match="gist"):
        s.fit(agent(20))
    with pytest.raises(Unanswered, match="gist"):
        asyncio.run(session(recipe=asking_recipe(), summarise=summarise).afit(agent(20)))


def test_where_the_function_fails_and_the_pass_cannot_do_without_it_is_said_and_nothing_is_kept() -> None:
    def broken(question: Question) -> str:
        raise ConnectionError("no network")

    store = MemoryStore()
    s = session(recipe=asking_recipe(), summarise=broken, store=store)
    with pytest.raises(Unanswered, match="failed: no network"):
        s.fit(agent(20))
    assert vars(store) == vars(MemoryStore())


# Setting up


def test_a_window_alone_is_enough() -> None:
    assert (Session(8_192).budget, Session(8_192).warnings) == (Budget(8_192, 1_024), ())
    assert Session(8_192, 100).budget == Budget(8_192, 100)


def test_a_model_alone_gives_its_window_and_at_most_its_output_for_the_reply() -> None:
    assert Session(model="gpt-4o", settings=Settings()).budget == Budget(128_000, 16_000)
    assert Session(8_192, model="gpt-4o").budget == Budget(8_192, 1_024)


def test_neither_window_nor_model_is_a_small_window_and_a_warning() -> None:
    s = Session(settings=Settings())
    assert s.budget == Budget(4_096, 512)
    assert [warning.code for warning in s.warnings] == ["unknown_model"]
    with pytest.raises(UnknownModel):
        Session(settings=replace(Settings(), strict=True))


def test_settings_that_cannot_be_meant_are_refused_at_once() -> None:
    with pytest.raises(UnknownRecipe):
        Session(8_192, recipe="atuo")
    for reserve in (-1, 8_192, 10_000):
        with pytest.raises(BadSetting):
            Session(8_192, reserve)
    with pytest.raises(BadSetting, match="unknown dialect 'openai'"):
        Session(8_192, dialect="openai").fit([{"role": "user", "content": "hi"}])


def test_a_dialect_given_is_taken_for_what_looks_like_another() -> None:
    body = [{"role": "user", "content": "hi"}]
    assert Session(8_192, dialect="anthropic").fit(body) is body


def test_two_sessions_that_live_side_by_side_show_the_same() -> None:
    store = MemoryStore()
    one, other = session(store=store), session(store=store)
    one.fit(agent(8))
    other.fit(agent(30))
    assert one.fit(agent(9)) == session(store=store).fit(agent(9))


def test_what_another_session_folded_meanwhile_is_shown_though_nothing_was_said_since() -> None:
    store = MemoryStore()
    one, other = session(9_000, store=store), session(4_000, store=store)
    messages = agent(20)
    assert one.fit(messages) is messages
    folded = other.fit(messages, fold=True)
    assert folded != messages and one.fit(messages) == folded
    assert one.receipt and other.receipt and one.receipt.folds == other.receipt.folds


def test_a_store_in_which_nothing_was_kept_since_is_asked_only_for_what_is_new() -> None:
    class Counting(MemoryStore):
        def folds(self, keys: Iterable[str]) -> list[Fold]:
            asked.append(len(list(keys)))
            return []

    asked: list[int] = []
    s = session(100_000, store=Counting())
    for steps in (20, 21, 22):
        s.fit(agent(steps))
    assert asked[0] == 21 and max(asked[1:]) <= 3


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_that_holds_nothing_is_a_bad_setting(window: int) -> None:
    with pytest.raises(BadSetting):
        Session(window)


def test_a_system_text_that_comes_with_the_second_fit_is_weighed() -> None:
    s = session(1_000)
    system = {"role": "system", "content": "Be kind."}
    s.fit([system])
    with pytest.raises(DoesNotFit):
        s.fit([system, {"role": "system", "content": "x" * 5_000}, {"role": "user", "content": "hi"}])


def test_a_session_may_be_given_another_dialect_next() -> None:
    s = session()
    s.fit({"messages": [{"role": "user", "content": "hi"}]})
    gemini = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    assert s.fit(gemini) is gemini
    anthropic = {"system": "Be kind.", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}
    assert s.fit(anthropic) is anthropic
    assert s.fit(gemini) is gemini


def test_a_conversation_that_shows_its_dialect_only_later_is_read_right_responses() -> None:
    s = session()
    body: Body = [{"role": "user", "content": "hi"}]
    s.fit(body)
    body += [
        {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "x"},
    ]
    assert s.fit(body) is body


def test_a_conversation_that_shows_its_dialect_only_later_is_read_right_anthropic() -> None:
    s = session()
    body: Body = [{"role": "user", "content": "hi"}]
    s.fit(body)
    body += [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "bash", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x\n" * 5_000}]},
    ]
    assert s.fit(body) == session().fit(body)


def test_a_dialect_that_was_given_is_kept_whatever_comes_next() -> None:
    s = session(dialect="openai_chat")
    body: Body = [{"role": "user", "content": "hi"}]
    s.fit(body)
    with pytest.raises(Malformed):
        s.fit([*body, {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"}])


def test_a_conversation_that_grows_beyond_the_limit_is_refused_even_without_rungs() -> None:
    s = session(recipe=Recipe("none", ()))
    assert s.fit(agent(2)) == agent(2)
    with pytest.raises(DoesNotFit):
        s.fit(agent(40))


def test_a_recipe_without_rungs_folds_nothing() -> None:
    s = session(recipe=Recipe("none", ()))
    assert [s.fit(agent(1)), s.fit(agent(2))] == [agent(1), agent(2)]


def test_the_ledger_of_a_calm_fit_is_that_of_a_fresh_one() -> None:
    s, fresh = session(), session()
    s.fit(agent(1))
    body = [*agent(1), *used(1, "a short result")]
    s.fit(body)
    fresh.fit(body)
    assert s.receipt and fresh.receipt
    assert s.receipt.outcome.after == fresh.receipt.outcome.after


# Learning from what the provider reports


def test_what_the_provider_reports_is_the_limit_that_counts() -> None:
    s, messages = session(4_000), agent(3)
    s.fit(messages)
    assert s.receipt
    before = s.receipt.after
    s.learn(before * 2)
    assert s.scale.last and s.scale.last.reported == before * 2
    for number in range(3, 40):
        messages = [*messages, *used(number, "y" * 100)]
        out = s.fit(messages)
        billed = 2 * weigh(dialect_named("openai_chat").read(out).history(), ByteMeter()).total
        s.learn(billed)
        assert billed <= s.budget.limit


def test_nothing_is_learned_before_the_first_fit_nor_from_a_server_that_cuts() -> None:
    s = session(4_000)
    s.learn(100)
    assert s.scale.lessons == 0
    s.fit(agent(3))
    s.learn(1)
    assert s.scale.lessons == 0 and s.scale.last and not s.scale.last.heeded


def test_what_a_client_edits_in_place_is_seen_wherever_it_is_sent() -> None:
    s = session(60_000)
    messages: Body = [{"role": "system", "content": "be brief"}]
    for number in range(200):
        messages += [{"role": "user", "content": f"q{number}"}, {"role": "assistant", "content": "a"}]
    messages.append({"role": "user", "content": "now"})
    for _ in range(3):
        s.fit(messages)
        messages += [{"role": "assistant", "content": "a"}, {"role": "user", "content": "more"}]
    messages[0]["content"] = "x" * 70_000
    with pytest.raises(DoesNotFit):
        s.fit(messages)


@pytest.mark.parametrize(
    ("usage", "prompt"),
    [
        (30, 30),
        ({"prompt_tokens": 30, "completion_tokens": 5}, 30),
        ({"input_tokens": 10, "cache_read_input_tokens": 15, "cache_creation_input_tokens": 5}, 30),
        ({"promptTokenCount": 30}, 30),
        ({"prompt_eval_count": 30}, 30),
        (SimpleNamespace(input_tokens=30), 30),
    ],
)
def test_usage_is_learned_in_the_words_of_any_provider(usage: object, prompt: int) -> None:
    s = session(4_000)
    s.fit([{"role": "user", "content": "hello"}])
    s.learn(usage)
    assert s.scale.last and s.scale.last.reported == prompt


def test_what_is_no_usage_is_refused() -> None:
    s = session(4_000)
    s.fit([{"role": "user", "content": "hello"}])
    with pytest.raises(BadSetting, match="no prompt tokens"):
        s.learn({"total": 3})


def test_growth_that_shows_no_sign_of_its_dialect_is_read_on() -> None:
    s = session(4_000)
    body: dict[str, Body] = {"input": [{"role": "user", "content": "hi"}]}
    s.fit(body)
    asks = {"type": "mcp_approval_request", "id": "r", "name": "f", "arguments": "{}", "server_label": "x"}
    body["input"] += [asks, {"type": "mcp_approval_response", "approval_request_id": "r", "approve": True}]
    assert s.fit(body) is body


# When to fold (K4, K9)


def first_level(recipe: str, window: int = 10_000) -> int:
    """The least number of tokens reported at which a session says that it should fold."""
    s = session(window, recipe=recipe)
    return next(total for total in range(window + 2) if s.should_fold(total))


@pytest.mark.parametrize(
    ("recipe", "first"), [("cache", 8_000), ("auto", 9_900), ("local", 8_000), ("snapshot", 9_500), ("chat", 10_001)]
)
def test_it_is_time_to_fold_from_the_first_level_of_the_recipe_on(recipe: str, first: int) -> None:
    assert first_level(recipe) == first


def test_what_is_not_to_fold_by_itself_is_never_due() -> None:
    for recipe in (builtin.cache(auto=False), builtin.cache(compaction=False), Recipe("none", ())):
        s = session(10_000, recipe=recipe)
        assert not s.should_fold(10_000)
    assert not session(10_000, recipe=Recipe("none", ())).should_fold(20_000)


def test_the_usage_counts_with_what_the_model_answered_in_the_words_of_any_provider() -> None:
    s = session(10_000, recipe="cache")
    assert s.should_fold({"prompt_tokens": 7_000, "completion_tokens": 1_000})
    assert not s.should_fold({"prompt_tokens": 7_000, "completion_tokens": 999})
    assert s.should_fold(Usage(input=1_000, cache_read=6_000, output=1_000))
    assert not s.should_fold(Usage(input=1_000, cache_read=6_000, output=999))
    with pytest.raises(BadSetting, match="no prompt tokens"):
        s.should_fold({"cost": 1})


def test_without_a_usage_our_own_weight_decides_as_the_provider_taught_it() -> None:
    s = session(4_000)
    assert not s.should_fold()
    s.fit(agent(7))
    assert s.receipt and 2_000 < s.receipt.after < 3_800 and not s.should_fold()
    s.learn(s.receipt.after * 2)
    assert s.should_fold()


def test_after_a_folding_it_is_no_longer_time() -> None:
    s = session(4_000)
    s.fit(agent(20))
    assert s.receipt and s.receipt.folds and not s.should_fold()


# A meter that fails (S5)


class Failing(ByteMeter):
    name = "failing"

    def count(self, text: str) -> int:
        if "unspeakable" in text:
            raise LookupError("no such token")
        return super().count(text)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_meter_that_fails_is_named_and_nothing_is_kept(recipe: str) -> None:
    store = MemoryStore()
    s = session(meter=Failing(), store=store, recipe=recipe)
    with pytest.raises(Uncountable) as raised:
        s.fit([*agent(20), *used(20, "unspeakable")])
    assert raised.value.facts == {"meter": "failing", "why": "no such token"}
    assert vars(store) == vars(MemoryStore(store._clock)) and s.receipt is None
    assert s.fit(agent(1)) == agent(1)


# Hooks (S6)


def test_the_hook_is_told_whether_the_user_or_the_weight_folds() -> None:
    told: list[FoldStarting] = []
    s = session(before=told.append)
    s.fit(agent(3))
    assert told == []
    s.fit(agent(20))
    assert s.receipt and told == [FoldStarting(False, s.receipt.outcome.before.total, 4_000, session=s.key)]
    other = session(before=told.append, recipe="cache")
    other.fit(agent(3), fold=True)
    assert other.receipt and told[1:] == [
        FoldStarting(True, other.receipt.outcome.before.total, 4_000, session=other.key)
    ]


def test_the_hook_comes_before_anything_is_stored_so_that_it_can_make_a_copy() -> None:
    def back_up(folding: FoldStarting) -> None:
        copies.append(copy.deepcopy(store))

    copies, store = list[MemoryStore](), MemoryStore()
    session(before=back_up, store=store).fit(agent(20))
    (before,) = copies
    assert before.version == 0 < store.version


def test_a_hook_that_says_no_is_obeyed_where_it_fits_and_refused_where_it_does_not() -> None:
    s, store = session(before=lambda folding: False), MemoryStore()
    body = agent(10)
    assert s.fit(body, fold=True) is body and s.receipt and s.receipt.verdict == FoldingRefused()
    s = session(before=lambda folding: False, store=store)
    with pytest.raises(DoesNotFit, match="not to be folded"):
        s.fit(agent(20))
    assert store.version == 0


def test_words_of_the_hook_and_of_the_user_reach_the_question() -> None:
    model = ScriptedModel("The user wants it fixed, and it was looked at.")
    s = session(20_000, recipe="snapshot", summarise=model, before=lambda folding: "keep the paths")
    s.fit(agent(20), fold=True, words="keep the numbers")
    assert "keep the numbers\nkeep the paths" in model.asked[0].text


def test_the_hook_behind_is_given_the_receipt_of_each_folding_with_its_weights() -> None:
    given: list[Receipt] = []
    s = session(after=given.append)
    s.fit(agent(3))
    s.fit(agent(20))
    s.fit([*agent(20), *used(20, "short")])
    (receipt,) = given
    assert (receipt.verdict, receipt.before > 4_000 >= receipt.after) == (Folded(), True)


@pytest.mark.parametrize("window", [20_000, 200_000, 2_000_000])
def test_who_wants_it_folded_gets_it_folded_however_much_room_there_is(window: int) -> None:
    s = session(window)
    s.fit(agent(12), fold=True)
    assert s.receipt and s.receipt.verdict == Folded() and s.receipt.after <= s.receipt.before * 0.6


def test_words_bring_what_they_name_without_a_model_too() -> None:
    lines = "".join(f"def handle_event_{number}(payload_{number}): ...\n" for number in range(1_600))
    named = lines + "def parse_invoice(total_amount): ...\n" + lines.replace("event", "other")
    messages = [*agent(0), *used(1, named), *agent(12)[2:]]
    plain, kept = (
        session(9_000).fit(messages, fold=True),
        session(9_000).fit(messages, fold=True, words="parse invoice"),
    )
    assert "parse_invoice" in json.dumps(kept) and "parse_invoice" not in json.dumps(plain)


# Recipes of one's own


def test_a_recipe_of_the_config_file_is_known_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[recipes.mine]\nrungs = [{level = 0.5, pass = "clear_largest", args = ["result"], goal = 0.3}]\n')
    monkeypatch.setenv("YOHAKU_CONFIG", str(file))
    s = session(4_000, recipe="mine")
    assert s.recipe.name == "mine" and first_level("mine") == 5_000
    s.fit(agent(8))
    assert s.receipt and s.receipt.verdict == Folded()
    with pytest.raises(UnknownRecipe, match=r"snapshot, mine$"):
        session(recipe="yours")


def test_recipes_may_come_with_the_settings() -> None:
    mine = Settings(recipes={"mine": {"like": "cache", "options": {"threshold_ratio": 0.5}}})
    assert Session(10_000, 0, "mine", settings=mine).should_fold(5_000)
    with pytest.raises(BadSetting, match="recipe 'broken'"):
        Session(10_000, 0, "broken", settings=Settings(recipes={"broken": {"like": "nothing"}}))
