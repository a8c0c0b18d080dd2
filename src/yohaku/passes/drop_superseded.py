"""What costs nothing to lose: the older of two showings of a file, of two runs of one command, of two equal results.

Law: only what is shown again later, where it can be seen, is folded; what is newest never is. Whether a file was shown
again is decided by its lines, not by what a call asked for: tools cut what they return.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from yohaku.analysis.file_access import SEARCH_WORDS, LineRange, find_accesses
from yohaku.analysis.file_log import merge_ranges
from yohaku.analysis.shell import ShellCommand, split_commands
from yohaku.analysis.tool_calls import (
    RUN_WORDS,
    find_command,
    find_test_summary,
    has_failed,
    normalize_name,
    split_tool_name,
)
from yohaku.core.folds import Fold, Stub, Subject
from yohaku.core.model import Step, Text, ToolUse
from yohaku.core.originals import Slot, arguments_of, original_at, ref_of
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import SMALL, many

WHY = "superseded"
MAX_NAME_CHARS = 80
"""Characters of a path or command in a stub."""


def drop_superseded(least: float = 0.02, newest: int = 200) -> Pass:
    """All that is superseded becomes one line each, whatever the goal: it is free.

    Only the `newest` steps are looked at: what is older is the first to go anyway. Nothing is done for less than
    `least` of the limit, unless the conversation is over it.
    """

    def propose(view: View, room: PassContext) -> list[Fold]:
        uses = list(find_uses(view, newest))
        folds: list[Fold] = []
        gone: set[tuple[str, int]] = set()
        for again in (_find_shown_again, _find_run_again, _find_same_results):
            for place, slot, by in list(again(uses, gone)):
                for stub in () if place.newest else _stub(view, room, place, slot, by):
                    folds.append(stub)
                    gone |= {place.at} if slot.where == "result" else set()
        saved = sum(fold.before - fold.after for fold in folds)
        worth = saved >= room.budget.limit * least or room.ledger.total > room.budget.limit
        return folds if worth else []

    return propose


class ToolUseAt(NamedTuple):
    """A use, and where it stands."""

    step: Step
    item: int
    use: ToolUse
    newest: bool
    hidden: frozenset[int | str] = frozenset()
    """The parts of its result and the arguments that are folded already: nothing is seen there."""

    @property
    def at(self) -> tuple[str, int]:
        return self.step.key, self.item

    @property
    def seen(self) -> bool:
        return not any(type(part) is int for part in self.hidden)

    def slots(self) -> Iterator[Slot]:
        """Those of its result's texts."""
        for number, part in enumerate(self.use.result.parts):
            if isinstance(part, Text):
                yield Slot("result", self.item, number)


def find_uses(view: View, newest: int | None = None) -> Iterator[ToolUseAt]:
    """The visible uses, or those of the newest steps, oldest first."""
    steps = [step for turn in view.visible() for step in turn.steps]
    steps = steps[-newest:] if newest else steps
    for step in steps:
        stubs = [slot for slot in view.stubs.get(step.key, ()) if slot.where != "thought"]
        for index, item in enumerate(step.solid):
            if isinstance(item, ToolUse):
                hidden = frozenset([slot.part for slot in stubs if slot.item == index]) if stubs else NO_PARTS
                yield ToolUseAt(step, index, item, step is steps[-1], hidden)


NO_PARTS: frozenset[int | str] = frozenset()

Superseded: TypeAlias = tuple[ToolUseAt, Slot, str]
"""What is superseded, and by what, in words."""


def _stub(view: View, room: PassContext, place: ToolUseAt, slot: Slot, by: str) -> Iterator[Stub]:
    known = view.stubs.get(place.step.key, {}).get(slot)
    if known and known.why == WHY:
        return
    original = original_at(place.step, slot)
    assert isinstance(original, str)
    before = known.after if known else room.meter.count(original)
    if before <= SMALL:
        return
    argument = str(slot.part) if slot.where == "argument" else ""
    what, ref = Subject(slot.where, place.use.call.name, argument), ref_of(original)
    size = many(original.count("\n") + (not original.endswith("\n")), "line")
    text = f"[{what} folded: {by}; {size}; ref={ref}]"
    after = room.meter.count(text)
    if after < before:
        yield Stub(place.step.key, slot, text, ref, what, WHY, before, after)


