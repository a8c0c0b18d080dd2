"""Chapters written by a model, prepared beside the conversation, so that no client waits for one.

After a request that fills much of the window a chapter is begun in the background: by the client's own upstream and
with the credentials of that request, or by a model of the proxy's user. A later folding uses it if it is ready. Law:
a client waits for one at most `wait` seconds, and what is not ready then is told without a model. Credentials are held
no longer than their draft, are sent to the upstream they came for alone, and are never stored or logged.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import aiohttp
import msgspec

from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import RequestFailed
from yohaku.client.model_client import ModelClient
from yohaku.client.request import question_body, require_text
from yohaku.config import catalog
from yohaku.config.settings import Settings
from yohaku.config.summary_models import SAME
from yohaku.core.errors import BadSetting, Unanswered, YohakuError
from yohaku.core.recipe import Question
from yohaku.dialects.dialect import Dialect
from yohaku.proxy.upstream import Upstream
from yohaku.session.driver import Summarise
from yohaku.session.session import Session

log = logging.getLogger("yohaku.proxy")
T = TypeVar("T")

Ask = Callable[[Question], Awaitable[str]]
MAX_DRAFTS = 4
"""At once, in the whole proxy; a conversation that finds none free is folded without a model."""
DRAFT_TIMEOUT = 180.0
"""Seconds for one question."""
DEFAULT_WAIT = 10.0
MAX_ANSWER_BYTES = 4 << 20
UNSENT_HEADERS = ("accept-encoding", "accept", "content-type")


class SummaryModelSpec(NamedTuple):
    """The model that writes: `same` as the client's, another name at the client's upstream, or an endpoint."""

    name: str = ""
    """Of a model at the client's own upstream; empty for the one that the request names."""
    endpoint: Endpoint | None = None


def read_summary_model(text: str, settings: Settings) -> SummaryModelSpec:
    """Read `same`, a model's name, `URL#NAME` or `PROVIDER/NAME` of a provider with a key in the environment."""
    if text == SAME:
        return SummaryModelSpec()
    if "://" in text:
        url, _, name = text.partition("#")
        return SummaryModelSpec(endpoint=Endpoint(url, "", "openai_chat", url, name))
    head, _, name = text.partition("/")
    provider = catalog.load(settings.catalog).provider(head) if name else None
    if provider is None:
        return SummaryModelSpec(text)
    key = settings.variable(*provider.keys) if provider.keys else ""
    if key is None:
        why = f"--summaries {text}: {head} needs its key in {provider.keys[0]}"
        raise BadSetting(why, code="summaries_key", name=head, variable=provider.keys[0])
    return SummaryModelSpec(endpoint=Endpoint(head, head, provider.dialect, provider.url, name, key))


class Summaries:
    def __init__(self, spec: SummaryModelSpec, wait: float = DEFAULT_WAIT) -> None:
        self.spec, self.wait = spec, wait
        self._running: WeakKeyDictionary[Session, asyncio.Future[None]] = WeakKeyDictionary()
        self._sizes: WeakKeyDictionary[Session, int] = WeakKeyDictionary()
        """Bytes of the body that a session read last."""
        self._threads = ThreadPoolExecutor(MAX_DRAFTS, "yohaku-draft")
        self._waited_for = ThreadPoolExecutor(MAX_DRAFTS, "yohaku-summary")
        self._client: ModelClient | None = None

    def is_running(self) -> bool:
        return any(not future.done() for future in self._running.values())

    async def wait_for(self, session: Session, size: int) -> None:
        """Wait for the draft of a conversation whose new body, of so many bytes, is about to be folded."""
        running, receipt = self._running.get(session), session.receipt
        if running is None or running.done() or receipt is None:
            return
        grown = size / max(1, self._sizes.get(session, size)) - 1
        if session.should_fold(receipt.after + round(receipt.unfolded * grown)):
            await asyncio.wait({running}, timeout=self.wait)

    async def begin(self, session: Session, size: int, ask: Ask) -> None:
        """Begin the draft of a conversation that was just fitted, where one is due."""
        self._sizes[session] = size
        running = [each for each, future in self._running.items() if not future.done()]
        if len(running) >= MAX_DRAFTS or any(each is session for each in running):
            return
        loop = asyncio.get_running_loop()

        def summarise(question: Question) -> str:
            return asyncio.run_coroutine_threadsafe(asyncio.wait_for(ask(question), DRAFT_TIMEOUT), loop).result()

        draft = await asyncio.to_thread(session.draft_if_due, summarise)
        if draft is None:
            return

        def run() -> None:
            made = draft()
            why = "; ".join(str(trouble) for trouble in session.troubles) if made is None else ""
            log.info("%s", "a summary was prepared" if made else f"no summary: {why}")

        future = loop.run_in_executor(self._threads, run)
        future.add_done_callback(_log_failure)
        self._running[session] = future

    async def work(self, work: Callable[[Summarise], T], ask: Ask) -> T:
        """Do what a client waits for, whose questions are answered within `wait` seconds or not at all."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.wait

        def summarise(question: Question) -> str:
            answering = asyncio.wait_for(ask(question), max(0.0, end - loop.time()))
            return asyncio.run_coroutine_threadsafe(answering, loop).result()

        return await loop.run_in_executor(self._waited_for, work, summarise)

    async def ask_configured(self, question: Question) -> str:
        """Ask the model of the proxy's user."""
        assert self.spec.endpoint
        if self._client is None:
            self._client = ModelClient(self.spec.endpoint, window=0, reserve=0)
        try:
            return await self._client.ask(question)
        except RequestFailed as failed:
            raise Unanswered(f"{self.spec.endpoint.model}: {failed}") from None

    async def close(self) -> None:
        for threads in (self._threads, self._waited_for):
            threads.shutdown(wait=False, cancel_futures=True)
        if self._client:
            await self._client.close()


def _log_failure(future: asyncio.Future[None]) -> None:
    if not future.cancelled() and (failed := future.exception()):
        log.warning("no summary: %s", type(failed).__name__)


async def ask_upstream(
    upstream: Upstream,
    dialect: Dialect,
    url: str,
    headers: list[tuple[str, str]],
    question: Question,
    model: str,
    window: int,
) -> str:
    """Ask a model at the client's own upstream, with the headers of the client's request."""
    body = question_body(replace(question, model=""), dialect.name, model, window=window)
    named = {"model": model} if dialect.names_model else {}
    data = msgspec.json.encode(dialect.with_window({**named, **body}, window) if window else {**named, **body})
    kept = [(name, value) for name, value in headers if name.lower() not in UNSENT_HEADERS]
    sent = [*kept, ("content-type", "application/json"), ("accept-encoding", "identity")]
    try:
        async with upstream.send("POST", url, sent, data) as response:
            if response.status != 200:
                raise Unanswered(f"the upstream answered {response.status}")
            return require_text(dialect.read_reply(msgspec.json.decode(await _read(response))))
    except (aiohttp.ClientError, TimeoutError, OSError, msgspec.DecodeError, YohakuError) as failed:
        if isinstance(failed, Unanswered):
            raise
        raise Unanswered(f"the upstream gave no answer: {type(failed).__name__}") from None


async def _read(response: aiohttp.ClientResponse) -> bytes:
    data = b""
    async for piece in response.content.iter_any():
        data += piece
        if len(data) > MAX_ANSWER_BYTES:
            raise Unanswered("the answer is too long")
    return data
