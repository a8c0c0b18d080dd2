from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.model import Call, Result, Step, Text, ToolUse
from yohaku.core.weigh import Weigher
from yohaku.meters import for_model
from yohaku.meters.tool_calls import CALLS, MARK, addressed, elements, loose, plain, twice


def test_openai_says_the_name_again_with_the_result() -> None:
    assert (plain("bash", "{}"), twice("bash", "{}")) == (("bash", "{}"), ("bash", "bash", "{}"))


def test_gpt_oss_reads_who_calls_whom_and_who_answers() -> None:
    assert addressed("bash", "{}") == ("assistant to=functions.bash", "{}", "functions.bash to=assistant")


def test_gemini_reads_arguments_apart_from_each_other() -> None:
    assert loose("f", '{"a":{"b":["é",1]}}') == ("f", '{"a": {"b": ["é", 1]}}')
    assert [loose("f", said)[1] for said in ("", "[" * 100_000)] == ["", "[" * 100_000]


def test_claude_reads_an_element_for_each_argument() -> None:
    (text,) = elements("write", '{"path":"a\\nb","lines":[1, "é"]}')
    assert text.replace(MARK, "") == (
        '<invoke name="write">\n<parameter name="path">a\nb</parameter>\n<parameter name="lines">[1, "é"]</parameter>\n'
        "</invoke>\n"
    )


@pytest.mark.parametrize("arguments", ["", "not JSON", "[1]", '"x"', "[" * 100_000])
def test_arguments_that_are_no_object_are_weighed_as_they_were_sent(arguments: str) -> None:
    assert arguments in elements("bash", arguments)[0]


@given(st.text(max_size=20), st.text(max_size=50), st.sampled_from(sorted(CALLS)))
def test_no_call_breaks_the_scales(name: str, arguments: str, form: str) -> None:
    assert all(isinstance(text, str) for text in CALLS[form](name, arguments))


def test_calls_made_at_once_cost_more_than_one_after_the_other() -> None:
    weigher = Weigher(for_model("gpt-4o"))
    uses = [ToolUse(Call(f"c{n}", "bash", "{}"), Result((Text("ok"),))) for n in range(3)]
    one = weigher.step(Step((uses[0],)))
    assert weigher.step(Step(tuple(uses))) == 3 * one - 2 * weigher.frame.message + 3 * weigher.frame.parallel
