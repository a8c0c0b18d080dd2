"""The truth at the end of a turn: files that were really changed, and what was left undone or broken.

Law: it goes by the history of the files and the results of the calls, never by what the model says; where neither tells
whether something was changed, nothing is said about it.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from yohaku.agent.events import TurnEnded, TurnProblem, UserNotice
from yohaku.agent.file_history.file_history import FileHistory
from yohaku.agent.file_history.kept_files import ChangedPath
from yohaku.agent.model_texts import REFUSED
from yohaku.agent.small_models.traced_command import is_trace
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.agent.toolkit.secrets import redact
from yohaku.agent.toolkit.tool import AgentTool
from yohaku.analysis.change_requests import asks_for_change, claims_change, is_continuation, wants_command
from yohaku.core.model import ToolUse
from yohaku.core.originals import arguments_of
from yohaku.messages import say

MAX_NAMED = 8
"""Files, and refused actions, that are named."""
MAX_COMMAND_CHARS = 100
_QUOTED = re.compile(r"`([^`\n]{2,200})`")


class ReportingAgent(Protocol):
    @property
    def root(self) -> Path: ...
    @property
    def lang(self) -> str: ...
    @property
    def permissions(self) -> Permissions: ...
    @property
    def file_history(self) -> FileHistory: ...

    def tool(self, name: str) -> AgentTool | None: ...


class _LastRun(NamedTuple):
    failed: bool
    state: object
    """What was changed by then, all changes together: a file that was brought back is as it was."""


class TurnReport:
    def __init__(self, agent: ReportingAgent, prompt: str, since: int) -> None:
        """`since`: number of the newest change of files before this turn."""
        self._agent, self._prompt, self._since = agent, prompt, since
        self._edited: dict[str, None] = {}
        """Files that edits have changed, as the model named them."""
        self._edits = 0
        self._commands: dict[str, list[_LastRun]] = {}
        """Commands that were run, and how their runs ended."""
        agent.permissions.refused.clear()

    @classmethod
    async def begin(cls, agent: ReportingAgent, prompt: str) -> TurnReport:
        return cls(agent, prompt, await asyncio.to_thread(_newest_change, agent))

    async def add(self, uses: Iterable[ToolUse]) -> None:
        """Take in the calls of a step."""
        for use in uses:
            tool, arguments = self._agent.tool(use.call.name), _arguments(use)
            if tool is None or use.result.text.startswith(REFUSED) or is_trace(str(arguments.get("command", ""))):
                continue
            if tool.kind == "run" and isinstance(command := arguments.get("command"), str):
                runs = self._commands.pop(command, [])
                state = await asyncio.to_thread(self._state)
                self._commands[command] = [*runs, _LastRun(use.result.error, state)]
            elif tool.kind == "write" and not use.result.error:
                self._edited[str(arguments.get("path", ""))] = None
                self._edits += 1

    async def finish(self, ended: TurnEnded) -> tuple[UserNotice | None, tuple[TurnProblem, ...]]:
        """Return what the user is told at the end, and what was left undone or broken."""
        if ended.why == "too_big":  # nothing was sent
            return None, ()
        try:
            lines, problems = await asyncio.to_thread(self._collect, ended)
        except (OSError, sqlite3.Error):
            return None, ()
        if not lines:
            return None, ()
        return UserNotice("\n".join(lines), "warning" if problems else "note"), problems

    def _collect(self, ended: TurnEnded) -> tuple[list[str], tuple[TurnProblem, ...]]:
        lang = self._agent.lang
        parts = self._agent.file_history.net_changes(self._since)
        names = [_describe(self._agent.file_history, part, lang) for part in parts]
        if self._agent.file_history.trouble:
            names = names or list(self._edited)
        lines = [say("end_changed", lang, names=_join(names, lang))] if names else []
        told = list(self._find_problems(ended, parts, changed=bool(names)))
        lines += [redact(line) for _, line in told]
        expected = {"refused"} if self._agent.permissions.changes_nothing else set()  # the user chose that mode
        return lines, tuple(dict.fromkeys(problem for problem, _ in told if problem and problem not in expected))

    def _find_problems(
        self, ended: TurnEnded, parts: list[ChangedPath], *, changed: bool
    ) -> Iterator[tuple[TurnProblem | Literal[""], str]]:
        """Yield each problem and a line about it; a line that is no problem has none."""
        lang = self._agent.lang
        for name, line, why in self._broken(parts):
            yield "does_not_parse", say("end_does_not_parse", lang, name=name, line=line, why=why)
        state = self._state()
        for command, run in self._failing(state):
            if run.state == state:
                yield "command_fails", say("end_command_fails", lang, command=command[:MAX_COMMAND_CHARS])
            else:
                yield "", say("end_not_run_again", lang, command=command[:MAX_COMMAND_CHARS])
        if self._agent.permissions.refused:
            names = [" ".join(title.split()) for title in self._agent.permissions.refused]
            yield "refused", say("end_refused", lang, names=_join(names, lang))
        if not changed and ended.why != "stopped" and self._wants_change(ended) and self._may_say_unchanged():
            claimed = claims_change(ended.text)
            yield "nothing_changed", say("end_only_claimed" if claimed else "end_nothing_changed", lang)

    def _wants_change(self, ended: TurnEnded) -> bool:
        """Return whether a change was asked for: now, or before where the user only said to go on.

        Of an earlier wish it is only known that the model claims to have fulfilled it; it may mean a change of then.
        """
        if asks_for_change(self._prompt):
            return True
        return (
            is_continuation(self._prompt) and claims_change(ended.text) and not self._agent.file_history.net_changes()
        )

    def _broken(self, parts: list[ChangedPath]) -> Iterator[tuple[str, int, str]]:
        """Files of this turn that do not parse and did before, or are new."""
        from yohaku.agent.commands.files import path_name, texts_of
        from yohaku.agent.toolkit.syntax_errors import find_breakage

        for part in parts[: 4 * MAX_NAMED]:
            texts = texts_of(self._agent.file_history, part) if part.after else None
            name = path_name(part.path)
            found = find_breakage(texts[0] if part.before else None, texts[1], name) if texts else None
            if found and found.new:
                yield name, *found.fault

    def _state(self) -> object:
        """Return what the turn has changed so far, or how many edits there were where that is not kept."""
        history = self._agent.file_history
        try:
            return (tuple(history.net_changes(self._since)), self._edits if history.trouble else 0)
        except (OSError, sqlite3.Error):
            return self._edits

    def _failing(self, state: object) -> Iterator[tuple[str, _LastRun]]:
        """Commands that the user named and that failed when they were last run, with the files as they are if ever."""
        if not asks_for_change(self._prompt) and not wants_command(self._prompt):
            return
        last: dict[str, _LastRun] = {}
        for command, runs in self._commands.items():
            if name := self._named(" ".join(command.split())):
                last[name] = next((run for run in reversed(runs) if run.state == state), runs[-1])
        yield from ((name, run) for name, run in last.items() if run.failed)

    def _named(self, command: str) -> str:
        """Return the words by which the user named this command; empty if they did not."""
        prompt = " ".join(self._prompt.split())
        for quoted in (" ".join(each.split()) for each in _QUOTED.findall(prompt)):
            if re.search(rf"(?:^|&& |; ){re.escape(quoted)}(?:$|\s)", command):
                return quoted
        found = re.search(rf"(?<![\w./-]){re.escape(command)}(?![\w/-]|\.\w)", prompt)
        return command if found and len(command) > 1 else ""

    def _may_say_unchanged(self) -> bool:
        """Return whether it is known that nothing was changed, and that nothing else can have been meant."""
        if not any(self._agent.tool(name) for name in ("edit", "write")):
            return False
        done = [command for command, runs in self._commands.items() if not runs[-1].failed]
        if self._agent.file_history.trouble and done:
            return False
        from yohaku.agent.file_history.losses import acts_elsewhere

        return not any(acts_elsewhere(command, self._agent.root) for command in done)


def _newest_change(agent: ReportingAgent) -> int:
    try:
        return agent.file_history.newest
    except (OSError, sqlite3.Error):  # nothing is kept then, and edits are known by their calls
        return 0


def _describe(history: FileHistory, part: ChangedPath, lang: str) -> str:
    from yohaku.agent.commands.files import path_name, texts_of
    from yohaku.agent.toolkit.diffs import count_changed_lines

    kind = "new" if part.before is None else "gone" if part.after is None else "edited"
    texts = texts_of(history, part)
    put, taken = count_changed_lines(*texts) if texts else (0, 0)
    pieces = [f"+{put}"] * bool(put or kind == "edited") + [f"−{taken}"] * bool(taken or kind == "edited")
    lines = " ".join(pieces) if texts else ""
    name = path_name(part.path)
    if kind == "edited":
        return say("end_edited", lang, name=name, lines=lines) if lines else name
    return say(f"end_{kind}", lang, name=name, lines=f", {lines}" if lines else "")


def _join(names: list[str], lang: str) -> str:
    more = say("end_more", lang, count=len(names) - MAX_NAMED) if len(names) > MAX_NAMED else ""
    return say("end_join", lang).join(names[:MAX_NAMED]) + more


def _arguments(use: ToolUse) -> dict[str, Any]:
    try:
        found = arguments_of(use.call.arguments)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
