"""Exceptions. Each message says what is wrong, where, and what to do next.

YohakuError
├── Malformed          the conversation breaks a rule of its format (names the entry)
├── Unreadable         the input is not a conversation at all
├── DoesNotFit         no view of the conversation fits the window (carries the verdict)
├── UnknownModel       strict mode, and the catalogue does not know the model
├── UnknownRecipe
├── BadSetting         a window, reserve or option without a possible meaning
├── UnknownRef
├── StoreFailed        the store cannot write or read (names the place, the reason, the remedy)
├── Uncountable        a token counter failed (names it; nothing was folded)
├── Unanswered         no model answered the question of a pass
└── Refused            the surface refuses to fold now (thrown into a planning, never out of one)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yohaku.core.verdict import TooBig


class YohakuError(Exception):
    """Base class. `code` names the message in the catalogue of translations; `facts` fill it."""

    code = "error"

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        self.facts = facts

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy without the constructor, which takes other arguments than the message in most subclasses."""
        return _rebuild, (type(self), self.args, dict(vars(self)))


def _rebuild(kind: type[YohakuError], args: tuple[object, ...], state: dict[str, object]) -> YohakuError:
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(state)
    return error


class Malformed(YohakuError):
    code = "malformed"

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(f"{where}: {what}" if where else what, what=what, where=where)
        self.what = what
        self.where = where


class Unreadable(YohakuError):
    code = "unreadable"


class DoesNotFit(YohakuError):
    code = "does_not_fit"

    def __init__(self, verdict: TooBig) -> None:
        pinned = {"pin": verdict.pin, "origin": verdict.origin}
        super().__init__(str(verdict), what=verdict.what, needs=verdict.needs, limit=verdict.limit, **pinned)
        self.verdict = verdict


class UnknownModel(YohakuError):
    code = "unknown_model"

    def __init__(self, model: str) -> None:
        super().__init__(f"unknown model {model!r}: give its window, or leave strict mode", model=model)


class UnknownRecipe(YohakuError):
    code = "unknown_recipe"

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"unknown recipe {name!r}: use one of {', '.join(known)}", name=name, known=", ".join(known))


class UnknownRef(YohakuError):
    code = "unknown_ref"

    def __init__(self, ref: str) -> None:
        super().__init__(f"unknown ref {ref!r}", ref=ref)


class StoreFailed(YohakuError):
    code = "store_failed"

    def __init__(self, where: str, why: str, remedy: str, reason: str = "") -> None:
        """`reason`: code of the sentence `why`, if it is one of ours and not that of a database."""
        super().__init__(f"the store {where}: {why}; {remedy}", where=where, why=why, reason=reason)


class BadSetting(YohakuError):
    code = "bad_setting"

    def __init__(self, message: str, code: str = "bad_setting", **facts: object) -> None:
        super().__init__(message, **facts)
        self.code = code


class Uncountable(YohakuError):
    code = "uncountable"

    def __init__(self, meter: str, failed: Exception) -> None:
        why = str(failed) or type(failed).__name__
        super().__init__(
            f"the meter {meter!r} cannot count this: {why}; nothing was folded, use another meter",
            meter=meter,
            why=why,
        )


class Unanswered(YohakuError):
    code = "unanswered"


class Refused(YohakuError):
    code = "refused"

    def __init__(self) -> None:
        super().__init__("no folding is wanted now")
