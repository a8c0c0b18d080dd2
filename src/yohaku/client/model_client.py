"""Requests to one model: a body goes out, the reply comes back piece by piece and then as a whole.

Law: no piece of a reply is passed on twice. A request is repeated only while none was, a bounded number of times;
every other failure is one typed error with a sentence for the user.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import NamedTuple

from yohaku import meters
from yohaku.client.connection import Connection, Timeouts
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import Garbled, RequestRefused, TooLong, Truncated, Unreachable
from yohaku.client.events import ReadingProgress, TextDelta, ThoughtDelta, UserNotice
from yohaku.client.faults import Fault
from yohaku.client.request import Quirks, adapt, adapt_roles, limit_reply, prepare, question_body, require_text
from yohaku.client.speed import ModelSpeed
from yohaku.client.stream_parser import OnDelta
from yohaku.core.errors import YohakuError
from yohaku.core.recipe import Question
from yohaku.core.weigh import weigh
from yohaku.dialects import dialect_named
from yohaku.dialects.answer import Answer
from yohaku.dialects.json_values import Json
from yohaku.dialects.overflow import Overflow
from yohaku.dialects.role_rules import NO_RULES, RoleRules
from yohaku.messages import say

LOCAL_TIMEOUTS, REMOTE_TIMEOUTS = Timeouts(1800.0, 300.0, pause=0.5), Timeouts(300.0, 180.0)

TELL_PROGRESS = frozenset({"llama.cpp", "llamacpp", "embedded"})
"""Providers that tell how far they have read a request."""
MIN_TOLD_SECONDS = 2.0
"""That reading must take for an estimate to be shown."""

MIN_CHECKED = 256
"""Tokens. Below this a difference between two counts means nothing."""
SAME_SHARE = 0.95
"""Of the tokens sent: a server that counts this many has read them all."""
DROPPED_SHARE = 0.6
"""Of the tokens sent: counts of different meters are never this far apart."""


class RequestForm(NamedTuple):
    """Means to constrain a summarising model; None: only what every server of the dialect takes."""

    prefill: bool | None = None
    schema: bool | None = None


PLAIN = RequestForm(False, False)
FORMS = {
    "llama.cpp": RequestForm(True, True),
    "llamacpp": RequestForm(True, True),
    "embedded": RequestForm(True, True),
    "lmstudio": RequestForm(None, True),
    "vllm": RequestForm(None, True),
}
"""By provider."""


def timeouts_for(endpoint: Endpoint, stall: float | None = None) -> Timeouts:
    """Return how long to wait for this server; `stall`: seconds without a byte that the user allows."""
    usual = LOCAL_TIMEOUTS if endpoint.local else REMOTE_TIMEOUTS
    return usual._replace(stall=stall, first=max(usual.first, stall)) if stall else usual


class ModelClient:
    def __init__(
        self,
        endpoint: Endpoint,
        *,
        window: int,
        reserve: int,
        lang: str = "en",
        notify: Callable[[UserNotice], None] | None = None,
        timeouts: Timeouts | None = None,
        form: RequestForm | None = None,
        roles: RoleRules = NO_RULES,
        on_roles: Callable[[RoleRules], None] | None = None,
    ) -> None:
        """`roles`: rules that this server is known to have; `on_roles` receives those that are learned."""
        self.endpoint = endpoint
        self.window = window
        self.reserve = reserve
        self.lang = lang
        self.notify = notify
        """Receives a sentence whenever we wait and try again."""
        self._connection = Connection(endpoint, timeouts or timeouts_for(endpoint))
        self._form = form or FORMS.get(endpoint.provider, RequestForm())
        self._quirks = Quirks(roles=roles)
        self._on_roles = on_roles
        self.speed = ModelSpeed()
        self._dialect = dialect_named(endpoint.dialect)
        self._before = 0
        """Tokens of the last request and its reply: what a server may hold in its cache."""

    @property
    def begins(self) -> bool:
        """True once the server has continued a reply begun for the model."""
        return self._form.prefill is True

    async def send(self, body: dict[str, Json], on_delta: OnDelta, *, weighs: int = 0) -> Answer:
        """Return the answer to a body; `on_delta` gets each piece as it comes. `weighs`: its tokens, where known."""
        limited = limit_reply(body, self.endpoint, self.window, self.reserve)
        if self.endpoint.provider in TELL_PROGRESS:
            limited = {**limited, **self._dialect.progress_fields}
        began, first, told = time.monotonic(), 0.0, 0.0

        def on_timed_delta(delta: TextDelta | ThoughtDelta | ReadingProgress) -> None:
            nonlocal first, told
            if isinstance(delta, ReadingProgress):
                told = delta.speed
            else:
                first = first or time.monotonic()
            on_delta(delta)

        self._estimate_reading(weighs, on_delta)
        answer = await self._retry(limited, on_timed_delta, weighs)
        if answer.usage and first:
            self.speed.measure(answer.usage.prompt, answer.usage.output, first - began, time.monotonic() - first)
            self.speed.reading = told or self.speed.reading
        return await self._check_truncation(answer, limited, weighs)

    def _estimate_reading(self, weighs: int, on_delta: OnDelta) -> None:
        """Tell a reading that takes a while by the speed of earlier ones."""
        left, speed = self.speed.left_to_read(weighs), self.speed.reading
        if self.endpoint.local and speed and left > speed * MIN_TOLD_SECONDS:
            on_delta(ReadingProgress(weighs - left, weighs, speed, estimated=True))

    async def ask(self, question: Question) -> str:
        """Return the model's answer to a question that is complete in itself."""
        answer, form = None, self._form
        try:
            answer = await self._ask_in(form, question)
        except RequestRefused as refusal:
            if form == PLAIN or refusal.status not in (400, 422, 500):
                raise
        if answer is None:
            answer = await self._ask_in(PLAIN, question)
            self._form = PLAIN  # it refuses a prefill or a schema: do not send them again
        return require_text(answer)

    async def close(self) -> None:
        await self._connection.close()

    async def _ask_in(self, form: RequestForm, question: Question) -> Answer:
        here = self.endpoint
        body = question_body(question, here.dialect, here.model, **form._asdict(), window=self.window)
        answer = await self._retry(body, _ignore, 0, question.model)
        return await self._check_truncation(answer, body, 0)

    async def _retry(self, body: dict[str, Json], on_delta: OnDelta, weighs: int, model: str = "") -> Answer:
        """Send until there is an answer, adapting to refused fields and waiting where waiting may help."""
        began, tries, was_loading, timeouts = time.monotonic(), 0, False, self._connection.timeouts
        while True:
            sent = prepare(body, self.endpoint, self._quirks)
            got = await self._connection.post(sent, on_delta, model)
            if isinstance(got, Answer):
                return got
            if isinstance(got.error, RequestRefused):
                quirks = adapt(self._quirks, got.error, sent, self._dialect.substitutes)
                quirks = quirks or adapt_roles(self._quirks, got.roles, body, self._dialect)
                if quirks:
                    self._learn(quirks)
                    continue
            if self._ran_out_of_room(got, body, weighs):
                raise TooLong(Overflow())
            loading = got.loading and time.monotonic() - began < timeouts.first
            tries += 0 if loading else 2 if isinstance(got.error, Unreachable) and got.error.why == "stall" else 1
            pause = max(timeouts.pause * 2 ** max(0, tries - 1), got.after or 0)
            if not got.again or tries >= timeouts.tries or pause > timeouts.max_pause:
                raise got.error
            if not (loading and was_loading):
                self._notify("talk_loading" if loading else "talk_again", pause)
            was_loading = loading
            await asyncio.sleep(pause)

    def _learn(self, quirks: Quirks) -> None:
        if self._on_roles and quirks.roles != self._quirks.roles:
            self._on_roles(quirks.roles)
        self._quirks = quirks

    def _notify(self, name: str, seconds: float) -> None:
        if self.notify:
            self.notify(UserNotice(say(name, self.lang, server=self.endpoint.name, seconds=max(1, round(seconds)))))

    def _ran_out_of_room(self, got: Fault, body: dict[str, Json], weighs: int) -> bool:
        """Tell whether a reply is empty for lack of room: llama-cpp-python then streams one without text."""
        if not (isinstance(got.error, Garbled) and got.error.empty):
            return False
        return (weighs or count_tokens(body, self.endpoint)) > 0.8 * self.window

    async def _check_truncation(self, answer: Answer, body: dict[str, Json], weighs: int) -> Answer:
        """Raise `Truncated` where the server dropped part of the request without an error, as Ollama does."""
        watched = self._dialect.drops_silently or self.endpoint.provider == "ollama"
        if answer.usage is None or not watched:
            return answer
        sent, counted, before = weighs or count_tokens(body, self.endpoint), answer.usage.prompt, self._before
        self._before = sent + answer.usage.output
        if may_be_truncated(counted, sent):
            path = self._dialect.loaded_models_path
            running = await self._connection.get(path) if path else None
            loaded = self._dialect.read_loaded_window(running, self.endpoint.model)
            if was_truncated(counted, sent, before, loaded):
                self._before = 0
                raise Truncated(counted, sent, answer, loaded)
        return answer


def may_be_truncated(counted: int, sent: int) -> bool:
    """Tell whether a server's count is low enough to look further. A prompt found whole in the cache counts 0."""
    return sent > MIN_CHECKED and 0 < counted < sent * SAME_SHARE


def was_truncated(counted: int, sent: int, before: int, loaded: int | None) -> bool:
    """Tell a dropped part of a request from one that stood in the server's cache, which it may not count either.

    `before`: tokens of the last request and its reply, which a cache may hold. `loaded`: the window the server reports.
    """
    if loaded:
        return sent > loaded
    if counted >= sent * DROPPED_SHARE:
        return False
    return not before or counted > MIN_CHECKED + 1.5 * max(0, sent - before)


def count_tokens(body: dict[str, Json], endpoint: Endpoint) -> int:
    """Return the tokens of a body by our meter, or an estimate where it cannot be read."""
    try:
        history = dialect_named(endpoint.dialect).read(body).history()
        return weigh(history, meters.for_model(endpoint.model, endpoint.dialect, endpoint.provider)).total
    except YohakuError:
        return len(json.dumps(body)) // 4


def _ignore(_: TextDelta | ThoughtDelta | ReadingProgress) -> None: ...
