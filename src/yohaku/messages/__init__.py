"""Sentences for people, in English and Japanese: one catalogue, one `say`.

Law: every sentence exists in every language of `LANGUAGES`, with the same facts.
Errors, notices and folds carry a code and facts; the sentences are in the TOML files here, one file an area.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yohaku.core.errors import YohakuError
    from yohaku.core.folds import Subject

LANGUAGES = ("en", "ja")
AREAS = (
    "commands", "errors", "folds", "doctor", "tools", "client", "host", "loop", "screen", "files", "settings",
    "remedies", "help",
)  # fmt: skip
"""Files of the catalogue, in the order in which they are searched: a command reads as few as possible."""
_order = list(AREAS)


def say(name: str, lang: str, /, **facts: object) -> str:
    """Return the sentence with its facts; in English where the language is not one of ours."""
    sentence = find(name)
    if sentence is None:
        raise KeyError(name)
    return sentence.get(lang, sentence["en"]).format(**facts)


def find(code: str) -> Mapping[str, str] | None:
    """Return a sentence by language, or None for a code of another package."""
    return next((found for area in _order if (found := sentences(area).get(code))), None)


def search_first(area: str) -> None:
    """Search this file before the others: a program that needs only one reads no other."""
    _order.sort(key=lambda each: each != area)


@cache
def sentences(area: str) -> Mapping[str, Mapping[str, str]]:
    """Read the sentences of one area by code, `why.superseded` for `[why.superseded]`."""
    import tomllib

    text = Path(__file__).with_name(f"{area}.toml").read_text(encoding="utf-8")
    return dict(_flatten(tomllib.loads(text)))


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, str]]]:
    for name, entry in table.items():
        if "en" in entry:
            yield prefix + name, entry
        else:
            yield from _flatten(entry, f"{prefix}{name}.")


def explain(error: YohakuError, lang: str) -> str:
    """Return one plain line that says what went wrong and what to do."""
    code, facts = f"error.{error.code}", {"where": "", **error.facts}
    if error.code == "does_not_fit":
        code += "_pinned" if facts["what"] == "pinned" else ""
        what = f"too_big.{facts['what']}"
        facts["what"] = say(what, lang, origin=facts["origin"]) if find(what) else facts["what"]
    line = say(code, lang, message=error, **_name_reason(facts, lang)) if find(code) else str(error)
    return " ".join(line.removeprefix(": ").split())


def notice(code: str, text: str, facts: Mapping[str, str], lang: str) -> str:
    """Return a notice, which has its own text in English."""
    code = f"notice.{code}"
    return say(code, lang, text=text, **_name_reason(facts, lang)) if find(code) else text


def _name_reason(facts: Mapping[str, object], lang: str) -> Mapping[str, object]:
    """Put our sentences in place of English ones that have a code: why a store failed, what a value must be."""
    if facts.get("reason"):
        facts = {**facts, "why": say(f"store.{facts['reason']}", lang)}
    if facts.get("expects") and find(f"expected.{facts['expects']}"):
        facts = {**facts, "expected": say(f"expected.{facts['expects']}", lang, expected=facts["expected"])}
    return facts


def describe(
    what: Subject | Sequence[Any], why: str, lang: str, detail: str = "", made_for: Sequence[Any] = ()
) -> tuple[str, str]:
    """Return what a fold stands for and why it was made, from its fields or those of a record in a store.

    `made_for` tells whether the user asked for it.
    Texts without a sentence are shown as they are: those of another package, or that an older version stored.
    """
    from yohaku.core.folds import MANUAL, Subject

    if not isinstance(what, str):
        subject, code = Subject(*what), f"what.{what[0]}"
        what = say(code, lang, text=subject, **subject._asdict()) if find(code) else str(subject)
    code = f"why.{why}_with_detail" if detail and find(f"why.{why}_with_detail") else f"why.{why}"
    reason = say(code, lang, detail=detail) if find(code) else why
    asked = MANUAL in made_for[2:] and why != "by_hand"
    return what, say("why_asked", lang, why=reason) if asked else reason


def explain_fold(fold: Mapping[str, Any], at: int | None, lang: str) -> str:
    """Return what a recorded fold stands for, why and when it was made, and its tokens before and after."""
    what, why = describe(fold["what"], fold["why"], lang, fold.get("detail", ""), fold.get("made_for") or ())
    when = say("unknown_time", lang) if at is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    return say("why_fold", lang, name=what, about=when, why=why, before=fold["before"], after=fold["after"])
