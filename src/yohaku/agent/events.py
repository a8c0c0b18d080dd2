"""Events of the agent as values, which each user interface shows in its own way, and as JSON for programs.

Law: replies, tool results and foldings reach the user interface; a key never does. As JSON every event has a `type`,
and a field keeps its name and meaning.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from yohaku.client.events import ReadingProgress as ReadingProgress
from yohaku.client.events import TextDelta as TextDelta
from yohaku.client.events import ThoughtDelta as ThoughtDelta
from yohaku.client.events import UserNotice as UserNotice
from yohaku.core.budget import Budget, Level

if TYPE_CHECKING:  # a surface is on the screen before all of this is loaded
    from yohaku.core.model import Call, Result
    from yohaku.core.originals import OutputRef
    from yohaku.dialects.answer import Usage
    from yohaku.session.receipt import Receipt


@dataclass(frozen=True, slots=True)
class ToolStarted:
    call: Call
    title: str
    """One line for people, as `Read src/app.py 1-50`."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A piece of the output of a running tool."""

    call: str
    """The id of the call."""
    text: str


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """How many files a running search has looked at."""

    call: str
    """The id of the call."""
    files: int
    total: int = 0
    """Files there are; 0 while they are listed."""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    call: Call
    result: Result
    title: str
    diff: str = ""
    """Its changes as a unified diff."""
    output: OutputRef | None = None
    """Ref and size of all that the tool gave, of which the result may show a part."""


@dataclass(frozen=True, slots=True)
class ConversationFolded:
    receipt: Receipt
    manual: bool = False


@dataclass(frozen=True, slots=True)
class FoldsReused:
    """Folds made earlier, here or in another process, are shown for the first time in this session."""

    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Gauge:
    """Tokens by where they are, for the panel."""

    used: int
    window: int
    system: int = 0
    tools: int = 0
    turns: int = 0
    last: int = 0
    """Tokens of the newest results."""
    reserve: int = 0
    """Tokens kept free for the reply."""
    exact: bool = True
    messages: int = 0
    foldings: int = 0
    cuts: int = 0
    """Tool outputs cut when they arrived."""
    warnings: int = 0
    coming: str = ""
    """What the recipe does next and when, in one sentence."""
    folds_at: int = 0
    """Tokens at which the recipe folds by itself; 0: not known."""
    cuts_at: int = 0
    """Tokens at which it cuts by force."""

    @property
    def limit(self) -> int:
        """The most a request may weigh; percent, bar and colours are shares of it."""
        return self.window - self.reserve

    @property
    def share(self) -> float:
        return self.used / self.limit

    @property
    def level(self) -> Level:
        return Budget(self.window, self.reserve).level(self.used)


@dataclass(frozen=True, slots=True)
class ReplyFinished:
    """The end of the model's reply."""

    usage: Usage | None
    stop: str = ""
    reading: float = 0.0
    """Tokens in a second that the model read; 0: not measured."""
    writing: float = 0.0


@dataclass(frozen=True, slots=True)
class ReplyDiscarded:
    """The reply just received was cut off, is no part of the conversation, and is asked for again."""


TurnProblem: TypeAlias = Literal["refused", "nothing_changed", "command_fails", "does_not_parse"]
"""Something that a turn left undone or broken, whatever the reply says."""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The end of the work on one prompt."""

    why: Literal["done", "stopped", "failed", "too_big", "steps"]
    """"steps": the turn reached its maximum."""
    text: str = field(default="")
    """The final reply."""
    problems: tuple[TurnProblem, ...] = ()
    """The user was told of each in a notice just before."""


Event: TypeAlias = (
    ReadingProgress
    | TextDelta
    | ThoughtDelta
    | ToolStarted
    | ToolOutput
    | SearchProgress
    | ToolFinished
    | ConversationFolded
    | FoldsReused
    | Gauge
    | UserNotice
    | ReplyFinished
    | ReplyDiscarded
    | TurnEnded
)

GAUGE_FIELDS = (
    "used", "window", "system", "tools", "turns", "last", "reserve", "limit", "exact", "messages", "foldings", "cuts",
    "warnings", "coming", "level", "folds_at", "cuts_at",
)  # fmt: skip


def to_json(event: Event) -> str:
    """Return one line of ASCII, so that any pipe takes it."""
    return json.dumps(to_fields(event))


def to_fields(event: Event) -> dict[str, Any]:
    match event:
        case ReadingProgress(done, total, speed, estimated, summing_up):
            flags = {"estimated": estimated, "summing_up": summing_up}
            return {"type": "reading", "done": done, "total": total, "speed": round(speed, 1), **flags}
        case TextDelta(text):
            return {"type": "said", "text": text}
        case ThoughtDelta(text):
            return {"type": "thought", "text": text}
        case ToolStarted(call, title):
            return {"type": "calling", "id": call.id, "tool": call.name, "arguments": call.asked, "title": title}
        case ToolOutput(call, text):
            return {"type": "output", "id": call, "text": text}
        case SearchProgress(call, files, total):
            return {"type": "searching", "id": call, "files": files, "total": total}
        case ToolFinished(call, result, title, diff, output):
            facts = {"id": call.id, "tool": call.name, "title": title, "error": result.error}
            ref = output._asdict() if output else None
            return {"type": "called", **facts, "text": result.text, "diff": diff, "output_ref": ref}
        case ConversationFolded(receipt, manual):
            return {"type": "folded", "manual": manual, **receipt.report()}
        case FoldsReused(receipt):
            refs = [fold.ref for fold in receipt.reused]
            return {"type": "reused", "before": receipt.unfolded, "after": receipt.before, "refs": refs}
        case Gauge():
            return {"type": "gauge", **{name: getattr(event, name) for name in GAUGE_FIELDS}}
        case UserNotice(text, kind):
            return {"type": "told", "kind": kind, "text": text}
        case ReplyFinished(usage, stop, reading, writing):
            used = {"prompt": usage.prompt, "total": usage.total} if usage else None
            speeds = {"reading": round(reading, 1), "writing": round(writing, 1)}
            return {"type": "replied", "stop": stop, "usage": used, **speeds}
        case ReplyDiscarded():
            return {"type": "discarded"}
        case TurnEnded(why, text, problems):
            return {"type": "ended", "why": why, "text": text, "problems": list(problems)}
