"""The gauge in letters: what the panel, the narrow line and the plain mode all draw from.

Law: it can be read without colours, and the rows add up to what is used.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from yohaku.agent.events import Gauge
from yohaku.agent.toolkit.save_output import size
from yohaku.messages import say

MARKS = {"calm": "", "warm": "!", "hot": "!!", "full": "!!!", "over": "!!!"}
"""What stands for the colour where there is none."""


MAX_CLIP_CHARS = 10_000
"""Characters of a text that may stand in one line."""
MAX_SHOWN_CHARS, HEAD_CHARS, TAIL_CHARS = 20_000, 800, 400
"""Characters of a text that is shown whole, and of both ends of a longer one."""


class GaugeRow(NamedTuple):
    label: str
    tokens: int
    percent: int


def format_tokens(tokens: int) -> str:
    """4.2K, 8K, 1M: a multiple of 1,024 as people call a window, everything else by thousands."""
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


def draw_bar(share: float, width: int) -> str:
    """Full only when it is full, and empty only when nothing is used."""
    filled = min(width, max(0, int(share * width + 0.5)))
    if 0 < share < 1 and width > 1:
        filled = min(max(filled, 1), width - 1)
    return "█" * filled + "░" * (width - filled)


def draw_progress(what: str, done: int, total: int) -> str:
    """How far a download is; for what has no size to speak of, only what it is."""
    if total < 2**20:
        return what
    share = done / total if total else 0.0
    return f"{what}  {draw_bar(share, 20)} {done / 2**20:,.0f} / {total / 2**20:,.0f} MB ({100 * share:.0f}%)"


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
    """Where the tokens are; the history is what is left of the used ones, frames and all.

    What the provider reports may be less than what we weigh: the parts are then shares of that.
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
    """The two last lines of the debug panel."""
    told = {name: f"{say(f'panel_{name}', lang)}: {getattr(gauge, name):,}" for name in COUNT_NAMES}
    return f"{told['messages']}  {told['foldings']}", f"{told['cuts']}  {told['warnings']}"


COUNT_NAMES = ("messages", "foldings", "cuts", "warnings")


def format_gauge(gauge: Gauge, lang: str, width: int = 80) -> str:
    """Everything in one line of at most `width` columns: for a narrow terminal and for lines of text."""
    head = " ".join(filter(None, (format_headline(gauge, lang), MARKS[gauge.level])))
    room = width - count_columns(head) - 1
    draw_progress = draw_bar(gauge.share, min(18, max(4, room // 3))) if room >= 6 else ""
    told = " ".join(filter(None, (head, draw_progress)))
    room = width - count_columns(told) - 2
    return f"{told}  {clip(gauge.coming, room)}" if gauge.coming and room >= 12 else clip(told, width)


ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?|[@-Z\\-_])")
"""Colours, moves of the cursor, titles of the window."""
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""What moves the cursor or turns the direction of writing: nothing a model or a tool may do to the terminal."""


def strip_controls(text: str) -> str:
    """A text from outside as it may be shown: letters, spaces and new lines."""
    if "\x1b" in text:
        text = ESCAPES.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return CONTROLS.sub("", text)


def abridge(text: str, lang: str) -> str:
    """What the user said, as it stands in the conversation on the screen: of a long text both ends."""
    if len(text) <= MAX_SHOWN_CHARS:
        return text
    first, last = text[:HEAD_CHARS], text[-TAIL_CHARS:]
    first = first[: first.rindex("\n")] if "\n" in first else first
    last = last[last.index("\n") + 1 :] if "\n" in last[:-1] else last
    facts = {"size": size(len(text.encode("utf-8", "surrogatepass"))), "lines": text.count("\n") + 1}
    return f"{first}\n{say('screen_abridged', lang, **facts)}\n{last}"


def count_columns(text: str) -> int:
    """How many columns a terminal gives a text: two to a wide letter."""
    return sum(_columns(letter) for letter in text)


def clip(text: str, width: int) -> str:
    """The text in at most `width` columns, on one line; of a long one only the beginning is looked at."""
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


def pad(text: str, width: int) -> str:
    return text + " " * max(0, width - count_columns(text))


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
