"""An agent that plays a list of events, and what makes one: the screen cannot tell it from a real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from yohaku.agent.equipment import TierChoice
from yohaku.agent.events import (
    ConversationFolded,
    Event,
    FoldsReused,
    Gauge,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnded,
)
from yohaku.agent.file_history.file_history import FileHistory
from yohaku.agent.protocols import Surface, WorkingAgent
from yohaku.agent.toolkit.permissions import Mode
from yohaku.client.endpoint import Endpoint
from yohaku.config.settings import Settings
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Result, Step, Text, Turn
from yohaku.session.fold_log import FoldingRecord
from yohaku.session.receipt import Receipt
from yohaku.session.session import Session

SERVED = Endpoint("llama.cpp", "llama.cpp", "openai_chat", "http://127.0.0.1:8080", "qwen2.5-coder-1.5b", local=True)
CALM = Gauge(
    used=3280, window=8192, system=514, tools=402, turns=2364, last=1200, messages=12,
    coming="at 4,915 tokens old results become one line each",
)  # fmt: skip

Play = Iterable[Event | Callable[[Surface], Awaitable[Any]]]


def called(name: str, text: str, title: str, *, diff: str = "", error: bool = False, call: str = "1") -> ToolFinished:
    return ToolFinished(Call(call, name, "{}"), Result((Text(text),), error), title, diff)


def calling(name: str, title: str, call: str = "1") -> ToolStarted:
    return ToolStarted(Call(call, name, "{}"), title)


def folded() -> Receipt:
    """A real receipt: a long conversation, folded by hand in a small window."""
    session = Session(window=8192, model="gpt-4o")
    log = "\n".join(f"2026-01-01 request {number} took {number * 7 % 97} ms" for number in range(400))
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Never touch config.toml. Find the slow request."}]
    for number in range(3):
        function = {"name": "bash", "arguments": f'{{"command": "cat log{number}"}}'}
        messages.append({
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
        })  # fmt: skip
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"log {number}\n{log}"})
    session.fit({"model": "gpt-4o", "messages": messages}, fold=True)
    receipt = session.receipt
    assert receipt and receipt.folds
    before = receipt.outcome.before.total  # numbers of our own, that no change of the folding changes
    return replace(receipt, billed=lambda weight: 16_896 if weight == before else 5_740)


@dataclass
class Held:
    history: History = field(default_factory=History)


class FakeAgent:
    """`plays` is one list of events for each prompt; a callable in it is given the surface, as a tool would ask it."""

    def __init__(self, *plays: Play, surface: Surface | None = None, gauge: Gauge = CALM, root: Path = Path()) -> None:
        self.plays = list(plays)
        self.surface = surface
        self.gauge = gauge
        self.root = root
        self.endpoint = SERVED
        self.window = gauge.window
        self.tier_choice = TierChoice("small", "window")
        self.session = Session(window=8192, model="gpt-4o")
        self.conversation = Held()
        self.prompts: list[str] = []
        self.words: list[str] = []
        self.gate: asyncio.Event | None = None
        """When there is one, work waits for it after its first event."""
        self.closed = False
        self._queue: list[str] = []
        self._stopped = asyncio.Event()
        self.busy = False
        self.file_history = FileHistory(Path(), root)
        self.mode: Mode = "ask"
        self.todo: list[tuple[str, str]] = []

    def set_mode(self, mode: Mode) -> None:
        self.mode = mode

    @property
    def queued(self) -> tuple[str, ...]:
        return tuple(self._queue)

    async def work(self, prompt: str) -> AsyncIterator[Event]:
        self.prompts.append(prompt)
        self.busy = True
        self._stopped.clear()
        step = Step((Text("ok"),))
        turns = (*self.conversation.history.turns, Turn((Text(prompt),), (step,)))
        self.conversation.history = history_of(turns)
        play = self.plays.pop(0) if self.plays else [TextDelta("ok"), TurnEnded("done", "ok")]
        for event in play:
            if callable(event):
                assert self.surface
                await event(self.surface)
                continue
            yield event
            await asyncio.sleep(0)
            if self.gate is not None and await self._held():
                yield TurnEnded("stopped")
                break
        self.busy = False

    async def _held(self) -> bool:
        assert self.gate
        waits = [asyncio.ensure_future(each.wait()) for each in (self.gate, self._stopped)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()
        return self._stopped.is_set()

    def stop(self) -> None:
        self._stopped.set()

    def queue(self, text: str) -> None:
        self._queue.append(text)

    def unqueue(self) -> str | None:
        return self._queue.pop(0) if self._queue else None

    async def compact(self, words: str = "") -> ConversationFolded | None:
        self.words.append(words)
        receipt = folded()
        self.session.receipt = receipt
        return ConversationFolded(receipt, manual=True)

    def take_reused(self) -> FoldsReused | None:
        return None

    async def undo(self, count: int = 1) -> tuple[tuple[FoldingRecord, ...], ConversationFolded | None]:
        return self.session.undo(count), None

    async def redo(self, count: int = 1) -> tuple[FoldingRecord, ...]:
        return self.session.redo(count)

    async def switch(self, endpoint: Endpoint, window: int) -> ConversationFolded | None:
        self.endpoint, self.window = endpoint, window
        self.gauge = replace(self.gauge, window=window)
        return None

    async def close(self) -> None:
        self.closed = True


@dataclass
class Begins:
    """Gives the agents it was given, one after another, and the last one again and again."""

    agents: list[FakeAgent | None]
    settings: Settings
    found: list[tuple[Endpoint, int]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def __call__(
        self, surface: Surface, *, endpoint: Endpoint | None = None, window: int | None = None, resume: str = ""
    ) -> WorkingAgent | None:
        self.asked.append(resume)
        agent = self.agents.pop(0) if len(self.agents) > 1 else self.agents[0]
        if agent is not None:
            agent.surface = surface
        return agent

    async def choose_model(
        self, surface: Surface, name: str = "", now: Endpoint | None = None
    ) -> tuple[Endpoint, int] | None:
        labels = {f"{model.model}  ({model.name}, {window:,})": (model, window) for model, window in self.found}
        if name:
            return next((pair for pair in self.found if name in pair[0].model), None)
        return labels.get(await surface.question("Which model?", tuple(labels), own_words=False))

    def forget_key(self, name: str) -> str:
        return f"The key of {name} is removed." if name else ""


def begins(folder: Path, *agents: FakeAgent | None, **values: Any) -> Begins:
    return Begins(list(agents) or [FakeAgent()], Settings(data=folder, **{"lang": "en", **values}))
