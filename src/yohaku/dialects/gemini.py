"""Gemini generateContent, spelt in camelCase or snake_case.

Calls may have no ids: results are then matched by name, in order. A signature stands on a part beside what it signs;
it is taken down as a thought of its own before that, so that a composed body can give it back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import ClassVar

from yohaku.core.errors import Malformed
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import Call, History, Opaque, Part, Path, Result, Step, Text, Tool, ToolUse
from yohaku.core.originals import ref_of
from yohaku.core.view import View
from yohaku.dialects.answer import Answer, StreamReader, Usage, sse_events
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import (
    Json,
    arguments_object,
    arguments_text,
    dump,
    kind_of,
    objects,
    text_at,
    unknown_role,
)
from yohaku.dialects.replies import gemini as replies
from yohaku.dialects.replies.writer import ReplyFacts, ReplyWriter, RequestOptions
from yohaku.dialects.role_rules import Speaker
from yohaku.dialects.server_api import Signature, signature

OPENING = "(The model speaks first.)"
"""First user message in a composed body where the model spoke first; skipped when read."""

ANSWER_FIELDS = ("output", "result", "content", "return_value", "error", "text")
"""Fields in which clients put the text of a function's response."""
MAX_TEXTS = 8
"""Texts a response may hold side by side. More of them are data, weighed and folded as one JSON text."""

PART_FIELDS = ("thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata")
"""Fields that stand beside the data of a part, and never alone."""
OWN_PARTS = ("executableCode", "codeExecutionResult", "toolCall", "toolResponse", "thought", "thoughtSignature")

MIMES = {"image": "image/jpeg", "audio": "audio/mpeg", "video": "video/mp4"}


