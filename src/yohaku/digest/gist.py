"""The gist of hidden turns, made without a model: what was asked, done, decided and found, in the words it was said in.

Laws: the same turns give the same text; it never weighs more than it may; it opens with what is hidden and the ref
that opens it, then the user's rules, whole. The newest is looked at first, and no more than there is room to tell of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from yohaku.analysis.activity import (
    Activity,
    Failure,
    describe_status,
    find_decisions,
    find_failures,
    find_plan,
    read_activity,
)
from yohaku.analysis.entities import MAX_RANKED_CHARS, describe_call, rank_entities
from yohaku.analysis.file_log import FileRecord, build_file_log
from yohaku.analysis.touch import AccessKind, LineRange
from yohaku.core.model import Text, Turn

Count = Callable[[str], int]


class GistTitles(NamedTuple):
    """The titles of the sections, in the language of the conversation."""

    header: str
    rules: str
    goal: str
    asked: str
    files: str
    under: str
    commands: str
    tests: str
    open: str
    solved: str
    decided: str
    plan: str
    found: str
    source: str
    states: dict[AccessKind, str]


ENGLISH = GistTitles(
    header="[Earlier conversation folded: {what}; ref={ref}]",
    rules="The user's rules, still in force:",
    goal="The goal, as the user put it:",
    asked="The user asked, in order:",
    files="Files:",
    under="Files, under {root}:",
    commands="Commands run:",
    tests="Last test results:",
    open="Errors not yet solved:",
    solved="Errors solved:",
    decided="Said by the assistant:",
    plan="The plan:",
    found="Seen in results:",
    source="from `{origin}`: ",
    states={"read": "read", "created": "created", "modified": "modified", "deleted": "deleted"},
)

JAPANESE = GistTitles(
    header="[これまでの会話を折りたたみました: {what}; ref={ref}]",
    rules="ユーザーの決まり(今も有効):",
    goal="目的(ユーザーの言葉):",
    asked="ユーザーの指示(順に):",
    files="ファイル:",
    under="ファイル ({root} 以下):",
    commands="実行したコマンド:",
    tests="最後のテスト結果:",
    open="未解決のエラー:",
    solved="解決したエラー:",
    decided="アシスタントの発言:",
    plan="計画:",
    found="結果に出てきたもの:",
    source="`{origin}` より: ",
    states={"read": "読取", "created": "作成", "modified": "変更", "deleted": "削除"},
)

_KANA_LETTER = re.compile(r"[ぁ-ヿ]")


def choose_titles(turns: Iterable[Turn]) -> GistTitles:
    """Japanese where most prompts are: a few letters in ten are kana then."""
    prompts = [text[:2_000] for text in user_prompts(turns)]
    japanese = sum(len(_KANA_LETTER.findall(text)) * 10 > len(text) for text in prompts)
    return JAPANESE if 2 * japanese > len(prompts) else ENGLISH


def user_prompts(turns: Iterable[Turn]) -> list[str]:
    """What the user said: not what the system put between."""
    texts = (part.text for turn in turns for part in turn.prompt if isinstance(part, Text) and not part.by)
    return [text for text in texts if text.strip()]


def write_gist(
    turns: Sequence[Turn],
    *,
    ref: str,
    tokens: int,
    count: Count,
    rules: tuple[str, ...] = (),
    words: GistTitles | None = None,
    index: bool = True,
) -> str:
    """A text of at most `tokens` for everything in `turns`; empty where not even the ref has room.

    Who shows what was in the results besides wants no `index` of it.
    """
    words = words or choose_titles(turns)
    page = GistText(tokens, count)
    if not page.open(_write_header(turns, ref, words), f"[folded; ref={ref}]"):
        return ""
    page.section(words.rules, [f"- {rule}" for rule in rules])
    if page.left >= MIN_ALL_SECTIONS_TOKENS:
        told = read_activity(turns, most=max(200, tokens // 8))
        for place, share, fill in SECTIONS:
            if fill is _add_index and not index:
                continue
            page.place = place
            fill(page, page.share(share), words, turns, told)
    elif page.left >= MIN_SECTION_TOKENS:
        _add_prompts(page, page.left, words, turns, Activity((), ()))
    return page.text()


def write_opening(turns: Sequence[Turn], ref: str, rules: tuple[str, ...] = ()) -> str:
    """What was folded, and the rules that stand: what every gist begins with."""
    words = choose_titles(turns)
    lines = [words.rules, *(f"- {rule}" for rule in rules)] if rules else []
    return "\n".join([_write_header(turns, ref, words), *lines])


MIN_SECTION_TOKENS = 40
"""Tokens. With less left, nothing more is told."""

MIN_ALL_SECTIONS_TOKENS = 160
"""Tokens. With less left, nothing is told but what the user asked."""


def _write_header(turns: Sequence[Turn], ref: str, words: GistTitles) -> str:
    prompts, steps = len(user_prompts(turns)), sum(len(turn.steps) for turn in turns)
    if words is JAPANESE:
        what = (f"指示 {prompts:,} 件、" if prompts else "") + f"{steps:,} ステップ"
    else:
        what = (_plural(prompts, "prompt") + ", " if prompts else "") + _plural(steps, "step")
    return words.header.format(what=what, ref=ref)


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


class GistText:
    """A text being filled, line by line, as far as there is room."""

    def __init__(self, tokens: int, count: Count) -> None:
        self.tokens, self.count = tokens, count
        self.left = tokens
        self.place = 0
        """Where on the page the next section stands: the order they are filled in is another."""
        self._planned = 0.0
        self._start = 0
        self._lines: dict[int, list[str]] = {}

    def open(self, *headers: str) -> bool:
        """The first of the headers that there is room for."""
        for header in headers:
            if self.weight(header) <= self.left:
                self._add([header])
                return True
        return False

    def share(self, part: float) -> int:
        """So much of what was left when sharing began, and what the sections before have not used."""
        if not self._planned:
            self._start = self.left
        self._planned += part
        return min(self.left, int(self._start * self._planned) - (self._start - self.left))

    def section(self, title: str, lines: Sequence[str], allowed: int | None = None, last: bool = False) -> int:
        """A title and as many of the lines as there is room for, the first before the others (or the `last` ones)."""
        allowed = self.left if allowed is None else allowed
        room = allowed - self.weight(title)
        kept: set[int] = set()
        misses = 0
        for at in reversed(range(len(lines))) if last else range(len(lines)):
            weight = self.weight(lines[at])
            if weight <= room:
                room -= weight
                kept.add(at)
            else:
                misses += 1
                if misses > 8 or room < 8:
                    break
        if not kept:
            return 0
        self._add([title, *(lines[at] for at in sorted(kept))])
        return len(kept)

    def text(self) -> str:
        """What is on the page. Lines weigh a little differently together: the last go until it is light enough."""
        lines = [line for place in sorted(self._lines) for line in self._lines[place]]
        while lines and self.count("\n".join(lines)) > self.tokens:
            lines = lines[: -max(1, len(lines) // 50)] if len(lines) > 1 else []
        return "\n".join(lines)

    def weight(self, line: str) -> int:
        return self.count(f"{line}\n")

    def _add(self, lines: list[str]) -> None:
        self._lines.setdefault(self.place, []).extend(lines)
        self.left -= sum(map(self.weight, lines))


def cut_to_tokens(text: str, tokens: int, count: Count) -> str:
    """The text, or as much of its beginning as weighs that little, with a sign that it goes on."""
    text = text.strip()
    if len(text.encode("utf-8", "surrogatepass")) <= tokens or count(text) <= tokens:
        return text
    keep = min(len(text) - 1, tokens * 6)
    while keep > 0:
        shown = f"{text[:keep].rstrip()} […]"
        weight = count(shown)
        if weight <= tokens:
            return shown
        keep = min(keep - 1, int(keep * max(0.3, 0.97 * tokens / weight)))
    return ""


# Sections


def _add_prompts(page: GistText, share: int, words: GistTitles, turns: Sequence[Turn], told: Activity) -> None:
    prompts = list(dict.fromkeys(user_prompts(turns)))
    if not prompts or share < MIN_SECTION_TOKENS:
        return
    goal = cut_to_tokens(prompts[0], share // 3 if prompts[1:] else share - 16, page.count)
    before = page.left
    if goal:
        page.section(words.goal, [goal], share)
    room = share - (before - page.left) - 16
    lines: list[str] = []
    for prompt in reversed(prompts[1:]):
        line = (
            cut_to_tokens(f"- {prompt.strip()}", min(room, max(share // 6, MIN_SECTION_TOKENS)), page.count)
            if room > 8
            else ""
        )
        if not line:
            break
        room -= page.weight(line)
        lines.append(line)
    page.section(words.asked, lines[::-1], share, last=True)


def _add_files(page: GistText, share: int, words: GistTitles, turns: Sequence[Turn], told: Activity) -> None:
    found = list(build_file_log((event.step, touch) for event in told.events for touch in event.touches).values())
    found.sort(key=lambda file: (file.state != "read", file.step))
    lines = [_file_line(file, file.path, words) for file in found]
    root = _common_folder([file.path for file in found])
    if root and sum(map(page.weight, lines)) > share:
        lines = [_file_line(file, _relative_to(file.path, root), words) for file in found]
        page.section(words.under.format(root=root), lines, share, last=True)
    else:
        page.section(words.files, lines, share, last=True)


def _file_line(file: FileRecord, path: str, words: GistTitles) -> str:
    ranges = ", ".join(map(_range_text, file.ranges[-6:])) if file.ranges and file.ranges != ((1, -1),) else ""
    return f"{words.states[file.state]} {path}{f' [{ranges}]' if ranges else ''}"


def _range_text(lines: LineRange) -> str:
    first, last = lines
    return f"{first}-{'' if last == -1 else last}" if first != last else str(first)


def _common_folder(paths: list[str]) -> str:
    """The folder that most absolute paths are in: one in ten may lie outside at either end."""
    folders = sorted(path.rsplit("/", 1)[0].split("/") for path in paths if path.startswith("/"))
    aside = len(folders) // 10
    most = folders[aside : len(folders) - aside]
    if len(most) < 2:
        return ""
    pairs = enumerate(zip(most[0], most[-1], strict=False))
    shared = next((at for at, (one, other) in pairs if one != other), min(len(most[0]), len(most[-1])))
    return "/".join(most[0][:shared]) + "/" if shared > 2 else ""


def _relative_to(path: str, root: str) -> str:
    if path.startswith(root):
        return path.removeprefix(root)
    return path if path.startswith(("/", "~")) else f"./{path}"


def _add_commands(page: GistText, share: int, words: GistTitles, turns: Sequence[Turn], told: Activity) -> None:
    ran = {event.key: event for event in told.events if event.ran is not None}
    events = sorted(ran.values(), key=lambda event: (not event.looks, event.step))
    page.section(
        words.commands,
        [f"- `{describe_call(event.use, 120)}`: {describe_status(event)}" for event in events],
        share,
        True,
    )


def _add_tests(page: GistText, share: int, words: GistTitles, turns: Sequence[Turn], told: Activity) -> None:
    newest = {event.key: event for event in told.events if event.tests}
    events = sorted(newest.values(), key=lambda event: event.step)[-5:]
    page.section(words.tests, [f"- `{describe_call(event.use)}`: {event.tests}" for event in events], share, last=True)


def _add_errors(page: GistText, share: int, words: GistTitles, turns: Sequence[Turn], told: Activity) -> None:
    found = find_failures(told.events)
    before = page.left
    still = [_failure_line(one, 3) for one in found[-60:] if not one.solved]
    page.section(words.open, still, share, last=True)
    room = share - (before - page.left)
    solved = [one for one in found if one.solved and one.event.ran is not None] if room > MIN_SECTION_TOKENS else []
    page.section(words.solved, [_failure_line(one, 1) for one in solved[-20:]], room, last=True)


def _failure_line(one: Failure, most: int) -> str:
    return f"- `{describe_call(one.event.use)}`: {' | '.join(one.lines(most))}"


def _add_decisions(page: GistText, share: int, words: GistTitles, turns: Sequence[Turn], told: Activity) -> None:
    newest_first = find_decisions(told.said[-max(60, share) :], most=max(8, share // 8))
    page.section(words.decided, [f"- {sentence}" for sentence in newest_first[::-1]], share, last=True)


def _add_plan(page: GistText, share: int, words: GistTitles, turns: Sequence[Turn], told: Activity) -> None:
    page.section(words.plan, find_plan(told), share, last=True)


def _add_index(page: GistText, share: int, words: GistTitles, turns: Sequence[Turn], told: Activity) -> None:
    """Names and the like with the call they come from; those that stand on the page already are left out."""
    if share < MIN_SECTION_TOKENS:
        return
    page_text = page.text()
    wrong = page_text.partition(words.open)[2].partition(words.solved)[0]
    found = rank_entities(turns, most=share // 2, chars=min(MAX_RANKED_CHARS, 200 * share), open_errors=wrong)
    paths = {touch.path for event in told.events for touch in event.touches}
    groups: dict[str, list[str]] = {}
    room = share - page.weight(words.found)
    for one in found:
        name = one.fact.text.removeprefix("a/").removeprefix("b/")  # a diff calls both sides by names of their own
        if name in page_text or name in paths:
            continue
        opening = page.weight(words.source.format(origin=one.origin)) if one.origin not in groups else 0
        weight = page.weight(one.fact.text) + opening + 1
        if weight > room:
            break
        room -= weight
        groups.setdefault(one.origin, []).append(one.fact.text)
    lines = [f"- {words.source.format(origin=origin)}{', '.join(names)}" for origin, names in groups.items()]
    page.section(words.found, lines, share)


SECTIONS = (
    (3, 0.06, _add_commands),
    (4, 0.04, _add_tests),
    (5, 0.10, _add_errors),
    (6, 0.05, _add_decisions),
    (7, 0.05, _add_plan),
    (1, 0.35, _add_prompts),
    (2, 0.28, _add_files),
    (8, 0.07, _add_index),
)
"""Where each stands on the page and its share of the room, in the order they are filled: what one leaves the next has.

So most of what is left goes to what the user asked, then to the files.
"""


# Reading it back

_STATES = "|".join(state for words in (ENGLISH, JAPANESE) for state in words.states.values())
_FILE_LINE = re.compile(rf"^(?:{_STATES}) (.+?)(?: \[[\d, -]+\])?$")
_UNDER = [re.compile(re.escape(words.under).replace(r"\{root\}", "(.+)")) for words in (ENGLISH, JAPANESE)]


def read_file_paths(text: str) -> set[str]:
    """The paths that a gist's file ledger tells of."""
    paths: set[str] = set()
    root: str | None = None
    inside = False
    for line in text.splitlines():
        under = next((found[1] for pattern in _UNDER if (found := pattern.fullmatch(line))), None)
        if under or line in (ENGLISH.files, JAPANESE.files):
            inside, root = True, under
        elif inside and (found := _FILE_LINE.match(line)):
            paths.add(_absolute_path(found[1], root))
        else:
            inside = False
    return paths


def _absolute_path(path: str, root: str | None) -> str:
    if root is None or path.startswith(("/", "~")):
        return path
    return path[2:] if path.startswith("./") else root + path
