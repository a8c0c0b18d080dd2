"""Rules about roles that a server has beyond its wire format, because the chat template of its model insists on them.

They are learned from refusals, one after the other, and then followed in every request to that server.
Law: following rules loses no word of a conversation, and a body that keeps to them already stays the object it is. What
is added to a conversation changes none of its earlier messages but the last.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from yohaku.dialects.json_values import Json, text_or_empty

if TYPE_CHECKING:
    from yohaku.dialects.dialect import Dialect

RuleName: TypeAlias = Literal["alternate", "no_system", "no_tools"]
Speaker: TypeAlias = Literal["system", "user", "model", "tool", ""]
"""Who says an entry; "" if it is none of these."""


class RoleRules(NamedTuple):
    alternate: bool = False
    """User and model take turns, and the user begins."""
    no_system: bool = False
    """There is no system role: its texts stand in messages of the user."""
    no_tools: bool = False
    """There are no calls and results: they are written as text."""


NO_RULES = RoleRules()
REFUSING_STATUSES = (400, 422, 500)

_NO_SYSTEM = (
    r"system (?:role|message|prompt)s? (?:is |are )?(?:not |un)(?:supported|allowed)"
    r"|not support (?:the |a )?system (?:role|message|prompt)|unexpected role ['\"]?(?:system|developer)"
)
_NO_OTHERS = r"only user(?: and|,)[\w, ]{0,40} roles? (?:are|is) supported"
_NO_TOOLS = r"(?:unexpected|unknown|unsupported|invalid) role:? ['\"]?(?:tool|function)"
_ALTERNATE = (
    r"roles? (?:must|should) alternate|conversation (?:must|should) alternate|should alternate with assistant"
    r"|successive user or assistant|unexpected role ['\"]?(?:user|assistant)"
    r"|(?:conversation|first message)s?[^.]{0,40}(?:must|should) (?:start|begin|be|use)[^.]{0,30}\buser\b"
)
_REFUSALS: tuple[tuple[str, tuple[RuleName, ...]], ...] = (
    (_NO_SYSTEM, ("no_system",)),
    (_NO_OTHERS, ("no_tools", "no_system", "alternate")),
    (_NO_TOOLS, ("no_tools",)),
    (_ALTERNATE, ("alternate", "no_system", "no_tools")),
)
"""Words of a refusal, and the rules that may be meant, the likeliest first."""

OPENING = "(The assistant speaks first.)"
NO_REPLY = "(no reply)"
"""Words of the model between results and a message of the user, where a template wants some."""


def recognise(status: int, text: str) -> tuple[RuleName, ...]:
    """Return the rules that a refusal may be about; none for any other answer."""
    if status not in REFUSING_STATUSES:
        return ()
    return next((rules for words, rules in _REFUSALS if re.search(words, text, re.IGNORECASE)), ())


def stricter(dialect: Dialect, body: Json, rules: RoleRules, meant: tuple[RuleName, ...]) -> RoleRules | None:
    """Return the rules with the first of those meant that makes another body of this one; None if none does."""
    now = dialect.follow_role_rules(body, rules)
    for name in meant:
        more = rules._replace(**{name: True})
        if dialect.follow_role_rules(body, more) != now:
            return more
    return None


def follow(dialect: Dialect, body: Json, rules: RoleRules) -> Json:
    """Return the body as these rules want it."""
    beside, other = dialect.take_system(body) if rules.no_system else ("", body)
    before = dialect.entries_of(other)
    entries = _write_tools(dialect, before) if rules.no_tools else before
    if rules.no_system:
        entries = _write_system(dialect, entries, beside)
    if rules.alternate:
        entries = _take_turns(dialect, entries)
    return body if entries == before and other is body else dialect.with_entries(other, entries)


def _write_tools(dialect: Dialect, entries: list[Json]) -> list[Json]:
    names: dict[str, str] = {}
    return [dialect.write_tools_as_text(entry, names) for entry in entries]


def _write_system(dialect: Dialect, entries: list[Json], beside: str) -> list[Json]:
    """Put the texts of the system before the first message of the user, later ones where they stand."""
    texts, written = [beside] if beside else [], list[Json]()
    for entry in entries:
        if dialect.speaker(entry) != "system":
            written.append(entry)
        elif written:
            written.append(dialect.user_entry(content_text(entry)))
        else:
            texts.append(content_text(entry))
    if not texts:
        return written
    if written and dialect.speaker(written[0]) == "user":
        return [dialect.begin_with("\n\n".join([*texts, ""]), written[0]), *written[1:]]
    return [dialect.user_entry("\n\n".join(texts)), *written]


def _take_turns(dialect: Dialect, entries: list[Json]) -> list[Json]:
    written: list[Json] = []
    last: Speaker = ""
    began = False
    for piece in (piece for entry in entries for piece in dialect.split_entry(entry)):
        now = dialect.speaker(piece)
        if now == last and now in ("user", "model"):
            written[-1] = dialect.join_entries(written[-1], piece)
            continue
        if now == "user" and last == "tool":
            written.append(dialect.model_entry(NO_REPLY))
        elif now == "model" and not began:
            written.append(dialect.user_entry(OPENING))
        written.append(piece)
        began |= now not in ("", "system")
        last = now
    return written


def content_text(entry: Json) -> str:
    """Return the words of an entry whose content is a text or a list of blocks."""
    content = entry.get("content")
    if not isinstance(content, list):
        return text_or_empty(content)
    return "\n\n".join(text for block in content if (text := text_or_empty(block.get("text"))))
