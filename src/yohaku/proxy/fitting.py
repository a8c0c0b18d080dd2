"""Fit the conversation in a request body.

Laws: a body in which nothing is folded leaves as the bytes that came, unless the upstream is known to refuse its roles,
or would not use the window that the body was fitted to (Ollama); a body that cannot be read leaves untouched. No
session id is needed: folds are found by content in the store, so every replica on one store gives the same view.
"""

from __future__ import annotations

import copy
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
from yohaku.core.model import Reply
from yohaku.dialects import role_rules
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.role_rules import NO_RULES, RoleRules, RuleName
from yohaku.proxy import recall_tool
from yohaku.proxy.recall_hint import hint_for
from yohaku.proxy.recall_tool import Exchanges, Recalled
from yohaku.proxy.squeeze import squeeze
from yohaku.proxy.tenants import TenantStores
from yohaku.session.driver import Summarise
from yohaku.session.receipt import Receipt
from yohaku.session.session import Session
from yohaku.stores import Store

log = logging.getLogger("yohaku.proxy")

MAX_SESSIONS = 256
"""Conversations whose reading is kept, so that their next request costs only what it adds."""
IDENTIFYING_ENTRIES = 3
MIN_REPLY_TOKENS = 16
NOTHING_RECALLED = Recalled()


@dataclass(frozen=True, slots=True)
class Fitted:
    body: bytes
    receipt: Receipt | None = None
    """None where the body was left alone: nothing to fit, or not understood."""
    unread: str = ""
    """Why the body was left alone."""
    decoded: Any = None
    """The body before rules about roles changed it."""
    rules: RoleRules = NO_RULES
    offers_recall: bool = False
    """The recall tools were added: the reply may call them."""
    recalled: Recalled = NOTHING_RECALLED
    window: int = 0
    """The window that the body was fitted to."""
    session: Session | None = None
    """The one that read the conversation."""
    over_limit: bool = False
    """True if it was left alone although it is over the limit."""


