"""Gist of hidden turns without a model: a story of what was asked, said and done, then the state of the work.

Laws: the same turns give the same text. It never weighs more than allowed. It opens with what is hidden and the ref
that opens it; then come the user's rules, word for word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from yohaku.analysis.activity import (
    Activity,
    describe_status,
    find_failures,
    find_plan,
    is_check,
    is_solved,
    read_activity,
)
from yohaku.analysis.file_access import LineRange
from yohaku.analysis.file_log import FileRecord, build_file_log
from yohaku.analysis.tool_calls import describe_call
from yohaku.core.model import Step, Text, ToolUse, Turn
from yohaku.digest.gist_text import JAPANESE, Count, GistText, GistTitles, choose_titles, cut_to_tokens, user_prompts
from yohaku.digest.passages import choose_passages, find_focus
from yohaku.digest.short_paths import ShortPaths, find_common_folder
from yohaku.digest.spans import find_changed_lines, is_diff
from yohaku.digest.story import name_calls, tell_story

MIN_SECTION_TOKENS = 40
"""With fewer tokens left, no section is added."""
MIN_STORY_TOKENS = 160
"""With fewer tokens left, only the first prompt is added, and a line that names the calls."""
PLAN_SHARE, FILES_SHARE, FAILING_SHARE, PASSAGES_SHARE = 0.08, 0.1, 0.06, 0.45
"""Shares of the tokens at most; the story has the rest, and what they leave."""
STATE_SHARE = 0.5
"""Factor of those shares where the story is told with its lines."""
MAX_EVENTS = 4_000
FOCUS_STEPS = 40
"""Newest steps whose words tell what the work is about."""

Tell: TypeAlias = Callable[[ShortPaths, str, int, Count], list[str]]
"""Return the lines of a story: by the paths, the rest of the text, the tokens, and how a line is weighed."""


def write_gist(
    turns: Sequence[Turn],
    *,
    ref: str,
    tokens: int,
    count: Count,
    rules: tuple[str, ...] = (),
    words: str = "",
    titles: GistTitles | None = None,
    first: bool = True,
    withdrawn: tuple[str, ...] = (),
    solved: frozenset[str] = frozenset(),
    tell: Tell | None = None,
) -> str:
    """Return a text of at most `tokens` about `turns`; empty if not even the ref fits.

    `words` are the user's, about what to keep. `first=False` is for a chapter behind others; `withdrawn` are rules that
    those state and that no longer hold; `solved` are attempts that worked after `turns`. `tell` tells the story;
    otherwise it is followed by passages.
    """
    titles = titles or choose_titles(turns)
    page = GistText(tokens, count)
    if not page.open(_write_header(turns, ref, titles, first), f"[folded; ref={ref}]"):
        return ""
    page.add_section(titles.rules, _rule_lines(rules))
    page.add_section(titles.withdrawn, _withdrawn_lines(withdrawn))
    page.add_section(titles.wished, word_lines(words))
    if page.left >= MIN_STORY_TOKENS:
        _add_sections(page, turns, titles, words, solved, tell)
    else:
        if page.left >= MIN_SECTION_TOKENS:
            _add_prompts(page, turns, titles)
        page.open(*name_calls(turns, titles))
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


def _add_prompts(page: GistText, turns: Sequence[Turn], titles: GistTitles) -> None:
    """Add the first prompt as far as there are tokens: there are too few for a story."""
    prompts = user_prompts(turns)
    if prompts and (goal := cut_to_tokens(prompts[0], page.left - MIN_SECTION_TOKENS // 2, page.count)):
        page.add_section(titles.goal, [goal])


def _add_sections(
    page: GistText,
    turns: Sequence[Turn],
    titles: GistTitles,
    words: str,
    solved: frozenset[str],
    tell: Tell | None,
) -> None:
    """Add story, files, plan and failures, and passages behind a story that is not told by `tell`."""
    activity = read_activity(turns, MAX_EVENTS)
    paths = ShortPaths(access.path for event in activity.events for access in event.accesses)
    room = page.left if tell is None else int(page.left * STATE_SHARE)
    page.place = 3
    page.add_section(titles.plan, find_plan(activity), int(room * PLAN_SHARE), last=True)
    page.place = 4
    page.add_section(
        titles.still_failing, _failing_lines(activity, paths, solved), int(room * FAILING_SHARE), last=True
    )
    page.place = 2
    _add_files(page, int(room * FILES_SHARE), activity, titles, changed=tell is not None)
    page.place = 1
    title = titles.story + (f" {titles.folder.format(folder=paths.folder)}" if paths.folder else "")
    left = page.left - page.weigh(title)
    if tell is not None:
        page.add_section(title, tell(paths, page.text(), left, page.weigh))
        return
    page.add_section(title, tell_story(turns, titles, paths, left - int(room * PASSAGES_SHARE), page.count))
    page.place = 5
    focus = find_focus([*own_texts(turns), *([(0, words)] * bool(words))])
    tokens = page.left - page.weigh(titles.passages)
    page.add_section(titles.passages, choose_passages(turns, focus, tokens, page.count, paths))


MAX_FAILING, MAX_FAILING_CHARS = 3, 90
"""Checks that fail, and characters of the command of each."""


def _failing_lines(activity: Activity, paths: ShortPaths, solved: frozenset[str]) -> list[str]:
    """Return a line for each test run, build or check that failed last, the newest ones."""
    failures = [failure for failure in find_failures(activity.events) if not failure.solved]
    failing = [one.event for one in failures if is_check(one.event) and not is_solved(one.event, solved)]
    return [
        f"- `{paths.shorten(describe_call(event.use, MAX_FAILING_CHARS))}`: {describe_status(event)}"
        for event in failing[-MAX_FAILING:]
    ]


MAX_RANGES_SHOWN = 6


def _add_files(page: GistText, tokens: int, activity: Activity, titles: GistTitles, *, changed: bool) -> None:
    """Add the file log, files that were only read first to go; relative to their folder where space is short.

    `changed`: only files that were changed; the story names the others.
    """
    events = activity.events
    files = list(build_file_log((event.step, access) for event in events for access in event.accesses).values())
    files = [file for file in files if not changed or file.state != "read"]
    files.sort(key=lambda file: (file.state != "read", file.step))
    lines = [_file_line(file, file.path, titles) for file in files]
    folder, title = find_common_folder([file.path for file in files]), titles.files
    if folder and sum(map(page.weigh, lines)) > tokens:
        lines = [_file_line(file, _relative_to(file.path, folder), titles) for file in files]
        title = titles.under.format(root=folder)
    weights = [page.weigh(line) for line in lines]
    more = titles.more.format(count=f"{len(files):,}")
    left, first = tokens - page.weigh(title) - page.weigh(more), len(lines)
    while first and (left := left - weights[first - 1]) >= 0:
        first -= 1
    if 0 < first < len(lines):
        lines = [titles.more.format(count=f"{first:,}"), *lines[first:]]
    page.add_section(title, lines if first < len(files) else [], tokens, last=True)


def _file_line(file: FileRecord, path: str, titles: GistTitles) -> str:
    in_part = file.ranges and file.ranges != ((1, -1),)
    ranges = ", ".join(map(_range_text, file.ranges[-MAX_RANGES_SHOWN:])) if in_part else ""
    return f"{titles.states[file.state]} {path}{f' [{ranges}]' if ranges else ''}"


def _range_text(lines: LineRange) -> str:
    first, last = lines
    return f"{first}-{'' if last == -1 else last}" if first != last else str(first)


def _relative_to(path: str, folder: str) -> str:
    if path.startswith(folder):
        return path.removeprefix(folder)
    return path if path.startswith(("/", "~")) else f"./{path}"


def own_texts(turns: Sequence[Turn], steps: int = FOCUS_STEPS) -> list[tuple[int, str]]:
    """Return what user and model wrote in the newest `steps`, and changes they looked at, with their age in steps."""
    found: list[tuple[int, str]] = []
    age = 1
    for turn in reversed(turns):
        for step in reversed(turn.steps):
            found += [(age, text) for text in _written(step)]
            age += 1
        found += [(max(1, age // 2), part.text) for part in turn.prompt if isinstance(part, Text) and not part.by]
        if age > steps:
            break
    return found


def _written(step: Step) -> Iterator[str]:
    for item in step.items:
        if isinstance(item, ToolUse):
            yield item.call.arguments
            if is_diff(item.result.text):  # a change that is looked at is the work
                yield "\n".join(find_changed_lines(item.result.text))
        elif isinstance(item, Text):
            yield item.text
