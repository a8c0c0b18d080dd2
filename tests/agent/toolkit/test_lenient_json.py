"""JSON as small models write it is read whole, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.toolkit.lenient_json import NotJson, parse, read_value

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
leaves = st.none() | st.booleans() | st.integers() | texts | st.floats(-1e50, 1e50, allow_subnormal=False)
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


@given(st.dictionaries(texts, values, max_size=4), st.sampled_from([None, 2]), st.booleans(), texts)
def test_all_json_is_read_as_it_is(value: Any, indent: Any, ascii_only: bool, after: str) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert read_value("x " + text + after, 2) == (value, 2 + len(text))
    for cut in range(1, len(text)):
        with pytest.raises(NotJson):
            read_value(text[:cut], 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 'b \"c\" d'}", {"a": 'b "c" d'}),
        ("{'a': 'it\\'s'}", {"a": "it's"}),
        ('{"a": [1, 2,], }', {"a": [1, 2]}),
        ('{{"a": {{"b": 1}}}}', {"a": {"b": 1}}),
        ('{ {"a": {"b": 1}} }', {"a": {"b": 1}}),
        ('{"a": True, "b": False, "c": None}', {"a": True, "b": False, "c": None}),
        ('{"a": "one\ntwo\tthree"}', {"a": "one\ntwo\tthree"}),
        ('{"a": "\\u4f59"}', {"a": "余"}),
        ("{}", {}),
        ("{{}}", {}),
    ],
)
def test_what_models_make_of_it_is_read_too(text: str, value: Any) -> None:
    assert read_value(text, 0) == (value, len(text))
    assert parse(f" {text}\n") == value
    with pytest.raises(NotJson):
        parse(f"{text} x")


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a"}', '{"a": }', '{"a": 1 "b": 2}', "{a: 1}", '{"a": 1]', "[1 2]", "[,]", "{,}", '{"a": "\\x"}',
     "{1: 2}", '{"a": 1e999}', '{{"a": 1}', "tru", "01x", "1.2.3", "'it's'x]", "[" * 50 + "]" * 50, '{"a": 5years}'],
)  # fmt: skip
def test_all_else_is_not_read(text: str) -> None:
    with pytest.raises(NotJson) as raised:
        _, end = read_value(text, 0)
        if end < len(text):
            raise NotJson(end)
    assert 0 <= raised.value.at <= len(text)
