"""Fold what is shown again later: an older showing of a file, an older run of a command, an older equal result.

Law: only what a later visible place shows is folded, and never the newest step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from yohaku.analysis.file_access import SEARCH_WORDS, LineRange
from yohaku.analysis.file_log import merge_ranges
from yohaku.analysis.file_showings import (
    QUIET_COMMANDS,
    READ_ONLY_COMMANDS,
    FileEdit,
    FileShown,
    ToolUseAt,
    file_lines,
    find_showings_by_path,
    find_uses,
)
from yohaku.analysis.shell import ShellCommand, split_commands
from yohaku.analysis.tool_calls import RUN_WORDS, find_command, find_test_summary, has_failed, split_tool_name
from yohaku.core.folds import Fold, Stub, Subject
from yohaku.core.model import Text, ToolUse
from yohaku.core.originals import Slot, original_at, ref_of
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import SMALL, many

WHY = "superseded"
MAX_NAME_CHARS = 80
"""Characters of a path or command in a stub."""


class _Superseded(NamedTuple):
    use: ToolUseAt
    slot: Slot
    by: str
    """What shows it now, in words for the stub."""


def drop_superseded(least: float = 0.02, newest: int = 200) -> Pass:
    """Make a pass that replaces each superseded text by one line, whatever the goal: nothing is lost by it.

    Only the `newest` steps are compared; older ones are the first to go anyway. Nothing is done that saves less than
    `least` of the limit, unless the view is over it.
    """

    def propose(view: View, context: PassContext) -> list[Fold]:
        uses = list(find_uses(view, newest))
        folds: list[Fold] = []
        gone: set[tuple[str, int]] = set()
        for find in (_find_shown_again, _find_run_again, _find_same_results):
            for found in list(find(uses, gone)):
                stub = None if found.use.newest else _stub(view, context, found)
                if stub:
                    folds.append(stub)
                    gone |= {found.use.at} if found.slot.where == "result" else set()
        saved = sum(fold.before - fold.after for fold in folds)
        worthwhile = saved >= context.budget.limit * least or context.ledger.total > context.budget.limit
        return folds if worthwhile else []

    return propose


def _stub(view: View, context: PassContext, found: _Superseded) -> Stub | None:
    """Return the stub, unless there is one already or it would not be shorter."""
    use, slot, by = found
    known = view.stubs.get(use.step.key, {}).get(slot)
    if known and known.why == WHY:
        return None
    original = original_at(use.step, slot)
    assert isinstance(original, str)
    before = known.after if known else context.meter.count(original)
    if before <= SMALL:
        return None
    argument = str(slot.part) if slot.where == "argument" else ""
    what, ref = Subject(slot.where, use.use.call.name, argument), ref_of(original)
    size = many(original.count("\n") + (not original.endswith("\n")), "line")
    text = f"[{what} folded: {by}; {size}; ref={ref}]"
    after = context.meter.count(text)
    return Stub(use.step.key, slot, text, ref, what, WHY, before, after) if after < before else None


def _shorten_name(text: str) -> str:
    text = " ".join(text[: 4 * MAX_NAME_CHARS].split())
    half = MAX_NAME_CHARS // 2
    return text if len(text) <= MAX_NAME_CHARS else text[:half] + "…" + text[1 - half :]


# Files that are shown again

MAX_DIFFERING_LINES = 4
"""Lines that may differ where the same range is shown again: a tool's heading and ending of its result."""

MAX_RANGES = 32
"""Ranges of a file that are remembered; more cost time and seldom help."""


def _find_shown_again(uses: list[ToolUseAt], _: set[tuple[str, int]]) -> Iterator[_Superseded]:
    for path, showings in find_showings_by_path(uses).items():
        for showing, by in _find_older(showings):
            slots = showing.use.result_slots() if showing.slot.where == "result" else [showing.slot]
            text = f"superseded by a later {by} of {_shorten_name(path)}"
            yield from (_Superseded(showing.use, slot, text) for slot in slots)


def _find_older(showings: list[FileShown | FileEdit]) -> Iterator[tuple[FileShown, str]]:
    """Yield the showings of one file that later ones show completely, the newest first, with "read" or "write"."""
    later = _LaterShowings()
    for showing in reversed(showings):
        if isinstance(showing, FileEdit):
            later.since_edit = later.ranges
        elif later.by and later.cover(showing):
            yield showing, later.by
        elif showing.slot.part not in showing.use.folded:
            later.add(showing)


