"""The model that writes the agent's summaries: the one set for the main model, else a cheaper one of its provider.

Law: a summary never fails because of the choice: if the chosen model is not there, refuses or is silent, the main one
writes it, and the user is told once. A model on this machine is asked only if it is big and quick enough, unless the
settings say otherwise; one that takes too long all the same is not waited for. No key goes to a server it was not made
for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from yohaku.agent.events import ReadingProgress, UserNotice
from yohaku.agent.host.model_size import billions_of
from yohaku.agent.host.model_spec import parse_model_spec
from yohaku.agent.toolkit.secrets import register_secret
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import RequestFailed
from yohaku.config import catalog, resolve
from yohaku.config.settings import Settings
from yohaku.config.summary_models import CHEAPER, SAME, SummaryModel, summary_model_for
from yohaku.core.errors import Unanswered, YohakuError
from yohaku.core.recipe import Question
from yohaku.messages import explain, say

if TYPE_CHECKING:
    from yohaku.client.model_client import ModelClient

OpenClient = Callable[[Endpoint, int], "ModelClient"]
MIN_BILLIONS = 3.0
"""Parameters of a model on this machine that is asked: smaller ones invent facts or leave most of them out."""
SHARES_BY_BILLIONS, MAX_SHARE = ((3.0, 0.3), (8.0, 0.5)), 0.85
"""Shares of a chapter that models below a size write, and that others do: small ones tell less of what they read."""
MAX_SECONDS, MAX_MANUAL_SECONDS = 30.0, 120.0
"""That a model on this machine may take for a summary: in a folding by itself, and in one the user asked for."""
MAX_FAILURES = 2
"""Failures after which a model is not asked again."""
NOT_THERE = (401, 403, 404)
"""Answers of a server that will not change: no such model, or not for this key."""


class SummaryWriter:
    def __init__(
        self,
        client: ModelClient,
        endpoint: Endpoint,
        settings: Settings,
        open_client: OpenClient,
        emit: Callable[[UserNotice | ReadingProgress], None] = lambda notice: None,
        count: Callable[[str], int] = lambda text: len(text) // 4,
    ) -> None:
        """`client` and `endpoint` are the main model's; `open_client` opens one for another endpoint and its window."""
        self._main, self._endpoint, self._settings = client, endpoint, settings
        self._open_client, self._emit, self._count = open_client, emit, count
        self._in_turn = False
        """Whether the model is waited for in a turn, whose events are shown."""
        default = CHEAPER if serves_catalogue(endpoint, settings) else SAME
        found = summary_model_for(endpoint.model, settings, provider=endpoint.provider, default=default)
        self.chosen = found or SummaryModel("", share=share_for(endpoint))
        """The model to ask; with an empty name the main one."""
        self._clients: dict[str, ModelClient | None] = {}
        self._failures: dict[str, int] = {}
        self._deadline: float | None = None
        """Time by the monotonic clock, after which the main model is not waited for."""

    @property
    def _ask(self) -> str:
        return self._settings.options.compaction.ask

    @property
    def works_beside(self) -> bool:
        """True if summaries may be written beside the conversation: a server on this machine does one thing at once."""
        return self._ask != "never" and (bool(self.chosen.name) or not self._endpoint.local)

    def reason_not_to_ask(self, manual: bool, tokens: int, output: int) -> str:
        """Return the code of the reason not to ask for a summary of this many tokens; empty: it is asked."""
        if self._ask == "never":
            return "never"
        if self._ask == "always" or self.works_beside:
            return ""
        size = billions_of(self._endpoint)
        if size is not None and size < MIN_BILLIONS:
            return "too_small"
        seconds = self._main.speed.seconds(tokens, output)
        if seconds is None:
            return "" if manual else "unmeasured"
        return "too_slow" if seconds > max_seconds(manual) else ""

    @contextmanager
    def limit_wait(self, manual: bool) -> Iterator[None]:
        """Wait only so long for a model on this machine, in all questions of one folding."""
        if self._ask == "auto" and not self.works_beside:
            self._deadline = time.monotonic() + max_seconds(manual)
        self._in_turn = not manual and not self.works_beside
        try:
            yield
        finally:
            self._deadline, self._in_turn = None, False

    async def prepare(self) -> SummaryModel:
        """Find the chosen model, so that its window is known before it is asked; return it."""
        if self.chosen.name and not self._is_served_here(self.chosen.name):
            await self._client_for(self.chosen.name)
        return self.chosen

    async def ask(self, question: Question) -> str:
        """Return the answer of the chosen model; of the main one where that fails."""
        name, plain = question.model or self.chosen.name, replace(question, model="")
        client = await self._client_for(name) if name else None
        if client is None:
            return await self._ask_main(plain)
        try:
            return await client.ask(plain)
        except (RequestFailed, Unanswered) as failed:
            self._report(name, failed)
        if len(question.text) > self._main.window * 4:  # made for a larger window: the main model would refuse it
            raise Unanswered(f"{name} did not answer, and the question is too long for {self._endpoint.model}")
        return await self._ask_main(plain)

    async def _ask_main(self, question: Question) -> str:
        if self._in_turn:
            weighs = self._count(question.text)
            self._emit(ReadingProgress(0, weighs, self._main.speed.reading, estimated=True, summing_up=True))
        if self._deadline is None:
            return await self._main.ask(question)
        try:
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + self._deadline - time.monotonic()):
                return await self._main.ask(question)
        except TimeoutError:
            raise Unanswered(say("summary_too_slow", self._settings.lang, model=self._endpoint.model)) from None

    async def close(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            if client is not None:
                await client.close()

    async def _client_for(self, name: str) -> ModelClient | None:
        """Return the client of a model; None for the main one, also where the other cannot be used."""
        if name == self._endpoint.model or self._failures.get(name, 0) >= MAX_FAILURES:
            return None
        if name not in self._clients:
            self._clients[name] = None
            try:
                endpoint, window = await self._find(name)
            except (YohakuError, OSError) as failed:
                self._report(name, failed)
            else:
                register_secret("key", endpoint.key)
                self._clients[name] = self._open_client(endpoint, window)
                if name == self.chosen.name:
                    self.chosen = replace(self.chosen, window=window, share=share_for(endpoint))
        return self._clients[name]

    async def _find(self, name: str) -> tuple[Endpoint, int]:
        """Find the endpoint and the window of a model: at the main one's server, or where `--model` would find it."""
        from yohaku.agent.host.capacity import MachineMemory
        from yohaku.agent.host.choose_window import choose_window
        from yohaku.agent.host.find_model import find_models
        from yohaku.agent.host.memory import read_memory

        plain = replace(self._settings, model=None, window=None, preset="balanced")
        if self._is_served_here(name):
            model = name.removeprefix(f"{self._endpoint.provider}/")
            found = replace(self._endpoint, model=model, window=None, trained=None, output=None, info={})
        else:
            found = (await find_models(plain, model=self._address(name)))[0]
        memory = read_memory() if found.local else MachineMemory(0, 0)
        window = choose_window(found, plain, memory)
        output = resolve.window_for(found.model, plain, provider=found.provider).output_limit
        unknown = window.why == "unknown" and not found.local
        return replace(found, output=output), self._main.window if unknown else window.window

    def _is_served_here(self, name: str) -> bool:
        """Return whether the main model's provider has this one too, as far as the catalogue knows."""
        main, known = self._endpoint, catalog.load(self._settings.catalog)
        if main.local:
            return False  # what runs here has to be asked for its window
        spec, row = parse_model_spec(name, known), known.find(name, main.provider)
        if spec.kind == "provider":
            return spec.where == main.provider or main.provider == "openrouter"
        same = row is None or row.provider in (main.provider, "")
        return spec.kind == "name" and (same or known.provider(main.provider) is None)

    def _address(self, name: str) -> str:
        """Return a bare name that the catalogue does not know as one at the main model's server."""
        known, url = catalog.load(self._settings.catalog), self._endpoint.url
        bare = parse_model_spec(name, known).kind == "name" and known.find(name) is None
        return f"{url}#{name}" if bare and url else name

    def _report(self, name: str, failed: Exception) -> None:
        first = name not in self._failures
        final = not isinstance(failed, RequestFailed | Unanswered) or getattr(failed, "status", 0) in NOT_THERE
        self._failures[name] = MAX_FAILURES if final else self._failures.get(name, 0) + 1
        if first:
            lang = self._settings.lang
            said = getattr(failed, "said", None)
            why = said(lang) if said else explain(failed, lang) if isinstance(failed, YohakuError) else str(failed)
            text = say("summary_model_failed", lang, model=name, main=self._endpoint.model, why=why)
            self._emit(UserNotice(text, "warning"))


def share_for(endpoint: Endpoint) -> float:
    """Return the share of a chapter that a model writes, by its size."""
    size = billions_of(endpoint)
    return next((share for most, share in SHARES_BY_BILLIONS if size is not None and size < most), MAX_SHARE)


def max_seconds(manual: bool) -> float:
    return MAX_MANUAL_SECONDS if manual else MAX_SECONDS


def serves_catalogue(endpoint: Endpoint, settings: Settings) -> bool:
    """Return whether an endpoint is a provider's own address, where its other models are too."""
    provider = catalog.load(settings.catalog).provider(endpoint.provider)
    return not endpoint.local and provider is not None and endpoint.url.rstrip("/") == provider.url.rstrip("/")
