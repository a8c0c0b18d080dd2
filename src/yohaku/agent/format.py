"""Text for terminals: the gauge in figures and bars, texts from outside made safe and short.

Law: the gauge can be read without colours, and its rows add up to the tokens used.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from yohaku.agent.events import ConversationFolded, FoldsReused, Gauge, ReadingProgress, SearchProgress
from yohaku.messages import describe, say

if TYPE_CHECKING:
    from yohaku.core.model import Call
    from yohaku.session.receipt import Receipt

MARKS = {"calm": "", "warm": "!", "hot": "!!", "full": "!!!", "over": "!!!"}
"""Signs for the levels, for terminals without colours."""


MAX_CLIP_CHARS = 10_000
"""Characters of a text that are read for one line."""
MAX_SHOWN_CHARS, HEAD_CHARS, TAIL_CHARS = 20_000, 800, 400
"""Characters of a prompt that is shown whole, and of both ends of a longer one."""
MAX_TITLE_CHARS = 200


class GaugeRow(NamedTuple):
    label: str
    tokens: int
    percent: int


def format_tokens(tokens: int) -> str:
    """Return 4.2K, 8K, 1M: multiples of 1,024 by 1,024, as windows are called, everything else by thousands."""
    if tokens < 1000:
        return str(tokens)
    for unit, binary, plain in (("M", 1 << 20, 1_000_000), ("K", 1 << 10, 1000)):
        if tokens >= plain:
            if tokens % binary == 0:
                return f"{tokens // binary}{unit}"
            if round(tokens / plain, 1) >= 1000 and unit == "K":
                return "1M"
            return f"{tokens / plain:.1f}".removesuffix(".0") + unit
    return str(tokens)


def describe_folding(event: ConversationFolded | FoldsReused, lang: str) -> str:
    """Return what a folding did and who wrote its gist, or that folds are used again, with tokens before and after."""
    receipt = event.receipt
    if isinstance(event, ConversationFolded):
        told = say("screen_folded", lang, before=receipt.before, after=receipt.after)
        return " ".join(filter(None, (told, describe_author(receipt, lang))))
    return say("screen_reused", lang, before=receipt.unfolded, after=receipt.before, count=len(receipt.reused))


def describe_folding_briefly(receipt: Receipt, lang: str) -> str:
    """Return tokens before and after, and the biggest thing that was folded."""
    facts = {"before": format_tokens(receipt.before), "after": format_tokens(receipt.after)}
    folds = sorted(receipt.folds, key=lambda fold: fold.after - fold.before)
    what = describe(folds[0].what, folds[0].why, lang, folds[0].detail, folds[0].made_for)[0] if folds else ""
    more = say("panel_fold_more", lang, count=len(folds) - 1) if len(folds) > 1 else ""
    return say("panel_folded", lang, **facts, what=clip(what, 90), more=more)


def draw_bar(share: float, width: int) -> str:
    """Draw a bar that is full only at 1 and empty only at 0."""
    filled = min(width, max(0, int(share * width + 0.5)))
    if 0 < share < 1 and width > 1:
        filled = min(max(filled, 1), width - 1)
    return "█" * filled + "░" * (width - filled)


def draw_progress(what: str, done: int, total: int) -> str:
    """Draw the progress of a download; below a megabyte only its name."""
    if total < 2**20:
        return what
    share = done / total if total else 0.0
    return f"{what}  {draw_bar(share, 20)} {done / 2**20:,.0f} / {total / 2**20:,.0f} MB ({100 * share:.0f}%)"


def describe_search(progress: SearchProgress, lang: str) -> str:
    """Say how many files a search has looked at, or found so far."""
    return say(
        "screen_searched" if progress.total else "screen_listed", lang, files=progress.files, total=progress.total
    )


def describe_reading(reading: ReadingProgress, seconds: float, lang: str) -> str:
    """Say how far the model has read, `seconds` after that was told, and about how long the rest takes."""
    if reading.summing_up:
        told = describe_reading(replace(reading, summing_up=False), seconds, lang)
        return say("reading_to_sum_up", lang, reading=told)
    if not reading.speed:
        return say("reading_begun", lang, total=reading.total)
    done = min(reading.total, reading.done + int(seconds * reading.speed))
    left = (reading.total - done) / reading.speed
    wait = (
        say("about_seconds", lang, seconds=round(left))
        if left < 90
        else say("about_minutes", lang, minutes=round(left / 60))
    )
    name = "reading_estimated" if reading.estimated else "reading_told"
    return say(name, lang, done=done, total=reading.total, speed=reading.speed, left=wait)


def percent(part: int, whole: int) -> int:
    return round(100 * part / whole) if whole else 0


def format_headline(gauge: Gauge, lang: str, *, whole: bool = False) -> str:
    """Return `4.2K / 7K (59%)`, tokens used and the limit, or every digit; `~` marks an estimate."""
    share = f"({percent(gauge.used, gauge.limit)}%)"
    about = "" if gauge.exact else "~"
    if whole:
        return f"{about}{gauge.used:,} / {gauge.limit:,} {say('panel_tokens', lang)} {share}"
    return f"{about}{format_tokens(gauge.used)} / {format_tokens(gauge.limit)} {share}"


def gauge_rows(gauge: Gauge, lang: str) -> tuple[GaugeRow, ...]:
    """Return the tokens by where they are; "turns" is the rest of the tokens used.

    The provider may report fewer than we weigh: the parts are then scaled down.
    """
    weighed = gauge.system + gauge.tools + gauge.turns
    system, tools, last = (
        part * gauge.used // weighed if weighed > gauge.used else part
        for part in (gauge.system, gauge.tools, min(gauge.last, gauge.turns))
    )
    parts = {"system": system, "tools": tools, "turns": gauge.used - system - tools - last, "last": last}
    return tuple(GaugeRow(say(f"panel_{name}", lang), each, percent(each, gauge.limit)) for name, each in parts.items())


def remaining_row(gauge: Gauge, lang: str) -> GaugeRow:
    tokens = max(0, gauge.limit - gauge.used)
    return GaugeRow(say("panel_left", lang), tokens, percent(tokens, gauge.limit))


def format_counts(gauge: Gauge, lang: str) -> tuple[str, str]:
    """Return the two last lines of the debug panel."""
    texts = {name: f"{say(f'panel_{name}', lang)}: {getattr(gauge, name):,}" for name in COUNT_NAMES}
    return f"{texts['messages']}  {texts['foldings']}", f"{texts['cuts']}  {texts['warnings']}"


def describe_level(gauge: Gauge, lang: str) -> str:
    """Return the level in words, by what the recipe really does there."""
    if not gauge.folds_at or gauge.level in ("calm", "over"):
        return say(f"panel_{gauge.level}", lang)
    if gauge.used >= gauge.cuts_at:
        return say("panel_full", lang)
    if gauge.used >= gauge.folds_at:
        return say("panel_hot", lang)
    return say("panel_until", lang, percent=percent(gauge.folds_at, gauge.limit))


def describe_author(receipt: Receipt, lang: str) -> str:
    """Return who wrote the gist of a folding, and whether the user's words were heeded; empty without a gist."""
    author = receipt.author
    if author is None:
        return ""
    suffix = ("_with_words" if author.heeded else "_without_words") if author.words else ""
    if author.model:
        return say(f"summed_by_model{suffix}", lang, model=author.model)
    why = say(f"why.without_model.{author.why}", lang, detail=author.detail)
    return say(f"summed_without_model{suffix}", lang, why=f"{why[:1].upper()}{why[1:]}")


