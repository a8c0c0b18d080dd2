"""The conversation on the screen: entries one under another, the newest visible.

Law: the number of entries is bounded; older ones are in the transcript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from yohaku.agent.events import SearchProgress, ToolFinished, ToolOutput, ToolStarted
from yohaku.agent.format import abridge, strip_controls, wrap_lines
from yohaku.agent.model_texts import prompt_for_people
from yohaku.messages import say
from yohaku.tui.tool_line import ToolLine

if TYPE_CHECKING:
    from yohaku.core.model import History

MAX_ENTRIES = 200
"""Entries on the screen."""
MAX_RESUMED_TURNS = 10
"""Turns shown of a resumed conversation."""


class PromptEntry(Static):
    def __init__(self, text: str, lang: str = "en") -> None:
        super().__init__(f"❯ {strip_controls(abridge(text, lang))}".replace("\n", "\n  "), markup=False)


class NoteEntry(Static):
    """A notice, or the output of a command."""

    def __init__(self, text: str, kind: str = "note") -> None:
        mark = {"warning": "! ", "error": "✗ "}.get(kind, "")
        self.text = mark + strip_controls(text)
        super().__init__(self.text, classes=f"-{kind}", markup=False)

    def on_resize(self) -> None:
        self.update("\n".join(wrap_lines(self.text, self.content_size.width)))


class ThinkingEntry(Static):
    """The end of the model's thinking, removed when the reply starts."""

    TAIL = 160

    def __init__(self, title: str) -> None:
        super().__init__(title, markup=False)
        self._title = title
        self._tail = ""

    def hear(self, text: str) -> None:
        self._tail = (self._tail + strip_controls(text))[-self.TAIL :]
        self.update(f"{self._title}: …{' '.join(self._tail.split())}")


class ConversationView(VerticalScroll, can_focus=False):
    def __init__(self, lang: str) -> None:
        super().__init__(id="flow")
        self.lang = lang
        self.gone = 0
        self._reply: Widget | None = None
        self._thinking: ThinkingEntry | None = None
        self._calls: dict[str, ToolLine] = {}

    def on_mount(self) -> None:
        self.anchor()

    async def prompted(self, text: str) -> None:
        await self._end()
        await self._add(PromptEntry(text, self.lang))
        self.anchor()

    async def note(self, text: str, kind: str = "note") -> None:
        await self._end()
        await self._add(NoteEntry(text, kind))

    async def said(self, text: str) -> None:
        from yohaku.tui.reply import ReplyEntry  # Markdown is much to load before the first screen

        await self._thought_over()
        if not isinstance(self._reply, ReplyEntry):
            if not text.strip():
                return
            self._reply = reply = ReplyEntry()
            await self._add(reply)
        else:
            reply = self._reply
        reply.hear(text)

    async def take_back(self) -> None:
        """Remove the current reply: it was cut off, and comes again."""
        reply = self._reply
        await self._end()
        if reply is not None:
            await reply.remove()

    async def thought(self, text: str) -> None:
        if self._thinking is None:
            await self._end()
            self._thinking = ThinkingEntry(say("screen_thinking", self.lang))
            await self._add(self._thinking)
        self._thinking.hear(text)

    async def calling(self, calling: ToolStarted) -> None:
        await self._end()
        line = self._calls[calling.call.id] = ToolLine(calling, self.lang)
        line.set_class(bool(self.children) and isinstance(self.children[-1], ToolLine), "-follows")
        await self._add(line)

    def output(self, output: ToolOutput) -> None:
        if line := self._calls.get(output.call):
            line.hear(output.text)

    def searched(self, progress: SearchProgress) -> None:
        if line := self._calls.get(progress.call):
            line.note_searched(progress)

    async def called(self, called: ToolFinished, *, opened: bool = False) -> None:
        if called.call.id not in self._calls:
            await self.calling(ToolStarted(called.call, called.title))
        line = self._calls.pop(called.call.id)
        line.opened = opened
        line.end(called)

    async def ended(self) -> None:
        """Close open entries at the end of a turn."""
        await self._end()
        self._calls.clear()

    async def show(self, history: History) -> None:
        """Show the end of a resumed conversation."""
        from yohaku.agent.format import call_title
        from yohaku.core.model import Text, ToolUse

        await self.empty()
        turns = history.turns
        if len(turns) > MAX_RESUMED_TURNS:
            await self.note(say("screen_earlier", self.lang, count=len(turns) - MAX_RESUMED_TURNS))
        for turn in turns[-MAX_RESUMED_TURNS:]:
            text = "\n".join(part.text for part in turn.prompt if isinstance(part, Text))
            await self.prompted(prompt_for_people(text))
            items = [item for step in turn.steps for item in step.items]
            for item in items[-MAX_ENTRIES // MAX_RESUMED_TURNS :]:
                if isinstance(item, ToolUse):
                    await self.called(ToolFinished(item.call, item.result, call_title(item.call)))
                elif isinstance(item, Text):
                    await self.said(item.text)
                    await self._end()

    async def empty(self) -> None:
        await self.ended()
        self.gone = 0
        await self.remove_children()

    async def _add(self, entry: Widget) -> None:
        await self.mount(entry)
        over = len(self.children) - MAX_ENTRIES
        if over > MAX_ENTRIES // 10:  # rarely, and many at once: each removal lays out the whole page
            old = list(self.children[: over + 1])
            self.gone += len(old) - (1 if self.gone else 0)
            await self.remove_children(old)
            await self.mount(NoteEntry(say("screen_earlier", self.lang, count=self.gone)), before=0)

    async def _end(self) -> None:
        """Finish the current reply or thought."""
        from yohaku.tui.reply import ReplyEntry

        await self._thought_over()
        if isinstance(self._reply, ReplyEntry):
            await self._reply.end()
        self._reply = None

    async def _thought_over(self) -> None:
        if self._thinking is not None:
            await self._thinking.remove()
            self._thinking = None