# Files that are shown again


def _find_shown_again(uses: list[ToolUseAt], _: set[tuple[str, int]]) -> Iterator[Superseded]:
    for path, shown in find_showings_by_path(uses).items():
        for showing, by in _find_older(shown):
            slots = showing.place.slots() if showing.slot.where == "result" else [showing.slot]
            yield from ((showing.place, slot, f"superseded by a later {by} of {shorten_name(path)}") for slot in slots)


MAX_DIFFERING_LINES = 4
"""Lines that may differ where the same range is shown again: how a tool heads and ends what it returns."""

MAX_RANGES = 32
"""Ranges of a file that are remembered: more are no help, and take their time."""


def _find_older(shown: list[FileShown | FileEdit]) -> Iterator[tuple[FileShown, str]]:
    """The showings of one file of which a later one leaves nothing to see, the newest first."""
    later = _LaterUses()
    for showing in reversed(shown):
        if isinstance(showing, FileEdit):
            later.fresh = later.ranges
        elif later.by and later.shows(showing):
            yield showing, later.by
        elif showing.slot.part not in showing.place.hidden:
            later.add(showing)


class _LaterUses:
    """What can be seen of a file after the showing that is looked at."""

    def __init__(self) -> None:
        self.by = ""
        self.anew = False
        self.ranges: tuple[LineRange, ...] = ()
        self.fresh: tuple[LineRange, ...] = ()
        """Those shown after a change that came after what is looked at."""
        self._calls: set[str] = set()
        self._texts: list[str] = []
        self._size = 0
        self._lines: set[str] = set()

    def add(self, showing: FileShown) -> None:
        if showing.slot.where == "argument" and not showing.anew:
            return  # a piece of a file, and nobody knows of where
        self.by = self.by or ("write" if showing.anew else "read")
        self.anew = self.anew or showing.anew
        self.ranges = merge_ranges((*self.ranges, *showing.ranges))[:MAX_RANGES]
        self._calls.add(showing.place.use.call.arguments)
        self._texts.append(showing.text)
        self._size += len(showing.text)

    def shows(self, showing: FileShown) -> bool:
        """Whether all of it can be seen, but for what has changed."""
        if self.anew:
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
        if missing * 2 <= len(lines):
            changed = showing.place.use.call.arguments in self._calls or _within(showing.ranges, self.fresh)
            return changed or (
                missing <= MAX_DIFFERING_LINES and missing * 5 <= len(lines) and _within(showing.ranges, self.ranges)
            )
        return False


def _overlap(one: LineRange, other: LineRange) -> bool:
    return (other[1] == -1 or one[0] <= other[1]) and (one[1] == -1 or other[0] <= one[1])


def _within(ranges: tuple[LineRange, ...], wider: tuple[LineRange, ...]) -> bool:
    return all(
        any(first <= start and (last == -1 or 0 <= end <= last) for first, last in wider) for start, end in ranges
    )


_NUMBERED = re.compile(r"[ \t]{0,8}\d{1,7}([→\t:|])")


