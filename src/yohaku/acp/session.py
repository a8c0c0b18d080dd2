"""One conversation in an editor: a user interface of the agent that speaks the Agent Client Protocol.

Law: a permission is given only by the editor's answer "allow"; "always" is not offered for what is dangerous. Every
call that was announced has an end, whatever happens.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from acp import RequestError, helpers
from acp.interfaces import Client
from acp.schema import (
    AllowedOutcome,
    CurrentModeUpdate,
    PermissionOption,
    PromptResponse,
    StopReason,
    TextResourceContents,
    ToolCallUpdate,
    Usage,
    UsageUpdate,
)

from yohaku.acp import updates
from yohaku.agent.agent import Agent
from yohaku.agent.commands import slash_commands
from yohaku.agent.commands.own_commands import list_own_commands
from yohaku.agent.events import (
    ConversationFolded,
    Event,
    FoldsReused,
    Gauge,
    ReplyFinished,
    TextDelta,
    ThoughtDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnEnded,
    UserNotice,
)
from yohaku.agent.format import describe_folding, strip_controls
from yohaku.agent.protocols import Allowed, WorkingAgent
from yohaku.agent.startup import Starter
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.messages import say

STOP_REASONS: dict[str, StopReason] = {"done": "end_turn", "stopped": "cancelled", "steps": "max_turn_requests"}
"""Ends of a turn that are no error."""
OUTPUT_INTERVAL = 0.3
"""Seconds between two updates of a running tool's output."""
OUTPUT_TAIL_CHARS = 4_000
FAILED = -32603
"""Code of an error in JSON-RPC that is nobody's misuse."""


