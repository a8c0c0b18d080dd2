from __future__ import annotations

from yohaku.agent.commands.export import fence_code, to_markdown
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Opaque, Result, Step, Text, ToolUse, Turn


def test_a_conversation_is_a_page_with_everything_in_its_order() -> None:
    use = ToolUse(Call("1", "read", '{"path": "a.py"}'), Result((Text("x = 1\n"),)))
    image = Opaque("image", "AAAA", "base64", "image/png")
    turns = (Turn((Text("Look.\nPlease."), image), (Step((Text("I do."), use)), Step((Text("Done."),)))),)
    assert to_markdown(history_of(turns)) == (
        '## 1\n\n> Look.\n> Please.\n\n> [image]\n\nI do.\n\n**read** `{"path": "a.py"}`\n\n```\nx = 1\n```\n\nDone.\n'
    )


def test_a_fence_is_longer_than_any_inside() -> None:
    assert fence_code("a\n````\nb", "py") == "`````py\na\n````\nb\n`````"
