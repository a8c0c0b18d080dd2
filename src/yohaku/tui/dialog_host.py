"""Opening of dialogs above the prompt, one at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from textual.app import App

from yohaku.agent.protocols import Allowed
from yohaku.tui.dialogs import QUIET_SECONDS, Dialog, PermissionDialog, QuestionDialog
from yohaku.tui.prompt import PromptInput, QueuedPrompts

if TYPE_CHECKING:
    from yohaku.agent.toolkit.tool import PermissionRequest

Answer = TypeVar("Answer")


class DialogHost(App[int]):
    """Application that can ask; the prompt keeps the keyboard meanwhile."""

    lang: str

    def __init__(self, quiet: float = QUIET_SECONDS) -> None:
        super().__init__()
        self.quiet = quiet
        """Seconds without any key before an answer counts."""
        self._asking = asyncio.Lock()

    @property
    def dialog(self) -> Dialog[Any] | None:
        """The dialog that is open."""
        found = list(self.query(PromptInput))
        return found[0].dialog if found else None

    async def allow(self, ask: PermissionRequest) -> Allowed:
        return await self._ask(PermissionDialog(ask, self.lang, self.quiet), "no")

    async def question(self, text: str, choices: tuple[str, ...] = (), *, own_words: bool = True) -> str:
        return await self._ask(QuestionDialog(text, choices, self.lang, own_words=own_words, quiet=self.quiet), "")

    async def secret(self, text: str) -> str:
        from yohaku.tui.secret_dialog import SecretDialog

        return await self._ask(SecretDialog(text, self.lang, self.quiet), "")

    async def _ask(self, dialog: Dialog[Answer], closed: Answer) -> Answer:
        """Return the user's answer; `closed` where the screen is gone."""
        async with self._asking:
            answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

            def answered(given: Answer) -> None:
                if not answer.done():
                    answer.set_result(given)

            dialog.answered = answered
            if not self.is_running:
                return closed
            self.call_later(self._open, dialog)
            try:
                return await answer
            finally:
                answer.cancel()
                self.call_later(self._close, dialog)

    async def _open(self, dialog: Dialog[Any]) -> None:
        prompt = self.query_one(PromptInput)
        prompt.open_dialog(dialog)
        await self.query_one("#main").mount(dialog, before=self.query_one(QueuedPrompts))

    async def _close(self, dialog: Dialog[Any]) -> None:
        for prompt in self.query(PromptInput):
            prompt.close_dialog(dialog)
        if dialog.is_mounted:
            await dialog.remove()
