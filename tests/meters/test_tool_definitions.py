from __future__ import annotations

import json
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.model import Tool
from yohaku.core.weigh import Weigher
from yohaku.meters import for_model
from yohaku.meters.tool_definitions import DEFINITIONS, harmony, inlined, noted, spaced, tagged, typescript, words

CITY = {"type": "string", "description": "The city."}
WEATHER: dict[str, Any] = {
    "name": "get_weather",
    "description": "Get the weather. ",
    "parameters": {
        "type": "object",
        "properties": {"city": CITY, "unit": {"enum": ["c", "f"], "default": "c"}},
        "required": ["city"],
    },
}
TREE = {
    "$defs": {
        "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "label": {"type": "string"}}}
    },
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node"}},
}


def definition(**said: Any) -> str:
    return json.dumps({**WEATHER, **said}, separators=(",", ":"))


def takes(schema: Any) -> str:
    return typescript(definition(description="", parameters={"properties": {"x": schema}, "required": ["x"]}))


def test_openai_reads_a_type_in_a_namespace() -> None:
    read = (
        ";\n\n// Get the weather.\ntype get_weather = (_: {\n// The city.\ncity: string,\n"
        'unit?: "c" | "f", // default: c\n}) => any'
    )
    assert typescript(definition()) == read
    assert typescript(json.dumps({"type": "function", "function": WEATHER})) == read


def test_a_tool_without_parameters_takes_nothing() -> None:
    assert typescript(definition(description="", parameters={})) == ";\n\ntype get_weather = () => any"


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "array", "items": {"type": "integer"}}, "integer[]"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"const": 3}, "3"),
        ({"type": "object", "properties": {"a": {"type": "number"}}}, "{\na?: number,\n}"),
        ({"type": "object"}, "object"),
        ({}, "any"),
        (True, "any"),
    ],
)
def test_each_schema_has_its_type(schema: Any, written: str) -> None:
    assert takes(schema) == f";\n\ntype get_weather = (_: {{\nx: {written},\n}}) => any"


def test_what_typescript_has_no_form_for_is_a_remark() -> None:
    assert "// minLength: 2\nx: string," in takes({"type": "string", "minLength": 2, "additionalProperties": False})


def test_gpt_oss_reads_a_remark_for_each_line_and_each_default_as_json() -> None:
    assert harmony(definition(description="Get the weather.\nToday's.")) == (
        ";\n\n// Get the weather.\n// Today's.\ntype get_weather = (_: {\n  // The city.\n  city: string,\n"
        '  unit?: "c" | "f", // default: "c"\n}) => any'
    )


def test_gpt_oss_reads_titles_and_examples_but_no_bounds() -> None:
    field = {"type": "integer", "title": "Days", "minimum": 1, "examples": [2, 3], "default": 5}
    named = {"properties": {"minimum": field}, "required": ["minimum"], "additionalProperties": False}
    assert harmony(definition(description="", parameters=named)) == (
        ";\n\n// \ntype get_weather = (_: {\n  // Days\n  //\n  // examples: \n  // - 2\n  // - 3\n"
        "  minimum: integer, // default: 5\n}) => any"
    )


def test_claude_reads_a_line_of_json() -> None:
    said = '{"description": "", "name": "get_weather", "parameters": {"type": "object"}}'
    sent = json.dumps({"name": "get_weather", "input_schema": {"type": "object"}, "cache_control": {"type": "x"}})
    assert tagged(sent) == f"<function>{said}</function>\n"


def test_a_tool_that_claude_loads_on_demand_weighs_nothing_until_then() -> None:
    assert tagged(definition(defer_loading=True)) == ""


def test_newer_claudes_are_told_of_a_tool_that_waits() -> None:
    waits = noted(definition(defer_loading=True))
    assert noted(definition()) == tagged(definition())
    assert "get_weather" in waits and "city" not in waits and len(waits) > 80


def test_gemini_reads_references_written_out() -> None:
    read = inlined(definition(parameters=TREE))
    assert "$" not in read and read.count('"label"') == 8
    assert inlined(definition()).count("\n\t") == 2 + 4  # a description, a default


def test_gemini_reads_no_field_it_does_not_know_but_every_name() -> None:
    field = {"type": "string", "pattern": "a+", "minLength": 2}
    said = {"type": "object", "properties": {"pattern": field}, "additionalProperties": False}
    read = inlined(definition(description="", parameters=said))
    assert json.loads(read)["parameters"] == {"type": "object", "properties": {"pattern": {"type": "string"}}}
    assert "number" in inlined(definition(parameters={**said, "additionalProperties": {"type": "number"}}))


def test_for_gemini_a_default_costs_more_where_it_stands_for_an_object() -> None:
    plain, whole = {"type": "object", "default": None}, {"type": "object", "properties": {}, "default": None}
    assert [inlined(definition(description="", parameters=said)).count("\n\t") for said in (plain, whole)] == [4, 14]


def test_gemini_up_to_2_reads_names_and_descriptions() -> None:
    assert words(definition()).split() == ["get_weather", *"Get the weather.".split(), "city", "unit", "The", "city."]
    foreign = json.dumps({"name": "get_weather", "parametersJsonSchema": WEATHER["parameters"]})
    assert words(foreign).split() == ["get_weather"]


def test_mistral_reads_spaced_json() -> None:
    assert spaced('{"name":"a","x":[1,2]}') == '{"name": "a", "x": [1, 2]}'


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["type", "properties", "required", "items", "enum", "anyOf", "$ref", "$defs", "description", "default", "x",
             "title", "const", "name", "function", "parameters", "input_schema", "defer_loading"]
        ) | st.text(max_size=3),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(json_like, st.sampled_from(sorted(DEFINITIONS)))
def test_no_definition_breaks_the_scales(value: Any, name: str) -> None:
    for said in (value, {"name": "f", "parameters": value}, {"name": "f", "parameters": {"properties": value}},
                 {"name": "f", "parameters": {"properties": {"x": value}}}):  # fmt: skip
        assert isinstance(DEFINITIONS[name](json.dumps(said)), str)


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
@pytest.mark.parametrize(
    "sent", ["", "not JSON", "[1]", "{}", '{"name":3}', "[" * 100_000, '{"a":' * 900 + "1" + "}" * 900]
)
def test_what_is_no_definition_is_weighed_as_it_was_sent(name: str, sent: str) -> None:
    assert DEFINITIONS[name](sent) == sent


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_a_schema_too_deep_to_write_is_weighed_as_it_was_sent(name: str) -> None:
    deep = '{"properties":{"x":' * 300 + "{}" + "}}" * 300
    assert DEFINITIONS[name](f'{{"name":"f","parameters":{deep}}}')


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_references_that_double_at_each_step_cost_bounded_time(name: str) -> None:
    defs = {f"d{n}": {"properties": {side: {"$ref": f"#/$defs/d{n + 1}"} for side in "ab"}} for n in range(60)}
    began = process_time()
    text = DEFINITIONS[name](definition(parameters={"$defs": defs, "properties": {"x": {"$ref": "#/$defs/d0"}}}))
    assert process_time() - began < 2 and len(text) < 3_000_000


def test_a_definition_is_weighed_by_the_rule_of_its_family() -> None:
    tool = Tool("get_weather", definition())
    meter = for_model("gpt-4o")
    each = meter.count(typescript(tool.definition)) - 1
    assert [Weigher(meter).tools((tool,) * times) for times in (0, 1, 2)] == [0, 18 + each, 18 + 2 * each]
