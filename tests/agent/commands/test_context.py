from __future__ import annotations

import pytest

from tests.tui.fake import FakeAgent
from yohaku.agent.commands.context import context_text
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn


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
