"""Errors of a request, as one tree. The message of each tells the user what to do next, in English or Japanese.

TalkFailed
├── TooLong        the server takes no request this long (carries the numbers it told)
├── Truncated      the server dropped the beginning of the request, said nothing, and answered the rest
├── Busy           it has too much to do; waiting did not help
├── Refused        any other error it tells
│   └── Garbled    it answers, but not as a model's API does
├── Unreachable    no connection, or not a byte for too long
└── CutOff         the reply broke off after some of it was heard

Law: none of them holds a key, in its text, its facts or what caused it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from yohaku.core.errors import YohakuError
from yohaku.dialects.answer import Answer
from yohaku.dialects.overflow import Overflow
from yohaku.messages import say

Why: TypeAlias = Literal["refused", "unknown", "tls", "proxy", "late", "stall", "lost", "address"]
"""Nobody listens, no such host, no trust, the proxy fails, no connection in time, silence, broken off, no URL."""


class RequestFailed(YohakuError):
    def __init__(self, code: str, **facts: object) -> None:
        self.code = code
        super().__init__(self._filled(facts, "en"), **facts)

    def said(self, lang: str) -> str:
        return self._filled(self.facts, lang)

    def _filled(self, facts: dict[str, object], lang: str) -> str:
        told = {"why": say(f"talk_why_{facts['why']}", lang)} if "why" in facts else {}
        return say(self.code, lang, **(facts | told))


class TooLong(RequestFailed):
    def __init__(self, overflow: Overflow) -> None:
        self.overflow = overflow
        if overflow.limit and overflow.needs:
            super().__init__("talk_too_long_counted", needs=overflow.needs, limit=overflow.limit)
        else:
            super().__init__("talk_too_long")


class Truncated(RequestFailed):
    def __init__(self, told: int, sent: int, answer: Answer | None = None, window: int | None = None) -> None:
        self.told = told
        """Tokens that the server reports to have read."""
        self.sent = sent
        self.answer = answer
        """The answer to the rest of the request."""
        self.window = window
        """Tokens of the window it has loaded, where it reports one."""
        super().__init__("talk_truncated", told=told, sent=sent)


class Busy(RequestFailed):
    def __init__(self, after: float | None = None, server: str = "") -> None:
        self.after = after
        """Seconds to wait, as requested by the server."""
        name = server or "the server"
        if after:
            super().__init__("talk_busy_until", server=name, seconds=max(1, round(after)))
        else:
            super().__init__("talk_busy", server=name)


class RequestRefused(RequestFailed):
    def __init__(self, status: int, text: str = "", server: str = "", model: str = "") -> None:
        self.status = status
        self.text = text
        """The server's error message, in one line."""
        facts = {"status": status, "text": text or "-", "server": server or "the server", "model": model or "-"}
        super().__init__(_REFUSALS.get(status, "talk_failed" if status >= 500 else "talk_refused"), **facts)


_REFUSALS = {401: "talk_key", 403: "talk_key", 402: "talk_unpaid", 429: "talk_unpaid", 404: "talk_no_model"}


class Garbled(RequestRefused):
    def __init__(self, text: str = "", server: str = "", empty: bool = False) -> None:
        super().__init__(200, text, server)
        self.empty = empty
        self.code = "talk_empty" if empty else "talk_garbled"
        self.args = (self.said("en"),)


class Unreachable(RequestFailed):
    def __init__(self, why: Why, server: str = "", where: str = "", local: bool = False, seconds: float = 0) -> None:
        self.why = why
        name = server or "the server"
        if why == "stall":
            super().__init__("talk_stalled", server=name, seconds=round(seconds))
        else:
            code = "talk_unreachable_here" if local else "talk_unreachable"
            super().__init__(code, server=name, where=where or "-", why=why)


class CutOff(RequestFailed):
    def __init__(self, answer: Answer, server: str = "") -> None:
        self.answer = answer
        """The part of the reply that arrived, without calls: the last one may be torn."""
        super().__init__("talk_cut_off", server=server or "the server")