COUNT_NAMES = ("messages", "foldings", "cuts", "warnings")


def format_gauge(gauge: Gauge, lang: str, width: int = 80) -> str:
    """Return the gauge in one line of at most `width` columns."""
    head = " ".join(filter(None, (format_headline(gauge, lang), MARKS[gauge.level])))
    room = width - count_columns(head) - 1
    bar = draw_bar(gauge.share, min(18, max(4, room // 3))) if room >= 6 else ""
    text = " ".join(filter(None, (head, bar)))
    room = width - count_columns(text) - 2
    coming = _shorten(gauge.coming, room) if room >= 12 else ""
    return f"{text}  {coming}" if coming else clip(text, width)


def _shorten(sentence: str, room: int) -> str:
    """Return as much of a sentence as fits, up to where a part of it ends; cut only where no part fits."""
    if count_columns(sentence) <= room:
        return sentence
    ends = [found.start() for found in re.finditer(r" \(|[;:,] |[。、]", sentence)]
    fitting = [sentence[:end] for end in ends if count_columns(sentence[:end]) <= room]
    return fitting[-1] if fitting else clip(sentence, room)


ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?|[@-Z\\-_])")
"""Colours, cursor movements, window titles."""
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Characters that move the cursor or change the direction of writing."""


def strip_controls(text: str) -> str:
    """Remove escapes and control characters: no model or tool may steer the terminal."""
    if "\x1b" in text:
        text = ESCAPES.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return CONTROLS.sub("", text)


def abridge(text: str, lang: str) -> str:
    """Return a prompt as the screen shows it: of a long one both ends."""
    if len(text) <= MAX_SHOWN_CHARS:
        return text
    from yohaku.agent.toolkit.output_budget import format_size

    first, last = text[:HEAD_CHARS], text[-TAIL_CHARS:]
    first = first[: first.rindex("\n")] if "\n" in first else first
    last = last[last.index("\n") + 1 :] if "\n" in last[:-1] else last
    facts = {"size": format_size(len(text.encode("utf-8", "surrogatepass"))), "lines": text.count("\n") + 1}
    return f"{first}\n{say('screen_abridged', lang, **facts)}\n{last}"


def count_columns(text: str) -> int:
    """Count the columns of a text in a terminal: two for a wide character."""
    return sum(_columns(letter) for letter in text)


def clip(text: str, width: int) -> str:
    """Return the text on one line of at most `width` columns; only the beginning of a long one is read."""
    more = len(text) > MAX_CLIP_CHARS
    text = " ".join(strip_controls(text[:MAX_CLIP_CHARS]).split())
    if count_columns(text) <= width and not more:
        return text
    kept, room = [], width - 1
    for letter in text:
        room -= _columns(letter)
        if room < 0:
            break
        kept.append(letter)
    return "".join(kept) + "…" if width > 0 else ""


def wrap(text: str, width: int) -> list[str]:
    """Break a text at blanks, and between wide characters, into lines of at most `width` columns.

    Signs that do not begin a line in Japanese stay on the line before, which may be wider by them.
    """
    lines, line = [], ""
    for piece in PIECES.findall(text):
        if line.strip() and count_columns(line) + count_columns(piece) > width and piece not in NOT_FIRST:
            lines.append(line.rstrip())
            line = ""
        line += piece if line or piece.strip() else ""
    return [*lines, line.rstrip()]


def wrap_lines(text: str, width: int) -> list[str]:
    """Wrap each line that is too long, and keep its indentation: in a row of a table, that of its second column."""
    wrapped: list[str] = []
    for line in text.split("\n"):
        if width <= 0 or len(line) > MAX_CLIP_CHARS or count_columns(line) <= width:
            wrapped.append(line)
            continue
        row = TABLE_ROW.match(line)
        if row and count_columns(row[0]) <= width * 3 // 5:
            head, indent = row[0], " " * count_columns(row[0])
        else:
            head = indent = " " * min(len(line) - len(line.lstrip(" ")), width // 2)
        rest = line.removeprefix(head)
        room = width - len(indent) - (2 if re.search(f"[{WIDE}]", rest) else 0)  # for a sign at the end of the line
        first, *more = wrap(rest, room)
        wrapped += [head + first, *(indent + part for part in more)]
    return wrapped


TABLE_ROW = re.compile(r" *[^ ]+(?: [^ ]+)* {2,}(?=[^ ])")
"""The first column of a row, with the spaces behind it."""
WIDE = "\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef"
PIECES = re.compile(rf"[ ]+|[{WIDE}]|[^ {WIDE}]+")
NOT_FIRST = frozenset("、。，．）」』】〕？！ー…")
"""Signs that do not begin a line in Japanese."""


def pad(text: str, width: int) -> str:
    return text + " " * max(0, width - count_columns(text))


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def call_title(call: Call) -> str:
    """Return a call in one line, also one of another program; never raises."""
    from yohaku.agent.toolkit.arguments import BadArguments, repair_arguments
    from yohaku.agent.tools import tools_for

    tool = next((tool for tool in tools_for("full") if tool.name == call.name), None)
    try:
        if tool:
            return tool.title(repair_arguments(tool, call.arguments))[:MAX_TITLE_CHARS]
    except (BadArguments, LookupError, ValueError, TypeError, AttributeError, RecursionError):  # another program's
        pass
    return f"{call.name} {call.arguments}"[:MAX_TITLE_CHARS]
