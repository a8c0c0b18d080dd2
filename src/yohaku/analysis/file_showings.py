"""Places of a view that show a file: results of reads, and arguments that were written to it.

Used to decide whether a later place shows all of an earlier one. That is decided by lines, not by what a call asked
for: tools cut what they return.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from yohaku.analysis.file_access import SEARCH_WORDS, LineRange, find_accesses
from yohaku.analysis.shell import ShellCommand, split_commands
from yohaku.analysis.tool_calls import RUN_WORDS, find_command, normalize_name, split_tool_name
from yohaku.core.model import Step, Text, ToolUse
from yohaku.core.originals import Slot, arguments_of
from yohaku.core.view import View

# Uses and where they stand

NO_PARTS: frozenset[int | str] = frozenset()


class ToolUseAt(NamedTuple):
    """A tool use and its place."""

    step: Step
    item: int
    use: ToolUse
    newest: bool
    """Part of the newest step."""
    folded: frozenset[int | str] = NO_PARTS
    """Parts of the result (numbers) and arguments (names) that are folded already, and show nothing."""

    @property
    def at(self) -> tuple[str, int]:
        return self.step.key, self.item

    @property
    def result_is_shown(self) -> bool:
        return not any(type(part) is int for part in self.folded)

    def result_slots(self) -> Iterator[Slot]:
        """Yield the slots of the texts of the result."""
        for number, part in enumerate(self.use.result.parts):
            if isinstance(part, Text):
                yield Slot("result", self.item, number)


def find_uses(view: View, newest: int) -> Iterator[ToolUseAt]:
    """Yield the visible uses of the newest steps, oldest first."""
    steps = [step for turn in view.visible() for step in turn.steps][-newest:]
    for step in steps:
        stubs = [slot for slot in view.stubs.get(step.key, ()) if slot.where != "thought"]
        for index, item in enumerate(step.solid):
            if isinstance(item, ToolUse):
                folded = frozenset([slot.part for slot in stubs if slot.item == index]) if stubs else NO_PARTS
                yield ToolUseAt(step, index, item, step is steps[-1], folded)


# Showings of a file

TEXT_ARGUMENTS = frozenset(
    "content contents filetext filecontent newstring newstr newtext newcontent newsource".split()
)
"""Names of arguments that hold text for a file, without case and underscores."""

WRITE_WORDS = frozenset("write create save overwrite writer".split())
READ_ONLY_COMMANDS = frozenset("cat nl head tail sed less more bat get-content gc type".split())
QUIET_COMMANDS = frozenset("cd echo printf pwd true".split())
MIN_WRITTEN_CHARS = 48
"""Shorter texts are not worth a stub."""
MAX_SUBCOMMAND_CHARS = 24
"""A longer `command` argument is not the subcommand of an editor tool."""


class FileEdit(NamedTuple):
    """A change of a file."""

    use: ToolUseAt


class FileShown(NamedTuple):
    """A file, or some of its lines, in a result or an argument."""

    use: ToolUseAt
    slot: Slot
    text: str
    ranges: tuple[LineRange, ...] = ()
    """The lines it shows; () if not known."""
    written: bool = False
    """The whole file was written."""


def find_showings(use: ToolUseAt) -> Iterator[tuple[str, FileShown | FileEdit]]:
    """Yield the path and kind of each showing or edit in one use."""
    accesses = [access for access in find_accesses(use.use) if access.ok]
    paths = {access.path for access in accesses}
    command = find_command(use.use)
    if all(access.kind == "read" for access in accesses):
        slot = next(use.result_slots(), None)
        if slot and len(paths) == 1 and (command is None or all(map(_only_reads, split_commands(command)))):
            ranges = tuple(access.lines or (1, -1) for access in accesses)
            yield paths.pop(), FileShown(use, slot, use.use.result.text, ranges)
        return
    for path in paths:
        yield path, FileEdit(use)
    if command is None and len(paths) == 1:
        yield from ((path, showing) for showing in _find_written(use))


def _only_reads(part: ShellCommand) -> bool:
    known = READ_ONLY_COMMANDS | QUIET_COMMANDS
    return bool(part.words) and not part.writes and not part.appends and part.words[0] in known


def _find_written(use: ToolUseAt) -> Iterator[FileShown]:
    """Yield the arguments that hold text for a file: all of it, or a piece from an unknown place."""
    arguments = arguments_of(use.use.call.arguments)
    subcommand = arguments.get("command")
    short = isinstance(subcommand, str) and len(subcommand) < MAX_SUBCOMMAND_CHARS
    words = split_tool_name(str(subcommand) if short else use.use.call.name)
    appends = bool(words & {"append", "insert"}) or bool(arguments.get("append"))
    appends = appends or str(arguments.get("mode", "")).startswith("a")
    for name, value in arguments.items():
        known = normalize_name(name)
        if known in TEXT_ARGUMENTS and isinstance(value, str) and len(value) > MIN_WRITTEN_CHARS:
            whole = bool(words & WRITE_WORDS) and not appends and not known.startswith("new")
            yield FileShown(use, Slot("argument", use.item, name), value, ((1, -1),) if whole else (), whole)


# Files that may be shown twice

EDIT_WORDS = frozenset(
    "edit multiedit multi replace update patch insert append search str string file in apply".split()
)
"""Words in the names of tools that show no more than a piece of a file."""

_SHELL = "\n"
"""Stands for the path of a shell command that reads a file."""
_PATH = re.compile(r'"\w{0,24}(?:[pP]ath|[fF]ile)(?:_?[nN]ame|s)?" ?: ?\[?"([^"]{1,1000})"')
_READS = re.compile(rf"""(?:"|&& ?|; ?|\\n)(?:{"|".join(sorted(READ_ONLY_COMMANDS))}) """)


