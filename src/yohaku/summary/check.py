"""Checks of a model's summary: what of an answer may be used, and why the rest may not.

Law: an accepted text has content, is within its tokens, and names no path, command, address or hash that the
conversation does not hold: a line of which most names are in it loses the others, and any other line goes. A number
that is not in it stands only beside names that are, unless the caller trusts them, and is left out elsewhere. The form
of an answer is never trusted, and its content is treated as text alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from yohaku.analysis.language import count_japanese
from yohaku.analysis.retention import contains_word
from yohaku.analysis.sentences import SENTENCE_END
from yohaku.summary.answer_fields import (
    ANY_TAG,
    FIELDS,
    TAGS,
    THOUGHT_TAGS,
    read_snapshot,
    read_summary,
    strip_wrapping,
)
from yohaku.summary.prompts import (
    CHAPTER,
    FORMS,
    GOES_ON,
    MERGE,
    OPEN_AT_END,
    OPEN_IN_SHORT,
    REPAIR,
    RETAIN,
    SNAPSHOT,
    SUMMARY,
)
from yohaku.summary.repeats import Seen, is_repeated
from yohaku.summary.transcript_text import Utterance

RETAINED = "Kept from it to the letter:"
RETAINED_JA = "そこから原文のまま残したもの:"
SUMMED = "Summary of it, to go on from (not a new request):"
SUMMED_JA = "その要約(続きのためのもので、新しい依頼ではない):"


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer that may be used."""

    text: str
    retain: str = ""
    """Lines to keep to the letter."""
    dropped: int = 0
    """Number of lines and sentences left out because the conversation does not support them."""

    @property
    def whole(self) -> str:
        return f"{self.retain}\n\n{self.text}" if self.retain else self.text

    def headed(self, japanese: bool = False) -> str:
        """The answer as a gist shows it: what is retained, then the summary, each under its heading."""
        retained = RETAINED_JA if japanese else RETAINED
        summed = f"{SUMMED_JA if japanese else SUMMED}\n{self.text}"
        return f"{retained}\n{self.retain}\n\n{summed}" if self.retain else summed


@dataclass(frozen=True, slots=True)
class Rejected:
    """An answer that may not be used."""

    code: str
    detail: str = ""
    """Message of the error, where no answer came."""

    @property
    def reason(self) -> str:
        """In words for the model, which may try again."""
        return self.detail or REASONS[self.code]


REASONS = {
    "far_too_long": "it was far too long",
    "too_long": "it was too long",
    "off_task": "it did not do what was asked",
    "empty": "it had no content",
    "unfounded": "most of it named files, numbers or commands that are not in the record",
    "unanswered": "no answer came",
    "no_model": "nobody is there to answer",
    "no_room": "there is no room for a summary",
    "no_room_to_ask": "there is no room to ask in",
}


class Evidence(NamedTuple):
    """Text and numbers that an answer may refer to."""

    text: str
    """With case and spaces normalised."""
    numbers: frozenset[str]
    """Those in the text, and the numbers of lines of what was said."""

    @classmethod
    def of(cls, utterances: Iterable[Utterance], *more: str) -> Evidence:
        said = list(utterances)
        text = _normalize("\n".join([*more, *(f"{utterance.who} {utterance.text}" for utterance in said)]))
        lines = (str(utterance.text.count("\n") + 1) for utterance in said)
        return cls(text, frozenset(NUMBER.findall(THOUSANDS_COMMA.sub("", text))).union(lines))


def _normalize(text: str) -> str:
    return " ".join(text.split()).casefold()


MIN_SUBSTANCE = 16
"""Letters an answer needs beside tags and placeholders; a Japanese character counts for two."""
MAX_REFUSAL_CHARS = 600
"""A longer text that begins like a refusal has content too."""
FULL_SHARE = 0.9
"""An answer that used this share of its tokens, and does not end with a tag, was cut off."""
MAX_EXCESS = 1.25
"""An answer up to this many times too long is shortened; a longer one is rejected."""


