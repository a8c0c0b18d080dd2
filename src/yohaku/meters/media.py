"""Tokens of everything that is not text: pictures, documents, recordings, films, encrypted thoughts, unknown blocks.

Law: base64 is never counted as text. What cannot be measured counts as the provider's maximum, never too little.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from yohaku.core.model import Opaque
from yohaku.meters.images import LARGE, RULES, bytes_of, size
from yohaku.meters.media_length import pages, seconds, text_of_pages

Count = Callable[[str], int]

MAX_BASE64_CHARS = 1 << 30
"""Characters of base64 read when only the whole file tells its length."""
ENCODED = re.compile(r"[A-Za-z0-9+/_=-]{200,}")
ENCRYPTED_FIELDS = frozenset({"signature", "thoughtSignature", "thought_signature", "encrypted_content"})
ENVELOPE = 30
"""Tokens around a document that is text, on Claude's wire."""
TOKENS_PER_BYTE = 0.5
"""Tokens for a byte of text in a PDF that cannot be read: two bytes where a letter is not Latin."""
LINE_FACTOR = 1.07
"""Times the tokens of a PDF's text: where a line ends there is a token more, and a line has about fifteen."""
LOADED = {"tool_reference": 150, "tool_addition": 150, "additional_tools": 60}
"""Tokens for what such a block makes the provider add: a tool's definition that was held back until then."""
HIDDEN_FIELDS = frozenset({"id", "status", "cache_control", "tool_use_id", "call_id"})
"""Fields of a block that the model does not see."""


@dataclass(frozen=True, slots=True)
class MediaRule:
    """One provider's prices, in tokens."""

    image: str = "area"
    """Name of the rule in `images.RULES`."""
    numbers: tuple[float, ...] = (4096, 2048, 768)
    """Parameters of that rule beside size and hint."""
    page: int = 1200
    """Per page of a PDF that is full of text: the text and the picture."""
    sheet: int | None = None
    """Per page of a PDF, for its picture alone; None where a page costs the same whatever is on it."""
    audio: float = 32.0
    """Per second."""
    video: float = 300.0
    """Per second, sound included."""
    sealed: float = 0.2
    """Per character of an encrypted thought: four characters hold three bytes, and a token about four bytes."""
    seal: int = 0
    """Characters of it that are lock and envelope."""
    file_pages: int = 8
    """Taken for a document that is only named."""
    film_seconds: int = 120
    """Taken for a recording or film that is only named."""


def weigh(part: Opaque, rule: MediaRule, count: Count) -> int:
    if part.form == "json":
        return weigh_json(part, rule, count)
    kind = kind_of(part)
    named = part.form == "url" and not part.data.startswith("data:")
    match kind:
        case "image":
            return image(b"" if named else bytes_of(part.data), part.hint, rule)
        case "text":
            return count(bytes_of(part.data, MAX_BASE64_CHARS).decode("utf-8", "replace")) if not named else rule.page
        case "document":
            return (
                rule.page * rule.file_pages if named else document(bytes_of(part.data, MAX_BASE64_CHARS), rule, count)
            )
        case "audio" | "video":
            each = rule.audio if kind == "audio" else rule.video
            return ceil(each * (rule.film_seconds if named else length(bytes_of(part.data, MAX_BASE64_CHARS), kind)))
    return image(b"", part.hint, rule)


def kind_of(part: Opaque) -> str:
    """Weigh by the kind that the data shows, then by the kind that the wire names."""
    mime = part.mime or (part.data[5:].split(";", 1)[0].split(",", 1)[0][:80] if part.data.startswith("data:") else "")
    first = mime.split("/", 1)[0]
    if first == "text" or mime in ("application/json", "application/xml"):
        return "text"
    if first in ("image", "audio", "video"):
        return first
    return "document" if mime == "application/pdf" or part.kind == "file" else part.kind


def image(head: bytes, hint: str, rule: MediaRule) -> int:
    found = size(head)
    return max(RULES[rule.image](each, hint, *rule.numbers) for each in ((found,) if found else LARGE))


def document(data: bytes, rule: MediaRule, count: Count) -> int:
    """Weigh by pages, or one for every 50 KB where they cannot be counted, and by their text where it can be read."""
    number = pages(data) or ceil(len(data) / 50_000) or 1
    found = None if rule.sheet is None else text_of_pages(data)
    if rule.sheet is None or found is None:
        return rule.page * number
    text, glyphs = found
    return (
        rule.sheet * number + ceil(count(text) * LINE_FACTOR) + min(ceil(glyphs * TOKENS_PER_BYTE), rule.page * number)
    )


def length(data: bytes, kind: str) -> float:
    """Return the seconds; where they are unknown, those of a poor recording (4 KB a second) or film (60 KB)."""
    found = seconds(data)
    return found if found is not None else len(data) / (4_000 if kind == "audio" else 60_000)


def weigh_json(part: Opaque, rule: MediaRule, count: Count) -> int:
    inside = BlockContents(rule, count, part.kind == "thought")
    try:
        rest = inside.take(json.loads(part.data))
    except (ValueError, RecursionError):
        rest = inside.take_text(part.data, "")
    if not inside.weight and part.mime != "text/plain" and part.kind in ("image", "document", "audio", "video"):
        return weigh(Opaque(part.kind, "", "url", hint=part.hint), rule, count)  # only named, by an id
    if inside.thought:  # the sealed form holds the whole thought, the readable one a part of it
        text = count("\n".join(inside.said))
        return inside.weight + max(text + (8 if text else 0), inside.secret)
    if part.kind == "document":
        return inside.weight + inside.secret + count("\n".join(inside.said)) + ENVELOPE
    said = count(json.dumps(rest, ensure_ascii=False, separators=(",", ":")))
    return inside.weight + inside.secret + said + LOADED.get(part.kind, 0)


@dataclass(slots=True)
class BlockContents:
    """Contents of a block: readable text, encrypted text, and the pictures and files in it."""

    rule: MediaRule
    count: Count
    thought: bool
    said: list[str] = field(default_factory=list)
    sealed: float = 0.0
    """Characters, without lock and envelope."""
    weight: int = 0

    @property
    def secret(self) -> int:
        return ceil(self.sealed * self.rule.sealed)

    def take(self, value: Any, key: str = "") -> Any:
        """The value without what is not text."""
        match value:
            case dict():
                return {name: self.take(inner, name) for name, inner in value.items() if name not in HIDDEN_FIELDS}
            case list():
                return [self.take(inner, key) for inner in value]
            case str():
                return self.take_text(value, key)
        return value

    def take_text(self, value: str, key: str) -> str:
        if value.startswith("data:") and ";base64," in value[:200]:
            self.weight += weigh(Opaque("file", value, "base64"), self.rule, self.count)
        elif key in ENCRYPTED_FIELDS or (self.thought and ENCODED.fullmatch(value)):
            self.sealed += max(0, len(value) - self.rule.seal)
        elif ENCODED.fullmatch(value):
            self.weight += nested(value, self.rule, self.count)
        else:
            self.said += () if key == "type" else (value,)
            return value
        return ""


def nested(value: str, rule: MediaRule, count: Count) -> int:
    """Weigh base64 in a block of unknown kind: a document or a picture by its first bytes, else the maximum."""
    if bytes_of(value, 64).startswith(b"%PDF"):
        return document(bytes_of(value, MAX_BASE64_CHARS), rule, count)
    return image(bytes_of(value), "", rule)
