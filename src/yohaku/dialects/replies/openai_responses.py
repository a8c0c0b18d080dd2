"""Replies in OpenAI's Responses form: items, each opened, written and closed."""

from __future__ import annotations

from typing import Any

from yohaku.core.model import Call, Opaque, Text
from yohaku.dialects.answer import Answer, Delta
from yohaku.dialects.json_values import Json, object_or_empty
from yohaku.dialects.replies.writer import (
    ReplyFacts,
    ReplyWriter,
    RequestOptions,
    count_or_none,
    custom_input,
    effort_of,
    number_or_none,
)


class ResponseReplyWriter(ReplyWriter):
    def __init__(self, facts: ReplyFacts) -> None:
        super().__init__(facts)
        self._number = -1
        self._items: list[Json] = []
        """Items that are closed."""
        self._open, self._text = "", ""

    def begin(self) -> list[Json]:
        begun = self._response("in_progress", [], None)
        return [
            self._event("response.created", response=begun),
            self._event("response.in_progress", response=begun),
        ]

    def add(self, delta: Delta) -> list[Json]:
        events: list[Json] = []
        if delta.thought:
            events += self._begin_item("reasoning")
            events.append(self._part("response.reasoning_text.delta", delta=delta.thought))
            self._text += delta.thought
        if delta.text:
            events += self._begin_item("message")
            events.append(self._part("response.output_text.delta", delta=delta.text, logprobs=[]))
            self._text += delta.text
        return events

    def end(self, answer: Answer, cut_off: bool) -> list[Json]:
        events = self._close_item()
        for call in answer.reply.calls:
            events += self._write_call(call)
        response = self._closed(answer, cut_off, self._items)
        return [*events, self._event("response.incomplete" if cut_off else "response.completed", response=response)]

    def whole(self, answer: Answer, cut_off: bool) -> Json:
        items: list[Json] = []
        for item in answer.reply.items:
            match item:
                case Text(text):
                    items.append(self._item("message", len(items), text))
                case Opaque():
                    items.append(self._item("reasoning", len(items), item.data))
                case Call():
                    items.append(self._call_item(item, len(items)))
        return self._closed(answer, cut_off, items)

    def fail(self, error: Json) -> list[Json]:
        said = object_or_empty(object_or_empty(error).get("error"))
        failed = {**self._response("failed", self._items, None)}
        failed["error"] = {"code": said.get("code") or "server_error", "message": said.get("message") or ""}
        return [self._event("response.failed", response=failed)]

    def _begin_item(self, kind: str) -> list[Json]:
        if self._open == kind:
            return []
        events = self._close_item()
        self._open, self._text = kind, ""
        item = {**self._item(kind, len(self._items), ""), "status": "in_progress", "content": []}
        events.append(self._added(item))
        if kind == "message":
            events.append(self._part("response.content_part.added", part=_text_part("")))
        return events

    def _close_item(self) -> list[Json]:
        if not self._open:
            return []
        item, text, events = self._item(self._open, len(self._items), self._text), self._text, []
        if self._open == "message":
            events.append(self._part("response.output_text.done", text=text, logprobs=[]))
            events.append(self._part("response.content_part.done", part=_text_part(text)))
        else:
            events.append(self._part("response.reasoning_text.done", text=text))
        self._open = ""
        return [*events, self._done(item)]

    def _write_call(self, call: Call) -> list[Json]:
        item = self._call_item(call, len(self._items))
        field = "input" if item["type"] == "custom_tool_call" else "arguments"
        kind = "custom_tool_call_input" if field == "input" else "function_call_arguments"
        place = {"item_id": item["id"], "output_index": len(self._items)}
        return [
            self._added({**item, field: "", "status": "in_progress"}),
            self._event(f"response.{kind}.delta", delta=item[field], **place),
            self._event(f"response.{kind}.done", **{field: item[field]}, **place),
            self._done(item),
        ]

    def _added(self, item: Json) -> Json:
        return self._event("response.output_item.added", output_index=len(self._items), item=item)

    def _done(self, item: Json) -> Json:
        self._items.append(item)
        return self._event("response.output_item.done", output_index=len(self._items) - 1, item=item)

    def _part(self, kind: str, **fields: Json) -> Json:
        place = {"item_id": self._id(self._open, len(self._items)), "output_index": len(self._items)}
        return self._event(kind, content_index=0, **place, **fields)

    def _event(self, kind: str, **fields: Json) -> Json:
        self._number += 1
        return {"type": kind, "sequence_number": self._number, **fields}

    def _id(self, kind: str, index: int) -> str:
        return f"{ID_BEGINS.get(kind, 'fc')}_{self.facts.id}_{index}"

    def _item(self, kind: str, index: int, text: str) -> dict[str, Json]:
        about = {"type": kind, "id": self._id(kind, index)}
        if kind == "reasoning":
            return {**about, "summary": [], "content": [{"type": "reasoning_text", "text": text}]}
        return {**about, "status": "completed", "role": "assistant", "content": [_text_part(text)]}

    def _call_item(self, call: Call, index: int) -> dict[str, Json]:
        about = {"id": self._id("call", index), "call_id": call.id, "name": call.name, "status": "completed"}
        if call.name in self.facts.options.custom_tools:
            return {"type": "custom_tool_call", **about, "input": custom_input(call)}
        return {"type": "function_call", **about, "arguments": call.arguments}

    def _closed(self, answer: Answer, cut_off: bool, items: list[Json]) -> Json:
        usage = self.usage(answer)
        told = {
            "input_tokens": usage.prompt,
            "input_tokens_details": {"cached_tokens": usage.cache_read},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.total,
        }
        response = self._response("incomplete" if cut_off else "completed", items, told)
        return {**response, "incomplete_details": {"reason": "max_output_tokens"} if cut_off else None}

    def _response(self, status: str, items: list[Json], usage: Json) -> dict[str, Json]:
        facts = self.facts
        about = {"id": f"resp_{facts.id}", "object": "response", "created_at": facts.created, "status": status}
        rest = {"error": None, "incomplete_details": None, "parallel_tool_calls": True, "tool_choice": "auto"}
        return {**about, "model": facts.model, "output": list(items), "usage": usage, "tools": [], **rest}


ID_BEGINS = {"message": "msg", "reasoning": "rs"}


def _text_part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


def read_options(body: dict[str, Any]) -> RequestOptions:
    form = object_or_empty(object_or_empty(body.get("text")).get("format"))
    kind = form.get("type")
    tools = body.get("tools") if isinstance(body.get("tools"), list) else []
    custom = (tool.get("name") for tool in tools or () if isinstance(tool, dict) and tool.get("type") == "custom")
    return RequestOptions(
        stream=bool(body.get("stream")),
        limit=count_or_none(body.get("max_output_tokens")),
        temperature=number_or_none(body.get("temperature")),
        top_p=number_or_none(body.get("top_p")),
        schema={} if kind == "json_object" else form.get("schema") if kind == "json_schema" else None,
        effort=effort_of(object_or_empty(body.get("reasoning")).get("effort")),
        uses_tools=body.get("tool_choice") != "none",
        custom_tools=frozenset(name for name in custom if isinstance(name, str)),
    )
