"""Appendix of a gist that a model wrote: open errors, files and entities that its summary left out.

A summary by a model keeps few of them, so they are added without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from yohaku.analysis.activity import (
    Activity,
    ToolEvent,
    describe_status,
    find_failures,
    is_check,
    is_solved,
    read_activity,
)
from yohaku.analysis.entities import MAX_RANKED_CHARS, rank_entities
from yohaku.analysis.file_log import build_file_log
from yohaku.analysis.retention import contains_word
from yohaku.analysis.tool_calls import describe_call
from yohaku.core.model import Turn
from yohaku.digest.gist_text import GistText, GistTitles, choose_titles
from yohaku.digest.short_paths import find_common_folder

ERRORS_SHARE, FILES_SHARE = 0.4, 0.3
"""Shares of the appendix; entities get the rest."""
MIN_TOKENS = 24
"""Fewer hold nothing worth a line."""
MAX_FAILURES = 20


def appendix_tokens(limit: int, share: float = 0.02, least: int = 60) -> int:
    """Return the tokens an appendix may take in a window with this limit."""
    return max(least, int(limit * share))


def write_appendix(
    turns: Sequence[Turn],
    summary: str,
    tokens: int,
    count: Callable[[str], int],
    *,
    index: bool = True,
    solved: frozenset[str] = frozenset(),
    titles: GistTitles | None = None,
) -> list[str]:
    """Return lines of at most `tokens` with what `summary` leaves out of `turns`.

    `index`: also the names alone; `solved`: attempts that worked later; `titles`: by default those of the language of
    `turns`.
    """
    if tokens < MIN_TOKENS:
        return []
    titles, activity = titles or choose_titles(turns), read_activity(turns, max(200, tokens))
    page = GistText(tokens, count)
    failures = _failure_lines(activity, summary, titles, solved)
    page.add_section(titles.open, failures, page.take_share(ERRORS_SHARE), last=True)
    page.add_section(*_list_files(activity, summary, titles), page.take_share(FILES_SHARE), last=True)
    if index:
        _add_index(page, turns, summary, titles)
    return page.text().splitlines()


def _failure_lines(activity: Activity, summary: str, titles: GistTitles, solved: frozenset[str]) -> list[str]:
    """Return a line for each check that still fails: how it ended, and its errors."""
    lines = []
    for failure in find_failures(activity.events)[-MAX_FAILURES:]:
        if (
            is_check(failure.event)
            and not failure.solved
            and not is_solved(failure.event, solved)
            and (errors := [line for line in failure.lines(2) if line not in summary])
        ):
            status = describe_status(failure.event)
            lines.append(_source_line(failure.event, [*([status] if status != "failed" else []), *errors], titles))
    return lines


def _source_line(event: ToolEvent, details: list[str], titles: GistTitles) -> str:
    return f"- {titles.source.format(origin=describe_call(event.use))}{', '.join(details)}"


def _list_files(activity: Activity, summary: str, titles: GistTitles) -> tuple[str, list[str]]:
    """Return the title and the lines of a list of files: under their common folder, if they have one."""
    files = build_file_log((event.step, access) for event in activity.events for access in event.accesses).values()
    missing = [file for file in files if not contains_word(summary, file.path)]
    missing.sort(key=lambda file: (file.state != "read", file.step))
    folder = find_common_folder([file.path for file in missing])
    lines = [f"{titles.states[file.state]} {file.path.removeprefix(folder)}" for file in missing]
    return titles.under.format(root=folder) if folder else titles.files, lines


def _add_index(page: GistText, turns: Sequence[Turn], summary: str, titles: GistTitles) -> None:
    """Add entities, grouped by the call they come from."""
    left = page.left - page.weigh(titles.found)
    if left < MIN_TOKENS:
        return
    shown = f"{summary}\n{page.text()}"
    max_chars = min(MAX_RANKED_CHARS, 20_000 + 200 * page.left)
    groups: dict[str, list[str]] = {}
    for one in rank_entities(turns, limit=max(40, page.left), max_chars=max_chars):
        if contains_word(shown, one.entity.text):
            continue
        opening = page.weigh(titles.source.format(origin=one.origin)) if one.origin not in groups else 0
        left -= page.weigh(one.entity.text) + opening + 1
        if left < 0:
            break
        groups.setdefault(one.origin, []).append(one.entity.text)
    lines = [f"- {titles.source.format(origin=origin)}{', '.join(names)}" for origin, names in groups.items()]
    page.add_section(titles.found, lines)
