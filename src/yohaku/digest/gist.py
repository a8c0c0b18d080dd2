"""Gist of hidden turns without a model: what was asked, done, decided and found, in the words of the conversation.

Laws: the same turns give the same text. It never weighs more than allowed. It opens with what is hidden and the ref
that opens it; then come the user's rules, word for word. The newest is read first, and no more than fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from yohaku.analysis.activity import (
    Activity,
    Failure,
    describe_status,
    find_decisions,
    find_failures,
    find_plan,
    read_activity,
)
from yohaku.analysis.entities import MAX_RANKED_CHARS, rank_entities
from yohaku.analysis.file_access import LineRange
from yohaku.analysis.file_log import FileRecord, build_file_log
from yohaku.analysis.tool_calls import describe_call
from yohaku.core.model import Turn
from yohaku.digest.gist_text import JAPANESE, Count, GistText, GistTitles, choose_titles, cut_to_tokens, user_prompts

MIN_SECTION_TOKENS = 40
"""With fewer tokens left, no section is added."""

MIN_ALL_SECTIONS_TOKENS = 160
"""With fewer tokens left, only the user's prompts are added."""

TITLE_TOKENS = 16
"""Tokens set aside for a title."""


class _Hidden(NamedTuple):
    """Material of a gist."""

    turns: Sequence[Turn]
    activity: Activity
    titles: GistTitles
    first: bool
    """Begins with the conversation."""