def find_gutter(text: str) -> str:
    """What stands between the numbers of lines and the lines, as a reading tool writes them; nothing where none are."""
    lines = text.split("\n")
    found = _NUMBERED.match(lines[len(lines) // 2])
    return found[1] if found and sum([found[1] in line[:12] for line in lines]) * 2 > len(lines) else ""


def file_lines(text: str) -> set[str]:
    """The lines of a file as a tool shows it, without the numbers before them. Lines without one are not of it."""
    mark, lines = find_gutter(text), text.split("\n")
    shown = {line.partition(mark)[2].strip() for line in lines} if mark else set(map(str.strip, lines))
    shown.discard("")
    return shown


# What shows a file

TEXT_ARGUMENTS = frozenset(
    "content contents filetext filecontent newstring newstr newtext newcontent newsource".split()
)
"""Names of the arguments that hold what is written, without case and underscores."""

WRITE_WORDS = frozenset("write create save overwrite writer".split())
READ_COMMANDS = frozenset("cat nl head tail sed less more bat get-content gc type".split())
QUIET_COMMANDS = frozenset("cd echo printf pwd true".split())


class FileEdit(NamedTuple):
    """A file was changed here."""

    place: ToolUseAt


class FileShown(NamedTuple):
    """A file, or some of its lines, in a result or in what was written."""

    place: ToolUseAt
    slot: Slot
    text: str
    ranges: tuple[LineRange, ...] = ()
    anew: bool = False
    """It was written whole."""


def find_showings_by_path(uses: list[ToolUseAt]) -> dict[str, list[FileShown | FileEdit]]:
    """In order, of the files that may have been shown twice.

    What a call did to which files is asked only where a later one may show the same file: it takes its time.
    """
    named: dict[str, list[int]] = {}
    for number, place in enumerate(uses):
        named.setdefault(_guess_path(place.use), []).append(number)
    named.pop("", None)
    found = [(number, *one) for number in named.pop(SHELL, ()) for one in find_showings(uses[number])]
    by_shell = {path for _, path, _ in found}
    for name, numbers in named.items():
        while name not in by_shell and numbers and split_tool_name(uses[numbers[-1]].use.call.name) <= EDIT_WORDS:
            numbers.pop()
        if len(numbers) > 1 or name in by_shell:
            found += [(number, *one) for number in numbers for one in find_showings(uses[number])]
    by_path: dict[str, list[FileShown | FileEdit]] = {}
    for _, path, showing in sorted(found, key=lambda one: one[0]):
        by_path.setdefault(path, []).append(showing)
    return by_path


EDIT_WORDS = frozenset(
    "edit multiedit multi replace update patch insert append search str string file in apply".split()
)
"""Words of tools that show nothing but a piece of a file."""

SHELL = "\n"
_PATH = re.compile(r'"\w{0,24}(?:[pP]ath|[fF]ile)(?:_?[nN]ame|s)?" ?: ?\[?"([^"]{1,1000})"')
_READS = re.compile(rf"""(?:"|&& ?|; ?|\\n)(?:{"|".join(sorted(READ_COMMANDS))}) """)


def _guess_path(use: ToolUse) -> str:
    """The file a call may be about, seen at a glance; a line end for a command that may read one."""
    words = split_tool_name(use.call.name)
    if not words.isdisjoint(RUN_WORDS):
        return SHELL if _READS.search(use.call.arguments) else ""
    found = _PATH.search(use.call.arguments) if words.isdisjoint(SEARCH_WORDS) else None
    return found[1] if found else ""


def find_showings(place: ToolUseAt) -> Iterator[tuple[str, FileShown | FileEdit]]:
    done = [touch for touch in find_accesses(place.use) if touch.ok]
    paths = {touch.path for touch in done}
    ran = find_command(place.use)
    if all(touch.kind == "read" for touch in done):
        slot = next(place.slots(), None)
        if slot and len(paths) == 1 and (ran is None or all(map(_only_reads, split_commands(ran)))):
            ranges = tuple(touch.lines or (1, -1) for touch in done)
            yield paths.pop(), FileShown(place, slot, place.use.result.text, ranges)
        return
    for path in paths:
        yield path, FileEdit(place)
    if ran is None and len(paths) == 1:
        yield from ((path, showing) for showing in _find_written(place))


def _only_reads(part: ShellCommand) -> bool:
    return bool(part.words) and not part.writes and not part.appends and part.words[0] in READ_COMMANDS | QUIET_COMMANDS


def _find_written(place: ToolUseAt) -> Iterator[FileShown]:
    given = arguments_of(place.use.call.arguments)
    said = given.get("command")
    words = split_tool_name(said if isinstance(said, str) and len(said) < 24 else place.use.call.name)
    adds = bool(words & {"append", "insert"}) or bool(given.get("append")) or str(given.get("mode", "")).startswith("a")
    for name, value in given.items():
        known = normalize_name(name)
        if known in TEXT_ARGUMENTS and isinstance(value, str) and len(value) > SMALL:
            anew = bool(words & WRITE_WORDS) and not adds and not known.startswith("new")
            slot = Slot("argument", place.item, name)
            yield FileShown(place, slot, value, ((1, -1),) if anew else (), anew)


# Commands that ran again

LOOK_COMMANDS = (
    READ_COMMANDS
    | QUIET_COMMANDS
    | frozenset("ls find fd grep egrep fgrep rg ag tree wc sort uniq cut du df stat file which tac jq tr".split())
)
GIT_LOOK_COMMANDS = frozenset("status log diff show branch grep blame ls-files rev-parse describe".split())
ONWARD_WORDS = frozenset("next more scroll page previous".split())
"""Words of tools that show something else each time."""

_CHANGES_FOLDER = re.compile(r"(?:\"|[;&|(]|\\n)\s{0,20}(?:cd|pushd|popd)\b\s{0,20}([^\s;&|)\"\\]{0,400})")


def _find_run_again(uses: list[ToolUseAt], gone: set[tuple[str, int]]) -> Iterator[Superseded]:
    """A listing, search or test run; of other commands what failed. The newest stays."""
    newest: dict[tuple[str, str, str], ToolUseAt] = {}
    asks: dict[tuple[str, int], bool] = {}
    for place, folder in reversed(list(zip(uses, _track_folders(uses), strict=True))):
        call = place.use.call
        later = newest.setdefault((call.name, call.arguments, folder), place)
        if later is place or place.at in gone or not _is_long(place) or not later.seen or later.at in gone:
            continue
        ran = find_command(place.use)
        if later.at not in asks:
            asks[later.at] = _is_query(later.use, ran)
        if asks[later.at] or (ran is not None and has_failed(place.use)):
            by = f"a later run of {shorten_name(ran)}" if ran else "a later call with the same arguments"
            yield from ((place, slot, f"superseded by {by}") for slot in place.slots())


def _is_long(place: ToolUseAt) -> bool:
    return any(isinstance(part, Text) and len(part.text) > SMALL for part in place.use.result.parts)


def _track_folders(uses: list[ToolUseAt]) -> Iterator[str]:
    """Where each command runs, as far as earlier ones moved there: a shell may be one for all of them."""
    folder = ""
    for place in uses:
        call = place.use.call
        if split_tool_name(call.name).isdisjoint(RUN_WORDS):
            yield ""
            continue
        for target in (
            _CHANGES_FOLDER.findall(call.arguments) if "cd" in call.arguments or "pushd" in call.arguments else ()
        ):
            folder = target if target.startswith(("/", "~")) else f"{folder}/{target}"[-MAX_NAME_CHARS:]
        yield folder


def _is_query(use: ToolUse, ran: str | None) -> bool:
    """Whether a call is only made for what it says, and says all of it each time."""
    if ran is None:
        words = split_tool_name(use.call.name)
        return bool(words & SEARCH_WORDS) and words.isdisjoint(ONWARD_WORDS) and not has_failed(use)
    parts = split_commands(ran)
    return (bool(parts) and all(map(_only_looks, parts)) and not has_failed(use)) or find_test_summary(
        use.result.text
    ) is not None


def _only_looks(part: ShellCommand) -> bool:
    if not part.words or part.writes or part.appends:
        return False
    name, *rest = part.words
    if name == "git":
        return next((word for word in rest if not word.startswith("-")), "") in GIT_LOOK_COMMANDS
    return name in LOOK_COMMANDS and not (name == "sed" and any(word.startswith("-i") for word in rest))


# Results that are the same


def _find_same_results(uses: list[ToolUseAt], gone: set[tuple[str, int]]) -> Iterator[Superseded]:
    newest: dict[str, ToolUseAt] = {}
    for place in reversed(uses):
        if place.at in gone:
            continue
        for number, part in enumerate(place.use.result.parts):
            if not isinstance(part, Text) or len(part.text) <= SMALL:
                continue
            later = newest.get(part.text)
            if later is None:
                if number not in place.hidden:
                    newest[part.text] = place
            elif not has_failed(place.use):
                yield place, Slot("result", place.item, number), f"same as a later {later.use.call.name} result"


def shorten_name(text: str) -> str:
    text = " ".join(text[: 4 * MAX_NAME_CHARS].split())
    return text if len(text) <= MAX_NAME_CHARS else text[: MAX_NAME_CHARS // 2] + "…" + text[1 - MAX_NAME_CHARS // 2 :]
