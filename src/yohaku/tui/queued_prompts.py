"""What was typed while the agent works, in the order it will be taken in. Nothing typed is lost."""

from __future__ import annotations

from textual.widgets import Static

from yohaku.agent.format import clip
from yohaku.messages import say


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
