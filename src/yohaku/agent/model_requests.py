"""Requests to the model: the conversation fitted and sent, once more when it was too long or the reply was cut off.

Law: the reply is added to the conversation by the agent alone; here only its budget follows what the server refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from yohaku.agent.context import Context
from yohaku.agent.event_queue import EventQueue
from yohaku.agent.events import ReplyDiscarded
from yohaku.agent.reply import (
    Nudge,
    build_request,
    drop_torn_calls,
    normalize_reply,
    number_calls,
    request_reply,
)
from yohaku.client.errors import CutOff, TooLong, Truncated
from yohaku.core.model import Reply
from yohaku.dialects.answer import Answer
from yohaku.dialects.json_values import Json


class ModelRequests:
    def __init__(self, context: Context, events: EventQueue, on_shrink: Callable[[], None]) -> None:
        """`on_shrink` is called when the window turned out to be smaller."""
        self._context, self._events, self._on_shrink = context, events, on_shrink
        self._replies = 0
        self._call_ids: set[str] = set()

    def add_call_ids(self, ids: Iterable[str]) -> None:
        """Take note of calls that are in the conversation: each id stands once."""
        self._call_ids |= {*ids}

    def number(self, reply: Reply) -> Reply:
        """Return a reply of ours with ids for its calls."""
        reply = number_calls(reply, self._call_ids)
        self.add_call_ids(call.id for call in reply.calls)
        return reply

    async def request(self, nudge: Nudge | None) -> Reply:
        """Fit and send; once more when the request was too long or the reply was cut off."""
        context, dialect = self._context, self._context.conversation.dialect
        for last_try in (False, True):
            body = await context.fit_to_send()
            weight = context.gauge.used
            try:
                answer = await self._send(body, weight, nudge)
            except (TooLong, Truncated) as error:
                if last_try:
                    raise
                context.shrink(error, weight)
                self._on_shrink()
                continue
            except CutOff as error:
                answer, needs_room = error.answer, False
            else:
                needs_room = dialect.was_cut_off(answer)
                if not needs_room:
                    return self._accept(answer)
            if not last_try:
                self._events.emit(ReplyDiscarded())
                if needs_room:
                    await context.make_room()
                self._events.notify("loop_cut_off" if needs_room else "loop_broken_off", "warning")
        context.reset_reserve()
        self._events.notify("loop_still_cut", "warning")
        return self._accept(drop_torn_calls(answer))

    async def _send(self, body: Json, weight: int, nudge: Nudge | None) -> Answer:
        context, equipment, local = self._context, self._context.equipment, self._context.endpoint.local
        if nudge:
            fits = context.meter.count(nudge.previous) <= context.budget.reserve // 3  # it comes on top of the body
            begin = nudge.begin if context.client.begins else ""
            nudge = nudge._replace(begin=begin, previous=nudge.previous if fits else "")
        answer = await request_reply(
            context.client,
            build_request(body, context.conversation.dialect, nudge, local=local, small=equipment.tier == "small"),
            self._events,
            weight=weight,
            begin=nudge.begin if nudge else "",
            end_at_call_of=equipment.tools if local else (),
            end_at_code=bool(nudge and nudge.code),
        )
        context.reset_reserve()
        if not nudge or nudge.reminds:
            context.calibrate(answer.usage, weight + (context.meter.count(nudge.text) if nudge else 0))
        return answer

    def _accept(self, answer: Answer) -> Reply:
        self._replies += 1
        reply = normalize_reply(answer.reply, self._context.equipment.tools, self._replies, self._call_ids)
        self.add_call_ids(call.id for call in reply.calls)
        return reply
