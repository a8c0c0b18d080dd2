"""Dialog for a key: what is typed or pasted while it is open goes here, is shown as dots, and is kept nowhere.

Law: no letter of it reaches the prompt, its history, the conversation or a log.
"""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.widgets import Static

from yohaku.agent.format import strip_controls
from yohaku.messages import say
from yohaku.tui.dialogs import QUIET_SECONDS, Dialog

MAX_DOTS = 24


class SecretDialog(Dialog[str]):
    """The user has just chosen to give a key, so it takes keys at once; only Enter, after a text, answers."""

    def __init__(self, text: str, lang: str, quiet: float = QUIET_SECONDS) -> None:
        super().__init__(lang, quiet)
        self.text = text
        self._typed = ""

    def compose(self) -> ComposeResult:
        self.border_title = say("secret_title", self.lang)
        yield Static(strip_controls(self.text), classes="title", markup=False)
        yield Static(self._dots(), classes="dots", markup=False)
        yield Static(self.hint(), classes="hint", markup=False)

    def hint(self) -> str:
        return say("secret_hint", self.lang)

    def take_key(self, event: events.Key, typed: str, *, choosing: bool = False) -> bool:
        if self._over:
            return False
        match event.key:
            case "escape":
                self.finish("")
            case "enter" if self._typed:
                self.finish(self._typed)
            case "backspace":
                self._type(self._typed[:-1])
            case "ctrl+u":
                self._type("")
            case _ if event.is_printable and event.character:
                self._type(self._typed + event.character)
        return True

    def take_paste(self, text: str) -> bool:
        self._type(self._typed + "".join(text.split()))
        return True

    def finish(self, answer: str) -> None:
        self._typed = ""
        super().finish(answer)

    def _type(self, text: str) -> None:
        self._typed = text
        for dots in self.query(".dots").results(Static):
            dots.update(self._dots())

    def _dots(self) -> str:
        count = len(self._typed)
        return f"{'•' * min(count, MAX_DOTS)} {say('secret_count', self.lang, count=count)}" if count else "▏"
