"""One request of a client: fitted, sent as often as it takes, and its reply relayed.

An upstream that refuses a fitted request as too long, or because of its roles, is asked again with a smaller view or in
the form it wants; the client sees only the last answer. What cannot be rescued is answered in the client's own dialect.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Any

import aiohttp
from starlette.requests import Request
from starlette.responses import Response

from yohaku import dialects
from yohaku.core.errors import BadSetting, DoesNotFit
from yohaku.core.recipe import Question
from yohaku.dialects.answer import Answer
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.overflow import Overflow
from yohaku.proxy.first_events import read_beginning
from yohaku.proxy.fitting import NOTHING_RECALLED, Fitted, Fitter
from yohaku.proxy.held_state import HeldState, Linked, watch_reply
from yohaku.proxy.metrics import Metrics
from yohaku.proxy.recall_tool import MAX_ROUNDS, Recalled, calls_us, hold_reply
from yohaku.proxy.replies import Watch, refuse, relay_reply, unreachable
from yohaku.proxy.routes import Route
from yohaku.proxy.summaries import Ask, Summaries, ask_upstream
from yohaku.proxy.tenants import CREDENTIAL_HEADERS
from yohaku.proxy.translation import Translation, send_translated, translate
from yohaku.proxy.upstream import Upstream, reply_headers
from yohaku.proxy.usage import watch_usage
from yohaku.proxy.windows import UpstreamWindows
from yohaku.session.receipt import Receipt

log = logging.getLogger("yohaku.proxy")

ROOM_FOR_COUNTS = 0.95
"""Share of what a refusal leaves, by its own count, that is used of it."""
SHRINK = 0.8
"""Share of our window to use after a refusal that names no limit."""
MAX_ATTEMPTS = 5
"""Requests to the upstream for one of the client: there are three rules about roles, and windows."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Objects that all requests of one tenant and one model share."""

    fitter: Fitter
    upstream: Upstream
    windows: UpstreamWindows
    metrics: Metrics
    recall_tool: bool = False
    believed: int = 0
    summaries: Summaries | None = None
    held_state: HeldState | None = None

    def factor(self, window: int) -> float:
        """Return by how much token counts are multiplied for the client."""
        return max(1.0, self.believed / window) if self.believed and window else 1.0


async def relay_untouched(setup: Setup, request: Request, target: str, raw: bytes) -> Response:
    """Relay a request that is not fitted, and its reply."""
    stack = AsyncExitStack()
    try:
        sending = setup.upstream.send(request.method, target, request.headers.items(), raw or None)
        response = await stack.enter_async_context(sending)
    except (aiohttp.ClientError, TimeoutError, OSError) as failed:
        await stack.aclose()
        return unreachable(None, failed, setup.metrics, target)
    return relay_reply(setup.metrics, response, stack)


