"""Reading what a model answered: what can be used of it, and why the rest cannot.

Law: what is handed on has content, is within its tokens, and names no path, number, command, address or hash that
the conversation does not hold. The shape of the answer is never trusted; what it says is only ever text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from yohaku.analysis.language import count_japanese
from yohaku.analysis.sentences import SENTENCE
from yohaku.summary.prompts.form import FORMS
from yohaku.summary.prompts.merge import MERGE
from yohaku.summary.prompts.repair import REPAIR
from yohaku.summary.prompts.retain import RETAIN
from yohaku.summary.prompts.snapshot import SNAPSHOT
from yohaku.summary.prompts.summary import SUMMARY
from yohaku.summary.repeats import Seen, is_repeated
from yohaku.summary.transcript_text import Utterance

FIELDS = ("overall_goal", "key_knowledge", "file_system_state", "recent_actions", "current_plan")
TAGS = ("retain", "summary", "state_snapshot", *FIELDS)
THOUGHTS = ("think", "thinking", "thought", "scratchpad", "analysis", "reasoning")


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer that may be used."""

    text: str
    retain: str = ""
    """What it wants kept to the letter."""
    dropped: int = 0
    """Lines and sentences left out, because the conversation does not bear them out."""

    @property
    def whole(self) -> str:
        return f"{self.retain}\n\n{self.text}" if self.retain else self.text


@dataclass(frozen=True, slots=True)
class Rejected:
    """An answer that may not."""

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
    """What an answer may speak of."""

    text: str
    """Case and spaces evened out."""
    numbers: frozenset[str]

    @classmethod
    def of(cls, said: Iterable[Utterance], *more: str) -> Evidence:
        text = _normalize("\n".join([*more, *(f"{saying.who} {saying.text}" for saying in said)]))
        return cls(text, frozenset(NUMBER.findall(GROUPED.sub("", text))))


def _normalize(text: str) -> str:
    return " ".join(text.split()).casefold()


def check_answer(
    answer: str, kind: str, evidence: Evidence, tokens: int, count: Callable[[str], int]
) -> Accepted | Rejected:
    if len(answer) > 24 * tokens + 20_000:
        return Rejected("far_too_long")
    text = _strip_fences(CONTROL.sub("", _strip_thoughts(answer)))
    if REFUSAL.match(text) and len(text) < 600:
        return Rejected("off_task")
    fields = _read_snapshot(text) if kind == "snapshot" else _read_summary(text)
    seen: Seen = {}  # what is retained need not be said again; each field of a snapshot is for itself
    cleaned = {name: _clean_field(field, seen if kind == "summary" else {}) for name, field in fields.items()}
    if sum(map(count_substance, cleaned.values())) < MIN_SUBSTANCE:
        return Rejected("empty")
    if count(answer) > 0.9 * tokens and not text.endswith((">", "}")):  # it breaks off, in the last of its fields
        last = next(reversed(cleaned))
        cleaned[last] = _drop_broken_end(cleaned[last])
    checked = {name: _keep_supported(field, evidence) for name, field in cleaned.items()}
    kept = {name: field for name, (field, _, _) in checked.items() if count_substance(field)}
    units = sum(units for _, units, _ in checked.values())
    dropped = sum(dropped for _, _, dropped in checked.values())
    if 2 * dropped > units or sum(map(count_substance, kept.values())) < MIN_SUBSTANCE:
        return Rejected("unfounded")
    return _fit_tokens(kept, kind, dropped, tokens, count)