class _LaterShowings:
    """Visible showings of a file after the one that is tested."""

    def __init__(self) -> None:
        self.by = ""
        """The newest of them: "read" or "write"."""
        self.written = False
        self.ranges: tuple[LineRange, ...] = ()
        self.since_edit: tuple[LineRange, ...] = ()
        """Ranges shown after an edit that came after the showing that is tested."""
        self._calls: set[str] = set()
        self._texts: list[str] = []
        """Texts whose lines are not in `_lines` yet."""
        self._size = 0
        self._lines: set[str] = set()

    def add(self, showing: FileShown) -> None:
        if showing.slot.where == "argument" and not showing.written:
            return  # a piece of the file, from an unknown place
        self.by = self.by or ("write" if showing.written else "read")
        self.written = self.written or showing.written
        self.ranges = merge_ranges((*self.ranges, *showing.ranges))[:MAX_RANGES]
        self._calls.add(showing.use.use.call.arguments)
        self._texts.append(showing.text)
        self._size += len(showing.text)

    def cover(self, showing: FileShown) -> bool:
        """Test whether all of a showing is visible, apart from lines that were changed since."""
        if self.written:
            return True
        if self._size * 2 < len(showing.text):
            return False
        if showing.ranges and not any(_overlap(one, other) for one in showing.ranges for other in self.ranges):
            return False
        self._lines.update(*map(file_lines, self._texts))
        self._texts.clear()
        lines = file_lines(showing.text)
        missing = len(lines - self._lines)
        if not missing or not showing.ranges:
            return bool(lines) and not missing
        return missing * 2 <= len(lines) and self._explain(showing, missing, len(lines))

    def _explain(self, showing: FileShown, missing: int, lines: int) -> bool:
        """Test whether missing lines were changed since: the same call, or a range after an edit, lacks them."""
        if showing.use.use.call.arguments in self._calls or _within(showing.ranges, self.since_edit):
            return True
        return missing <= MAX_DIFFERING_LINES and missing * 5 <= lines and _within(showing.ranges, self.ranges)


def _overlap(one: LineRange, other: LineRange) -> bool:
    return (other[1] == -1 or one[0] <= other[1]) and (one[1] == -1 or other[0] <= one[1])


def _within(ranges: tuple[LineRange, ...], wider: tuple[LineRange, ...]) -> bool:
    return all(
        any(first <= start and (last == -1 or 0 <= end <= last) for first, last in wider) for start, end in ranges
    )


# Commands that ran again

LOOK_COMMANDS = (
    READ_ONLY_COMMANDS
    | QUIET_COMMANDS
    | frozenset("ls find fd grep egrep fgrep rg ag tree wc sort uniq cut du df stat file which tac jq tr".split())
)
GIT_LOOK_COMMANDS = frozenset("status log diff show branch grep blame ls-files rev-parse describe".split())
ONWARD_WORDS = frozenset("next more scroll page previous".split())
"""Words in the names of tools that show something else each time."""

_CHANGES_FOLDER = re.compile(r"(?:\"|[;&|(]|\\n)\s{0,20}(?:cd|pushd|popd)\b\s{0,20}([^\s;&|)\"\\]{0,400})")


def _find_run_again(uses: list[ToolUseAt], gone: set[tuple[str, int]]) -> Iterator[_Superseded]:
    """Yield older listings, searches and test runs, and older failures of other commands."""
    newest: dict[tuple[str, str, str], ToolUseAt] = {}
    queries: dict[tuple[str, int], bool] = {}
    for use, folder in reversed(list(zip(uses, _track_folders(uses), strict=True))):
        call = use.use.call
        later = newest.setdefault((call.name, call.arguments, folder), use)
        if later is use or use.at in gone or not _has_long_result(use) or not later.result_is_shown or later.at in gone:
            continue
        command = find_command(use.use)
        if later.at not in queries:
            queries[later.at] = _is_query(later.use, command)
        if queries[later.at] or (command is not None and has_failed(use.use)):
            by = f"a later run of {_shorten_name(command)}" if command else "a later call with the same arguments"
            yield from (_Superseded(use, slot, f"superseded by {by}") for slot in use.result_slots())


def _has_long_result(use: ToolUseAt) -> bool:
    return any(isinstance(part, Text) and len(part.text) > SMALL for part in use.use.result.parts)


def _track_folders(uses: list[ToolUseAt]) -> Iterator[str]:
    """Yield the folder each command runs in, as far as `cd` tells: one shell may run all of them."""
    folder = ""
    for use in uses:
        call = use.use.call
        if split_tool_name(call.name).isdisjoint(RUN_WORDS):
            yield ""
            continue
        changes = "cd" in call.arguments or "pushd" in call.arguments
        for target in _CHANGES_FOLDER.findall(call.arguments) if changes else ():
            folder = target if target.startswith(("/", "~")) else f"{folder}/{target}"[-MAX_NAME_CHARS:]
        yield folder


def _is_query(use: ToolUse, command: str | None) -> bool:
    """Test for a call that is made for its result alone, and returns all of it each time."""
    if command is None:
        words = split_tool_name(use.call.name)
        return bool(words & SEARCH_WORDS) and words.isdisjoint(ONWARD_WORDS) and not has_failed(use)
    parts = split_commands(command)
    only_looks = bool(parts) and all(map(_only_looks, parts)) and not has_failed(use)
    return only_looks or find_test_summary(use.result.text) is not None


def _only_looks(part: ShellCommand) -> bool:
    if not part.words or part.writes or part.appends:
        return False
    name, *rest = part.words
    if name == "git":
        return next((word for word in rest if not word.startswith("-")), "") in GIT_LOOK_COMMANDS
    return name in LOOK_COMMANDS and not (name == "sed" and any(word.startswith("-i") for word in rest))


# Results that are the same


def _find_same_results(uses: list[ToolUseAt], gone: set[tuple[str, int]]) -> Iterator[_Superseded]:
    newest: dict[str, ToolUseAt] = {}
    for use in reversed(uses):
        if use.at in gone:
            continue
        for number, part in enumerate(use.use.result.parts):
            if not isinstance(part, Text) or len(part.text) <= SMALL:
                continue
            later = newest.get(part.text)
            if later is None:
                if number not in use.folded:
                    newest[part.text] = use
            elif not has_failed(use.use):
                slot = Slot("result", use.item, number)
                yield _Superseded(use, slot, f"same as a later {later.use.call.name} result")