class Gemini(Dialect):
    name = "gemini"
    entries = "contents"
    path = "/models/{model}:streamGenerateContent?alt=sse"
    proxied_paths = ("/models/{model}:generateContent", "/models/{model}:streamGenerateContent")
    proxied_count_paths = ("/models/{model}:countTokens",)
    reply_limit_paths = (("generationConfig", "maxOutputTokens"), ("generation_config", "max_output_tokens"))
    state_fields = ("cachedContent", "cached_content")
    key_header = "x-goog-api-key"
    names_model = False
    stream_fields: ClassVar[dict[str, Json]] = {}
    cut_off_stops = ("MAX_TOKENS",)
    images_in_results = True

    def path_of_question(self, path: str) -> str:
        return re.sub(":streamGenerateContent.*", ":generateContent", path)

    def entries_of(self, body: Json) -> list[Json]:
        """Accept a single content in place of a list, as the API does."""
        if isinstance(body, dict) and isinstance(body.get("contents"), dict):
            return [body["contents"]]
        return super().entries_of(body)

    def read_beside(self, builder: HistoryBuilder, body: dict[str, Json]) -> None:
        key, system = _field(body, "systemInstruction")
        if isinstance(system, str):
            builder.system += (Text(system, at=(key,)),) if system else ()
        elif system is not None:
            for part, at in _iterate_parts(system, (key,), key):
                builder.system += _read_part(part, at, key)
        groups = body.get("tools")
        for number, group in enumerate([groups] if isinstance(groups, dict) else objects(groups, "tools", "tools")):
            builder.tools += _read_tools(group, ("tools", number) if groups is not group else ("tools",))

    def read_entry(self, builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
        match entry.get("role"):
            case "user" if index == 0 and entry.get("parts") == [{"text": OPENING}]:
                return
            case "user" | "function" | None:
                _read_user(builder, list(_iterate_parts(entry, (index,), builder.where)))
            case "model":
                _read_model(builder, _iterate_parts(entry, (index,), builder.where), f"call-{index}")
            case role:
                raise unknown_role(role, builder.where)

    def write(self, body: Json, view: View) -> Json:
        written = super().write(body, view)
        if written is body:
            return body
        return self.with_entries(written, [_move_stubs(entry) for entry in self.entries_of(written)])

    def compose(self, history: History, model: str = "") -> dict[str, Json]:
        """Leave out the model, which is named by the URL."""
        contents: list[Json] = []
        for turn in history.turns:
            contents += _write_content("user", map(part_of, turn.prompt))
            for step in turn.steps:
                contents += _write_content("model", _write_reply(step)) + _write_content(
                    "user", map(_write_response, step.uses)
                )
        if contents and contents[0]["role"] == "model":
            contents.insert(0, self.user_entry(OPENING))
        body: dict[str, Json] = {}
        if system := list(filter(None, map(part_of, history.system))):
            body["systemInstruction"] = {"parts": system}
        body["contents"] = contents
        if tools := _convert_definitions(history.tools):
            body["tools"] = tools
        return body

    def user_entry(self, text: str) -> dict[str, Json]:
        return {"role": "user", "parts": [{"text": text}]}

    def model_entry(self, text: str) -> dict[str, Json]:
        return {"role": "model", "parts": [{"text": text}]}

    def begin_with(self, text: str, entry: dict[str, Json]) -> dict[str, Json]:
        return {**entry, "parts": [{"text": text}, *_part_list(entry)]}

    def speaker(self, entry: Json) -> Speaker:
        if entry.get("role") == "model":
            return "model"
        answers = any(_field(part, "functionResponse")[1] is not None for part in _part_list(entry))
        return "tool" if answers else "user"

    def join_entries(self, one: dict[str, Json], two: dict[str, Json]) -> dict[str, Json]:
        return {**one, "parts": [*_part_list(one), *_part_list(two)]}

    def text_block(self, text: str, instead: Json) -> Json:
        if not any(isinstance(_field(instead, name)[1], dict) for name in ("inlineData", "fileData")):
            return {"output": text}
        key, signed = _field(instead, "thoughtSignature")
        return {"text": text, key: signed} if signed is not None else {"text": text}

    def limit_fields(self, limit: int, model: str) -> dict[str, Json]:
        return {"generationConfig": {"maxOutputTokens": limit}}

    def error_body(self, message: str, status: int) -> Json:
        return {"error": {"code": status, "message": message, "status": "UNAVAILABLE"}}

    def too_long_body(self, message: str, needs: int, limit: int) -> Json:
        text = f"The input token count ({needs}) exceeds the maximum number of tokens allowed ({limit}). {message}"
        return {"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}

    def count_body(self, tokens: int) -> Json:
        return {"totalTokens": tokens}

    def stop_fields(self, texts: tuple[str, ...], model: str) -> dict[str, Json]:
        return {"generationConfig": {"stopSequences": list(texts)}}

    def schema_fields(self, name: str, schema: Json) -> dict[str, Json]:
        return {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}}

    def tool_definition(self, name: str, about: str, schema: Json) -> dict[str, Json]:
        return {"name": name, "description": about, "parametersJsonSchema": schema}

    def tool_definitions(self, tools: Iterable[Signature]) -> list[Json]:
        declared = super().tool_definitions(tools)
        return [{"functionDeclarations": declared}] if declared else []

    def lets_model_choose(self, body: Json) -> bool:
        for name in ("toolConfig", "tool_config"):
            match body.get(name):
                case {"functionCallingConfig": {"mode": mode}} | {"function_calling_config": {"mode": mode}}:
                    return str(mode).upper() == "AUTO"
        return True

    def without_tool_calls(self, body: dict[str, Json]) -> dict[str, Json]:
        return {**body, "toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}

    def read_reply(self, body: dict[str, Json]) -> Answer:
        reader = self.stream_reader()
        reader.feed(body)
        return reader.answer()

    def read_options(self, body: dict[str, Json], path: str) -> RequestOptions:
        return replies.read_options(body, path)

    def reply_writer(self, facts: ReplyFacts) -> ReplyWriter:
        return replies.GeminiReplyWriter(facts)

    def stream_reader(self) -> StreamReader:
        return _Stream()

    def events(self, stream: str) -> Iterable[dict[str, Json]]:
        """Return server-sent events, or the chunks of one array, which the API sends without `alt=sse`."""
        return _array_events(stream) if stream.lstrip()[:1] in ("[", "{", ",") else sse_events(stream)


class _Stream(StreamReader):
    def __init__(self) -> None:
        super().__init__()
        self._parts: list[dict[str, Json]] = []
        self._usage: Usage | None = None
        self._stop = ""
        self._id = ""

    def add(self, event: dict[str, Json]) -> None:
        self._usage = usage_of(_field(event, "usageMetadata")[1]) or self._usage
        self._id = self._id or str(_field(event, "responseId")[1] or ref_of(dump(event)))
        feedback = _field(event, "promptFeedback")[1]
        if isinstance(feedback, dict):
            self._stop = str(_field(feedback, "blockReason")[1] or self._stop)
        for candidate in objects(event.get("candidates"), "reply", "candidates")[:1]:
            self._stop = str(_field(candidate, "finishReason")[1] or self._stop)
            for part, _ in _iterate_parts(candidate.get("content") or {}, (), "reply"):
                (self.think if part.get("thought") is True else self.say)(part.get("text"))
                _add_part(self._parts, part)

    def finish(self) -> Answer:
        builder = HistoryBuilder()
        builder.where = "reply"
        # Replies follow one another: only an id made from the whole of one is not made again for the next.
        _read_model(builder, _iterate_parts({"parts": self._parts}, (0,), "reply"), f"call-{self._id}")
        return Answer(builder.open_reply(), self._usage, self._stop)


def usage_of(usage: Json) -> Usage | None:
    if not isinstance(usage, dict) or not isinstance(_field(usage, "promptTokenCount")[1], int):
        return None

    def count(name: str) -> int:
        value = _field(usage, name)[1]
        return value if isinstance(value, int) else 0

    read = count("cachedContentTokenCount")
    prompt = count("promptTokenCount") + count("toolUsePromptTokenCount")
    return Usage(max(0, prompt - read), read, 0, count("candidatesTokenCount") + count("thoughtsTokenCount"))


@cache
def _snake(camel: str) -> str:
    return re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), camel)


