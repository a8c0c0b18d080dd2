"""One conversation partner: a body goes out, what is said comes back as it is said, then the whole answer.

Law: what was heard is never heard twice. A request is tried again only while nothing was heard of its reply, a bounded
number of times; whatever else happens is one typed error with a sentence for the user.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from yohaku.agent.events import TextDelta, ThoughtDelta, UserNotice
from yohaku.client import request, truncation
from yohaku.client.connection import Connection, Timeouts, said_in
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import Garbled, RequestRefused, TooLong, Truncated, Unreachable
from yohaku.client.faults import Fault
from yohaku.client.question_body import request as question_request
from yohaku.client.stream_parser import Hear
from yohaku.core.engine import Question
from yohaku.core.errors import Unanswered
from yohaku.dialects import dialect_named
from yohaku.dialects.dialect import Answer, Json
from yohaku.dialects.overflow import Overflow
from yohaku.messages import say

HERE, FAR = Timeouts(1800.0, 300.0, pause=0.5), Timeouts(300.0, 180.0)


class RequestForm(NamedTuple):
    """What a server can hold the model to that sums up; None: what every server of its dialect takes."""

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


def patience_for(endpoint: Endpoint, stall: float | None = None) -> Timeouts:
    """How long to wait for this server; `stall`: seconds without a byte, as the user wants it."""
    usual = HERE if endpoint.local else FAR
    return usual._replace(stall=stall, first=max(usual.first, stall)) if stall else usual


class ModelClient:
    def __init__(
        self,
        endpoint: Endpoint,
        *,
        window: int,
        reserve: int,
        lang: str = "en",
        tell: Callable[[UserNotice], None] | None = None,
        patience: Timeouts | None = None,
        form: RequestForm | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.window = window
        self.reserve = reserve
        self.lang = lang
        self.tell = tell
        """Gets a sentence whenever we wait and try again."""
        self._line = Connection(endpoint, patience or patience_for(endpoint))
        self._form = form or FORMS.get(endpoint.provider, RequestForm())
        self._manners = request.Quirks()
        self._dialect = dialect_named(endpoint.dialect)
        self._before = 0
        """Tokens of the last request and its reply: what a server may hold in its cache."""

    @property
    def begins(self) -> bool:
        """Whether the server lets an answer be begun for the model."""
        return self._form.prefill is True

    async def send(self, body: dict[str, Json], hear: Hear, *, weighs: int = 0) -> Answer:
        """The answer to a body, of which `hear` gets each piece as it comes. `weighs`: its tokens, where known."""
        limited = request.limited(body, self.endpoint, self.window, self.reserve)
        answer = await self._tried(limited, hear, weighs)
        return await self._untruncated(answer, limited, weighs)

    async def ask(self, question: Question) -> str:
        """What the model says to a question that is complete in itself."""
        answer, form = None, self._form
        try:
            answer = await self._asked(question, form)
        except RequestRefused as refusal:
            if form == PLAIN or refusal.status not in (400, 422, 500):
                raise
        if answer is None:
            answer = await self._asked(question, PLAIN)
            self._form = PLAIN  # it takes no beginning or no schema, and is not asked for them again
        if not (text := said_in(answer)).strip():
            raise Unanswered(f"the model said nothing (it stopped for: {answer.stop or 'no reason given'})")
        return text

    async def close(self) -> None:
        await self._line.close()

    async def _asked(self, question: Question, form: RequestForm) -> Answer:
        here = self.endpoint
        body = question_request(question, here.dialect, here.model, **form._asdict(), window=self.window)
        answer = await self._tried(body, _ignore, 0, question.model)
        return await self._untruncated(answer, body, 0)

    async def _tried(self, body: dict[str, Json], hear: Hear, weighs: int, model: str = "") -> Answer:
        began, tries, waited, patience = time.monotonic(), 0, False, self._line.patience
        while True:
            sent = request.shaped(body, self.endpoint, self._manners)
            got = await self._line.say(sent, hear, model)
            if isinstance(got, Answer):
                return got
            if isinstance(got.error, RequestRefused):
                manners = request.milder(self._manners, got.error, sent, self._dialect.substitutes)
                if manners:
                    self._manners = manners
                    continue
            if self._starved(got, body, weighs):
                raise TooLong(Overflow())
            loading = got.loading and time.monotonic() - began < patience.first
            tries += 0 if loading else 2 if isinstance(got.error, Unreachable) and got.error.why == "stall" else 1
            pause = max(patience.pause * 2 ** max(0, tries - 1), got.after or 0)
            if not got.again or tries >= patience.tries or pause > patience.longest:
                raise got.error
            if not (loading and waited):
                self._tell("talk_loading" if loading else "talk_again", pause)
            waited = loading
            await asyncio.sleep(pause)

    def _tell(self, name: str, seconds: float) -> None:
        if self.tell:
            self.tell(UserNotice(say(name, self.lang, server=self.endpoint.name, seconds=max(1, round(seconds)))))

    def _starved(self, got: Fault, body: dict[str, Json], weighs: int) -> bool:
        """Whether a server said nothing because it had no room: llama-cpp-python then streams an empty reply."""
        if not (isinstance(got.error, Garbled) and got.error.empty):
            return False
        return (weighs or truncation.weight_of(body, self.endpoint)) > 0.8 * self.window

    async def _untruncated(self, answer: Answer, body: dict[str, Json], weighs: int) -> Answer:
        if answer.usage is None or not truncation.watched(self.endpoint):
            return answer
        sent, told, before = weighs or truncation.weight_of(body, self.endpoint), answer.usage.prompt, self._before
        self._before = sent + answer.usage.output
        if truncation.suspicious(told, sent):
            path = self._dialect.loaded_models_path
            running = await self._line.get(path) if path else None
            loaded = self._dialect.read_loaded_window(running, self.endpoint.model)
            if truncation.dropped(told, sent, before, loaded):
                self._before = 0
                raise Truncated(told, sent, answer, loaded)
        return answer


def _ignore(_: TextDelta | ThoughtDelta) -> None: ...
