"""Replies in Anthropic's form: blocks, each opened and closed."""

from __future__ import annotations

from typing import Any

from yohaku.core.model import Call, Opaque, Text
from yohaku.dialects.answer import Answer, Delta
from yohaku.dialects.json_values import Json, arguments_object, object_or_empty
from yohaku.dialects.replies.writer import ReplyWriter, RequestOptions, count_or_none, number_or_none, texts_of


class MessageReplyWriter(ReplyWriter):
    _open: str = ""
    """Kind of the block that is being written."""
    _index = -1

    def begin(self) -> list[Json]:
        usage = {"input_tokens": self.facts.prompt, "output_tokens": 0}
        return [{"type": "message_start", "message": self._message([], None, usage)}]

    def add(self, delta: Delta) -> list[Json]:
        events: list[Json] = []
        if delta.thought:
            events += self._block("thinking", {"type": "thinking", "thinking": "", "signature": ""})
            events.append(self._delta({"type": "thinking_delta", "thinking": delta.thought}))
        if delta.text:
            events += self._block("text", {"type": "text", "text": ""})
            events.append(self._delta({"type": "text_delta", "text": delta.text}))
        return events

    def end(self, answer: Answer, cut_off: bool) -> list[Json]:
        events: list[Json] = []
        for call in answer.reply.calls:
            events += self._close()
            events += self._block("tool_use", {**_block_of(call), "input": {}})
            events.append(self._delta({"type": "input_json_delta", "partial_json": call.arguments}))
        events += self._close()
        delta = {"stop_reason": _stop(answer, cut_off), "stop_sequence": None}
        events.append({"type": "message_delta", "delta": delta, "usage": self._usage(answer)})
        return [*events, {"type": "message_stop"}]

    def whole(self, answer: Answer, cut_off: bool) -> Json:
        content = [_block_of(item) for item in answer.reply.items]
        return self._message(content, _stop(answer, cut_off), self._usage(answer))

    def _block(self, kind: str, block: Json) -> list[Json]:
        if self._open == kind:
            return []
        closed = self._close()
        self._open, self._index = kind, self._index + 1
        return [*closed, {"type": "content_block_start", "index": self._index, "content_block": block}]

    def _delta(self, delta: Json) -> Json:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}

    def _close(self) -> list[Json]:
        closed = [{"type": "content_block_stop", "index": self._index}] if self._open else []
        self._open = ""
        return closed

    def _message(self, content: list[Json], stop: str | None, usage: Json) -> dict[str, Json]:
        about = {"id": f"msg_{self.facts.id}", "type": "message", "role": "assistant", "model": self.facts.model}
        return {**about, "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage}

    def _usage(self, answer: Answer) -> Json:
        usage = self.usage(answer)
        return {"input_tokens": usage.prompt, "output_tokens": usage.output}


def _block_of(item: Text | Opaque | Call) -> dict[str, Json]:
    match item:
        case Text(text):
            return {"type": "text", "text": text}
        case Call():
            return {"type": "tool_use", "id": item.id, "name": item.name, "input": arguments_object(item.arguments)}
    return {"type": "thinking", "thinking": item.data, "signature": ""}


def _stop(answer: Answer, cut_off: bool) -> str:
    return "max_tokens" if cut_off else "tool_use" if answer.reply.calls else "end_turn"


def read_options(body: dict[str, Any]) -> RequestOptions:
    form = object_or_empty(object_or_empty(body.get("output_config")).get("format")) or object_or_empty(
        body.get("output_format")
    )
    return RequestOptions(
        stream=bool(body.get("stream")),
        limit=count_or_none(body.get("max_tokens")),
        temperature=number_or_none(body.get("temperature")),
        top_p=number_or_none(body.get("top_p")),
        stop=texts_of(body.get("stop_sequences")),
        schema=form.get("schema"),
        effort="none" if object_or_empty(body.get("thinking")).get("type") == "disabled" else "",
        uses_tools=object_or_empty(body.get("tool_choice")).get("type") != "none",
    )
