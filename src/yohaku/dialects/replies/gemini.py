"""Replies in Gemini's form: every event is a reply of its own, with what it adds."""

from __future__ import annotations

from typing import Any

from yohaku.core.model import Call, Opaque, Text
from yohaku.dialects.answer import Answer, Delta
from yohaku.dialects.json_values import Json, arguments_object, object_or_empty
from yohaku.dialects.replies.writer import ReplyWriter, RequestOptions, count_or_none, number_or_none, texts_of


class GeminiReplyWriter(ReplyWriter):
    def begin(self) -> list[Json]:
        return []

    def add(self, delta: Delta) -> list[Json]:
        parts = [{"text": delta.thought, "thought": True}] if delta.thought else []
        parts += [{"text": delta.text}] if delta.text else []
        return [self._reply(parts)] if parts else []

    def end(self, answer: Answer, cut_off: bool) -> list[Json]:
        return [self._last([_part_of(call) for call in answer.reply.calls], answer, cut_off)]

    def whole(self, answer: Answer, cut_off: bool) -> Json:
        reply = self._last([_part_of(item) for item in answer.reply.items], answer, cut_off)
        return [reply] if self.facts.options.in_list else reply

    def event_text(self, event: Json) -> str:
        return super().event_text(event).replace("\n\n", "\r\n\r\n")

    def _reply(self, parts: list[Json]) -> dict[str, Json]:
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
        return {"candidates": [candidate], "modelVersion": self.facts.model, "responseId": self.facts.id}

    def _last(self, parts: list[Json], answer: Answer, cut_off: bool) -> Json:
        reply, usage = self._reply(parts or [{"text": ""}]), self.usage(answer)
        reply["candidates"][0]["finishReason"] = "MAX_TOKENS" if cut_off else "STOP"
        counts = {"promptTokenCount": usage.prompt, "candidatesTokenCount": usage.output}
        return {**reply, "usageMetadata": {**counts, "totalTokenCount": usage.total}}


def _part_of(item: Text | Opaque | Call) -> Json:
    match item:
        case Text(text):
            return {"text": text}
        case Call():
            return {"functionCall": {"id": item.id, "name": item.name, "args": arguments_object(item.arguments)}}
    return {"text": item.data, "thought": True}


def read_options(body: dict[str, Any], path: str) -> RequestOptions:
    config = _camel(body.get("generationConfig") or body.get("generation_config"))
    tools = _camel(body.get("toolConfig") or body.get("tool_config"))
    mode = _camel(tools.get("functionCallingConfig")).get("mode")
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    thinking = _camel(config.get("thinkingConfig"))
    return RequestOptions(
        stream="alt=sse" in path,
        in_list=":streamGenerateContent" in path,
        limit=count_or_none(config.get("maxOutputTokens")),
        temperature=number_or_none(config.get("temperature")),
        top_p=number_or_none(config.get("topP")),
        seed=count_or_none(config.get("seed")),
        stop=texts_of(config.get("stopSequences")),
        schema=(schema or {}) if config.get("responseMimeType") == "application/json" else None,
        effort="none" if thinking.get("thinkingBudget") == 0 else "",
        uses_tools=mode != "NONE",
    )


def _camel(value: Any) -> dict[str, Any]:
    """Return an object with its names in camelCase, which may come in snake_case too."""
    found = object_or_empty(value)
    return {name[:1] + name.title().replace("_", "")[1:] if "_" in name else name: each for name, each in found.items()}
