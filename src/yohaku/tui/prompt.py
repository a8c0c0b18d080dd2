"""Prompt with its completions and the queue of waiting prompts.

Enter sends, Alt-Enter or Ctrl-J starts a new line, arrows go through the history.
Law: new lines in a paste never send it, and browsing the history loses nothing typed. A big paste is shown as a label;
its removal is reported. The prompt keeps the keyboard, also while a dialog is open: that is offered each key first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.keys import Keys
from textual.message import Message
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option

from yohaku.agent.commands.slash_commands import COMMANDS
from yohaku.agent.format import clip
from yohaku.messages import say
from yohaku.tui.dialogs import Dialog
from yohaku.tui.input_history import InputHistory
from yohaku.tui.pasted import MIN_LABELLED_CHARS, PastedTexts

# Terminals send Escape and Enter for Alt-Enter, of which the Alt is lost unless the pair is known as a key.
cast("dict[str, object]", ANSI_SEQUENCES_KEYS).setdefault("\x1b\r", (Keys.ControlJ,))

NEW_LINE = {"ctrl+j", "alt+enter", "shift+enter", "ctrl+enter"}


class PromptInput(TextArea):
    @dataclass
    class Sent(Message):
        text: str

    @dataclass
    class Asked(Message):
        """A key for the list of completions, where one is open."""

        key: str

    class SearchAsked(Message):
        """Ctrl-R: search what was typed before."""

    class KeysAsked(Message):
        """A question mark in the empty prompt."""

    class ModeSwitched(Message):
        """Shift-Tab."""

    @dataclass
    class Lost(Message):
        """A big paste was removed from the text; undo brings it back."""

        label: str

    def __init__(self, lang: str, typed: InputHistory) -> None:
        super().__init__(
            id="prompt",
            placeholder=say("screen_placeholder", lang),
            show_line_numbers=False,
            tab_behavior="focus",
            highlight_cursor_line=False,
        )
        self.typed = typed
        self.pasted = PastedTexts(lang)
        self._standing: frozenset[str] = frozenset()
        """Labels in the text at the last change."""
        self.choosing = False
        """Whether the list of completions is open, and takes arrows, Tab and Enter."""
        self.dialog: Dialog[Any] | None = None
        """The dialog above, which may take keys."""

    async def _on_key(self, event: events.Key) -> None:
        key = event.key
        if self.dialog and self.dialog.take_key(event, self.text, choosing=self.choosing):
            pass
        elif self.choosing and key in ("up", "down", "tab", "enter", "escape"):
            self.post_message(self.Asked(key))
        elif key == "enter":
            self._send()
        elif key == "ctrl+r":
            self.post_message(self.SearchAsked())
        elif event.character in ("?", "？") and not self.text and not self.dialog:
            self.post_message(self.KeysAsked())
        elif key == "shift+tab":
            self.post_message(self.ModeSwitched())
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

    async def _on_paste(self, event: events.Paste) -> None:
        if self.dialog and self.dialog.take_paste(event.text):
            event.prevent_default()
            event.stop()
            return
        if self.dialog:
            self.dialog.note_paste(self.text)
        if len(event.text) >= MIN_LABELLED_CHARS:
            event.prevent_default()
            event.stop()
            self._put(event.text)

    def action_paste(self) -> None:
        if self.dialog and self.dialog.take_paste(self.app.clipboard):
            return
        if len(self.app.clipboard) >= MIN_LABELLED_CHARS:
            self._put(self.app.clipboard)
        else:
            super().action_paste()

    def action_delete_left(self) -> None:
        row, column = self.cursor_location
        label = self.pasted.ending(self.document.get_line(row)[:column])
        if label and self.selection.is_empty:
            self.delete((row, column - len(label)), (row, column), maintain_selection_offset=False)
        else:
            super().action_delete_left()

    def action_delete_right(self) -> None:
        row, column = self.cursor_location
        label = self.pasted.beginning(self.document.get_line(row)[column:])
        if label and self.selection.is_empty:
            self.delete((row, column), (row, column + len(label)), maintain_selection_offset=False)
        else:
            super().action_delete_right()

    def on_text_area_changed(self) -> None:
        now = self.pasted.standing(self.text)
        for label in sorted(self._standing - now):
            self.post_message(self.Lost(label))
        self._standing = now
        if self.dialog:
            self.dialog.update_hint()

    def open_dialog(self, dialog: Dialog[Any]) -> None:
        dialog.type_text = self.insert
        dialog.has_text = lambda: bool(self.text)
        dialog.take_typed = self.take_typed
        self.dialog = dialog

    def close_dialog(self, dialog: Dialog[Any]) -> None:
        if self.dialog is dialog:
            dialog.give_back()
            self.dialog = None

    def take_typed(self) -> str:
        """Return all that was typed and pasted, and empty the prompt."""
        text = self.pasted.whole(self.text).strip()
        self._standing = frozenset()
        self.text = ""
        return text

    def put_back(self, texts: Sequence[str]) -> None:
        """Put what was sent, and waits, before what is typed, to be edited."""
        if texts:
            typed = self.pasted.whole(self.text)
            self.take("\n".join([*texts, *([typed] if typed else [])]))

    @property
    def text_before_cursor(self) -> str:
        """The part of the cursor's line that stands before it."""
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    def complete_word(self, word: str, begun: str) -> None:
        """Put a word in place of `@` and what was begun of it before the cursor."""
        row, column = self.cursor_location
        start = column - len(begun) - 1
        self.replace(word, (row, start), (row, column), maintain_selection_offset=False)
        self.move_cursor((row, start + len(word)))

    def take(self, text: str) -> None:
        shown = self.pasted.shown(text)
        self._standing = self.pasted.standing(shown)
        self.text = shown
        self.move_cursor(self.document.end)

    def _put(self, text: str) -> None:
        done = self.replace(self.pasted.label(text), *self.selection, maintain_selection_offset=False)
        self.move_cursor(done.end_location)

    def _take(self, text: str | None) -> None:
        if text is not None:
            self.take(text)

    def _send(self) -> None:
        if self.text.strip():
            text = self.take_typed()
            self.typed.add(text)
            self.post_message(self.Sent(text))


class CompletionList(OptionList, can_focus=False):
    def __init__(self, lang: str) -> None:
        super().__init__(id="choices", markup=False)
        self.lang = lang
        self.texts: list[str] = []
        self.display = False

    def show(self, texts: list[str]) -> None:
        if texts == self.texts:
            return
        self.texts = texts
        self.clear_options()
        self.add_options(Option(self._told(text)) for text in texts)
        self.display = bool(texts)
        if texts:
            self.highlighted = 0

    @property
    def chosen(self) -> str:
        return self.texts[self.highlighted or 0] if self.texts else ""

    def _told(self, text: str) -> str:
        command = COMMANDS.get(text.removeprefix("/"))
        return f"{command.usage:<24} {command.about(self.lang)}" if command else clip(text, 300)


class QueuedPrompts(Static):
    MOST = 3

    def __init__(self, lang: str) -> None:
        super().__init__("", id="waiting", markup=False)
        self.lang = lang
        self.display = False

    def show(self, texts: tuple[str, ...]) -> None:
        width = max(20, self.app.size.width - 12)
        lines = [say("screen_waiting", self.lang, text=clip(text, width)) for text in texts[: self.MOST]]
        if len(texts) > self.MOST:
            lines.append(f"… +{len(texts) - self.MOST}")
        self.display = bool(texts)
        self.update("\n".join(lines))