def _field(value: dict[str, Json], camel: str) -> tuple[str, Json]:
    """Return a field and its name as this client spells it."""
    if camel in value:
        return camel, value[camel]
    snake = _snake(camel)
    return (snake, value[snake]) if snake in value else (camel, None)


def _iterate_parts(content: Json, at: Path, where: str) -> Iterator[tuple[dict[str, Json], Path]]:
    """Yield the parts of a content, each with its place. A single part may stand in place of a list."""
    if not isinstance(content, dict):
        raise Malformed(f"a content must be an object, not {kind_of(content)}", where)
    parts = content.get("parts")
    if isinstance(parts, dict):
        yield parts, (*at, "parts")
    else:
        for number, part in enumerate(objects(parts, where, "parts")):
            yield part, (*at, "parts", number)


def _part_list(entry: dict[str, Json]) -> list[Json]:
    parts = entry.get("parts")
    return parts if isinstance(parts, list) else [parts]


def _read_user(builder: HistoryBuilder, parts: list[tuple[dict[str, Json], Path]]) -> None:
    """Read results first: only in this format may the user's words stand before them in one content."""
    for part, at in parts:
        key, response = _field(part, "functionResponse")
        if response is not None:
            call_id, result = _read_result(response, at, key, builder)
            builder.answer(call_id, result)
    for part, at in parts:
        if _field(part, "functionCall")[1] is not None:
            raise Malformed("only the model can call a function", builder.where)
        if _field(part, "functionResponse")[1] is None:
            for said in _read_part(part, at, builder.where):
                builder.prompt(said)


def _read_model(builder: HistoryBuilder, parts: Iterable[tuple[dict[str, Json], Path]], made: str) -> None:
    # Neighbouring contents of the model's are one reply, as long as no result stands between them.
    if len(builder.open_calls) < len(builder.open_reply().calls):
        builder.reply()
    for part, at in parts:
        key, signed = _field(part, "thoughtSignature")
        if isinstance(signed, str) and signed and part.get("thought") is not True:
            empty = all(value in (None, "") for name, value in part.items() if name != key)
            data = {"text": "", "thoughtSignature": signed} if empty else {"thoughtSignature": signed}
            builder.say(Opaque("thought", dump(data), hint="signature", at=(*at, key)))
        key, call = _field(part, "functionCall")
        if call is not None:
            builder.say(_read_call(call, (*at, key), f"{made}-{at[-1]}", builder.where))
        elif _field(part, "functionResponse")[1] is not None:
            raise Malformed("the model cannot answer a function call", builder.where)
        else:
            for said in _read_part(part, at, builder.where):
                builder.say(said)


def _read_part(part: dict[str, Json], at: Path, where: str) -> tuple[Part, ...]:
    if part.get("thought") is True:
        signed = _field(part, "thoughtSignature")[1]
        return (Opaque("thought", dump(part), hint="signature" if signed else "", at=at),)
    if part.get("text") is not None:
        text = text_at(part["text"], where, "text")
        return (Text(text, at=(*at, "text")),) if text else ()
    for name, leaf, form in (("inlineData", "data", "base64"), ("fileData", "fileUri", "url")):
        media = _field(part, name)[1]
        if media is not None:
            return (_read_media(media, name, leaf, form, at, where),)
    data = {key: value for key, value in part.items() if key not in ("thoughtSignature", "thought_signature")}
    beside = (*PART_FIELDS, *map(_snake, PART_FIELDS))
    kind = next((str(key) for key, value in data.items() if key not in beside and value is not None), "")
    return (Opaque(kind, dump(data), at=at),) if kind else ()


