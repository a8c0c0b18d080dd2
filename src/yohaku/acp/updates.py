"""Events of the agent as updates of the Agent Client Protocol.

Law: a value in, a value out; a path in an update is absolute.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from acp import helpers
from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    PlanEntry,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolKind,
    Usage,
)

from yohaku.agent.format import call_title, strip_controls
from yohaku.agent.model_texts import REFUSED, STOPPED, failure_for_people, prompt_for_people
from yohaku.agent.tools.todo import TodoItem
from yohaku.core.model import Call, History, Result, Text, ToolUse
from yohaku.dialects import answer

Content: TypeAlias = ContentToolCallContent | FileEditToolCallContent
Update: TypeAlias = Any
"""One of the updates that `session_update` takes."""

KINDS: dict[str, ToolKind] = {
    "read": "read", "list_dir": "read", "tool_output_cache": "read", "tool_output_cache_grep": "search",
    "glob": "search", "grep": "search", "edit": "edit", "multi_edit": "edit", "write": "edit", "notebook_edit": "edit",
    "bash": "execute", "web_fetch": "fetch", "todo": "think", "sub_agent": "think",
}  # fmt: skip
PLAN_STATUSES = {"pending": "pending", "doing": "in_progress", "done": "completed"}
MAX_OUTPUT_CHARS = 50_000
"""Characters of a tool's output that are shown; the model may have more of it."""
_HUNK = re.compile(r"^@@ -(\d+)")


def kind_of(tool: str) -> ToolKind:
    return KINDS.get(tool, "other")


def tool_started(call: Call, title: str, root: Path, *, announced: bool = False) -> ToolCallStart | ToolCallProgress:
    arguments = _arguments(call)
    if announced:
        where = locations(arguments, root)
        return helpers.update_tool_call(call.id, kind=kind_of(call.name), locations=where, raw_input=arguments or None)
    return helpers.start_tool_call(
        call.id,
        strip_controls(title),
        kind=kind_of(call.name),
        status="in_progress",
        locations=locations(arguments, root),
        raw_input=arguments or None,
    )


def tool_finished(call: Call, result: Result, title: str, diff: str, root: Path, lang: str) -> ToolCallProgress:
    text = result.text
    if text.startswith((REFUSED, STOPPED)):
        text = failure_for_people(call.name, text, lang)
    shown = diff_contents(diff, root) if diff else [output_content(text)] if text else []
    return helpers.update_tool_call(
        call.id,
        title=strip_controls(title),
        kind=kind_of(call.name),
        status="failed" if result.error else "completed",
        content=shown,
        locations=locations(_arguments(call), root, _first_line(diff)),
    )


def locations(arguments: dict[str, Any], root: Path, line: int | None = None) -> list[ToolCallLocation]:
    """Return the file a call is about, for editors that follow the agent."""
    path, offset = arguments.get("path"), arguments.get("offset")
    if not isinstance(path, str) or not path or "\0" in path:
        return []
    if line is None and isinstance(offset, int) and offset > 0:
        line = offset
    return [ToolCallLocation(path=str(root / path), line=line)]


def diff_contents(diff: str, root: Path) -> list[Content]:
    """Return a unified diff as one pair of texts a hunk; what is none is shown as text."""
    found: list[Content] = []
    path, new_file = "", False
    for block in _blocks(diff):
        if block[0].startswith("--- "):
            new_file = block[0] == "--- /dev/null"
            names = [line[4:] for line in block[:2]]
            path = next((name for name in reversed(names) if name != "/dev/null"), "")
        elif path:
            old = "\n".join(line[1:] for line in block[1:] if line[:1] in " -")
            new = "\n".join(line[1:] for line in block[1:] if line[:1] in " +")
            whole = str(root / path)
            found.append(helpers.tool_diff_content(whole, new, None if new_file else old))
    return found or [output_content(diff)]


def output_content(text: str) -> ContentToolCallContent:
    """Return output as a block of code, since editors read a text as Markdown."""
    text = strip_controls(text).rstrip("\n")
    if len(text) > MAX_OUTPUT_CHARS:
        text = text[:MAX_OUTPUT_CHARS] + "\n…"
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return helpers.tool_content(helpers.text_block(f"{fence}\n{text}\n{fence}"))


def plan(items: Iterable[TodoItem]) -> list[PlanEntry]:
    return [helpers.plan_entry(text, status=PLAN_STATUSES[status]) for status, text in items]  # type: ignore[arg-type]


def add_usage(sum_so_far: Usage | None, usage: answer.Usage | None) -> Usage | None:
    """Add the tokens billed for one reply to those of the turn."""
    if usage is None:
        return sum_so_far
    old = sum_so_far or Usage(total_tokens=0, input_tokens=0, output_tokens=0)
    return Usage(
        total_tokens=old.total_tokens + usage.total,
        input_tokens=old.input_tokens + usage.input,
        output_tokens=old.output_tokens + usage.output,
        cached_read_tokens=(old.cached_read_tokens or 0) + usage.cache_read,
        cached_write_tokens=(old.cached_write_tokens or 0) + usage.cache_write,
    )


def replay(history: History, root: Path, lang: str) -> Iterator[Update]:
    """Yield an earlier conversation as the updates that showed it."""
    for turn in history.turns:
        for part in turn.prompt:
            if isinstance(part, Text) and part.text.strip():
                yield helpers.update_user_message_text(prompt_for_people(part.text))
        for step in turn.steps:
            for item in step.items:
                if isinstance(item, Text) and item.text.strip():
                    yield helpers.update_agent_message_text(item.text)
                elif isinstance(item, ToolUse):
                    title = call_title(item.call)
                    yield tool_started(item.call, title, root)
                    yield tool_finished(item.call, item.result, title, "", root, lang)


def _arguments(call: Call) -> dict[str, Any]:
    try:
        found = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _blocks(diff: str) -> Iterator[list[str]]:
    """Yield the heads and hunks of a unified diff."""
    block: list[str] = []
    lines = diff.splitlines()
    for at, line in enumerate(lines):
        head = line.startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1].startswith("+++ ")
        if head or _HUNK.match(line):
            if block:
                yield block
            block = []
        if head or block or _HUNK.match(line):
            block.append(line)
    if block:
        yield block


def _first_line(diff: str) -> int | None:
    found = re.search(_HUNK.pattern, diff, re.MULTILINE)
    return int(found[1]) if found else None
