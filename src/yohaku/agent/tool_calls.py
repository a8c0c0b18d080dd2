"""The calls of one reply, run: each has a result at the end, whatever happens in between.

Law: calls run in order, neighbours that only read together. Their results stay within the room of the step, and calls
that were stopped have results that say so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from yohaku.agent.event_queue import EventQueue, Stopped
from yohaku.agent.events import SearchProgress, ToolFinished, ToolOutput, ToolStarted, UserNotice
from yohaku.agent.file_keeper import FileKeeper
from yohaku.agent.model_texts import NO_SUCH_TOOL, STOPPED
from yohaku.agent.toolkit import output_budget
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.agent.toolkit.secrets import redact
from yohaku.agent.toolkit.seen_files import SeenFiles
from yohaku.agent.toolkit.tool import AgentTool, PermissionRequest, ToolContext, ToolResult
from yohaku.core.budget import Budget
from yohaku.core.errors import StoreFailed
from yohaku.core.meter import Meter
from yohaku.core.model import Call, Opaque, Part, Result, Text
from yohaku.core.originals import OutputRef, arguments_of, output_ref_of
from yohaku.core.weigh import Ledger, Weigher
from yohaku.dialects.json_values import RAW, arguments_object
from yohaku.session.session import Session

Allow: TypeAlias = Callable[[PermissionRequest], Awaitable[Literal["once", "always", "no"]]]
Question: TypeAlias = Callable[[str, tuple[str, ...]], Awaitable[str]]
Delegate: TypeAlias = Callable[[str, Callable[[str], None]], Awaitable[str]]

NO_OUTPUT = "(no output)"
CUT = "[… cut here: {count:,} characters, more than there is room for{kept} …]"
NO_IMAGE = "(an image, which this model cannot be shown)"
OUTPUT_SLACK = 1.1
"""Tools keep to their room by themselves; up to this multiple of it nothing is cut."""
MIN_RESULT_SHARE = 0.3
"""Of the tokens that folding can free, for the results of a step: the newest are shown whole, older things make way."""
MAX_BACKLOG = 2_000
"""Events a user interface may be behind before the output of running tools is no longer shown to it."""


@dataclass
class AgentToolContext:
    """The `ToolContext` of one call, so that its output is known to be its own."""

    call: str
    root: Path
    files: SeenFiles
    session: Session | None
    lang: str
    todo: list[tuple[str, str]]
    permissions: Permissions
    ask_permission: Allow
    ask_user: Question
    run_sub_agent: Delegate
    events: EventQueue
    keeper: FileKeeper | None = None
    careful: bool = False
    prompt: str = ""

    def show(self, text: str) -> None:
        if text and self.events.backlog < MAX_BACKLOG:
            self.events.emit(ToolOutput(self.call, redact(text)))

    def tell_searched(self, files: int, total: int = 0) -> None:
        self.events.emit(SearchProgress(self.call, files, total))

    async def allow(self, ask: PermissionRequest) -> bool:
        ask = replace(ask, call=self.call)
        if self.keeper and self.permissions.verdict(ask) is None:
            ask = await self.keeper.explain(ask)
        allowed = await self.permissions.decide(ask, self.ask_permission)
        if allowed and self.keeper:
            await self.keeper.begin(self.call, ask)
        return allowed

    async def question(self, text: str, choices: tuple[str, ...] = ()) -> str:
        return await self.ask_user(text, choices)

    async def delegate(self, task: str) -> str:
        return await self.run_sub_agent(task, self.show)


@dataclass(frozen=True)
class ToolRuntime:
    """Everything that running the calls of one step needs."""

    tools: Sequence[AgentTool]
    context: Callable[[str], ToolContext]
    """The context for the call of this id."""
    events: EventQueue
    session: Session
    meter: Meter
    ledger: Ledger
    """Of the request that was answered with these calls."""
    images: bool
    """Whether the model takes images in results: another would refuse the whole conversation."""
    keeper: FileKeeper | None = None

    def tool(self, name: str) -> AgentTool | None:
        return next((tool for tool in self.tools if tool.name == name), None)


class ToolRun(NamedTuple):
    results: dict[str, Result]
    """By the ids of the calls."""
    cuts: int = 0
    """Results that were cut as they arrived."""
    stopped: bool = False


class _Output(NamedTuple):
    result: Result
    cut: bool


def room_for_results(budget: Budget, ledger: Ledger) -> int:
    """Tokens that the results of one step may have together.

    Six tenths of what remains; where little remains, what the folding before the next request will free.
    """
    free = max(0, budget.limit - ledger.fixed)
    return max(budget.tool_output(ledger), int(free * MIN_RESULT_SHARE))


def share_of_room(room: int, calls: int) -> int:
    """Room for each of the calls that are left; what one leaves over goes to those after it."""
    return max(1, room // max(1, calls))


async def run_tool_calls(calls: tuple[Call, ...], runtime: ToolRuntime) -> ToolRun:
    outputs: dict[str, _Output] = {}
    weigher, room = Weigher(runtime.meter), room_for_results(runtime.session.budget, runtime.ledger)
    try:
        for group in _group(calls, runtime):
            share = share_of_room(room, len(calls) - len(outputs))
            with output_budget.limit_output(share * len(group), runtime.meter):
                await runtime.events.run_cancellable(_run_together(group, share, runtime, outputs))
            room -= sum(weigher.parts(outputs[call.id].result.parts) for call in group)
        stopped = False
    except Stopped:
        stopped = True
    results = {call.id: outputs[call.id].result if call.id in outputs else _stopped() for call in calls}
    return ToolRun(results, sum(output.cut for output in outputs.values()), stopped)


async def _run_together(calls: list[Call], share: int, runtime: ToolRuntime, outputs: dict[str, _Output]) -> None:
    """Put the outputs into `outputs` as they come, so that a stop loses none of them."""

    async def run(call: Call) -> None:
        outputs[call.id] = await _run_call(call, share, runtime)

    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(run(call))


def _group(calls: tuple[Call, ...], runtime: ToolRuntime) -> Iterator[list[Call]]:
    def reads(call: Call) -> bool:
        tool = runtime.tool(call.name)
        return tool is not None and tool.kind == "read"

    for together, found in groupby(calls, reads):
        group = list(found)
        yield from [group] if together else [[call] for call in group]


async def _run_call(call: Call, share: int, runtime: ToolRuntime) -> _Output:
    tool = runtime.tool(call.name)
    title = _title(tool, call)
    runtime.events.emit(ToolStarted(call, title))
    try:
        given = await _use_tool(tool, call, runtime)
    except asyncio.CancelledError:
        runtime.events.emit(ToolFinished(call, _stopped(), title))
        raise
    if given.notice:
        runtime.events.emit(UserNotice(given.notice))
    text, output = given.text or NO_OUTPUT, given.output
    if output is None:
        output = await asyncio.to_thread(_store_output, text, runtime)
    shown, cut = _cut_to_room(text, share, output, runtime)
    if output:
        runtime.session.keep_output(call.id, output)
    result = Result((Text(shown), *_images(given, runtime.images)), given.error)
    runtime.events.emit(ToolFinished(call, result, title, given.diff, output))
    return _Output(result, cut or given.cut)


def _store_output(text: str, runtime: ToolRuntime) -> OutputRef | None:
    """Store an output; None if that fails: the session warns the user, and the model goes on with what it sees."""
    ref = output_ref_of(text)
    try:
        runtime.session.store.put(ref.id, text)
    except StoreFailed:
        return None
    return ref


async def _use_tool(tool: AgentTool | None, call: Call, runtime: ToolRuntime) -> ToolResult:
    if tool is None:
        names = ", ".join(each.name for each in runtime.tools)
        return ToolResult(NO_SUCH_TOOL.format(name=call.name, names=names), error=True)
    from yohaku.agent.tools import run_tool  # the tools load when one is used

    try:
        arguments = arguments_object(call.arguments).get(RAW, call.arguments)  # the tool may repair broken JSON
        return await run_tool(tool, runtime.context(call.id), arguments)
    except Exception as error:  # a tool may be anybody's: the model is told of its bugs, and the agent goes on
        return ToolResult(f"{call.name} failed: {type(error).__name__}: {error}", error=True)
    finally:
        if runtime.keeper:
            await runtime.keeper.end(call.id)


def add_note(results: dict[str, Result], note: str) -> dict[str, Result]:
    """Return the results with the note at the end of the last."""
    if not note or not results:
        return results
    name, result = list(results.items())[-1]
    first, *rest = result.parts or (Text(""),)
    noted = Text(f"{first.text}\n{note}") if isinstance(first, Text) else first
    return {**results, name: replace(result, parts=(noted, *rest))}


def _stopped() -> Result:
    return Result((Text(STOPPED),), error=True)


def _images(given: ToolResult, shown: bool) -> tuple[Part, ...]:
    if shown:
        return tuple(Opaque("image", data, "base64", mime) for mime, data in given.media)
    return (Text(NO_IMAGE),) if given.media and not given.text else ()


def _cut_to_room(text: str, share: int, output: OutputRef | None, runtime: ToolRuntime) -> tuple[str, bool]:
    """Cut the output of a tool that did not keep to its room; all of it is stored and can be opened."""
    if len(text) <= share or runtime.meter.count(text) <= share * OUTPUT_SLACK:
        return text, False
    with output_budget.limit_output(share, runtime.meter):
        return output_budget.keep_ends(text, CUT.format(count=len(text), kept=output_budget.ref_note(output)))


def _title(tool: AgentTool | None, call: Call) -> str:
    if tool is None:
        return call.name
    try:
        return tool.title(arguments_of(call.arguments))
    except (KeyError, TypeError, ValueError, AttributeError):  # an argument is missing or of another type
        return call.name
