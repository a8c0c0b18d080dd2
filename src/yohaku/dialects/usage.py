"""Tokens out of a usage block of any provider, as a dictionary or as the object an SDK makes of it."""

from __future__ import annotations

from typing import Any

from yohaku.core.errors import BadSetting

NAMES = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_token_count", "prompt_eval_count")
BESIDE = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""What Anthropic counts beside its input tokens; with the others it is part of them."""

ANSWERED = ("completion_tokens", "output_tokens", "eval_count")
APART = ("candidatesTokenCount", "thoughtsTokenCount", "candidates_token_count", "thoughts_token_count")
"""What Gemini counts apart; with the others thoughts are part of the answer."""


def prompt_tokens(usage: Any) -> int:
    if isinstance(usage, int) and not isinstance(usage, bool):
        return usage
    for name in NAMES:
        if isinstance(found := _get(usage, name), int):
            return found + sum(_get(usage, beside) or 0 for beside in BESIDE)
    raise BadSetting(f"no prompt tokens in this usage: {str(usage)[:80]!r}; give their number")


def total_tokens(usage: Any) -> int:
    """The prompt and its answer: what the next prompt begins with. A number stands for both."""
    answered = (_get(usage, name) or 0 for name in (*ANSWERED, *APART)) if not isinstance(usage, int) else ()
    return prompt_tokens(usage) + sum(number for number in answered if isinstance(number, int))


def _get(usage: Any, name: str) -> Any:
    return usage.get(name) if isinstance(usage, dict) else getattr(usage, name, None)
