"""Where the user types: Enter sends, Alt-Enter or Ctrl-J begins a new line, arrows bring back what was typed before.

Law: what is pasted is never sent by the new lines in it, and nothing typed is lost by looking at something older.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.keys import Keys
from textual.message import Message
from textual.widgets import TextArea

from yohaku.agent.surface.typed import Typed
from yohaku.agent.words import say

# Terminals send Escape and Enter for Alt-Enter, of which the Alt is lost unless the pair is known as a key.
cast("dict[str, object]", ANSI_SEQUENCES_KEYS).setdefault("\x1b\r", (Keys.ControlJ,))

NEW_LINE = {"ctrl+j", "alt+enter", "shift+enter", "ctrl+enter"}


class Prompt(TextArea):
    @dataclass
    class Sent(Message):
        text: str

    @dataclass
    class Asked(Message):
        """A key for the list of completions, where one is open."""

        key: str

    def __init__(self, lang: str, typed: Typed) -> None:
        super().__init__(
            id="prompt",
            placeholder=say("screen_placeholder", lang),
            show_line_numbers=False,
            tab_behavior="focus",
            highlight_cursor_line=False,
        )
        self.typed = typed
        self.choosing = False
        """Whether the list of completions is open: it then has the arrows, Tab and Enter."""

    async def _on_key(self, event: events.Key) -> None:
        key = event.key
        if self.choosing and key in ("up", "down", "tab", "enter", "escape"):
            self.post_message(self.Asked(key))
        elif key == "enter":
            self._send()
        elif key in NEW_LINE:
            self.insert("\n")
        elif key == "up" and self.cursor_location[0] == 0:
            self._take(self.typed.back(self.text))
        elif key == "down" and self.cursor_location[0] == self.document.line_count - 1:
            self._take(self.typed.on())
        else:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()

    def take(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)

    def _take(self, text: str | None) -> None:
        if text is not None:
            self.take(text)

    def _send(self) -> None:
        text = self.text.strip()
        if text:
            self.typed.add(text)
            self.text = ""
            self.post_message(self.Sent(text))
