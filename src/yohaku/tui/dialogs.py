"""Dialogs at the bottom of the screen: a permission, and a question to the user.

Law: the conversation above stays visible. No permission is given by a key meant for something else: the first half
second takes no answer, and closing the dialog means no.
"""

from __future__ import annotations

from typing import TypeVar

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, OptionList, Static

from yohaku.agent.format import clip, strip_controls
from yohaku.agent.protocols import Allowed
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.messages import say
from yohaku.tui.diff import colour_diff

ARMING_SECONDS = 0.5
"""Time in which keys may still be meant for the prompt."""

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """Base of the dialogs; its one child with the class `box` is the frame."""

    def on_resize(self) -> None:
        self.call_after_refresh(self._update_padding)

    def on_unmount(self) -> None:
        self._pad_conversation(0)

    def _update_padding(self) -> None:
        self._pad_conversation(self.query_one(".box").outer_size.height)

    def _pad_conversation(self, lines: int) -> None:
        for main in self.app.screen_stack[0].query("#main") if self.app.screen_stack else ():
            main.styles.padding = (0, 0, lines, 0)


class PermissionDialog(Dialog[Allowed]):
    BINDINGS = [  # noqa: RUF012
        ("y", "answer('once')"),
        ("a", "answer('always')"),
        ("n,escape", "answer('no')"),
        ("left", "app.focus_previous"),
        ("right", "app.focus_next"),
        ("up", "scroll(-1)"),
        ("down", "scroll(1)"),
    ]

    def __init__(self, request: PermissionRequest, lang: str, moment: float = ARMING_SECONDS) -> None:
        super().__init__()
        self.request = request
        self.lang = lang
        self.moment = moment
        self.armed = False

    def compose(self) -> ComposeResult:
        request, lang = self.request, self.lang
        with Vertical(classes="box -danger" if request.danger else "box") as box:
            box.border_title = Content(f"{say('allow_title', lang)} {say(f'allow_{request.kind}', lang)}")
            yield Static(strip_controls(request.title), classes="title", markup=False)
            if request.danger:
                yield Static(
                    say("allow_danger", lang, why=strip_controls(request.danger)), classes="danger", markup=False
                )
            if request.detail.strip() and request.detail.strip() != request.title.strip():
                with VerticalScroll(classes="detail"):
                    yield Static(self._detail(), markup=False)
            with Horizontal(classes="answers"):
                yield Button(Content(say("allow_once", lang)), id="once", disabled=True)
                if request.remember:
                    always = say("allow_always", lang, what=clip(request.remember, 30))
                    yield Button(Content(always), id="always", disabled=True)
                yield Button(Content(say("allow_no", lang)), id="no")

    def on_mount(self) -> None:
        self.query_one("#no").focus()
        self.set_timer(max(self.moment, 0.001), self._arm)

    def action_answer(self, answer: Allowed) -> None:
        if self.armed and (answer != "always" or self.request.remember):
            self.dismiss(answer)

    def action_scroll(self, lines: int) -> None:
        for detail in self.query(".detail"):
            detail.scroll_relative(y=lines, animate=False)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if self.armed:
            match event.button.id:
                case "once" | "always" | "no" as answer:
                    self.action_answer(answer)

    def _arm(self) -> None:
        self.armed = True
        for button in self.query(Button):
            button.disabled = False
        if not self.request.danger:
            self.query_one("#once").focus()

    def _detail(self) -> Content:
        detail = self.request.detail
        looks = detail.startswith(("--- ", "@@ ")) or "\n@@ " in detail
        return colour_diff(detail, self.lang, 2000) if looks else Content(strip_controls(detail))


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