def _read_media(media: Json, name: str, leaf: str, form: str, at: Path, where: str) -> Opaque:
    if not isinstance(media, dict):
        raise Malformed(f"{name} must be an object, not {kind_of(media)}", where)
    data = text_at(_field(media, leaf)[1], where, leaf)
    mime = str(_field(media, "mimeType")[1] or "")
    major = mime.partition("/")[0]
    kind = major if major in MIMES else "video" if "youtu" in data and form == "url" else "document"
    if form == "url":
        return Opaque(kind, data, "url", mime, at=at)
    # Clients write either alphabet of base64, sometimes the other one the next time.
    return Opaque(kind, data.replace("-", "+").replace("_", "/"), "base64", mime, at=at)


def _read_call(call: Json, at: Path, made: str, where: str) -> Call:
    if not isinstance(call, dict):
        raise Malformed(f"functionCall must be an object, not {kind_of(call)}", where)
    name = text_at(call.get("name"), where, "the name of a function call")
    args = {} if call.get("args") is None else call["args"]
    if not isinstance(args, dict):
        raise Malformed(f"args must be an object, not {kind_of(args)}", where)
    return Call(text_at(call.get("id") or made, where, "id"), name, arguments_text(args), (*at, "args"))


def _read_result(response: Json, at: Path, key: str, builder: HistoryBuilder) -> tuple[str, Result]:
    if not isinstance(response, dict):
        raise Malformed(f"functionResponse must be an object, not {kind_of(response)}", builder.where)
    answer = {} if response.get("response") is None else response["response"]
    if not isinstance(answer, dict):
        raise Malformed(f"response must be an object, not {kind_of(answer)}", builder.where)
    parts: list[Part] = [*_read_texts(answer, (*at, key, "response"))]
    for part, place in _iterate_parts(response, (*at, key), builder.where):
        parts += _read_part(part, place, builder.where)
    return _find_call_id(response, builder), Result(tuple(parts), bool(answer.get("error")), at)


def _find_call_id(response: dict[str, Json], builder: HistoryBuilder) -> str:
    """Find the id of the call that this answers. Ids that a client gives to results only are ignored."""
    name = text_at(response.get("name"), builder.where, "the name of a function response")
    given = text_at(response.get("id") or "", builder.where, "id")
    waiting = builder.open_calls
    if any(call.id == given for call in waiting):
        return given
    named = [call.id for call in waiting if call.name == name and (not given or call.id == _made_id(call))]
    return named[0] if named else given or name


def _made_id(call: Call) -> str:
    return f"call-{call.at[0]}-{call.at[-3]}"


def _answer_key(response: dict[str, Json]) -> str:
    """Return the field that holds the whole answer as text; "" where the answer is more than that."""
    said = {key: value for key, value in response.items() if value is not None and value != ""}
    if len(said) == 2:
        said.pop("name", None)
    key = next(iter(said), "")
    text = said.get(key)
    few = isinstance(text, list) and 0 < len(text) <= MAX_TEXTS and all(item and isinstance(item, str) for item in text)
    return key if len(said) == 1 and key in ANSWER_FIELDS and (isinstance(text, str) or few) else ""


def _read_texts(response: dict[str, Json], at: Path) -> tuple[Text, ...]:
    key = _answer_key(response)
    if isinstance(response.get(key), str):
        return (Text(response[key], at=(*at, key)),)
    if key:
        return tuple(Text(text, at=(*at, key, number)) for number, text in enumerate(response[key]))
    return (Text(dump(response), at=at),) if any(value not in (None, "") for value in response.values()) else ()


def _move_stubs(entry: Json) -> Json:
    """Move stubs from among the media of a function's response, where no text may stand, into its answer."""
    parts = entry.get("parts")
    if not isinstance(parts, list):
        return entry
    moved = [_move_stub(part) for part in parts]
    return entry if all(new is old for new, old in zip(moved, parts, strict=True)) else {**entry, "parts": moved}