def check_answer(
    answer: str,
    kind: str,
    evidence: Evidence,
    tokens: int,
    count: Callable[[str], int],
    *,
    trust_numbers: bool = False,
) -> Accepted | Rejected:
    """Return what may be used; `trust_numbers`: of a model that works numbers out, such as a sum, and invents none."""
    if len(answer) > 24 * tokens + 20_000:
        return Rejected("far_too_long")
    text = strip_wrapping(answer)
    if REFUSAL.match(text) and len(text) < MAX_REFUSAL_CHARS:
        return Rejected("off_task")
    fields = read_snapshot(text) if kind == "snapshot" else read_summary(text)
    seen: Seen = {}  # a summary need not repeat what is retained; the fields of a snapshot may
    cleaned = {name: _clean_field(field, seen if kind == "summary" else {}) for name, field in fields.items()}
    if not _has_content(cleaned):
        return Rejected("empty")
    if count(answer) > FULL_SHARE * tokens and not text.endswith((">", "}")):
        last = next(reversed(cleaned))
        cleaned[last] = _drop_broken_end(cleaned[last])
    checked = {name: _keep_supported(field, evidence, trust_numbers) for name, field in cleaned.items()}
    kept = {name: field for name, (field, _, _) in checked.items() if count_substance(field)}
    kept = _drop_retained_twice(kept)
    units = sum(units for _, units, _ in checked.values())
    dropped = sum(dropped for _, _, dropped in checked.values())
    if 2 * dropped > units or not _has_content(kept):
        return Rejected("unfounded")
    return _fit_tokens(kept, kind, dropped, tokens, count)


def _drop_retained_twice(fields: dict[str, str]) -> dict[str, str]:
    """Return the fields without the lines to keep to the letter that the summary holds as they stand."""
    if not (fields.get("retain") and fields.get("summary")):
        return fields
    summary = _normalize(fields["summary"])
    lines = fields["retain"].split("\n")
    left = "\n".join(line for line in lines if not contains_word(summary, _normalize(line.lstrip("-* "))))
    return {name: left if name == "retain" else field for name, field in fields.items() if name != "retain" or left}


def _has_content(fields: dict[str, str]) -> bool:
    return sum(map(count_substance, fields.values())) >= MIN_SUBSTANCE


