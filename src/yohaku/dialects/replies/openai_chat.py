"""Replies in OpenAI's chat form."""

from __future__ import annotations

from typing import Any

from yohaku.core.model import Opaque
from yohaku.dialects.answer import Answer, Delta
from yohaku.dialects.json_values import Json, object_or_empty
from yohaku.dialects.replies.writer import (
    ReplyWriter,
    RequestOptions,
    count_or_none,
    effort_of,
    number_or_none,
    texts_of,
)


class ChatReplyWriter(ReplyWriter):
    closing = "data: [DONE]\n\n"

    def begin(self) -> list[Json]:
        return [self._chunk({"role": "assistant", "content": ""})]

    def add(self, delta: Delta) -> list[Json]:
        said = {name: text for name, text in (("reasoning", delta.thought), ("content", delta.text)) if text}
        return [self._chunk(said)] if said else []

    def end(self, answer: Answer, cut_off: bool) -> list[Json]:
        calls = [{"index": number, **call} for number, call in enumerate(_calls(answer))]
        events = [self._chunk({"tool_calls": calls})] if calls else []
        events.append(self._chunk({}, _stop(answer, cut_off)))
        if self.facts.options.tells_usage:
            events.append({**self._about("chat.completion.chunk"), "choices": [], "usage": self._usage(answer)})
        return events

    def whole(self, answer: Answer, cut_off: bool) -> Json:
        message: dict[str, Json] = {"role": "assistant", "content": answer.text or None}
        if thoughts := "".join(item.data for item in answer.reply.items if isinstance(item, Opaque)):
            message["reasoning"] = thoughts
        if calls := _calls(answer):
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": _stop(answer, cut_off)}
        return {**self._about("chat.completion"), "choices": [choice], "usage": self._usage(answer)}

    def _about(self, kind: str) -> dict[str, Json]:
        facts = self.facts
        return {"id": f"chatcmpl-{facts.id}", "object": kind, "created": facts.created, "model": facts.model}

    def _chunk(self, delta: dict[str, Json], stop: str | None = None) -> Json:
        return {
            **self._about("chat.completion.chunk"),
            "choices": [{"index": 0, "delta": delta, "finish_reason": stop}],
        }

    def _usage(self, answer: Answer) -> Json:
        usage = self.usage(answer)
        return {"prompt_tokens": usage.prompt, "completion_tokens": usage.output, "total_tokens": usage.total}


def _calls(answer: Answer) -> list[dict[str, Json]]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in answer.reply.calls
    ]


def _stop(answer: Answer, cut_off: bool) -> str:
    return "length" if cut_off else "tool_calls" if answer.reply.calls else "stop"


def read_options(body: dict[str, Any]) -> RequestOptions:
    form = object_or_empty(body.get("response_format"))
    kind = form.get("type")
    schema = object_or_empty(form.get("json_schema")).get("schema") if kind == "json_schema" else None
    effort = body.get("reasoning_effort") or object_or_empty(body.get("reasoning")).get("effort")
    return RequestOptions(
        stream=bool(body.get("stream")),
        limit=count_or_none(body.get("max_completion_tokens")) or count_or_none(body.get("max_tokens")),
        temperature=number_or_none(body.get("temperature")),
        top_p=number_or_none(body.get("top_p")),
        seed=count_or_none(body.get("seed")),
        stop=texts_of(body.get("stop")),
        schema={} if kind == "json_object" else schema,
        effort=effort_of(effort),
        uses_tools=body.get("tool_choice") != "none",
        tells_usage=bool(object_or_empty(body.get("stream_options")).get("include_usage")),
    )