def find_showings_by_path(uses: list[ToolUseAt]) -> dict[str, list[FileShown | FileEdit]]:
    """Return the showings of each file that may be shown twice, in order.

    Finding accesses takes time: uses that no later one may show again are sorted out by a guess first.
    """
    by_guess: dict[str, list[int]] = {}
    for number, use in enumerate(uses):
        by_guess.setdefault(_guess_path(use.use), []).append(number)
    by_guess.pop("", None)
    found = [(number, *one) for number in by_guess.pop(_SHELL, ()) for one in find_showings(uses[number])]
    by_shell = {path for _, path, _ in found}
    for path, numbers in by_guess.items():
        while path not in by_shell and numbers and split_tool_name(uses[numbers[-1]].use.call.name) <= EDIT_WORDS:
            numbers.pop()
        if len(numbers) > 1 or path in by_shell:
            found += [(number, *one) for number in numbers for one in find_showings(uses[number])]
    by_path: dict[str, list[FileShown | FileEdit]] = {}
    for _, path, showing in sorted(found, key=lambda one: one[0]):
        by_path.setdefault(path, []).append(showing)
    return by_path


def _guess_path(use: ToolUse) -> str:
    words = split_tool_name(use.call.name)
    if not words.isdisjoint(RUN_WORDS):
        return _SHELL if _READS.search(use.call.arguments) else ""
    found = _PATH.search(use.call.arguments) if words.isdisjoint(SEARCH_WORDS) else None
    return found[1] if found else ""


# Lines of a file as a tool shows it

_LINE_NUMBER = re.compile(r"[ \t]{0,8}\d{1,7}([→\t:|])")


def file_lines(text: str) -> set[str]:
    """Return the lines of a file without their numbers; if lines have numbers, those without are not of the file."""
    mark, lines = _find_gutter(text), text.split("\n")
    shown = {line.partition(mark)[2].strip() for line in lines} if mark else set(map(str.strip, lines))
    shown.discard("")
    return shown


def _find_gutter(text: str) -> str:
    """Return the mark between line numbers and lines; "" if most lines have none."""
    lines = text.split("\n")
    found = _LINE_NUMBER.match(lines[len(lines) // 2])
    return found[1] if found and sum([found[1] in line[:12] for line in lines]) * 2 > len(lines) else ""