def _fit_tokens(
    kept: dict[str, str], kind: str, dropped: int, tokens: int, count: Callable[[str], int]
) -> Accepted | Rejected:
    """Assemble the fields, without the last lines if a little too long: closing tags lengthen an answer cut off."""
    found = _assemble(kept, kind, dropped)
    weight = count(found.whole)
    if weight > MAX_EXCESS * tokens:
        return Rejected("too_long")
    while weight > tokens:
        last = next(reversed(kept))
        lines = kept[last].split("\n")
        left = "\n".join(lines[: -max(1, len(lines) // 10)])
        kept = {name: left if name == last else field for name, field in kept.items() if name != last or left}
        if not _has_content(kept):
            return Rejected("too_long")
        found = _assemble(kept, kind, dropped)
        weight = count(found.whole)
    return found


def _assemble(kept: dict[str, str], kind: str, dropped: int) -> Accepted:
    if kind == "summary":
        text = kept.get("summary", "")
        return Accepted(text or kept["retain"], kept.get("retain", "") if text else "", dropped)
    if set(kept) <= {""}:
        return Accepted(kept[""], "", dropped)
    body = "\n".join(f"<{name}>\n{kept[name]}\n</{name}>" for name in FIELDS if name in kept)
    return Accepted(f"<state_snapshot>\n{body}\n</state_snapshot>", "", dropped)


# Content

REFUSAL = re.compile(
    r"\s*(?:i['’]?m\s+(?:very\s+)?sorry|sorry,|i\s+(?:can\s?not|can['’]t|am\s+(?:not\s+able|unable))|as\s+an?\s+(?:ai|language)"
    r"|i\s+(?:won['’]t|do\s+not\s+have\s+access)|unfortunately,?\s+i\b"
    r"|申し訳|すみません|ごめん|恐れ入りますが|残念ながら|私は(?:AI|言語モデル)|お(?:答|手伝)\S{0,6}でき)",
    re.I,
)
PLACEHOLDER = re.compile(
    r"\[(?:done|todo|in progress)\]|\b(?:todo|tbd|n/a|none|null|placeholder|your text here|content"
    rf"|{'|'.join(name.replace('_', '[_ ]') for name in TAGS + THOUGHT_TAGS)})\b",
    re.I,
)
MARKUP = re.compile(r"</?[A-Za-z_][\w-]{0,40}\s?/?>")
PUNCTUATION = re.compile(r"[\W_]+")
PARENTHESISED = re.compile(r"\s*[(（]([^()（）]{4,})[)）]\s*")
SENTENCE_ENDS = tuple(".!?。！？)]`")
WORD = re.compile(r"[a-z\d_]{4,}")
PROMPT_LINES = frozenset(
    " ".join(line.split()).strip("()")
    for text in (
        SUMMARY,
        CHAPTER,
        OPEN_AT_END,
        OPEN_IN_SHORT,
        GOES_ON,
        RETAIN,
        SNAPSHOT,
        MERGE,
        REPAIR,
        *FORMS.values(),
    )
    for line in (*text.splitlines(), *SENTENCE_END.split(text))
    if len(line) > 8
)
PROMPT_WORDS = tuple(
    frozenset(WORD.findall(text.casefold()))
    for text in (SUMMARY, CHAPTER.format(end=OPEN_AT_END), RETAIN, SNAPSHOT, MERGE, *FORMS.values())
)
MIN_LONG_LINE_CHARS = 160
"""From this length on a line is judged sentence by sentence."""


def count_substance(text: str) -> int:
    """Count the letters that are neither tag nor placeholder nor punctuation."""
    left = PUNCTUATION.sub("", PLACEHOLDER.sub("", MARKUP.sub("", text)))
    return len(left) + count_japanese(left)


def _clean_field(field: str, seen: Seen) -> str:
    """Return the field without tags, lines that echo the prompt or repeat others, and doubled blank lines."""
    lines: list[str] = []
    for raw in ANY_TAG.sub("", field).strip().splitlines():
        line = _drop_repeats(_unwrap(raw), seen)
        plain = " ".join(line.split())
        repeated = is_repeated(plain, seen)
        echo = plain.strip("()") in PROMPT_LINES or _echoes_prompt(plain)
        if echo or (plain and (repeated or not count_substance(plain))) or (not plain and lines[-1:] == [""]):
            continue
        seen[plain] = None
        lines.append(line.rstrip())
    return "\n".join(lines).strip()


def _echoes_prompt(line: str) -> bool:
    """Test for a line of nothing but sentences or words of one of our prompts."""
    if len(line) > 80 and all(part.strip() in PROMPT_LINES for part in SENTENCE_END.split(line)):
        return True
    words = set(WORD.findall(line.casefold()))
    return len(words) >= 5 and line.isascii() and any(words <= prompt for prompt in PROMPT_WORDS)


def _unwrap(line: str) -> str:
    """Strip the parentheses of our form, in case the model wrote inside them."""
    return found[1] if (found := PARENTHESISED.fullmatch(line)) else line


def _drop_repeats(line: str, seen: Seen) -> str:
    """Return a long line without sentences that came before: small models fall into loops."""
    kept: list[str] = []
    for part in (parts := _split_line(line)):
        plain = part.strip()
        if len(parts) == 1 or not is_repeated(plain, seen):
            kept.append(part)
        if len(parts) > 1:
            seen[plain] = None
    return "".join(kept)


def _drop_broken_end(field: str) -> str:
    """Drop a last line without an end; of a long one only its last sentence."""
    before, newline, last = field.rpartition("\n")
    if last[-1:] in SENTENCE_ENDS:
        return field
    whole = "".join(_split_line(last)[:-1]).rstrip()
    return f"{before}{newline}{whole}" if whole else before or field


def _split_line(line: str) -> list[str]:
    """Return the sentences of a long line, or the line, with the spaces behind them; code in backticks stays whole."""
    if len(line) < MIN_LONG_LINE_CHARS:
        return [line] if line.strip() else []
    ends = [found.end() for found in SENTENCE_END.finditer(line)]
    sentences: list[str] = []
    open_code = False
    for start, end in zip([0, *ends], [*ends, len(line)], strict=True):
        if open_code:
            sentences[-1] += line[start:end]
        elif line[start:end].strip():
            sentences.append(line[start:end])
        open_code ^= line.count("`", start, end) % 2 == 1
    return sentences


# Support by the conversation

NUMBER = re.compile(r"\d{3,}")
THOUSANDS_COMMA = re.compile(r"(?<=\d),(?=\d{3})")
NUMBER_WITH_COMMAS = re.compile(r"\d{1,3}(?:,\d{3})+|\d{3,}")
PLACEHOLDER_PART = re.compile(r"<[^<>`\n]{1,40}>|\{[^{}`\n]{1,40}\}")
"""Of a quotation: it stands for what varies, as in `git show <commit>:<path>`."""
BACKTICKED = re.compile(r"`([^`\n]{1,2000})`")
NAME = re.compile(
    r"https?://[^\s<>()\[\]\"'`\u3000-\u303f\uff00-\uffef]{3,300}"
    r"|(?<![\w/.~-])(?:~|\.{1,2})?/?[\w@.+-]{1,80}(?:/[\w@.+-]{1,80}){1,20}"
    r"|(?<![\w/.@-])[\w-]{1,60}\.(?:py|pyi|js|jsx|ts|tsx|mjs|json|jsonl|toml|ya?ml|md|rst|txt|csv|sql|html?|css|scss|go|rs"
    r"|java|kt|rb|php|cs?|cpp|h|hpp|sh|bash|ps1|cfg|ini|env|lock|xml|log|vue|swift|lua|ipynb|gz|zip|png|jpe?g|svg|pdf)\b"
    r"|\bref=[\w-]+"
    r"|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b",
    re.I | re.ASCII,  # Japanese may stand directly beside a name
)


QUOTE_OR_NAME = re.compile(rf"{BACKTICKED.pattern}|{NAME.pattern}", re.I | re.ASCII)
LEFT_OUT = "[…]"
"""Stands for a name that the conversation does not hold."""


def _keep_supported(field: str, evidence: Evidence, trust_numbers: bool) -> tuple[str, int, int]:
    """Return what the conversation supports, the number of lines and sentences, and how many of them were dropped."""
    lines: list[str] = []
    units = dropped = 0
    for line in field.split("\n"):
        parts = _split_line(line)
        kept = [found for part in parts if (found := _support(part, evidence, trust_numbers)) is not None]
        units += len(parts)
        dropped += len(parts) - len(kept)
        if kept or not parts:
            lines.append("".join(kept).rstrip())
    return "\n".join(lines).strip(), units, dropped


def _support(part: str, evidence: Evidence, trust_numbers: bool) -> str | None:
    """Return a line or sentence without the names that are not in the conversation; None if few of them are."""
    known = unknown = 0

    def replace(found: re.Match[str]) -> str:
        nonlocal known, unknown
        quote = found[1]
        name = found[0] if quote else found[0].rstrip(".,:;+-")
        if _is_quoted(quote, evidence.text) if quote else _is_known(name, evidence.text):
            known += 1
            return found[0]
        unknown += 1
        return LEFT_OUT + found[0][len(name) :]

    shown = QUOTE_OR_NAME.sub(replace, part)
    if unknown > known:
        return None
    return shown if known or trust_numbers else _leave_out_numbers(shown, evidence)


def _leave_out_numbers(text: str, evidence: Evidence) -> str | None:
    """Return a text without the numbers that are not in the conversation; None if nothing else is left."""

    def replace(found: re.Match[str]) -> str:
        return found[0] if THOUSANDS_COMMA.sub("", found[0]) in evidence.numbers else LEFT_OUT

    shown = NUMBER_WITH_COMMAS.sub(replace, text)
    return shown if shown == text or count_substance(shown.replace(LEFT_OUT, "")) >= MIN_SUBSTANCE else None


def _is_quoted(quote: str, text: str) -> bool:
    """Test for a quotation from the conversation; one put together from words of it is one, too."""
    plain = (
        _normalize(PLACEHOLDER_PART.sub(" ", quote))
        .removeprefix("$ ")
        .removeprefix("./")
        .removesuffix("()")
        .strip(" ;,")
    )
    return plain in text or all(part in text for part in re.split(r"[^\w-]+", plain))


def _is_known(name: str, text: str) -> bool:
    """Test for a name in the conversation. A path may be put together from parts, if each is there."""
    name = name.casefold()
    if name in text or name.startswith(("http", "ref=")):
        return name in text
    parts = [part for part in name.split("/") if part not in ("", ".", "..", "~")]
    if len(parts) == 2 and not name.startswith(("/", ".", "~")) and not re.search(r"[._\d]", name):
        return True  # two plain words, as in `and/or`
    return "/" in name and all(part in text for part in parts)
