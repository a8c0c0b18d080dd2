"""Servers with stricter rules about roles: what a refusal means, and the form that such a server takes."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from tests import checkers
from tests.checkers import alternation

from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Opaque, Part, Result, Step, Text, ToolUse, Turn
from yohaku.dialects import dialect_named
from yohaku.dialects.role_rules import NO_REPLY, NO_RULES, OPENING, RoleRules, recognise, stricter
from yohaku.testing import PNG

ALTERNATE = RoleRules(alternate=True)
ALL = RoleRules(True, True, True)
CALL = {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"at": "it"}'}}
ROLES_WANTED = "alternate", "no_system", "no_tools"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Conversation roles must alternate user/assistant/user/assistant/...", ROLES_WANTED),
        ("After the optional system message, conversation roles must alternate user/assistant", ROLES_WANTED),
        ('messages: roles must alternate between "user" and "assistant", but found multiple "user"', ROLES_WANTED),
        ("A conversation must alternate between user and assistant roles.", ROLES_WANTED),
        ("A conversation must start with a user message. Try again.", ROLES_WANTED),
        ('messages: first message must use the "user" role', ROLES_WANTED),
        ("m does not support successive user or assistant messages (messages[1] and messages[2])", ROLES_WANTED),
        (
            "After the (optional) system message(s), user message(s) should alternate with assistant",
            ROLES_WANTED,
        ),
        ("Unexpected role 'user' after role 'tool'", ROLES_WANTED),
        ("System role not supported", ("no_system",)),
        ("this model does not support the system role", ("no_system",)),
        ("Unexpected role 'system' after role 'user'", ("no_system",)),
        ("Only user and assistant roles are supported!", ("no_tools", "no_system", "alternate")),
        ("Unknown role: tool", ("no_tools",)),
        ("max_tokens must be at least 1", ()),
        ("The user asked for a role that is not there", ()),
        ("this model does not support tools", ()),
    ],
)
def test_a_refusal_names_the_rules_that_may_be_meant(text: str, meant: tuple[str, ...]) -> None:
    body = json.dumps({"error": {"code": 400, "message": f"While executing a template at line 4:\nError: {text}"}})
    assert recognise(400, body) == recognise(422, text) == recognise(500, text) == meant
    assert recognise(200, text) == recognise(429, text) == ()


def chat(*messages: tuple[str, Any]) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": role, "content": content} for role, content in messages]}


def test_rules_are_learned_one_by_one_as_far_as_they_change_anything() -> None:
    dialect = dialect_named("openai_chat")
    body = chat(("system", "Be brief."), ("user", "Hi"), ("user", "there"))
    first = stricter(dialect, body, NO_RULES, ROLES_WANTED)
    assert first == ALTERNATE
    second = stricter(dialect, body, ALTERNATE, ROLES_WANTED)
    assert second == RoleRules(alternate=True, no_system=True)
    assert stricter(dialect, body, RoleRules(True, True), ROLES_WANTED) is None, "there are no tools in it"
    assert stricter(dialect, chat(("user", "Hi")), NO_RULES, ROLES_WANTED) is None


def test_neighbours_become_one_message_the_user_begins_and_results_get_an_answer() -> None:
    dialect = dialect_named("openai_chat")
    body = chat(("assistant", "Hello."), ("user", "Look."), ("user", [{"type": "text", "text": "There."}]))
    body["messages"] += [
        {"role": "assistant", "content": "I look.", "reasoning_content": "hm"},
        {"role": "assistant", "content": None, "tool_calls": [CALL], "unknown": 1},
        {"role": "tool", "tool_call_id": "a", "content": "a cat"},
        {"role": "user", "content": "Stop!"},
    ]
    parts = [{"type": "text", "text": "Look."}, {"type": "text", "text": "There."}]
    assert dialect.follow_role_rules(body, ALTERNATE)["messages"] == [
        {"role": "user", "content": OPENING},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": "I look.", "reasoning_content": "hm", "tool_calls": [CALL], "unknown": 1},
        {"role": "tool", "tool_call_id": "a", "content": "a cat"},
        {"role": "assistant", "content": NO_REPLY},
        {"role": "user", "content": "Stop!"},
    ]


def test_without_a_system_role_its_words_open_the_first_message_and_later_ones_stay_in_place() -> None:
    body = chat(("system", "Be brief."), ("developer", "Be kind."), ("user", "Hi"), ("assistant", "Yes?"))
    body["messages"] += chat(("system", "It is late."), ("user", "Go on."))["messages"]
    found = dialect_named("openai_chat").follow_role_rules(body, RoleRules(alternate=True, no_system=True))
    assert found == chat(
        ("user", "Be brief.\n\nBe kind.\n\nHi"), ("assistant", "Yes?"), ("user", "It is late.\n\nGo on.")
    )
    assert found["model"] == "m"
    claude = {"system": [{"type": "text", "text": "Be brief."}], "messages": chat(("user", "Hi"))["messages"]}
    only = RoleRules(no_system=True)
    assert dialect_named("anthropic").follow_role_rules(claude, only) == {
        "messages": [{"role": "user", "content": "Be brief.\n\nHi"}]
    }
    codex = {"instructions": "Be brief.", "input": "Hi"}
    assert dialect_named("openai_responses").follow_role_rules(codex, only) == {"input": "Be brief.\n\nHi"}


@pytest.mark.parametrize("name", ["openai_chat", "ollama"])
def test_without_tools_calls_and_results_are_words(name: str) -> None:
    chatty = name == "openai_chat"
    call = CALL if chatty else {"id": "a", "function": {"name": "look", "arguments": {"at": "it"}}}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "I look.", "tool_calls": [call, {**call, "id": "b"}]},
        {"role": "tool", "tool_call_id": "a", "content": "a cat"},
        {"role": "tool", "tool_call_id": "b", "content": "a dog"},
        {"role": "assistant", "content": "Both."},
    ]
    written = '```json\n{"name":"look","arguments":{"at":"it"}}\n```'
    assert dialect_named(name).follow_role_rules({"messages": messages}, ALL)["messages"] == [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": f"I look.\n\n{written}\n{written}"},
        {"role": "user", "content": "Result of look:\na cat\n\nResult of look:\na dog"},
        {"role": "assistant", "content": "Both."},
    ]


def test_results_and_words_of_one_message_are_parted_for_a_template() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": "a cat"}
    use = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    words = {"type": "text", "text": "Go on."}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result, words]},
    ]
    body = {"messages": messages}
    assert dialect_named("anthropic").follow_role_rules(body, ALTERNATE)["messages"][2:] == [
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": NO_REPLY},
        {"role": "user", "content": [words]},
    ]


def test_a_dialect_that_knows_nothing_of_roles_is_left_alone() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    assert dialect_named("gemini").follow_role_rules(body, ALL) is body
    with_ids = {"input": [{"type": "item_reference", "id": "x"}, {"role": "user", "content": "Hi"}]}
    assert dialect_named("openai_responses").follow_role_rules(with_ids, ALL) is with_ids


# Any conversation


def messy(chance: Random) -> History:
    """Prompts of several parts, notes of the system, turns that were broken off, and a model that begins."""
    turns: list[Turn] = []
    for number in range(chance.randint(1, 5)):
        prompt = [_part(chance, f"{number}.{n}") for n in range(chance.randint(1, 3))]
        calls = [_use(f"{number}_{n}") for n in range(chance.randint(0, 2))]
        steps = [Step((Text(f"I look at {number}."), *calls))]
        steps += [Step((Text(f"Done with {number}."),))] if calls and chance.random() < 0.7 else []
        turns.append(Turn(tuple(prompt) if number or chance.random() < 0.8 else (), tuple(steps)))
    return history_of(turns, [Text("Be brief.")] if chance.random() < 0.7 else ())


def _part(chance: Random, name: str) -> Part:
    kind = chance.choice(("text", "text", "image", "note"))
    return (
        Opaque("image", PNG, "base64", "image/png")
        if kind == "image"
        else Text(f"Prompt {name}.", "system" if kind == "note" else "")
    )


def _use(name: str) -> ToolUse:
    return ToolUse(Call(f"call_{name}", "look", '{"at":"it"}'), Result((Text(f"Seen {name}."),)))


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses", "anthropic", "gemini", "ollama"])
def test_any_conversation_takes_the_form_that_is_wanted_and_loses_no_word(name: str) -> None:
    dialect = dialect_named(name)
    for seed in range(200):
        history = messy(Random(seed))
        body = dialect.compose(history, "m")
        for rules in (ALTERNATE, RoleRules(alternate=True, no_system=True), ALL):
            out = dialect.follow_role_rules(body, rules)
            assert dialect.follow_role_rules(out, rules) is out
            if rules.no_system or not _has_notes(history):
                assert alternation.problems(name, out) == []
            if rules is ALL and name in ("openai_chat", "ollama"):
                assert alternation.problems_of_two_roles(out) == []
            else:
                assert checkers.DIALECTS[name].problems(out) == []
            _assert_all_said(history, out)
            _assert_only_the_last_changes(dialect, history, rules, out)


def _has_notes(history: History) -> bool:
    return any(part.by for turn in history.turns for part in turn.prompt)


def _assert_all_said(history: History, out: Any) -> None:
    sent = json.dumps(out)
    texts = [part.text for turn in history.turns for part in turn.prompt if isinstance(part, Text)]
    texts += [item.text for step in history.steps for item in step.items if isinstance(item, Text)]
    texts += [use.result.text for step in history.steps for use in step.uses]
    positions = [sent.index(text) for text in texts]
    assert len(positions) == len(texts) and sent.count(PNG) == sum(
        isinstance(part, Opaque) for turn in history.turns for part in turn.prompt
    )


def _assert_only_the_last_changes(dialect: Any, history: History, rules: RoleRules, out: Any) -> None:
    longer = history_of([*history.turns, Turn((Text("And now?"),))], history.system)
    grown = dialect.entries_of(dialect.follow_role_rules(dialect.compose(longer, "m"), rules))
    entries = dialect.entries_of(out)
    assert grown[: len(entries) - 1] == entries[:-1]
