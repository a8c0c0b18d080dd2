"""What we say to people, in their language. English is in the errors themselves; here is the rest, and Japanese.

Law: a sentence says what is the matter and what to do next, and every sentence exists in every language we speak.
"""

from __future__ import annotations

from collections.abc import Mapping

from yohaku.core.errors import DoesNotFit, YohakuError
from yohaku.messages.sentences import PHRASES
from yohaku.messages.troubles import ERRORS, NOTICES, WHAT, WHY

LANGUAGES = ("en", "ja")


def notice(code: str, text: str, facts: Mapping[str, str], lang: str) -> str:
    if lang != "ja" or code not in NOTICES:
        return text
    return NOTICES[code].format(**{name: WHY.get(fact, fact) for name, fact in facts.items()})


def say(name: str, lang: str, /, **facts: object) -> str:
    english, japanese = PHRASES[name]
    return (japanese if lang == "ja" else english).format(**facts)


def explain(error: YohakuError, lang: str) -> str:
    """One plain line for what went wrong."""
    if lang != "ja" or error.code not in ERRORS:
        return " ".join(str(error).split())
    if isinstance(error, DoesNotFit) and error.verdict.pin:
        verdict = error.verdict
        name = verdict.what.removeprefix("what is pinned (").removesuffix(")")
        told = say("too_big_pinned", lang, name=name, about=verdict.pin, needs=verdict.needs, limit=verdict.limit)
        return " ".join(told.split())
    facts = {**error.facts, "message": str(error)}
    facts["why"] = WHY.get(str(facts.get("why")), facts.get("why"))
    facts["what"] = WHAT.get(str(facts.get("what")), facts.get("what"))
    return " ".join(ERRORS[error.code].format(**{"where": "", **facts}).removeprefix(": ").split())
