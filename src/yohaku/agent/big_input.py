"""Prompts on their way into the conversation: one that is too big for the window is read part by part first, and so is
a big file that a prompt is about as a whole.

Law: the prompt is in the conversation before anything is requested, so that no failure loses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yohaku.agent.context import is_too_big
from yohaku.agent.event_queue import EventQueue, Stopped
from yohaku.agent.part_reader import PartNotes, PartReader
from yohaku.agent.parts import MAX_PARTS, InputPart, find_question, notes_text
from yohaku.agent.small_models.preload import BigFile, find_big_file
from yohaku.agent.tool_calls import room_for_results
from yohaku.analysis.window_profile import profile_for
from yohaku.core.originals import ref_of
from yohaku.passes.pieces import many, size_of

if TYPE_CHECKING:
    from yohaku.agent.agent import Agent


async def take_in(agent: Agent, prompt: str, note: str, events: EventQueue) -> bool:
    """Add a prompt with a note of ours; return whether something was read in parts."""
    context, mark = agent.context, agent.context.mark()
    context.add_prompt(prompt, note)
    weight, ledger = context.meter.count(prompt), mark.ledger
    if is_too_big(weight, context.budget, ledger):
        return not agent.session.refuses and await _read_prompt(agent, prompt, note, events)
    room = room_for_results(context.budget, ledger)
    if profile_for(context.budget.window).propose_split != "off" and (file := find_big_file(agent, prompt, room)):
        notes = await _read_file(agent, prompt, file, events)
        if notes:
            context.take_back_prompt(mark)
            context.add_prompt(prompt, "\n\n".join(filter(None, (_file_notes(file, notes), note))))
            _end_if_stopped(notes)
        return bool(notes)
    return False


async def _read_prompt(agent: Agent, prompt: str, note: str, events: EventQueue) -> bool:
    """Read a prompt that does not fit; from now on the notes are shown in place of it."""
    context, text = agent.context, "\n\n".join(filter(None, (prompt, note)))
    reader = PartReader(context, events, agent.lang, find_question(prompt))
    parts = reader.split(prompt)
    if not _announce(parts, "loop_split", agent, events):
        return False
    notes = await reader.read(parts)
    what = f"The user's text, {size_of(prompt)}, ref={ref_of(text)}"
    shown = notes_text(reader.question, what, notes.text, notes.read, notes.total)
    agent.session.notes[ref_of(text)] = "\n\n".join(filter(None, (shown, note)))
    _end_if_stopped(notes)
    return True


async def _read_file(agent: Agent, prompt: str, file: BigFile, events: EventQueue) -> PartNotes | None:
    """Read a file that the prompt is about, function by function."""
    reader = PartReader(agent.context, events, agent.lang, prompt, file.sections)
    parts = reader.split(file.text)
    first = next((name for part in parts for name in part.names), "")
    facts = {"name": file.name, "lines": file.text.count("\n") + 1, "begin": f"{first}()" if first else "1"}
    if not _announce(parts, "loop_by_function" if first else "loop_by_part", agent, events, **facts):
        return None
    agent.files.saw(file.path, file.text.encode())
    return await reader.read(parts)


def _announce(parts: list[InputPart], code: str, agent: Agent, events: EventQueue, **facts: object) -> bool:
    """Tell the user how many parts there are; return False where there are too many, or no room for any."""
    facts = {**facts, "parts": len(parts), "window": agent.window}
    if len(parts) < 2 or len(parts) > MAX_PARTS:
        if parts[1:]:
            events.notify("loop_too_many_parts", "warning", **facts)
        return False
    events.notify(code, **facts)
    return True


def _file_notes(file: BigFile, notes: PartNotes) -> str:
    what = f"{file.name}, {many(file.text.count(chr(10)) + 1, 'line')}"
    return notes_text("", what, notes.text, notes.read, notes.total)


def _end_if_stopped(notes: PartNotes) -> None:
    if notes.stopped:
        raise Stopped
