"""Calls that were written as text are made; what only looks like one stays text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.small_models.text_calls import drop_attempts, find_calls

NAMES = ("read", "write", "bash")
SCHEMAS: dict[str, dict[str, Any]] = {
    "read": {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}},
    "write": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}},
    "bash": {"type": "object", "properties": {"command": {"type": "string"}}},
}
READ = '{"name": "read", "arguments": {"path": "a.py"}}'


def found(text: str, schemas: Any = None) -> tuple[str, list[tuple[str, Any]]]:
    left, calls = find_calls(text, NAMES, schemas)
    return left, [(call.name, json.loads(call.arguments)) for call in calls]


ONE = [("read", {"path": "a.py"})]


@pytest.mark.parametrize(
    "text",
    [
        READ,
        f"```json\n{READ}\n```",
        f"```\n{READ}\n```",
        f"```json\n{READ}```",
        f"```json {READ} ```",
        f"  ```json\n  {READ}\n  ```",
        f"~~~json\n{READ}\n~~~",
        f"```tool_call\n{READ}\n```",
        f"```xml\n<tool_call>\n{READ}\n</tool_call>\n```",
        f"```json\n{READ}",
        f"```json\n{READ[:-1]}\n```",
        f"<tool_call>\n{READ}\n</tool_call>",
        f"<tool_call>{READ}",
        f"{READ}</tool_call>",
        f"<function_call>{READ}</function_call>",
        f"<|tool_call|>{READ}<|/tool_call|>",
        f"<|python_tag|>{READ}",
        f"[TOOL_CALLS] [{READ}]",
        f"[TOOL_CALLS][{READ}]",
        f"`{READ}`",
        f"[{READ}]",
        '{{"name": "read", "arguments": {{"path": "a.py"}}}}',
        '{{"name": "read", "arguments": {"path": "a.py"}}}',
        '```json\n{{"name": "read", "arguments": {{"path": "a.py"}}}}\n```',
        '{"name": "read", "parameters": {"path": "a.py"}}',
        '{"name": "functions.read", "arguments": {"path": "a.py"}}',
        '{"tool": "read", "args": {"path": "a.py"}}',
        '{"tool_name": "read", "input": {"path": "a.py"}}',
        '{"action": "read", "action_input": {"path": "a.py"}}',
        '{"name": "read", "arguments": "{\\"path\\": \\"a.py\\"}"}',
        '{"name": "read", "arguments": {"path": "a.py",},}',
        "{'name': 'read', 'arguments': {'path': 'a.py'}}",
        '{"id": "1", "type": "function", "function": {"name": "read", "arguments": "{\\"path\\": \\"a.py\\"}"}}',
        '{"function_call": {"name": "read", "arguments": {"path": "a.py"}}}',
        f'{{"tool_calls": [{READ}]}}',
        '{"thought": "I need it.", "name": "read", "arguments": {"path": "a.py"}}',
        '<function name="read" arguments={"path": "a.py"} />',
        '<tools>\n  <function name="read" arguments=\'{"path": "a.py"}\'/>\n</tools>',
        '<function=read>\n{"path": "a.py"}\n</function>',
        '<tool_call name="read">{"path": "a.py"}</tool_call>',
        (
            '<tools>\n{"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": '
            '{"type": "object", "properties": {"path": "a.py"}, "required": ["path"]}}}\n</tools>'
        ),
        'read(path="a.py")',
        '[read(path="a.py")]',
        '```tool_code\nread(path="a.py")\n```',
    ],
)
def test_a_call_is_understood_however_it_is_written(text: str) -> None:
    for schemas in (None, SCHEMAS):
        assert found(text, schemas) == ("", ONE)
        assert found(f"I will read the file.\n\n{text}" if "(" not in text[:6] else text, schemas)[1] == ONE


@pytest.mark.parametrize(
    ("text", "left", "calls"),
    [
        (f"First this:\n{READ}\nThen I will see.", "First this:\n\nThen I will see.", ONE),
        (f"ファイルを読みます。{READ} 次に進みます。", "ファイルを読みます。\n\n次に進みます。", ONE),
        (f"{READ}\n{READ}", "", ONE * 2),
        (f"<tool_call>\n{READ}\n</tool_call>\n<tool_call>\n{READ}\n</tool_call>", "", ONE * 2),
        (f"```json\n{READ}\n{READ}\n```", "", ONE * 2),
        (f"```json\n[{READ},\n{READ}]\n```", "", ONE * 2),
        (f"```json\n{READ}\n```\nand\n```json\n{READ}\n```", "and", ONE * 2),
        ('read(path="a.py")\nbash(command="ls")', "", [*ONE, ("bash", {"command": "ls"})]),
        ("<tool_call>{'name': 'bash'}</tool_call>", "", [("bash", {})]),
        ('{"name": "bash", "arguments": {}}', "", [("bash", {})]),
        (
            '{"name": "write", "arguments": {"path": "a.md", "content": "# T\n\n```json\n' + "{}" + '\n```\n"}}',
            "",
            [("write", {"path": "a.md", "content": "# T\n\n```json\n{}\n```\n"})],
        ),
        (
            "{'name': 'bash', 'arguments': {'command': 'echo \"it\\'s\" \\\\n', 'x': [True, None, -1.5e3]}}",
            "",
            [("bash", {"command": 'echo "it\'s" \\n', "x": [True, None, -1500.0]})],
        ),
    ],
)
def test_what_is_left_is_the_text_without_its_calls(text: str, left: str, calls: list[Any]) -> None:
    assert found(text) == (left, calls)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Plain words.",
        '{"name": "nobody", "arguments": {"path": "a.py"}}',
        '{"name": "bash", "version": "1.0", "dependencies": {}}',
        '{"name": "bash"}',
        "The field `name` of {read} is [write].",
        '{"steps": [' + READ + "]}",
        '[{"name": "read", "arguments": {"path": "a"}}, {"name": "other", "arguments": {}}]',
        f"```python\ncall = {READ}\n```",
        f"```python\n{READ}\n```",
        f"```json\n{READ}\n// as I said\n```",
        '```json\n{"key": "value"}\n```',
        '{"name": "read", "description": "Reads.", "parameters": {"type": "object", "properties": {"path": {}}}}',
        '{"name": "read", "parameters": {"type": "object", "properties": {"path": {}}}}',
        '{"name": "read", "arguments": ["a.py"]}',
        '{"name": "read", "arguments": 5}',
        '{"name": "read", "arguments": "a.py"}',
        '{"name": 5, "arguments": {}}',
        '{"name": "read", "arguments": {"path": "a.py"}, "result": "42"}',
        '{"name": "read", "arguments": {"path": "a.py"',
        f"```json\n{READ[:-2]}\n```",
        f"<tool_call>{READ[:-2]}</tool_call>",
        'Try read(path="a.py") yourself.',
        'read(path="a.py") and more',
        'read("a.py")',
        'read(path=open("a.py").read())',
        "read(path=__import__('os').system('x'))",
        'read(**{"path": "a.py"})',
        'x = read(path="a.py")',
        "read(" + "(" * 5000 + ")",
        "read(x=" + "-" * 15_000 + "1)",
        'nobody(path="a.py")',
        '```python\nread(path="a.py")\n```',
    ],
)
def test_what_is_no_call_stays_text(text: str) -> None:
    for schemas in (None, SCHEMAS):
        assert find_calls(text, NAMES, schemas) == (text, ())


def test_schemas_tell_arguments_from_other_fields() -> None:
    text = '{"name": "read", "arguments": {"colour": "red"}}'
    assert found(text)[1] == [("read", {"colour": "red"})]
    assert find_calls(text, NAMES, SCHEMAS) == (text, ())
    assert found('{"name": "bash", "arguments": "ls -l"}', SCHEMAS) == ("", [("bash", {"command": "ls -l"})])
    assert find_calls('read(colour="red")', NAMES, SCHEMAS) == ('read(colour="red")', ())


def test_ids_are_the_same_for_the_same_reply_and_differ_otherwise() -> None:
    twice = f"{READ}\n{READ}"
    one, other = find_calls(twice, NAMES, salt="1")[1], find_calls(twice, NAMES, salt="2")[1]
    assert one == find_calls(twice, NAMES, salt="1")[1]
    assert len({call.id for call in (*one, *other)}) == 4
    assert all(call.id.startswith("call_") and call.id[5:].isalnum() for call in one)


text_values = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
plain_values = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | text_values
values = st.recursive(
    plain_values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text_values, inner, max_size=3)
)
given_calls = st.tuples(st.sampled_from(NAMES), st.dictionaries(text_values, values, max_size=4))
prose = st.text(st.sampled_from("I will see. そう、\n\t'\"!()*#"), max_size=40)


def as_json(call: tuple[str, Any], **how: Any) -> str:
    return json.dumps({"name": call[0], "arguments": call[1]}, **how)


def doubled(value: Any) -> str:
    if isinstance(value, dict):
        return "{{" + ", ".join(f"{json.dumps(key)}: {doubled(item)}" for key, item in value.items()) + "}}"
    if isinstance(value, list):
        return "[" + ", ".join(map(doubled, value)) + "]"
    return json.dumps(value)


WRITTEN = [
    as_json,
    lambda call: as_json(call, ensure_ascii=False),
    lambda call: as_json(call, indent=2),
    lambda call: f"```json\n{as_json(call)}\n```",
    lambda call: f"<tool_call>\n{as_json(call)}\n</tool_call>",
    lambda call: doubled({"name": call[0], "arguments": call[1]}),
    lambda call: json.dumps({"name": call[0], "parameters": json.dumps(call[1])}),
]


@given(st.lists(given_calls, min_size=1, max_size=3), st.sampled_from(WRITTEN), prose, prose)
def test_every_call_that_is_written_is_found_again(calls: list[Any], written: Any, before: str, after: str) -> None:
    text = "\n".join((before, *map(written, calls), after))
    left, again = found(text)
    assert again == [(name, json.loads(json.dumps(arguments))) for name, arguments in calls]
    assert left.split() == (before + "\n" + after).split()


@given(given_calls)
def test_single_quotes_are_understood(call: Any) -> None:
    text = repr({"name": call[0], "arguments": call[1]})
    again = found(text)[1]
    if "\\x" not in text and "\\u" not in text and "\\U" not in text:
        assert again == [call]


@given(given_calls, st.sampled_from(WRITTEN[:3] + WRITTEN[5:7]), st.data())
def test_what_is_torn_is_never_taken(call: Any, written: Any, data: st.DataObject) -> None:
    whole = written(call).rstrip()
    spare = 2 if whole.startswith("{{") else 1  # of two braces at the end one is as good
    text = whole[: data.draw(st.integers(0, len(whole) - spare))]
    left, calls = find_calls(text, NAMES)
    assert calls == () and left == text


@given(st.text(st.sampled_from("{}[]\"'`,:\\ \nae<>/|"), max_size=200))
def test_any_text_without_a_tools_name_stays_as_it_is(text: str) -> None:
    assert find_calls(text, NAMES) == (text, ())


@given(st.text(), st.text())
def test_any_text_is_taken(before: str, after: str) -> None:
    left, calls = find_calls(before + READ + after, NAMES, SCHEMAS)
    assert isinstance(left, str) and all(call.name in NAMES for call in calls)


LONG = 200_000


@pytest.mark.parametrize(
    "piece",
    [
        "a", " ", "\n", "{", "[", "}", "{{", '{"', "{'", '{"name": ', '{"name": [', '{"name": {"name": ', "```\n",
        "```json\n", "```json\n{", '```json\n{"a": "', "~~~tool\n", "<tool_call>", "<tool_call>{", '"', "\\", '{"a":1}',
        '{"name": "read", "arguments": ', "`{", "[[1],", '{"a": "\\', "```tool_call\nread(", "{'a': \"", "[\"a\", '",
    ],
)  # fmt: skip
def test_much_of_anything_is_looked_at_only_a_few_times(piece: str) -> None:
    text = piece * (LONG // len(piece))
    assert find_calls(text, NAMES) == (text, ())


def test_a_call_behind_much_text_is_still_found() -> None:
    code = "def f(x):\n    return {x: [y for y in x]}\n" * 10_000
    assert found(code + READ)[1] == ONE


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('{"name": "read_file", "arguments": {"file_path": "a.py"}}', ("read", {"file_path": "a.py"})),
        ('<tool_call>{"name": "run_command", "arguments": {"cmd": "ls"}}</tool_call>', ("bash", {"cmd": "ls"})),
        ('{"name": "read", "arguments": {"file": "a.py"}}', ("read", {"file": "a.py"})),
    ],
)
def test_names_of_other_agents_are_understood(text: str, call: tuple[str, Any]) -> None:
    assert found(text, SCHEMAS) == ("", [call])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('<tool_call>\n{"name": "fly", "arguments": {"to": "moon"}}\n</tool_call>', ""),
        ('I look.\n<tool_call>{"name": "fly", "arguments": {"to": "moon"}}</tool_call>', "I look."),
        ('```json\n{"name": "fly", "arguments": {"to": "moon"}}\n```', ""),
        ('I write it.\n```json\n{"name": "write", "arguments": {"path": "a.py", "content": "imp', "I write it."),
        ('{"name": "read_file", "arguments": {"path": ', ""),
    ],
)
def test_what_is_meant_as_a_call_and_cannot_be_made_is_no_answer(text: str, left: str) -> None:
    assert drop_attempts(text, NAMES) == left


@pytest.mark.parametrize(
    "text",
    [
        "It reads a file.",
        '```json\n{"name": "Bob", "age": 3}\n```',
        '{"name": "Bob"',
        'Write this into config.json:\n```json\n{"name": "fly", "arguments": {"to": "moon"}}\n```\nThen start it.',
        'parse(text="x")',
        "Use `<tool_call>` tags.",
    ],
)
def test_an_answer_stays_one(text: str) -> None:
    assert drop_attempts(text, NAMES) == text


def test_a_call_is_not_closed_inside_of_a_text() -> None:
    torn = '```json\n{"name": "write", "arguments": {"path": "a.py", "content": "x = {\n```'
    assert found(torn) == (torn, [])
