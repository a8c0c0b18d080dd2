from __future__ import annotations

from types import SimpleNamespace

import pytest

from yohaku.core.errors import BadSetting
from yohaku.dialects.answer import prompt_tokens, total_tokens


@pytest.mark.parametrize(
    ("usage", "prompt", "total"),
    [
        (30, 30, 30),
        ({"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}, 30, 35),
        (
            {
                "input_tokens": 10,
                "cache_read_input_tokens": 15,
                "cache_creation_input_tokens": 5,
                "output_tokens": 7,
            },
            30,
            37,
        ),
        ({"promptTokenCount": 30, "candidatesTokenCount": 4, "thoughtsTokenCount": 6}, 30, 40),
        ({"prompt_eval_count": 30, "eval_count": 3}, 30, 33),
        (SimpleNamespace(input_tokens=30, output_tokens=2), 30, 32),
        ({"prompt_tokens": 30, "completion_tokens": None}, 30, 30),
    ],
)
def test_a_usage_is_read_in_the_words_of_any_provider(usage: object, prompt: int, total: int) -> None:
    assert (prompt_tokens(usage), total_tokens(usage)) == (prompt, total)


@pytest.mark.parametrize("usage", [True, "30", {}, {"completion_tokens": 5}, None])
def test_what_has_no_prompt_tokens_is_refused(usage: object) -> None:
    for read in (prompt_tokens, total_tokens):
        with pytest.raises(BadSetting, match="no prompt tokens"):
            read(usage)
