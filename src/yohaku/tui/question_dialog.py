"""A question to the user, with choices or without; closing it is an empty answer."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static

from yohaku.agent.format import strip_controls
from yohaku.messages import say
from yohaku.tui.dialog import Dialog


class QuestionDialog(Dialog[str]):
    BINDINGS = [("escape", "leave")]  # noqa: RUF012

    def __init__(self, text: str, choices: tuple[str, ...], lang: str) -> None:
        super().__init__()
        self.text = text
        self.choices = choices
        self.lang = lang

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = say("ask_title", self.lang)
            yield Static(strip_controls(self.text), classes="title", markup=False)
            if self.choices:
                yield OptionList(*map(strip_controls, self.choices), markup=False)
            yield Input(placeholder=say("ask_own", self.lang) if self.choices else "")

    def on_mount(self) -> None:
        self.query_one(OptionList if self.choices else Input).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self.choices[event.option_index])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self.dismiss(event.value.strip())

    def action_leave(self) -> None:
        self.dismiss("")
