"""Reminders for the model after a folding: its plan, and the files that have changed since it read them.

Law: a folding hides neither. Both are the agent's own state, so that they come back in every recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from yohaku.agent.model_texts import CHANGED
from yohaku.agent.toolkit.seen_files import SeenFiles
from yohaku.analysis.shorten import shorten
from yohaku.core.model import Step
from yohaku.core.originals import arguments_of

TITLE = "[Reminder by the program, not by the user]"
PLAN = "Your todo list, as you wrote it last:"
MAX_LIMIT_SHARE = 16
"""A reminder takes at most one part in so many of the limit."""


@dataclass
class Reminders:
    todo: list[tuple[str, str]]
    """Status and text of each item of the plan."""
    files: SeenFiles

    _notes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Notes that stand in results or prompts, with the files that they name."""

    def note_changes(self) -> str:
        """Return a note for the model on files that somebody else has changed since it read them, once a change."""
        names = self.files.changed()
        note = CHANGED.format(names=", ".join(names)) if names else ""
        if note:
            self._notes[note] = names
        return note

    @property
    def kept_lines(self) -> tuple[str, ...]:
        """Notes that are still true, which stay where the text around them is folded."""
        changed = set(self.files.all_changed()) if self._notes else ()
        return tuple(note for note, names in self._notes.items() if any(name in changed for name in names))

    def write(self, limit: int, count: Callable[[str], int]) -> str:
        """Return the text for a gist, empty where there is nothing to remind of. If it is too long done items go."""
        changed = self.files.all_changed()
        if not self.todo and not changed:
            return ""
        note = CHANGED.format(names=", ".join(changed)) if changed else ""
        whole, tokens = _render(self.todo, len(self.todo), note), limit // MAX_LIMIT_SHARE
        if not self.todo or count(whole) <= tokens:
            return whole
        left = [item for item in self.todo if item[0] != "done"] or self.todo
        return shorten(lambda size: _render(left, size, note), len(left), tokens, count) or _render((), 0, note)

    def resume(self, steps: Iterable[Step]) -> None:
        """Take the plan as the model wrote it last."""
        from yohaku.agent.toolkit.arguments import BadArguments, repair_arguments
        from yohaku.agent.tools.todo import TOOL, read_items

        self.todo.clear()
        for use in [use for step in steps for use in step.uses if use.call.name == TOOL.name and not use.result.error]:
            try:
                self.todo[:] = read_items(repair_arguments(TOOL, arguments_of(use.call.arguments)))
            except BadArguments:
                continue


def _render(items: Sequence[tuple[str, str]], size: int, note: str) -> str:
    from yohaku.agent.tools.todo import format_item

    more = [f"… and {len(items) - size:,} more"] if size < len(items) else []
    plan = [PLAN, *map(format_item, items[:size]), *more] if items else []
    return "\n".join(filter(None, [TITLE, *plan, note]))
