"""`!command` on the screen: it runs as a line that shows its output, and the model is given it with the next prompt."""

from __future__ import annotations

import json

from yohaku.agent.events import ToolFinished, ToolOutput, ToolStarted
from yohaku.agent.user_shell import UserCommand
from yohaku.messages import say
from yohaku.tui.conversation import ConversationView
from yohaku.tui.typing_aids import TypingAids

DEFAULT_WINDOW = 8_192
"""Tokens, while there is no model."""


class UserShellHost(TypingAids):
    def __init__(self, quiet: float) -> None:
        super().__init__(quiet)
        self._outputs: list[str] = []
        """Outputs of the user's commands, for the next prompt."""
        self._shells = 0

    def add_outputs(self, prompt: str) -> str:
        """Return a prompt with the outputs before it that the model has not been given yet."""
        outputs, self._outputs = self._outputs, []
        return "\n\n".join([*outputs, prompt])

    async def run_user_command(self, typed: str) -> None:
        from yohaku.core.model import Call, Result, Text

        flow = self.query_one(ConversationView)
        command = UserCommand(typed, self.project, self.lang, self.agent.window if self.agent else DEFAULT_WINDOW)
        self._shells += 1
        call, title = Call(f"user-{self._shells}", "bash", json.dumps({"command": typed})), f"!{typed}"
        await flow.calling(ToolStarted(call, title))
        flow.anchor()
        try:
            await command.run(lambda text: flow.output(ToolOutput(call.id, text)))
        finally:  # stopped, too: it was seen, and so the model is told
            result = Result((Text(command.text),), error=command.code != 0)
            await flow.called(ToolFinished(call, result, title), opened=True)
            self._outputs.append(command.for_model)
        await flow.note(say("shell_given", self.lang))