def _move_stub(part: Json) -> Json:
    key, response = _field(part, "functionResponse")
    media = objects(response.get("parts"), "", "parts") if isinstance(response, dict) else []
    stubs = [item["text"] for item in media if "text" in item]
    if not stubs:
        return part
    said = [text.text for text in _read_texts(response.get("response") or {}, ())]
    name = _answer_key(response.get("response") or {}) or "output"
    kept = [item for item in media if "text" not in item]
    answer = {name: [*said, *stubs] if said or len(stubs) > 1 else stubs[0]}
    changed = {**{k: v for k, v in response.items() if k != "parts"}, "response": answer}
    return {**part, key: {**changed, "parts": kept} if kept else changed}


def _write_content(role: str, parts: Iterable[Json]) -> list[Json]:
    said = list(filter(None, parts))
    return [{"role": role, "parts": said}] if said else []


def part_of(part: Part) -> Json:
    """Write a part; None for another dialect's thought, which the API could not read."""
    match part:
        case Text(text):
            return {"text": text}
        case Opaque(_, data, "base64"):
            return {"inlineData": {"mimeType": part.mime, "data": data}}
        case Opaque(kind, data, "url"):
            return {"fileData": {"mimeType": part.mime or MIMES.get(kind, "application/pdf"), "fileUri": data}}
    block = arguments_object(part.data)
    if any(_field(block, name)[1] is not None for name in OWN_PARTS):
        return block
    return None if part.kind == "thought" else {"text": f"[{part.kind}]"}


def _write_reply(step: Step) -> Iterator[Json]:
    signed: dict[str, Json] = {}
    for item in step.items:
        if isinstance(item, ToolUse):
            args = arguments_object(item.call.arguments)
            yield {"functionCall": {"id": item.call.id, "name": item.call.name, "args": args}, **signed}
        elif part := part_of(item):
            if part.keys() == {"thoughtSignature"}:
                signed = part
                continue
            yield {**part, **signed}
        signed = {}


def _write_response(use: ToolUse) -> Json:
    texts = [part.text for part in use.result.parts if isinstance(part, Text)]
    answer = {"error" if use.result.error else "output": texts if len(texts) > 1 else "".join(texts)}
    response: dict[str, Json] = {"id": use.call.id, "name": use.call.name, "response": answer}
    if media := [part_of(part) for part in use.result.parts if isinstance(part, Opaque)]:
        response["parts"] = media
    return {"functionResponse": response}


def _read_tools(group: dict[str, Json], at: Path) -> Iterator[Tool]:
    """Yield a tool for each declared function, and for each that the provider runs itself, without a declaration."""
    for name in group:
        if name in ("functionDeclarations", "function_declarations"):
            for number, declared in enumerate(objects(group[name], "tools", name)):
                if not text_at(declared.get("name"), "tools", "the name of a function"):
                    raise Malformed("a function needs a name", "tools")
                yield Tool(declared["name"], dump(declared), (*at, name, number))
        elif group[name] is not None:
            yield Tool(name, dump({name: group[name]}), (*at, name))


def _convert_definitions(tools: Iterable[Tool]) -> list[Json]:
    declared: list[Json] = []
    groups: list[Json] = []
    for tool in tools:
        says, definition = signature(tool.definition), arguments_object(tool.definition)
        if "type" not in definition and says.hosted:
            groups.append(definition)
        elif not says.hosted:
            groups += [] if declared else [{"functionDeclarations": declared}]
            declared.append(definition if _is_declaration(definition) else _write_declaration(says))
    return groups


def _is_declaration(definition: dict[str, Json]) -> bool:
    return "type" not in definition and not {"input_schema", "inputSchema", "function"} & definition.keys()


def _write_declaration(says: Signature) -> Json:
    return {"name": says.name, "description": says.description, "parametersJsonSchema": says.parameters}


def _add_part(parts: list[dict[str, Json]], part: dict[str, Json]) -> None:
    """Join streamed texts; a signed one stays by itself, since the signature is of that part."""
    last = parts[-1] if parts else {}
    plain = all(each.keys() <= {"text", "thought"} and isinstance(each.get("text"), str) for each in (last, part))
    if plain and bool(last.get("thought")) == bool(part.get("thought")):
        parts[-1] = {**last, "text": last["text"] + part["text"]}
    else:
        parts.append(part)


def _array_events(stream: str) -> Iterator[dict[str, Json]]:
    """Yield the objects of a JSON array, as far as it is complete."""
    decoder, place = json.JSONDecoder(), 0
    while (begins := stream.find("{", place)) >= 0:
        try:
            value, place = decoder.raw_decode(stream, begins)
        except (ValueError, RecursionError):
            return
        yield value