def _fit_tokens(
    kept: dict[str, str], kind: str, dropped: int, tokens: int, count: Callable[[str], int]
) -> Accepted | Rejected:
    """Put together; without its last lines where it is a little too long, as what was cut off becomes by its tags."""
    found = _assemble(kept, kind, dropped)
    weight = count(found.whole)
    if weight > 1.25 * tokens:
        return Rejected("too_long")
    while weight > tokens:
        last = next(reversed(kept))
        lines = kept[last].split("\n")
        left = "\n".join(lines[: -max(1, len(lines) // 10)])
        kept = {name: left if name == last else field for name, field in kept.items() if name != last or left}
        if sum(map(count_substance, kept.values())) < MIN_SUBSTANCE:
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


# The shape

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
"""Signs no answer needs; a lone surrogate could not even be sent on."""
FENCED = re.compile(r"^[ \t]*```\w*[ \t]*$\n?", re.M)
ANY_TAG = re.compile(rf"</?(?:{'|'.join(TAGS + THOUGHTS)})\b[^<>\n]{{0,80}}>", re.I)
STRING = re.compile(r'"(\w{3,20})"\s*:\s*"((?:[^"\\]|\\.)*)')


def _strip_thoughts(answer: str) -> str:
    """Behind the last thought that ends; without one that does not."""
    for name in THOUGHTS:
        ends = list(re.finditer(rf"</{name}\s*>", answer, re.I))
        if ends:
            # A server that was given the beginning of a thought sends only its end.
            first = re.search(rf"<{name}\s*>", answer, re.I)
            before = answer[: first.start()] if first and first.start() < ends[0].start() else ""
            answer = before + answer[ends[-1].end() :]
        elif begun := re.search(rf"<{name}\s*>", answer, re.I):
            behind = re.search(r"<(?:summary|retain|state_snapshot)\s*>", answer[begun.end() :], re.I)
            answer = answer[: begun.start()] + (answer[begun.end() + behind.start() :] if behind else "")
    return answer


def _strip_fences(text: str) -> str:
    return FENCED.sub("", text).strip()


def _read_summary(text: str) -> dict[str, str]:
    values = _read_json(text) or {
        name: found for name in ("retain", "summary") if (found := _read_tag(text, name)) is not None
    }
    if "summary" not in values:
        rest = text.replace(values.get("retain", "\0"), "") if values else text
        values = {**values, "summary": rest}
    return {name: values[name] for name in ("retain", "summary") if name in values}


def _read_snapshot(text: str) -> dict[str, str]:
    values = _read_json(text)
    inner = _read_tag(text, "state_snapshot") or text
    values = values or {name: found for name in FIELDS if (found := _read_tag(inner, name)) is not None}
    return {name: values[name] for name in FIELDS if name in values} or {"": inner}


def _read_tag(text: str, name: str) -> str | None:
    """What stands between the tags; from the front or to the end where one of them is missing."""
    opened = re.search(rf"<{name}\b[^<>\n]{{0,80}}>", text, re.I)
    start = opened.end() if opened else 0
    closed = re.compile(rf"</{name}\s*>", re.I).search(text, start)
    if not opened and not closed:
        return None
    inside = text[start : closed.start()] if closed else text[start:]
    if not closed or not opened:
        # Up to, or from, the nearest other tag of ours: the ones inside belong to this one.
        others = [tag for tag in ANY_TAG.finditer(inside) if name != "state_snapshot" and tag[0]]
        if others:
            inside = inside[others[-1].end() :] if not opened else inside[: others[0].start()]
    return inside


def _read_json(text: str) -> dict[str, str]:
    """The fields of an answer in JSON, also of one that breaks off."""
    if not text.startswith("{"):
        return {}
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return {name: _unescape(found) for name, found in STRING.findall(text) if name in TAGS}
    value = value.get("state_snapshot", value) if isinstance(value, dict) else {}
    return {name: _flatten(found) for name, found in value.items() if name in TAGS} if isinstance(value, dict) else {}


def _unescape(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _flatten(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(f"- {_flatten(item)}" for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value is not None else ""


# The content

REFUSAL = re.compile(
    r"\s*(?:i['’]?m\s+(?:very\s+)?sorry|sorry,|i\s+(?:can\s?not|can['’]t|am\s+(?:not\s+able|unable))|as\s+an?\s+(?:ai|language)"
    r"|i\s+(?:won['’]t|do\s+not\s+have\s+access)|unfortunately,?\s+i\b"
    r"|申し訳|すみません|ごめん|恐れ入りますが|残念ながら|私は(?:AI|言語モデル)|お(?:答|手伝)\S{0,6}でき)",
    re.I,
)
PLACEHOLDER = re.compile(
    r"\[(?:done|todo|in progress)\]|\b(?:todo|tbd|n/a|none|null|placeholder|your text here|content"
    rf"|{'|'.join(name.replace('_', '[_ ]') for name in TAGS + THOUGHTS)})\b",
    re.I,
)
MARKUP = re.compile(r"</?[A-Za-z_][\w-]{0,40}\s?/?>")
SIGNS = re.compile(r"[\W_]+")
MIN_SUBSTANCE = 16
"""Letters. A sign of Japanese counts for two."""
PROMPT_LINES = frozenset(
    " ".join(line.split()).strip("()")
    for text in (SUMMARY, RETAIN, SNAPSHOT, MERGE, REPAIR, *FORMS.values())
    for line in (*text.splitlines(), *SENTENCE.split(text))
    if len(line) > 8
)

WORD = re.compile(r"[a-z\d_]{4,}")
PROMPT_WORDS = tuple(
    frozenset(WORD.findall(text.casefold())) for text in (SUMMARY, RETAIN, SNAPSHOT, MERGE, *FORMS.values())
)


def count_substance(text: str) -> int:
    """How much of a text is more than frame, placeholder and punctuation."""
    left = SIGNS.sub("", PLACEHOLDER.sub("", MARKUP.sub("", text)))
    return len(left) + count_japanese(left)


def _clean_field(field: str, seen: Seen) -> str:
    """Without tags, lines and sentences that only repeat the instruction or what was seen, and blank ones in a row."""
    lines: list[str] = []
    for line in ANY_TAG.sub("", field).strip().splitlines():
        line = _drop_repeats(_unwrap(line), seen)
        plain = " ".join(line.split())
        ours = plain.strip("()") in PROMPT_LINES or _echoes_prompt(plain)
        again = is_repeated(plain, seen)
        if ours or (plain and (again or not count_substance(plain))) or (not plain and lines[-1:] == [""]):
            continue
        seen[plain] = None
        lines.append(line.rstrip())
    return "\n".join(lines).strip()


def _echoes_prompt(line: str) -> bool:
    """Whether a line only says what was asked for: all its words are our own."""
    if len(line) > 80 and all(part.strip() in PROMPT_LINES for part in SENTENCE.split(line)):
        return True
    words = set(WORD.findall(line.casefold()))
    return len(words) >= 5 and line.isascii() and any(words <= own for own in PROMPT_WORDS)


def _unwrap(line: str) -> str:
    """Without the parentheses of our form, where the model wrote inside them."""
    return found[1] if (found := PARENTHESISED.fullmatch(line)) else line


PARENTHESISED = re.compile(r"\s*[(（]([^()（）]{4,})[)）]\s*")


def _drop_repeats(line: str, seen: Seen) -> str:
    """A long line without the sentences that were said before: small models fall into saying the same again."""
    kept: list[str] = []
    for part in (parts := _split_line(line)):
        plain = part.strip()
        if len(parts) == 1 or not is_repeated(plain, seen):
            kept.append(part)
        if len(parts) > 1:
            seen[plain] = None
    return "".join(kept)


def _drop_broken_end(field: str) -> str:
    """Without a last line, or in a long line a last sentence, that breaks off."""
    before, newline, last = field.rpartition("\n")
    if last[-1:] in SENTENCE_ENDS:
        return field
    whole = "".join(_split_line(last)[:-1]).rstrip()
    return f"{before}{newline}{whole}" if whole else before or field


SENTENCE_ENDS = tuple(".!?。！？)]`")


NUMBER = re.compile(r"\d{3,}")
GROUPED = re.compile(r"(?<=\d),(?=\d{3})")
TICKED = re.compile(r"`([^`\n]{2,300})`")
NAME = re.compile(
    r"https?://[^\s<>()\[\]\"'`、。]{3,300}"
    r"|(?<![\w/.~-])(?:~|\.{1,2})?/?[\w@.+-]{1,80}(?:/[\w@.+-]{1,80}){1,20}"
    r"|(?<![\w/.@-])[\w-]{1,60}\.(?:py|pyi|js|jsx|ts|tsx|mjs|json|jsonl|toml|ya?ml|md|rst|txt|csv|sql|html?|css|scss|go|rs"
    r"|java|kt|rb|php|cs?|cpp|h|hpp|sh|bash|ps1|cfg|ini|env|lock|xml|log|vue|swift|lua|ipynb|gz|zip|png|jpe?g|svg|pdf)\b"
    r"|\bref=[\w-]+"
    r"|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b",
    re.I,
)


def _keep_supported(field: str, evidence: Evidence) -> tuple[str, int, int]:
    """What the conversation bears out; how many lines and sentences there were, and how many went."""
    lines: list[str] = []
    units = dropped = 0
    for line in field.split("\n"):
        parts = _split_line(line)
        kept = [part for part in parts if not _is_unsupported(part, evidence)]
        units += len(parts)
        dropped += len(parts) - len(kept)
        if kept or not parts:
            lines.append("".join(kept).rstrip())
    return "\n".join(lines).strip(), units, dropped


def _split_line(line: str) -> list[str]:
    """The sentences of a long line, or the line, with the spaces behind them."""
    if len(line) < 160:
        return [line] if line.strip() else []
    ends = [found.end() for found in SENTENCE.finditer(line)]
    return [
        line[start:end] for start, end in zip([0, *ends], [*ends, len(line)], strict=True) if line[start:end].strip()
    ]


def _is_unsupported(part: str, evidence: Evidence) -> bool:
    if any(number not in evidence.numbers for number in NUMBER.findall(GROUPED.sub("", part))):
        return True
    if any(not _is_quoted(ticked, evidence.text) for ticked in TICKED.findall(part)):
        return True
    return any(not _is_known(name.rstrip(".,:;+-"), evidence.text) for name in NAME.findall(TICKED.sub("", part)))


def _is_quoted(ticked: str, text: str) -> bool:
    plain = _normalize(ticked).removeprefix("$ ").removeprefix("./").removesuffix("()").strip(" ;,")
    if plain in text:
        return True
    return " " not in plain and all(part in text for part in re.split(r"[^\w-]+", plain))


def _is_known(name: str, text: str) -> bool:
    """A path may be put together from what was said, but each of its names must have been said."""
    name = name.casefold()
    if name in text or name.startswith(("http", "ref=")):
        return name in text
    parts = [part for part in name.split("/") if part not in ("", ".", "..", "~")]
    if len(parts) == 2 and not name.startswith(("/", ".", "~")) and not re.search(r"[._\d]", name):
        return True  # as in `and/or`
    return "/" in name and all(part in text for part in parts)