class Exchange:
    def __init__(self, setup: Setup, request: Request, target: str, route: Route, raw: bytes) -> None:
        self.setup, self.request, self.target, self.route, self.raw = setup, request, target, route, raw
        self.fitter, self.metrics = setup.fitter, setup.metrics
        self.dialect = dialects.dialect_named(route.dialect)
        self.model = route.model or self.dialect.model_of(raw)
        self.linked: Linked | None = None

    async def run(self) -> Response:
        await find_window(self.setup, self.request, self.route, self.raw)
        await self._link()
        if self.setup.summaries:
            await self._wait_for_summary(self.setup.summaries)
        try:
            fitted = await self._fit()
        except DoesNotFit as error:
            self.metrics.count_request(self.route.dialect, "refused")
            return refuse(self.route, error)
        except BadSetting as error:
            log.warning("not fitted: %s", error)
            fitted = Fitted(self.raw, unread=str(error))
        if fitted.unread:
            level = logging.WARNING if fitted.over_limit else logging.INFO
            log.log(level, "%s left alone: %s", self.request.url.path, fitted.unread)
        elif fitted.receipt:
            _log_folding(self.request.url.path, fitted.receipt)
        self._measure(fitted)
        if self.setup.summaries and fitted.session:
            place = self.setup, self.request, self.target, self.dialect
            ask = await asker(*place, self.model, fitted.window)
            await self.setup.summaries.begin(fitted.session, len(self.raw), ask)
        return await self._relay(fitted)

    def _measure(self, fitted: Fitted) -> None:
        receipt = fitted.receipt
        if receipt is None:
            self.metrics.count_request(self.route.dialect, "left_alone")
            return
        folded = bool(receipt.outcome.folds or receipt.reused)
        self.metrics.count_request(self.route.dialect, "folded" if folded else "fits")
        self.metrics.count_tokens(receipt.unfolded, receipt.after)

    # What is kept of a conversation

    async def _link(self) -> None:
        """Put into the request the turns that it leaves out, where they are held here."""
        if held := self.setup.held_state:
            linking = asyncio.to_thread(held.link, self.dialect, self.raw, self.fitter.tenant, self.fitter.store)
            self.linked = await linking
            self.raw = self.linked.raw if self.linked else self.raw

    def _watch(self, fitted: Fitted) -> Watch:
        """Return what reads along in a reply: its usage, and all of it where a later request may go on from it."""
        held, linked, fitter = self.setup.held_state, self.linked, self.fitter
        session, receipt = fitted.session, fitted.receipt

        def learn(tokens: int) -> None:
            if session and session.receipt is receipt:  # else a later request was fitted meanwhile
                session.learn(tokens)

        def keep(name: str, output: list[Any]) -> None:
            if held and linked:
                held.keep(linked, name, output, fitter.tenant, fitter.store)

        def watch(pieces: AsyncIterator[bytes], streams: bool) -> AsyncIterator[bytes]:
            if receipt and not receipt.exact:
                pieces = watch_usage(pieces, learn)
            return watch_reply(pieces, self.dialect, streams, keep) if held and linked else pieces

        return watch

    # Summaries

    async def _wait_for_summary(self, summaries: Summaries) -> None:
        if not summaries.is_running():
            return
        finding = asyncio.to_thread(self.fitter.find_session, self.route.dialect, self.raw, self.route.model)
        if session := await finding:
            await summaries.wait_for(session, len(self.raw))

    # To the upstream and back

    async def _relay(self, fitted: Fitted, attempt: int = 1) -> Response:
        """Send a request; a refusal that we can help leads to another attempt."""
        understood = fitted.receipt is not None
        stack = AsyncExitStack()
        try:
            response = await stack.enter_async_context(await self._sending(fitted))
            if understood and attempt < MAX_ATTEMPTS and response.status in (400, 413, 422, 500):
                data = await response.read()
                again = await self._adapt(fitted, response.status, data.decode("utf-8", "replace"))
                await stack.aclose()
                if again is None:
                    return Response(data, response.status, dict(reply_headers(response)))
                return await self._relay(again, attempt + 1)
            if understood and response.status == 200 and "Content-Encoding" not in response.headers:
                return await self._relay_answer(fitted, response, stack, attempt)
        except (aiohttp.ClientError, TimeoutError, OSError) as failed:
            await stack.aclose()
            return unreachable(self.route, failed, self.metrics, self.target)
        return relay_reply(self.metrics, response, stack)

    async def _relay_answer(
        self, fitted: Fitted, response: aiohttp.ClientResponse, stack: AsyncExitStack, attempt: int
    ) -> Response:
        begun = await read_beginning(self.dialect, response)
        if begun.overflow and attempt < MAX_ATTEMPTS:
            smaller = await self._shrink(fitted, begun.overflow, silent=begun.silent)
            if smaller:
                await stack.aclose()
                return await self._relay(smaller, attempt + 1)
        data, factor = begun.held, self.setup.factor(fitted.window)
        if fitted.offers_recall or fitted.recalled.entries:
            reply = await hold_reply(self.dialect, response, begun.held)
            if reply.answer and calls_us(reply.answer):
                await stack.aclose()
                return await self._relay(await self._recall(fitted, reply.answer))
            self.fitter.keep_recalled(fitted.recalled)
            data = reply.data
        return relay_reply(self.metrics, response, stack, data, factor, self._watch(fitted))

    async def _sending(self, fitted: Fitted) -> AbstractAsyncContextManager[Any]:
        headers = list(self.request.headers.items())
        if fitted.receipt:  # the beginning of the reply is read here
            headers = [(name, value) for name, value in headers if name.lower() != "accept-encoding"]
        upstream = self.setup.upstream
        if translation := await self._translate(fitted):
            return send_translated(upstream, translation, headers)
        return upstream.send(self.request.method, self.target, headers, fitted.body or None)

    async def _translate(self, fitted: Fitted) -> Translation | None:
        """Write a fitted request in the one dialect of an upstream that has to be spoken to in it; None elsewhere."""
        if not fitted.receipt:
            return None
        server = await self.setup.windows.native_dialect(credentials(self.request))
        if server is None or server.name == self.route.dialect:
            return None
        facts = self.target, self.model, fitted.window, fitted.receipt.after
        return await asyncio.to_thread(translate, self.dialect, server, fitted.body, *facts)

    # Another attempt

    async def _recall(self, fitted: Fitted, answer: Answer) -> Fitted:
        """Answer what the model asks of our tools, and fit the request with it."""
        self.metrics.count_attempt("recall")
        log.info("opened for the model: %s", ", ".join(call.arguments for call in answer.reply.calls))
        place = self.route.dialect, self.raw, self.route.model
        return await self._fit(await asyncio.to_thread(self.fitter.recall, *place, answer.reply, fitted.recalled))

    async def _fit(self, recalled: Recalled = NOTHING_RECALLED, at_most: int | None = None) -> Fitted:
        offer = self.setup.recall_tool and recalled.rounds < MAX_ROUNDS
        place = self.route.dialect, self.raw, self.route.model
        return await asyncio.to_thread(self.fitter.fit, *place, offer=offer, recalled=recalled, at_most=at_most)

    async def _adapt(self, fitted: Fitted, status: int, text: str) -> Fitted | None:
        """Learn from a refusal, and fit again; None if it is about something else."""
        model = self.model
        overflow = self.dialect.read_overflow(status, text)
        if overflow and fitted.receipt:
            return await self._shrink(fitted, overflow)
        if fitted.offers_recall and "tool" in text.lower() and model not in self.fitter.refuses_tools:
            log.warning("%s takes no tools: what was folded cannot be opened by it", model)
            self.fitter.refuses_tools.add(model)
            self.metrics.count_attempt("tools")
            return await self._fit_again(fitted)
        meant = self.dialect.read_role_refusal(status, text)
        if not (meant and self.fitter.learn_roles(self.route.dialect, model, fitted, meant)):
            return None
        self.metrics.count_attempt("roles")
        log.warning("the upstream refused the roles of a request to %s; it gets a stricter form", model)
        return await self._fit_again(fitted)

    async def _shrink(self, fitted: Fitted, overflow: Overflow, *, silent: bool = False) -> Fitted | None:
        """Learn a smaller window, and fit again; None if that is impossible.

        `silent`: an empty reply, which may have another reason: a smaller window is tried for this request alone.
        """
        if fitted.receipt is None:
            return None
        counts_more = overflow.limit is not None and overflow.limit >= fitted.window
        limit = overflow.limit or 0
        if counts_more or not limit:  # in its tokens what was sent is larger than in ours
            share = limit / overflow.needs * ROOM_FOR_COUNTS if limit and overflow.needs else SHRINK
            limit = int(fitted.receipt.after * min(SHRINK, share) * fitted.window / fitted.receipt.limit)
        if not limit:
            return None
        self.metrics.count_attempt("too_long")
        if silent:
            log.warning("an empty reply of %s: asked again with at most %s tokens", self.model, limit)
            return await self._fit_again(fitted, limit)
        self.fitter.learn_window(self.model, limit)
        if overflow.limit and not counts_more:  # a guess is not worth remembering
            self.setup.windows.learn(self.model, limit)
        log.warning("the upstream refused %s as too long; its window is taken as %s tokens", self.model, limit)
        return await self._fit_again(fitted)

    async def _fit_again(self, before: Fitted, at_most: int | None = None) -> Fitted | None:
        try:
            return await self._fit(before.recalled, at_most)
        except DoesNotFit:
            return None