def write_gist(
    turns: Sequence[Turn],
    *,
    ref: str,
    tokens: int,
    count: Count,
    rules: tuple[str, ...] = (),
    words: str = "",
    index: bool = True,
    titles: GistTitles | None = None,
    first: bool = True,
    withdrawn: tuple[str, ...] = (),
) -> str:
    """Return a text of at most `tokens` about `turns`; empty if not even the ref fits.

    `words` are the user's, about what to keep. `index=False` leaves out the entities of results, for callers that show
    lines of them instead. `first=False` is for a chapter behind others: the goal stands in the first one. `withdrawn`:
    rules that those state and no longer hold.
    """
    titles = titles or choose_titles(turns)
    page = GistText(tokens, count)
    if not page.open(_write_header(turns, ref, titles, first), f"[folded; ref={ref}]"):
        return ""
    page.add_section(titles.rules, _rule_lines(rules))
    page.add_section(titles.withdrawn, _withdrawn_lines(withdrawn))
    page.add_section(titles.wished, word_lines(words))
    if page.left >= MIN_ALL_SECTIONS_TOKENS:
        hidden = _Hidden(turns, read_activity(turns, max(200, tokens // 8)), titles, first)
        for place, share, add in SECTIONS:
            if index or add is not _add_index:
                page.place = place
                add(page, page.take_share(share), hidden)
    elif page.left >= MIN_SECTION_TOKENS:
        _add_prompts(page, page.left, _Hidden(turns, Activity((), ()), titles, first))
    return page.text()


def write_opening(
    turns: Sequence[Turn],
    ref: str,
    rules: tuple[str, ...] = (),
    titles: GistTitles | None = None,
    *,
    first: bool = True,
    withdrawn: tuple[str, ...] = (),
) -> str:
    """Return the beginning of every gist: what is folded, and the rules that stand."""
    titles = titles or choose_titles(turns)
    lines = [_write_header(turns, ref, titles, first)]
    lines += [titles.rules, *_rule_lines(rules)] if rules else []
    lines += [titles.withdrawn, *_withdrawn_lines(withdrawn)] if withdrawn else []
    return "\n".join(lines)


def _rule_lines(rules: tuple[str, ...]) -> list[str]:
    return [f"- {rule}" for rule in rules]


def word_lines(words: str) -> list[str]:
    return [f"- {line.strip()}" for line in words.splitlines() if line.strip()]


def _withdrawn_lines(rules: tuple[str, ...]) -> list[str]:
    return [f"× {rule}" for rule in rules]


def _write_header(turns: Sequence[Turn], ref: str, titles: GistTitles, first: bool) -> str:
    prompts, steps = len(user_prompts(turns)), sum(len(turn.steps) for turn in turns)
    if titles is JAPANESE:
        what = (f"指示 {prompts:,} 件、" if prompts else "") + f"{steps:,} ステップ"
    else:
        what = (_plural(prompts, "prompt") + ", " if prompts else "") + _plural(steps, "step")
    return (titles.header if first else titles.header_on).format(what=what, ref=ref)


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


# Prompts


def _add_prompts(page: GistText, tokens: int, hidden: _Hidden) -> None:
    """Add the first prompt of all as the goal with a third of the tokens, and of the others the newest."""
    prompts = list(dict.fromkeys(user_prompts(hidden.turns)))
    if not prompts or tokens < MIN_SECTION_TOKENS:
        return
    before = page.left
    if hidden.first:
        goal = cut_to_tokens(prompts[0], tokens // 3 if prompts[1:] else tokens - TITLE_TOKENS, page.count)
        page.add_section(hidden.titles.goal, [goal] if goal else [], tokens)
    left = tokens - (before - page.left) - TITLE_TOKENS
    lines: list[str] = []
    for prompt in reversed(prompts[1:] if hidden.first else prompts):
        most = min(left, max(tokens // 6, MIN_SECTION_TOKENS))
        line = cut_to_tokens(f"- {prompt.strip()}", most, page.count) if left > 8 else ""
        if not line:
            break
        left -= page.weigh(line)
        lines.append(line)
    page.add_section(hidden.titles.asked, lines[::-1], tokens, last=True)


# Files

MAX_RANGES_SHOWN = 6


def _add_files(page: GistText, tokens: int, hidden: _Hidden) -> None:
    """Add the file log, files that were only read first to go; relative to their folder where space is short."""
    titles, events = hidden.titles, hidden.activity.events
    files = list(build_file_log((event.step, access) for event in events for access in event.accesses).values())
    files.sort(key=lambda file: (file.state != "read", file.step))
    lines = [_file_line(file, file.path, titles) for file in files]
    folder = _common_folder([file.path for file in files])
    if folder and sum(map(page.weigh, lines)) > tokens:
        lines = [_file_line(file, _relative_to(file.path, folder), titles) for file in files]
        page.add_section(titles.under.format(root=folder), lines, tokens, last=True)
    else:
        page.add_section(titles.files, lines, tokens, last=True)


def _file_line(file: FileRecord, path: str, titles: GistTitles) -> str:
    in_part = file.ranges and file.ranges != ((1, -1),)
    ranges = ", ".join(map(_range_text, file.ranges[-MAX_RANGES_SHOWN:])) if in_part else ""
    return f"{titles.states[file.state]} {path}{f' [{ranges}]' if ranges else ''}"


def _range_text(lines: LineRange) -> str:
    first, last = lines
    return f"{first}-{'' if last == -1 else last}" if first != last else str(first)


def _common_folder(paths: list[str]) -> str:
    """Return the folder of most absolute paths; in sorted order one in ten may lie outside at either end."""
    folders = sorted(path.rsplit("/", 1)[0].split("/") for path in paths if path.startswith("/"))
    aside = len(folders) // 10
    most = folders[aside : len(folders) - aside]
    if len(most) < 2:
        return ""
    pairs = enumerate(zip(most[0], most[-1], strict=False))
    shared = next((at for at, (one, other) in pairs if one != other), min(len(most[0]), len(most[-1])))
    return "/".join(most[0][:shared]) + "/" if shared > 2 else ""


def _relative_to(path: str, folder: str) -> str:
    if path.startswith(folder):
        return path.removeprefix(folder)
    return path if path.startswith(("/", "~")) else f"./{path}"


# Commands, tests, errors

MAX_COMMAND_CHARS = 120
MAX_TEST_RUNS = 5
MAX_OPEN_FAILURES, MAX_SOLVED_FAILURES = 60, 20


def _add_commands(page: GistText, tokens: int, hidden: _Hidden) -> None:
    ran = {event.attempt: event for event in hidden.activity.events if event.command is not None}
    events = sorted(ran.values(), key=lambda event: (not event.only_looks, event.step))
    lines = [f"- `{describe_call(event.use, MAX_COMMAND_CHARS)}`: {describe_status(event)}" for event in events]
    page.add_section(hidden.titles.commands, lines, tokens, last=True)


def _add_tests(page: GistText, tokens: int, hidden: _Hidden) -> None:
    newest = {event.attempt: event for event in hidden.activity.events if event.test_summary}
    events = sorted(newest.values(), key=lambda event: event.step)[-MAX_TEST_RUNS:]
    lines = [f"- `{describe_call(event.use)}`: {event.test_summary}" for event in events]
    page.add_section(hidden.titles.tests, lines, tokens, last=True)


def _add_errors(page: GistText, tokens: int, hidden: _Hidden) -> None:
    """Add open failures, then those of commands that work by now if tokens are left."""
    failures = find_failures(hidden.activity.events)
    before = page.left
    still_open = [_failure_line(failure, 3) for failure in failures[-MAX_OPEN_FAILURES:] if not failure.solved]
    page.add_section(hidden.titles.open, still_open, tokens, last=True)
    left = tokens - (before - page.left)
    if left > MIN_SECTION_TOKENS:
        solved = [failure for failure in failures if failure.solved and failure.event.command is not None]
        lines = [_failure_line(failure, 1) for failure in solved[-MAX_SOLVED_FAILURES:]]
        page.add_section(hidden.titles.solved, lines, left, last=True)


def _failure_line(failure: Failure, max_lines: int) -> str:
    return f"- `{describe_call(failure.event.use)}`: {' | '.join(failure.lines(max_lines))}"


# Decisions, plan, entities


def _add_decisions(page: GistText, tokens: int, hidden: _Hidden) -> None:
    newest_first = find_decisions(hidden.activity.texts[-max(60, tokens) :], max(8, tokens // 8))
    page.add_section(hidden.titles.decided, [f"- {sentence}" for sentence in newest_first[::-1]], tokens, last=True)


def _add_plan(page: GistText, tokens: int, hidden: _Hidden) -> None:
    page.add_section(hidden.titles.plan, find_plan(hidden.activity), tokens, last=True)


def _add_index(page: GistText, tokens: int, hidden: _Hidden) -> None:
    """Add entities, grouped by the call they come from, without those already in the text."""
    if tokens < MIN_SECTION_TOKENS:
        return
    titles, shown = hidden.titles, page.text()
    open_errors = shown.partition(titles.open)[2].partition(titles.solved)[0]
    max_chars = min(MAX_RANKED_CHARS, 200 * tokens)
    ranked = rank_entities(hidden.turns, limit=tokens // 2, max_chars=max_chars, open_errors=open_errors)
    paths = {access.path for event in hidden.activity.events for access in event.accesses}
    groups: dict[str, list[str]] = {}
    left = tokens - page.weigh(titles.found)
    for one in ranked:
        name = one.entity.text.removeprefix("a/").removeprefix("b/")  # diffs put these before both sides' paths
        if name in shown or name in paths:
            continue
        opening = page.weigh(titles.source.format(origin=one.origin)) if one.origin not in groups else 0
        weight = page.weigh(one.entity.text) + opening + 1
        if weight > left:
            break
        left -= weight
        groups.setdefault(one.origin, []).append(one.entity.text)
    lines = [f"- {titles.source.format(origin=origin)}{', '.join(names)}" for origin, names in groups.items()]
    page.add_section(titles.found, lines, tokens)


_AddSection: TypeAlias = Callable[[GistText, int, _Hidden], None]

SECTIONS: tuple[tuple[int, float, _AddSection], ...] = (
    (3, 0.06, _add_commands),
    (4, 0.04, _add_tests),
    (5, 0.10, _add_errors),
    (6, 0.05, _add_decisions),
    (7, 0.05, _add_plan),
    (1, 0.35, _add_prompts),
    (2, 0.28, _add_files),
    (8, 0.07, _add_index),
)
"""Place in the text, share of the tokens and function of each section, in the order they are filled.

What a section leaves goes to the next, so most of the rest goes to the prompts and then to the files.
"""
