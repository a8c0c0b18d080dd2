"""The list of what a command being typed could become."""

from __future__ import annotations

from textual.widgets import OptionList
from textual.widgets.option_list import Option

from yohaku.agent.commands.slash_commands import COMMANDS


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
        return f"{command.usage:<24} {command.about(self.lang)}" if command else text
