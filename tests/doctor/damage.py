"""Small healthy files of every format, and the ways in which disks, crashes and editors break them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.dialects.recordings import told
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Opaque, Result, Step, Text, Tool, ToolUse, Turn
from yohaku.dialects import DIALECTS

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def history() -> History:
    """Three turns: parallel calls, a failed one, an image, plain answers, Japanese."""
    read = Call("call_a1", "read_file", '{"path":"src/app.py","limit":20}')
    seen = Call("call_b2", "list_files", '{"path":"."}')
    image = Result((Text("two files"), Opaque("image", PIXEL, "base64", "image/png")))
    first = Step(
        (Text("I look at both."), ToolUse(read, Result((Text("def main():\n    pass"),))), ToolUse(seen, image))
    )
    run = ToolUse(
        Call("call_c3", "run", '{"command":"make test","env":{"CI":"1"}}'), Result((Text("exit 2"),), error=True)
    )
    fix = ToolUse(Call("call_d4", "edit", '{"path":"src/app.py","old":"pass","new":"return 0"}'), Result((Text("ok"),)))
    turns = [
        Turn(
            (Text("Fix the build, and tell me what was wrong."),), (first, Step((run,)), Step((Text("Found it."), fix)))
        ),
        Turn((Text("ありがとう。テストも直してください。"),), (Step((Text("直しました。"),)),)),
        Turn((Text("Is there anything left?"),), (Step((Text("No."),)),)),
    ]
    tool = Tool("run", json.dumps({"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}}))
    return history_of(turns, [Text("You are careful.")], [tool])


def texts_only() -> History:
    plain = history()
    turns = [
        Turn(turn.prompt, tuple(Step(tuple(_plain(item) for item in step.items)) for step in turn.steps))
        for turn in plain.turns
    ]
    return history_of(turns, plain.system)


def _plain(item: Any) -> Any:
    if isinstance(item, ToolUse):
        return ToolUse(item.call, Result(tuple(p for p in item.result.parts if isinstance(p, Text)), item.result.error))
    return item


def transcript(dialect: str) -> bytes:
    body = DIALECTS[dialect].compose(history(), "m")
    entries = body.pop(DIALECTS[dialect].entries)
    fold = {"key": "k", "text": "…", "ref": "r", "what": "2 steps", "why": "old", "before": 9, "after": 1}
    rows = [{"format": "yohaku-transcript-1", "dialect": dialect, "model": "m"}, {"beside": body}]
    rows += [{"entry": entry} for entry in entries]
    return told.jsonl([*rows, {"folds": [fold]}, {"entry": entries[0]}, {"back": len(entries)}])


def files() -> dict[str, bytes]:
    """By the name of the format."""
    made = {f"{name} body": _json(dialect.compose(history(), "m")) for name, dialect in DIALECTS.items()}
    made |= {f"{name} list": _json(dialect.compose(history())[dialect.entries]) for name, dialect in DIALECTS.items()}
    made["anthropic body, thoughts"] = _json(_with_thoughts())
    made["openai_responses body, thoughts"] = _json(_with_reasoning())
    made["openai_chat body, pretty"] = json.dumps(DIALECTS["openai_chat"].compose(history()), indent=1).encode()
    made["gemini checkpoint"] = _json({"history": DIALECTS["gemini"].compose(history())["contents"]})
    made |= {f"transcript {name}": transcript(name) for name in DIALECTS}
    for write in (told.trajectory, told.claude_code, told.codex, told.gemini_cli, told.gemini_cli_lines):
        made[write.__name__] = write(texts_only())
    return made


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _with_thoughts() -> Any:
    body = DIALECTS["anthropic"].compose(history(), "m")
    for message in body["messages"]:
        if message["role"] == "assistant" and isinstance(message["content"], list):
            message["content"].insert(0, {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"})
        if message["role"] == "user" and isinstance(message["content"], list):
            message["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return {**body, "thinking": {"type": "enabled", "budget_tokens": 1024}}


def _with_reasoning() -> Any:
    body = DIALECTS["openai_responses"].compose(history(), "m")
    items: list[Any] = []
    for item in body["input"]:
        if item.get("type") == "function_call" or item.get("role") == "assistant":
            items.append({"type": "reasoning", "id": f"rs_{len(items)}", "summary": [], "encrypted_content": "x"})
        items.append(item)
    return {**body, "input": items}


def broken(data: bytes, chance: random.Random) -> bytes:
    """The file after one to four mishaps."""
    for _ in range(chance.choice((1, 1, 2, 3, 4))):
        data = chance.choice(MISHAPS)(data, chance)
    return data


def _bytes_flipped(data: bytes, chance: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(chance.randint(1, 5)):
        if made:
            made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    return bytes(made)


def _cut_off(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)] if chance.random() < 0.7 else data[chance.randrange(len(data) + 1) :]


def _hole(data: bytes, chance: random.Random) -> bytes:
    begin = chance.randrange(len(data) + 1)
    filler = chance.choice((b"", b"\0" * 8, b"\xff\xfe", b"\n", b'"', b"}", b"]"))
    return data[:begin] + filler + data[begin + chance.randint(0, 40) :]


def _lines(change: Callable[[list[Any], random.Random], None]) -> Callable[[bytes, random.Random], bytes]:
    def changed(data: bytes, chance: random.Random) -> bytes:
        lines = data.split(b"\n")
        if len(lines) < 3:
            return _entries(change)(data, chance)
        change(lines, chance)
        return b"\n".join(lines)

    return changed


def _entries(change: Callable[[list[Any], random.Random], None]) -> Callable[[bytes, random.Random], bytes]:
    """On a list somewhere in the JSON; most often the longest, which is the conversation."""

    def changed(data: bytes, chance: random.Random) -> bytes:
        return _in_json(data, chance, lambda value: _change_list(value, chance, change))

    return changed


def _change_list(value: Any, chance: random.Random, change: Callable[[list[Any], random.Random], None]) -> None:
    lists = [found for found in _containers(value) if isinstance(found, list) and found]
    if lists:
        change(max(lists, key=len) if chance.random() < 0.7 else chance.choice(lists), chance)


def _fields(change: Callable[[dict[str, Any], str, random.Random], None]) -> Callable[[bytes, random.Random], bytes]:
    def changed(data: bytes, chance: random.Random) -> bytes:
        def apply(value: Any) -> None:
            objects = [found for found in _containers(value) if isinstance(found, dict) and found]
            if objects:
                target = chance.choice(objects)
                change(target, chance.choice(sorted(target)), chance)

        return _in_json(data, chance, apply)

    return changed


def _in_json(data: bytes, chance: random.Random, apply: Callable[[Any], None]) -> bytes:
    """Applied to the file as one value, or to one of its lines."""
    lines = data.split(b"\n")
    place = 0 if len([line for line in lines if line]) < 2 else chance.randrange(len(lines))
    text = data if len([line for line in lines if line]) < 2 or lines[0] in (b"{", b"[") else lines[place]
    try:
        value = json.loads(text)
    except ValueError:
        return data
    apply(value)
    made = json.dumps(value, ensure_ascii=chance.random() < 0.3).encode("utf-8", "surrogatepass")
    if text is data:
        return made
    return b"\n".join([*lines[:place], made, *lines[place + 1 :]])


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)


def _drop(items: list[Any], chance: random.Random) -> None:
    del items[chance.randrange(len(items))]


def _double(items: list[Any], chance: random.Random) -> None:
    place = chance.randrange(len(items))
    items.insert(place if chance.random() < 0.6 else chance.randrange(len(items)), items[place])


def _swap(items: list[Any], chance: random.Random) -> None:
    one, other = chance.randrange(len(items)), chance.randrange(len(items))
    items[one], items[other] = items[other], items[one]


def _shuffle(items: list[Any], chance: random.Random) -> None:
    chance.shuffle(items)


def _strange(items: list[Any], chance: random.Random) -> None:
    items[chance.randrange(len(items))] = _junk(chance)


def _junk(chance: random.Random) -> Any:
    return chance.choice(
        (None, "", " ", "words", 0, -1.5, True, [], {}, [None], {"x": 1}, [["deep"]], "\ud800", 10**30)
    )


def _without_field(target: dict[str, Any], name: str, chance: random.Random) -> None:
    del target[name]


def _junk_field(target: dict[str, Any], name: str, chance: random.Random) -> None:
    target[name] = _junk(chance)


def _other_name(target: dict[str, Any], name: str, chance: random.Random) -> None:
    target[name[:-1] + chance.choice("sx_")] = target.pop(name)


def _same_word(target: dict[str, Any], name: str, chance: random.Random) -> None:
    if isinstance(target[name], str):
        words = ("user", "assistant", "model", "tool", "system", "call_a1", "call_d4", "text", "tool_use", "message")
        target[name] = chance.choice(words)


LISTS = (_drop, _double, _swap, _shuffle, _strange)
MISHAPS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _bytes_flipped,
    _cut_off,
    _hole,
    *map(_lines, LISTS[:4]),
    *map(_entries, LISTS),
    *map(_fields, (_without_field, _junk_field, _junk_field, _other_name, _same_word, _same_word)),
)


def disordered(data: bytes, chance: random.Random) -> bytes:
    """The file with entries lost, doubled or out of order, and each of them whole."""
    for _ in range(chance.choice((1, 2, 3))):
        data = _lines(lambda items, chance: chance.choice(LISTS[:4])(items, chance))(data, chance)
    return data