async def asker(setup: Setup, request: Request, target: str, dialect: Dialect, model: str, window: int) -> Ask:
    """Return a function that asks the model of the summaries, for one request to `target` alone."""
    assert setup.summaries
    spec, upstream, headers = setup.summaries.spec, setup.upstream, list(request.headers.items())
    if spec.endpoint:
        return setup.summaries.ask_configured
    native = await setup.windows.native_dialect(credentials(request))
    url = upstream.url_at_root(native.path) if native else dialect.path_of_question(target)

    async def ask(question: Question) -> str:
        return await ask_upstream(upstream, native or dialect, url, headers, question, spec.name or model, window)

    return ask


async def find_window(setup: Setup, request: Request, route: Route, raw: bytes) -> None:
    """Ask the upstream for its window before the first request for a model is fitted."""
    model = route.model or dialects.dialect_named(route.dialect).model_of(raw)
    setup.fitter.use_window(model, await setup.windows.find(model, credentials(request)))


def credentials(request: Request) -> list[tuple[str, str]]:
    """Return the headers by which a client says who it is, for questions to its upstream beside the conversation."""
    return [(name, value) for name, value in request.headers.items() if name.lower() in CREDENTIAL_HEADERS]


def _log_folding(path: str, receipt: Receipt) -> None:
    """Log what this request added: the folds of earlier ones are logged already."""
    if receipt.reused:
        log.info("%s folded earlier, used again: %s -> %s tokens", path, receipt.unfolded, receipt.before)
    if receipt.outcome.folds:
        log.info("%s folded: %s -> %s tokens", path, receipt.before, receipt.after)
