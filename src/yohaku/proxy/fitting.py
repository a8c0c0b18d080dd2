"""Fit the conversation in a request body.

Laws: a body in which nothing is folded leaves as the bytes that came, unless the upstream is known to refuse its roles;
a body that cannot be read leaves untouched. No session id is needed: folds are found by content in the store, so every
replica on one store gives the same view.
"""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any

import msgspec

from yohaku import dialects
from yohaku.config.settings import Settings
from yohaku.core.errors import DoesNotFit, Malformed, Unreadable, YohakuError
from yohaku.dialects import role_rules
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.role_rules import NO_RULES, RoleRules, RuleName
from yohaku.session.receipt import Receipt
from yohaku.session.session import Session
from yohaku.stores import Store

log = logging.getLogger("yohaku.proxy")

MAX_SESSIONS = 256
"""Conversations whose reading is kept, so that their next request costs only what it adds."""
IDENTIFYING_ENTRIES = 3
MIN_REPLY_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Fitted:
    body: bytes
    receipt: Receipt | None = None
    """None where the body was left alone: nothing to fit, or not understood."""
    unread: str = ""
    """Why the body was not understood."""
    decoded: Any = None
    """The body before rules about roles changed it."""
    rules: RoleRules = NO_RULES


class Fitter:
    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        window: int | None = None,
        recipe: str = "auto",
        reserve: int | None = None,
    ) -> None:
        self.store, self.settings = store, settings
        self.window, self.recipe, self.reserve = window, recipe, reserve
        self.learned: dict[str, int] = {}
        """Windows that upstreams named when they refused a request, by model."""
        self.roles: dict[tuple[str, str], RoleRules] = {}
        """Rules about roles that upstreams were found to have, by dialect and model."""
        self._noticed: set[tuple[str, str]] = set()
        """Codes of notices that were logged, each with its model."""
        self._sessions: OrderedDict[bytes, tuple[Session, Lock]] = OrderedDict()
        self._lock = Lock()

    def fit(self, dialect_name: str, raw: bytes, model: str | None = None) -> Fitted:
        """Raise `DoesNotFit` where no folding helps; otherwise return the bytes to send."""
        dialect = dialects.dialect_named(dialect_name)
        try:
            body: Any = msgspec.json.decode(raw)
            entries = dialect.entries_of(body if isinstance(body, dict) else None)
        except (msgspec.DecodeError, Unreadable, RecursionError, UnicodeDecodeError) as wrong:
            return Fitted(raw, unread=str(wrong))
        if field := dialect.state_in(body):
            return Fitted(raw, unread=f"the provider holds earlier turns of this conversation ({field})")
        model = model or str(body.get("model") or "")
        session, lock = self._session(dialect_name, model, body, entries)
        with lock:
            try:
                out = session.fit(body)
            except DoesNotFit:
                raise
            except (Malformed, Unreadable, RecursionError) as wrong:
                return Fitted(raw, unread=str(wrong))
            self._log_notices(session, model)
            receipt = session.receipt
            left = session.budget.window - (receipt.after if receipt else 0)
        clamped = clamp_reply(dialect, out, max(MIN_REPLY_TOKENS, left))
        rules = self.roles.get((dialect_name, model), NO_RULES)
        sent = dialect.follow_role_rules(clamped, rules)
        return Fitted(raw if sent is body else msgspec.json.encode(sent), receipt, decoded=clamped, rules=rules)

    def count(self, dialect_name: str, raw: bytes, model: str | None = None) -> int | None:
        """Tokens of a body as it is; None where it is not understood."""
        dialect = dialects.dialect_named(dialect_name)
        try:
            body: Any = msgspec.json.decode(raw)
            history = dialect.read(body).history()
        except (msgspec.DecodeError, YohakuError, RecursionError, UnicodeDecodeError):
            return None
        from yohaku.core.weigh import weigh

        session = self._open(dialect_name, model or str(body.get("model") or ""))
        return weigh(history, session.meter_for(dialect_name)).total

    def learn_window(self, model: str, window: int) -> None:
        """Use a smaller window from now on, because the upstream refused a request that fitted ours."""
        with self._lock:
            self.learned[model] = min(window, self.learned.get(model, window))
            self._sessions.clear()

    def learn_roles(self, dialect_name: str, model: str, fitted: Fitted, meant: tuple[RuleName, ...]) -> bool:
        """Follow one more of these rules from now on; False if the body keeps to all of them already."""
        if self.roles.get((dialect_name, model), NO_RULES) != fitted.rules:
            return True  # another request learned more in the meantime
        rules = role_rules.stricter(dialects.dialect_named(dialect_name), fitted.decoded, fitted.rules, meant)
        if rules:
            self.roles[dialect_name, model] = rules
        return rules is not None

    def _log_notices(self, session: Session, model: str) -> None:
        """Log what the user should know, as that counts are estimates, once for each model."""
        for notice in session.warnings:
            if (notice.code, model) not in self._noticed:
                self._noticed.add((notice.code, model))
                log.warning("%s", notice.text)

    def _open(self, dialect: str, model: str) -> Session:
        window = self.window
        if model in self.learned:
            window = min(self.learned[model], window or self.learned[model])
        return Session(
            window, self.reserve, self.recipe, model or None, dialect=dialect, store=self.store, settings=self.settings
        )

    def _session(self, dialect: str, model: str, body: dict[str, Any], entries: list[Any]) -> tuple[Session, Lock]:
        """The session that read this conversation last, by how it begins; another one costs time, not correctness."""
        begins = msgspec.json.encode(entries[:IDENTIFYING_ENTRIES])
        key = hashlib.blake2b(f"{dialect}\n{model}\n".encode() + begins, digest_size=16).digest()
        with self._lock:
            if key not in self._sessions:
                self._sessions[key] = self._open(dialect, model), Lock()
            self._sessions.move_to_end(key)
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
            return self._sessions[key]


def clamp_reply(dialect: Dialect, body: dict[str, Any], tokens: int) -> dict[str, Any]:
    """Return `body` with a reply limit of at most `tokens`; the same object where it asks for no more than that."""
    for path in dialect.reply_limit_paths:
        found: Any = body
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, int) and not isinstance(found, bool) and found > tokens:
            return _with_value(body, path, tokens)
    return body


def _with_value(body: dict[str, Any], path: tuple[str, ...], value: int) -> dict[str, Any]:
    first, *rest = path
    return {**body, first: _with_value(body[first], tuple(rest), value) if rest else value}
