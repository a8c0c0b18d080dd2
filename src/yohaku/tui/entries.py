"""What stands in the conversation beside replies and tools: what the user said, and what we tell."""

from __future__ import annotations

from textual.widgets import Static

from yohaku.agent.format import abridge, strip_controls


class PromptEntry(Static):
    """What the user said."""

    def __init__(self, text: str, lang: str = "en") -> None:
        super().__init__(f"❯ {strip_controls(abridge(text, lang))}".replace("\n", "\n  "), markup=False)


class NoteEntry(Static):
    """A sentence of ours, or what a command gives."""

    def __init__(self, text: str, kind: str = "note") -> None:
        mark = {"warning": "! ", "error": "✗ "}.get(kind, "")
        super().__init__(mark + strip_controls(text), classes=f"-{kind}", markup=False)


class ThinkingEntry(Static):
    """The newest of what the model thinks, in a line or two, gone when it speaks."""

    TAIL = 160

    def __init__(self, title: str) -> None:
        super().__init__(title, markup=False)
        self._title = title
        self._tail = ""

    def hear(self, text: str) -> None:
        self._tail = (self._tail + strip_controls(text))[-self.TAIL :]
        self.update(f"{self._title}: …{' '.join(self._tail.split())}")
