"""/undo, /redo and /diff for files: the lists they show, and the questions before anything is brought back."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from typing import Literal

from yohaku.agent.events import UserNotice
from yohaku.agent.file_history.file_history import FileHistory, UndoPlan
from yohaku.agent.file_history.kept_files import ChangedPath, FileChange
from yohaku.agent.file_history.restore import NotBroughtBack, PathPlan
from yohaku.agent.format import clip
from yohaku.agent.protocols import CommandContext
from yohaku.agent.toolkit.diffs import count_changed_lines, unified_diff
from yohaku.agent.toolkit.ordinary_files import show_name
from yohaku.agent.toolkit.secrets import redact
from yohaku.agent.toolkit.text_files import decode_file
from yohaku.messages import say

MAX_LISTED_PATHS = 40
MAX_DIFF_CHARS = 60_000
TITLE_WIDTH = 60


async def take_back(context: CommandContext, count: int, way: Literal["undo", "redo"] = "undo") -> str:
    """Show what would be brought back, ask, do it, and return what was done; empty where there is nothing."""
    assert context.agent is not None
    history, lang = context.agent.file_history, context.lang
    planning = history.plan_undo if way == "undo" else history.plan_redo
    plan = await asyncio.to_thread(planning, count)
    if not plan.changes:
        return ""
    context.show_notice(UserNotice(describe_plan(history, plan, lang, way, history.run)))
    yes, anyway, no = (say(f"files_{name}", lang) for name in ("yes", "overwrite", "no"))
    choices = (say("files_yes_but", lang), anyway, no) if plan.touched else (yes, no)
    answer = await context.question(say(f"files_ask_{way}", lang), choices, own_words=False)
    if answer not in choices[:-1]:
        return say("files_left", lang)
    carry_out = history.undo if way == "undo" else history.redo
    failures = await asyncio.to_thread(carry_out, plan, overwrite=answer == anyway)
    return describe_outcome(plan, failures, answer == anyway, lang, way)


def describe_plan(
    history: FileHistory, plan: UndoPlan, lang: str, way: Literal["undo", "redo"] = "undo", run: str = ""
) -> str:
    """Return what an undo would do: its changes, then each file with the lines that come and go.

    `run`: the session that asks; changes of others are marked.
    """
    lines = [say(f"files_plan_{way}", lang)]
    lines += [f"  {describe_change(change, lang, run)}" for change in plan.changes[:MAX_LISTED_PATHS]]
    rows = [_describe_path(history, path, lang) for path in plan.paths if path.needed and not path.stays]
    lines += [f"  {row}" for row in rows[:MAX_LISTED_PATHS]]
    if len(rows) > MAX_LISTED_PATHS:
        lines.append("  " + say("screen_more", lang, count=len(rows) - MAX_LISTED_PATHS))
    return "\n".join(lines if rows else [*lines, "  " + say("files_same", lang)])


def describe_change(change: FileChange, lang: str, run: str = "") -> str:
    when = time.strftime("%m-%d %H:%M", time.localtime(change.at))
    notes = [say("files_other_session", lang)] if run and change.run != run else []
    notes += [say("files_broken_off", lang)] if change.broken else []
    return "  ".join([say("files_change", lang, when=when, title=clip(redact(change.title), TITLE_WIDTH)), *notes])


def describe_outcome(
    plan: UndoPlan, failures: list[NotBroughtBack], overwrite: bool, lang: str, way: str = "undo"
) -> str:
    left = () if overwrite else plan.touched
    gone = {*(each.path for each in failures), *(each.path for each in left), *(each.path for each in plan.impossible)}
    count = sum(each.needed and each.path not in gone for each in plan.paths)
    lines = [say(f"files_done_{way}{'_one' * (count == 1)}", lang, count=count)]
    lines += [say("files_left_alone", lang, name=path_name(each.path)) for each in left]
    lines += [say("files_not_kept", lang, name=path_name(each.path)) for each in plan.impossible]
    lines += [
        say("files_failed" if why else "files_left_alone", lang, name=path_name(path), why=why)
        for path, why in failures
    ]
    return "\n".join(lines)


def session_diff(history: FileHistory, lang: str) -> str:
    """Return all changes of this session as one list and one diff."""
    parts = history.net_changes()
    if not parts:
        return say("diff_none", lang)
    rows = [_describe_part(history, part, lang, "diff_") for part in parts]
    diffs = [redact(found) for part in parts if (found := _diff_of(history, part))]
    text = "\n".join([say("diff_head", lang, count=len(parts)), *(f"  {row}" for row in rows), "", *diffs]).rstrip()
    return text if len(text) <= MAX_DIFF_CHARS else text[:MAX_DIFF_CHARS].rpartition("\n")[0] + "\n…"


def _describe_path(history: FileHistory, plan: PathPlan, lang: str) -> str:
    if plan.source is not None:
        names = {"name": path_name(plan.source), "to": path_name(plan.path)}
        return "  ".join([say("files_moved_back", lang, **names), *[say("files_touched", lang)] * plan.touched])
    row = _describe_part(history, ChangedPath(plan.path, plan.now, plan.target), lang, "files_")
    notes = [say("files_touched", lang)] if plan.touched else []
    notes += [] if plan.possible else [say("files_impossible", lang)]
    return "  ".join([row, *notes])


def _describe_part(history: FileHistory, part: ChangedPath, lang: str, prefix: str) -> str:
    before, after = part.before, part.after
    code = prefix + ("new" if before is None else "gone" if after is None else "changed")
    either = after or before
    name = path_name(part.path) + ("/" if either and either.kind == "folder" else "")
    pieces = [say(code, lang, name=name)]
    texts = texts_of(history, part)
    if texts is not None and texts[0] != texts[1]:
        pieces.append("+{} −{}".format(*count_changed_lines(*texts)))
    if before and after and before.mode != after.mode and before.kind == after.kind:
        pieces.append(f"{before.mode:o} → {after.mode:o}")
    return "  ".join(pieces)


def _diff_of(history: FileHistory, part: ChangedPath) -> str:
    texts = texts_of(history, part)
    return unified_diff(*texts, path_name(part.path)) if texts is not None else ""


def texts_of(history: FileHistory, part: ChangedPath) -> tuple[str, str] | None:
    """Return the texts before and after; None where one is no text."""
    states = [state for state in (part.before, part.after) if state is not None]
    if any(state.kind not in ("file", "link") for state in states):
        return None
    found = [decode_file(data) for data in _contents(history, part)]
    return (found[0][0], found[1][0]) if found[0] and found[1] else None


def _contents(history: FileHistory, part: ChangedPath) -> Iterable[bytes]:
    return history.content(part, "before"), history.content(part, "after")


def path_name(raw: bytes) -> str:
    """Return the name of a path for people."""
    return show_name(os.fsdecode(raw))
