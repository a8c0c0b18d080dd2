from __future__ import annotations

import pytest

from tests.tui.fake import FakeAgent
from yohaku.agent.commands.context import context_text
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.session.session import Session


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_biggest_items_come_first_and_rules_pins_and_what_comes_next_are_told(lang: str) -> None:
    agent = FakeAgent()
    small = ToolUse(Call("1", "bash", '{"command": "ls"}'), Result((Text("a.py"),)))
    large = ToolUse(Call("2", "read", '{"path": "a.py"}'), Result((Text("x = 1\n" * 500),)))
    turn = Turn((Text("Never delete a.py. Look."),), (Step((small,)), Step((large,)), Step((Text("Done."),))))
    agent.conversation.history = history_of((turn,))
    agent.session.fit([{"role": "user", "content": "the port is 8443"}])
    agent.session.pin("the port is 8443")
    agent.session.receipt = None
    text = context_text(agent, lang)
    assert text.index("read: ") < text.index("bash: $ ls")
    assert "- Never delete a.py." in text and "- “the port is 8443”" in text and "4,915" in text


def test_what_is_folded_now_is_counted() -> None:
    import asyncio

    agent = FakeAgent()
    asyncio.run(agent.compact())
    assert agent.session.receipt
    assert f"Folded now: {len(agent.session.receipt.folds)}" in context_text(agent, "en")


@pytest.mark.parametrize(
    ("recipe", "window", "says", "says_not"),
    [
        ("auto", 8_192, "at 99 % (7,096 tokens): older steps become", "one line after"),
        ("local", 8_192, "a tool result becomes one line after the next step", "stay whole"),
        ("local", 8_192, "still at 90 % (6,451 tokens) after that", "refused"),
        ("local", 32_768, "at 80 % (22,937 tokens): old results", "one line after"),
        ("chat", 8_192, "a prompt that is too big is refused", "part by part"),
        ("cache", 65_536, "tool outputs together keep to a budget", "stay whole"),
        ("layers", 65_536, "old tool results are cleared", "stay whole"),
    ],
)
def test_it_says_what_this_recipe_does_in_this_window(recipe: str, window: int, says: str, says_not: str) -> None:
    agent = FakeAgent()
    agent.session, agent.window = Session(window, recipe=recipe, model="gpt-4o"), window
    text = context_text(agent, "en")
    assert f"Recipe {recipe}, in a window of {window:,} tokens" in text
    assert says in text and says_not not in text
    assert "レシピ" in context_text(agent, "ja")