class AcpSession:
    """A surface, and the context of the slash commands; `start` gives it its agent."""

    def __init__(self, session_id: str, client: Client, begin: Starter) -> None:
        self.id = session_id
        self.begin = begin
        self.lang = begin.settings.lang
        self.agent: Agent | None = None
        self.turn = asyncio.Lock()
        self._client = client
        self._waiting: list[UserNotice] = []
        """Notices from before the editor knew this conversation."""
        self._known = False
        self._calls: dict[str, bool] = {}
        """Calls announced to the editor, and whether they have ended."""
        self._output: dict[str, str] = {}
        self._output_sent = 0.0
        self._usage: Usage | None = None
        self._trouble = ""
        self._cancelled = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, *, like: Agent | None = None, resume: str = "") -> Agent:
        """Make the agent, with the model of `like` if there is one; `RequestError` says why there is none."""
        known: dict[str, Any] = {"endpoint": like.endpoint, "window": like.window} if like else {}
        agent = await self.begin(self, resume=resume, **known)
        if not isinstance(agent, Agent):
            raise RequestError(FAILED, " ".join(notice.text for notice in self._waiting) or "no model")
        self.agent = agent
        return agent

    # -- The surface

    async def allow(self, ask: PermissionRequest) -> Allowed:
        options = [("once", "acp_allow_once", "allow_once"), ("no", "acp_reject", "reject_once")]
        if ask.remember and not ask.danger and not ask.grave:
            options.insert(1, ("always", "acp_allow_always", "allow_always"))
        rows = [
            PermissionOption(option_id=option, name=say(code, self.lang, about=ask.remember), kind=kind)  # type: ignore[arg-type]
            for option, code, kind in options
        ]
        title = strip_controls(ask.title)
        if ask.danger:
            title = f"{title} ({say('allow_danger', self.lang, why=ask.danger)})"
        content = self._content(ask)
        answer = await self._ask(ask.call or f"ask-{len(self._calls)}", title, updates.kind_of(ask.tool), content, rows)
        return "once" if answer == "once" else "always" if answer == "always" and len(rows) == 3 else "no"

    async def question(self, text: str, choices: tuple[str, ...] = (), *, own_words: bool = True) -> str:
        """Ask by a list of choices: the protocol has no free text, so a question without choices is not answered."""
        if not choices or not self._known:
            return ""
        rows = [
            PermissionOption(option_id=str(number), name=strip_controls(choice), kind="allow_once")
            for number, choice in enumerate(choices)
        ]
        call = f"question-{len(self._calls)}"
        answer = await self._ask(call, strip_controls(text), "other", [], rows)
        self._calls[call] = True
        await self.send(helpers.update_tool_call(call, status="completed"))
        return choices[int(answer)] if answer else ""

    async def secret(self, text: str) -> str:
        """Give no answer: the protocol has no field that hides what is typed."""
        return ""

    def show_notice(self, notice: UserNotice) -> None:
        if not self._known:
            self._waiting.append(notice)
            return
        task = asyncio.ensure_future(self._show_notice(notice))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def progress(self, what: str, done: int, total: int) -> None:
        """Show nothing: a conversation has no place for it."""

    async def renew(self, *, resume: str = "") -> WorkingAgent | None:
        """Keep the conversation: the editor begins new ones."""
        return None

    # -- For the server

    @property
    def own_commands(self) -> dict[str, Path]:
        """Files of the user's own commands by their names."""
        return list_own_commands(self.agent.root) if self.agent else {}

    async def introduce(self, commands: Iterable[slash_commands.Command]) -> None:
        """Send what the editor can use once it knows the conversation."""
        from acp.schema import AvailableCommand, AvailableCommandInput, UnstructuredCommandInput

        self._known = True
        rows = [
            AvailableCommand(
                name=command.name,
                description=command.about(self.lang),
                input=AvailableCommandInput(UnstructuredCommandInput(hint=command.takes)) if command.takes else None,
            )
            for command in commands
        ]
        hint = AvailableCommandInput(UnstructuredCommandInput(hint="…"))
        rows += [
            AvailableCommand(name=name, description=path.name, input=hint) for name, path in self.own_commands.items()
        ]
        await self.send(helpers.update_available_commands(rows))
        if self.agent:
            await self._show(self.agent.gauge)

    async def replay(self) -> None:
        assert self.agent is not None
        for update in updates.replay(self.agent.conversation.history, self.agent.root, self.lang):
            await self.send(update)
        if self.agent.todo:
            await self.send(helpers.update_plan(updates.plan(self.agent.todo)))

    async def work(self, text: str) -> PromptResponse:
        """Work on one prompt until its turn ends."""
        assert self.agent is not None
        self._known, self._cancelled = True, False
        for notice in self._waiting:
            await self._show_notice(notice)
        self._waiting.clear()
        if self._cancelled:  # while the notices were sent: the agent forgets a stop from before its turn
            return PromptResponse(stop_reason="cancelled")
        self._usage, self._trouble, why = None, "", "failed"
        try:
            async with aclosing(self.agent.work(text)) as events:
                async for event in events:
                    await self._show(event)
                    if isinstance(event, TurnEnded):
                        why = event.why
        finally:
            await self._end_calls("completed" if why == "done" else "failed")
            await self._send_notices()
        if why not in STOP_REASONS:
            raise RequestError(FAILED, self._trouble or why)
        return PromptResponse(stop_reason=STOP_REASONS[why], usage=self._usage)

    def cancel(self) -> None:
        """Stop the turn, also one that is about to begin."""
        self._cancelled = True
        if self.agent:
            self.agent.stop()

    async def run_command(self, line: str) -> PromptResponse:
        mode = self.agent.mode if self.agent else ""
        done = await slash_commands.run_command(self, line)
        await self._send_notices()
        if self.agent and self.agent.mode != mode:
            await self.send(CurrentModeUpdate(session_update="current_mode_update", current_mode_id=self.agent.mode))
        if done.do == "prompt":
            return await self.work(done.text)
        if done.text:
            block = updates.output_content(done.text).content
            await self.send(helpers.update_agent_message(block))
        if self.agent:
            await self._show(self.agent.gauge)
        return PromptResponse(stop_reason="end_turn")

    async def send(self, update: updates.Update) -> None:
        await self._client.session_update(self.id, update)

    # -- Steps

    async def _show(self, event: Event) -> None:
        assert self.agent is not None
        root = self.agent.root
        match event:
            case TextDelta(text):
                await self.send(helpers.update_agent_message_text(strip_controls(text)))
            case ThoughtDelta(text):
                await self.send(helpers.update_agent_thought_text(strip_controls(text)))
            case ToolStarted(call, title):
                asked_already = call.id in self._calls  # a question may overtake the event
                self._calls[call.id] = False
                await self.send(updates.tool_started(call, title, root, announced=asked_already))
            case ToolOutput(call_id, text):
                await self._show_output(call_id, text)
            case ToolFinished(call, result, title, diff):
                self._calls[call.id] = True
                self._output.pop(call.id, None)
                await self.send(updates.tool_finished(call, result, title, diff, root, self.lang))
                if call.name == "todo" and not result.error:
                    await self.send(helpers.update_plan(updates.plan(self.agent.todo)))
            case ConversationFolded() | FoldsReused():
                await self._show_notice(UserNotice(describe_folding(event, self.lang)))
            case Gauge(used=used, window=window):
                await self.send(UsageUpdate(session_update="usage_update", used=used, size=window))
            case ReplyFinished(usage):
                self._usage = updates.add_usage(self._usage, usage)
            case UserNotice():
                await self._show_notice(event)

    async def _show_notice(self, notice: UserNotice) -> None:
        """Show a sentence of ours as a quotation; an error is also the reason of a failed turn."""
        if notice.kind == "error":
            self._trouble = notice.text
        lines = strip_controls(notice.text).strip().splitlines()
        await self.send(helpers.update_agent_message_text("\n\n" + "\n".join(f"> {line}" for line in lines) + "\n\n"))

    async def _show_output(self, call: str, text: str) -> None:
        """Show the newest output of a running tool, a few times a second at most."""
        self._output[call] = tail = (self._output.get(call, "") + text)[-OUTPUT_TAIL_CHARS:]
        now = time.monotonic()
        if now - self._output_sent >= OUTPUT_INTERVAL:
            self._output_sent = now
            await self.send(helpers.update_tool_call(call, content=[updates.output_content(tail)]))

    def _content(self, ask: PermissionRequest) -> list[updates.Content]:
        assert self.agent is not None
        if ask.kind == "write" and ask.detail:
            return updates.diff_contents(ask.detail, self.agent.root)
        return [updates.output_content(ask.detail)] if ask.detail else []

    async def _ask(
        self, call: str, title: str, kind: Any, content: list[updates.Content], options: list[PermissionOption]
    ) -> str:
        """Return the id of the option that was chosen; empty for none."""
        await self._send_notices()
        if self._calls.get(call):  # a sub-agent numbers its calls by itself
            call = f"{call}-{len(self._calls)}"
        if call not in self._calls:
            self._calls[call] = False
            await self.send(helpers.start_tool_call(call, title, kind=kind, status="pending"))
        shown = ToolCallUpdate(tool_call_id=call, title=title, kind=kind, status="pending", content=content or None)  # type: ignore[arg-type]
        try:
            answer = await self._client.request_permission(self.id, shown, options)
        except RequestError as error:  # an editor that cannot ask: nothing is allowed
            print(f"yohaku: {error}", file=sys.stderr)
            return ""
        chosen = answer.outcome.option_id if isinstance(answer.outcome, AllowedOutcome) else ""
        return chosen if chosen in {option.option_id for option in options} else ""

    async def _end_calls(self, status: Literal["completed", "failed"]) -> None:
        for call in [call for call, ended in self._calls.items() if not ended]:
            self._calls[call] = True
            await self.send(helpers.update_tool_call(call, status=status))

    async def _send_notices(self) -> None:
        """Wait until the notices are sent that were shown so far: what follows them may be about them."""
        while self._tasks:
            await asyncio.gather(*self._tasks)


def prompt_text(blocks: Iterable[Any]) -> str:
    """Return a prompt as one text: files are named where they are linked, and shown where they came with it."""
    parts: list[str] = []
    for block in blocks:
        if block.type == "text":
            parts.append(block.text)
        elif block.type == "resource_link":
            parts.append(_path_of(block.uri))
        elif block.type == "resource" and isinstance(block.resource, TextResourceContents):
            text = block.resource.text
            fence = "`" * (3 + ("```" in text) * 3)
            parts.append(f"\n{_path_of(block.resource.uri)}:\n{fence}\n{text}\n{fence}\n")
    return "".join(parts)


def _path_of(uri: str) -> str:
    split = urlsplit(uri)
    lines = f" (lines {split.fragment.removeprefix('L').replace('L', '').replace(':', '-')})" if split.fragment else ""
    return unquote(split.path) + lines if split.scheme == "file" else uri
