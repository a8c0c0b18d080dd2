"""Facts about a session beside the gauge: mode, git branch, changed files, speed, plan, last folding.

Law: each is a line or two that can be read without colours; what is not known has no line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from yohaku.agent.format import clip
from yohaku.messages import say

if TYPE_CHECKING:
    from yohaku.agent.protocols import WorkingAgent

MAX_STEPS = 5
"""Steps of the plan that are shown: those that are open, the current one first."""
MARKS = {"doing": "▸", "pending": "·", "done": "✓"}


@dataclass(frozen=True, slots=True)
class FilesState:
    branch: str = ""
    """Name of the git branch; empty outside of a repository."""
    changed: int = 0
    """Files that differ from the last commit; outside of a repository those this session has changed."""


@dataclass(frozen=True, slots=True)
class PanelFacts:
    mode: str = ""
    files: FilesState = FilesState()
    reading: float = 0.0
    """Tokens in a second."""
    writing: float = 0.0
    plan: tuple[tuple[str, str], ...] = ()
    """Status and text of each step."""
    folding: str = ""
    """The last folding, in words."""


def read_files_state(agent: WorkingAgent) -> FilesState:
    """Return branch and changed files; it runs git, so call it in a thread."""
    from yohaku.agent.file_history.git_status import read_git_status

    root: Path = agent.root
    if status := read_git_status(root):
        return FilesState(status.branch, status.changed or 0)
    return FilesState("", len(agent.file_history.net_changes()))


def describe_mode(facts: PanelFacts, lang: str) -> str:
    return say(f"mode_{facts.mode.replace('-', '_')}", lang) if facts.mode else ""


def describe_files(files: FilesState, lang: str) -> str:
    """Return `main · 3 files changed`, for one line."""
    return " · ".join(filter(None, (files.branch, describe_changed(files, lang))))


def describe_changed(files: FilesState, lang: str) -> str:
    name = "panel_changed_one" if files.changed == 1 else "panel_changed"
    return say(name, lang, count=files.changed) if files.changed else ""


def fact_lines(facts: PanelFacts, lang: str, width: int) -> list[str]:
    """Return mode, branch, changed files and speed, a line each."""
    files = facts.files
    lines = [
        say("panel_mode", lang, mode=describe_mode(facts, lang)) if facts.mode else "",
        say("panel_branch", lang, branch=files.branch) if files.branch else "",
        describe_changed(files, lang),
        say("panel_reads", lang, speed=facts.reading) if facts.reading else "",
        say("panel_writes", lang, speed=facts.writing) if facts.writing else "",
    ]
    return [clip(line, width) for line in lines if line]


def plan_lines(plan: Sequence[tuple[str, str]], lang: str, width: int, most: int = MAX_STEPS) -> list[str]:
    """Return `Plan 2/5` and the open steps, the current one first."""
    if not plan:
        return []
    done = sum(status == "done" for status, _ in plan)
    steps = [step for step in plan if step[0] == "doing"] + [step for step in plan if step[0] == "pending"]
    lines = [clip(f"{MARKS.get(status, '·')} {text}", width) for status, text in steps[:most]]
    more = [say("panel_steps_more", lang, count=len(steps) - most)] if len(steps) > most else []
    return [say("panel_plan", lang, done=done, count=len(plan)), *lines, *more]