class Fitter:
    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        window: int | None = None,
        recipe: str = "auto",
        reserve: int | None = None,
        squeeze: bool = False,
        recall_command: str = "",
    ) -> None:
        """`squeeze`: shorten system text and tool descriptions where they leave too little of the window.

        `recall_command`: opens a ref in the shell of a client; models with a shell are told of it.
        """
        self.squeeze, self.recall_command = squeeze, recall_command
        self.store, self.settings = store, settings
        self.tenant, self.stores = "", TenantStores(store)
        self.window, self.recipe, self.reserve = window, recipe, reserve
        self.learned: dict[str, int] = {}
        """Windows that upstreams named when they refused a request, by model."""
        self.found: dict[str, int] = {}
        """Windows that upstreams tell, by model."""
        self.roles: dict[tuple[str, str], RoleRules] = {}
        """Rules about roles that upstreams were found to have, by dialect and model."""
        self.exchanges = Exchanges()
        self.refuses_tools: set[str] = set()
        """Models that take no tools; the recall tools are not offered to them."""
        self._noticed: set[tuple[str, str]] = set()
        """Codes of notices that were logged, each with its model."""
        self._sessions: OrderedDict[bytes, tuple[Session, Lock]] = OrderedDict()
        self._lock = Lock()

    @property
    def conversations(self) -> int:
        """Number of conversations whose reading is kept."""
        return len(self._sessions)

    def of(self, tenant: str) -> Fitter:
        """Return a fitter that shares with this one what was learned of upstreams, and nothing of the store."""
        if tenant == self.tenant:
            return self
        ours = copy.copy(self)
        ours.tenant, ours.store = tenant, self.stores.of(tenant)
        return ours

    def fit(
        self,
        dialect_name: str,
        raw: bytes,
        model: str | None = None,
        *,
        offer: bool = False,
        recalled: Recalled = NOTHING_RECALLED,
        at_most: int | None = None,
    ) -> Fitted:
        """Return the bytes to send; raise `DoesNotFit` where no folding helps.

        `offer`: add the recall tools if anything is folded. `recalled`: what the model asked them for in this turn.
        `at_most`: a smaller window for this request alone.
        """
        dialect = dialects.dialect_named(dialect_name)
        try:
            body: Any = msgspec.json.decode(raw)
            entries = dialect.entries_of(body if isinstance(body, dict) else None)
        except (msgspec.DecodeError, Unreadable, RecursionError, UnicodeDecodeError) as wrong:
            return Fitted(raw, unread=str(wrong))
        if field := dialect.state_in(body):
            return self._leave_alone(dialect_name, raw, model, field)
        model = model or str(body.get("model") or "")
        asked = at_most or (None if self.window else dialect.asked_window(body))
        session, lock = self._session(dialect_name, model, body, entries, asked)
        came = body
        if self.squeeze:
            body = squeeze(dialect, body, session.meter_for(dialect_name), session.budget.limit, self.store)
        if offer or recalled.entries:
            body = self._with_recalled(session, dialect, body, raw, recalled)
        offered = recall_tool.offer(dialect, body) if offer and model not in self.refuses_tools else body
        with lock:
            try:
                out = session.fit(offered)
            except DoesNotFit:
                if not (offer or recalled.entries):
                    raise
                out = None
            except (Malformed, Unreadable, RecursionError) as wrong:
                return Fitted(raw, unread=str(wrong))
            self._log_notices(session, model)
            receipt = session.receipt
            window = session.budget.window
        if out is None:  # what was recalled, or the tools for it, are too much
            return self.fit(dialect_name, raw, model, at_most=at_most)
        if out is offered and body is came:
            out = offered = came  # nothing is folded: there is nothing to recall
        clamped = clamp_reply(dialect, out, max(MIN_REPLY_TOKENS, window - (receipt.after if receipt else 0)))
        rules = self.roles.get((dialect_name, model), NO_RULES)
        sent = dialect.with_window(dialect.follow_role_rules(clamped, rules), window)
        data = raw if sent is came else msgspec.json.encode(sent)
        return Fitted(data, receipt, "", clamped, rules, offered is not body, recalled, window, session)

    def find_session(self, dialect_name: str, raw: bytes, model: str | None) -> Session | None:
        """Return the session that read this conversation last; None for a new one."""
        dialect = dialects.dialect_named(dialect_name)
        try:
            body: Any = msgspec.json.decode(raw)
            entries = dialect.entries_of(body if isinstance(body, dict) else None)
        except (msgspec.DecodeError, Unreadable, RecursionError, UnicodeDecodeError):
            return None
        asked = None if self.window else dialect.asked_window(body)
        key = self._key(dialect_name, model or str(body.get("model") or ""), entries, asked)
        with self._lock:
            found = self._sessions.get(key)
        return found[0] if found else None

    def _leave_alone(self, dialect_name: str, raw: bytes, model: str | None, field: str) -> Fitted:
        """Return a body as it is, whose earlier turns the provider holds; say if it is too long even without them."""
        why = f"the provider holds earlier turns of this conversation ({field})"
        tokens = self.count(dialect_name, raw, model)
        limit = self._open(dialect_name, model or dialects.dialect_named(dialect_name).model_of(raw)).budget.limit
        if tokens is None or tokens <= limit:
            return Fitted(raw, unread=why)
        over = f"it has {tokens:,} tokens, the limit is {limit:,}, and the provider may refuse it"
        return Fitted(raw, unread=f"{why}; {over}", over_limit=True)

    def window_of(self, dialect_name: str, model: str) -> int:
        return self._open(dialect_name, model).budget.window

    def _with_recalled(
        self, session: Session, dialect: Dialect, body: dict[str, Any], raw: bytes, recalled: Recalled
    ) -> dict[str, Any]:
        """Put into a body what its model recalled: in this turn, in earlier ones, and by calls that the client saw."""
        if any(name.encode() in raw for name in recall_tool.NAMES):
            meter = session.meter_for(dialect.name)
            body = recall_tool.answer_late(dialect, body, self.store, meter, session.budget.limit)
        body = self.exchanges.weave(self.tenant, dialect, body)
        if recalled.entries:
            body = dialect.with_entries(body, [*dialect.entries_of(body), *recalled.entries])
        return body

    def recall(self, dialect_name: str, raw: bytes, model: str | None, reply: Reply, before: Recalled) -> Recalled:
        """Answer the calls of a reply to a body."""
        dialect, body = dialects.dialect_named(dialect_name), msgspec.json.decode(raw)
        session = self._open(dialect_name, model or str(body.get("model") or ""), dialect.asked_window(body))
        meter = session.meter_for(dialect_name)
        return recall_tool.recall(dialect, body, reply, before, self.store, meter, session.budget.limit)

    def keep_recalled(self, recalled: Recalled) -> None:
        """Show the model what it recalled in later requests of this conversation too."""
        if recalled.entries:
            self.exchanges.keep(self.tenant, recalled)

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

    def compact(
        self, dialect_name: str, model: str, entries: list[Any], summarise: Summarise | None = None
    ) -> tuple[list[Any], int, int]:
        """Fold entries into half of the window; return them, and their tokens before and after."""
        dialect, half = dialects.dialect_named(dialect_name), copy.copy(self)
        half.window = self._open(dialect_name, model).budget.window // 2
        half.learned, half.found = {}, {}
        session = half._open(dialect_name, model, summarise=summarise)
        folded = dialect.entries_of(session.fit(dialect.with_entries({}, entries), fold=True))
        receipt = session.receipt
        return folded, receipt.unfolded if receipt else 0, receipt.after if receipt else 0

    def use_window(self, model: str, window: int | None) -> None:
        """Use what the upstream tells of its window, where it is less than is known so far."""
        if window and window < self.found.get(model, window + 1):
            with self._lock:
                self.found[model] = window
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

    def _open(
        self, dialect: str, model: str, asked: int | None = None, *, summarise: Summarise | None = None
    ) -> Session:
        """`asked`: the window that the client asks the server for."""
        limits = [self.window, asked, self.learned.get(model), None if asked else self.found.get(model)]
        window = min(filter(None, limits), default=None)
        about: dict[str, Any] = {"store": self.store, "settings": self.settings, "summarise": summarise}
        return Session(window, self.reserve, self.recipe, model or None, dialect=dialect, **about)

    def _session(
        self, dialect: str, model: str, body: dict[str, Any], entries: list[Any], asked: int | None
    ) -> tuple[Session, Lock]:
        """The session that read this conversation last, by how it begins; another one costs time, not correctness."""
        key = self._key(dialect, model, entries, asked)
        with self._lock:
            if key not in self._sessions:
                session = self._open(dialect, model, asked)
                if hint := hint_for(dialects.dialect_named(dialect), body, self.recall_command):
                    session.remind = lambda: hint
                self._sessions[key] = session, Lock()
            self._sessions.move_to_end(key)
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
            return self._sessions[key]

    def _key(self, dialect: str, model: str, entries: list[Any], asked: int | None) -> bytes:
        begins = msgspec.json.encode(entries[:IDENTIFYING_ENTRIES])
        whose = f"{self.tenant}\n{dialect}\n{model}\n{asked}\n".encode()
        return hashlib.blake2b(whose + begins, digest_size=16).digest()


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
