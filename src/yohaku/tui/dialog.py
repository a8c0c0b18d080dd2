"""A window at the bottom that wants an answer. Law: what it asks about stays in sight above it."""

from __future__ import annotations

from typing import TypeVar

from textual.screen import ModalScreen

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """Its one child with the class `box` is the window."""

    def on_resize(self) -> None:
        self.call_after_refresh(self._make_room)

    def on_unmount(self) -> None:
        self._room(0)

    def _make_room(self) -> None:
        self._room(self.query_one(".box").outer_size.height)

    def _room(self, lines: int) -> None:
        for main in self.app.screen_stack[0].query("#main") if self.app.screen_stack else ():
            main.styles.padding = (0, 0, lines, 0)
