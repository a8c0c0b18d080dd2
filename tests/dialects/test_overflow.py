"""Overflow as each provider words it, and what only looks like it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tests.dialects.wire import anything, recorded, sse

from yohaku.dialects.overflow import Overflow, recognise


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


TOLD: dict[str, tuple[int, Any, Overflow]] = {
    "OpenAI, counted": (
        400,
        error(
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens. "
            "Please reduce the length of the messages.",
            code="context_length_exceeded",
        ),
        Overflow(8192, 8545),
    ),
    "OpenAI, with the reply": (
        400,
        error(
            "This model's maximum context length is 8192 tokens. However, you requested 8780 tokens (780 in the "
            "messages, 8000 in the completion). Please reduce the length of the messages or completion."
        ),
        Overflow(8192, 8780),
    ),
    "OpenAI, newer": (
        400,
        error(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            code="context_length_exceeded",
        ),
        Overflow(),
    ),
    "OpenAI, configured": (
        400,
        error("Input tokens exceed the configured limit of 272,000 tokens. Your messages resulted in 300,123 tokens."),
        Overflow(272_000, 300_123),
    ),
    "only a code": (400, error("no", code="context_length_exceeded"), Overflow()),
    "Anthropic": (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "prompt is too long: 213,462 tokens > 200,000 maximum",
            },
        },
        Overflow(200_000, 213_462),
    ),
    "Anthropic, with the reply": (
        400,
        error("input length and `max_tokens` exceed context limit: 199211 + 20000 > 200000, decrease input length"),
        Overflow(200_000, 199_211),
    ),
    "Bedrock": (400, {"message": "Input is too long for requested model."}, Overflow()),
    "Gemini": (
        400,
        error("The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).", code=400),
        Overflow(1_048_576, 1_196_265),
    ),
    "Gemini, in a list": (
        400,
        '[{"error": {"message": "The input token count exceeds the maximum number of tokens allowed 1048576."}}]',
        Overflow(1_048_576),
    ),
    "llama.cpp": (
        400,
        error(
            "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
            code=400,
            type="exceed_context_size_error",
            n_prompt_tokens=9000,
            n_ctx=8192,
        ),
        Overflow(8192, 9000),
    ),
    "llama.cpp, fields only": (
        400,
        error(
            "the request exceeds the available context size. try increasing the context size",
            type="exceed_context_size_error",
            n_prompt_tokens=9000,
            n_ctx=8192,
        ),
        Overflow(8192, 9000),
    ),
    "llama-cpp-python": (
        400,
        error(
            "This model's maximum context length is 512 tokens. However, you requested 600 tokens (500 in the "
            "messages, 100 in the completion).",
            code="context_length_exceeded",
        ),
        Overflow(512, 600),
    ),
    "llama-cpp-python, from inside": (
        500,
        error("Requested tokens (600) exceed context window of 512"),
        Overflow(512, 600),
    ),
    "Ollama": (400, {"error": "the input length exceeds the context length"}, Overflow()),
    "Ollama, elsewhere": (500, {"error": "prompt too long; exceeded max context length by 4 tokens"}, Overflow()),
    "vLLM": (
        400,
        {
            "object": "error",
            "code": 400,
            "message": "This model's maximum context length is 16384 tokens. However, you "
            "requested 122946 tokens (112946 in the messages, 10000 in the completion).",
        },
        Overflow(16_384, 122_946),
    ),
    "vLLM, newer": (
        400,
        error("This model's maximum context length is 2048 tokens. However, your request has 3000 input tokens."),
        Overflow(2048, 3000),
    ),
    "vLLM, newest": (
        400,
        error("The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
        Overflow(4096, 5000),
    ),
    "SGLang": (
        400,
        error("The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
        Overflow(4096, 5000),
    ),
    "OpenRouter": (
        400,
        error(
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens "
            "(139000 of text input, 1000 in the output)."
        ),
        Overflow(131_072, 140_000),
    ),
    "OpenRouter, quoting": (
        400,
        error(
            "Provider returned error",
            metadata={
                "raw": '{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}',
                "provider_name": "Anthropic",
            },
        ),
        Overflow(8, 9),
    ),
    "Groq": (
        400,
        error("Please reduce the length of the messages or completion.", code="context_length_exceeded"),
        Overflow(),
    ),
    "xAI": (
        400,
        {
            "code": "400",
            "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        },
        Overflow(131_072, 537_812),
    ),
    "Mistral": (
        400,
        {
            "object": "error",
            "message": "Prompt contains 70000 tokens and 0 draft tokens, too large for model with "
            "32768 maximum context length",
            "type": "invalid_request_prompt",
            "code": "3051",
        },
        Overflow(32_768, 70_000),
    ),
    "LM Studio": (
        400,
        {
            "error": "The number of tokens to keep from the initial prompt is greater than the context length. Try to "
            "load the model with a larger context length"
        },
        Overflow(),
    ),
    "LM Studio, counted": (
        400,
        {
            "error": "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded "
            "with context length of only 7866 tokens, which is not enough."
        },
        Overflow(7866, 10_136),
    ),
    "MiniMax": (400, error("invalid params, context window exceeds limit (2013)"), Overflow()),
    "Kimi": (
        400,
        error("Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)"),
        Overflow(262_144, 269_030),
    ),
    "Copilot": (
        400,
        error("prompt token count of 93854 exceeds the limit of 90000", code="model_max_prompt_tokens_exceeded"),
        Overflow(90_000, 93_854),
    ),
    "GitHub Models": (
        413,
        error("Request body too large for gpt-4o model. Max size: 8000 tokens.", code="tokens_limit_reached"),
        Overflow(8000),
    ),
    "Cerebras": (400, "", Overflow()),
    "Cerebras, too": (413, {}, Overflow()),
    "Cerebras, in words": (
        400,
        {
            "message": "Please reduce the length of the messages or completion. "
            "Current length is 9000 while limit is 8192"
        },
        Overflow(8192, 9000),
    ),
    "DashScope": (400, error("Range of input length should be [1, 30720]"), Overflow(30_720)),
    "plain text": (400, "prompt is too long: 9 tokens > 8 maximum", Overflow(8, 9)),
    "z.ai": (200, {"choices": [{"finish_reason": "model_context_window_exceeded"}]}, Overflow()),
    "z.ai, streamed": (
        200,
        sse({"choices": [{"delta": {}, "finish_reason": "model_context_window_exceeded"}]}),
        Overflow(),
    ),
    "Anthropic, stopped": (200, {"stop_reason": "model_context_window_exceeded", "content": []}, Overflow()),
    "Responses, streamed": (
        200,
        sse(
            {"type": "response.created", "response": {"error": None}},
            {
                "type": "response.failed",
                "response": {
                    "status": "failed",
                    "error": {
                        "code": "context_length_exceeded",
                        "message": "Your input exceeds the context window of this model.",
                    },
                },
            },
        ),
        Overflow(),
    ),
    "one event of it": (
        200,
        {"type": "response.failed", "response": {"error": {"code": "context_length_exceeded", "message": "no"}}},
        Overflow(),
    ),
    "Anthropic, streamed": (
        200,
        sse({"type": "error", "error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}),
        Overflow(8, 9),
    ),
    "Ollama, streamed": (
        200,
        '{"message":{"content":""}}\n{"error":"the input length exceeds the context length"}\n',
        Overflow(),
    ),
}

SAYING = "Your prompt is too long: 9 tokens > 8 maximum. The error is context_length_exceeded."
OTHER: dict[str, tuple[int, Any]] = {
    "too many requests": (429, error("maximum context length is 8 tokens")),
    "tokens a minute": (
        413,
        error(
            "Request too large for model `llama-3.1-70b` on tokens per minute (TPM): Limit 6000, Requested 14368, "
            "please reduce your message size and try again.",
            type="tokens",
            code="rate_limit_exceeded",
        ),
    ),
    "throttling": (400, {"message": "ThrottlingException: Too many tokens, please wait before trying again."}),
    "quota": (403, error("You exceeded your current quota; reduce the length of the messages")),
    "loading": (503, error("Loading model", type="unavailable_error")),
    "bytes": (413, "<html><title>413 Request Entity Too Large</title></html>"),
    "bytes, in JSON": (413, {"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
    "an image": (400, error("image size of 9000000 exceeds the limit of 5242880 bytes")),
    "tools": (400, error("number of tools 200 exceeds the limit of 128")),
    "no model": (404, error("The model `x` does not exist", code="model_not_found")),
    "an empty page": (404, ""),
    "what the request said": (400, {"error": {"message": "bad role"}, "input": [{"message": SAYING}]}),
    "what a model said": (200, {"choices": [{"message": {"content": SAYING}, "finish_reason": "stop"}]}),
    "what a model said, streamed": (200, sse({"choices": [{"delta": {"content": SAYING}}]}, {"error": None})),
    "what a model said, in items": (200, {"output": [{"content": [{"text": SAYING}]}], "error": None}),
    "a reply cut at its limit": (200, {"choices": [{"finish_reason": "length"}]}),
    "an empty reply": (200, ""),
}


@pytest.mark.parametrize("who", TOLD)
def test_an_overflow_is_recognised_with_its_numbers(who: str) -> None:
    status, body, overflow = TOLD[who]
    assert recognise(status, body) == overflow
    if isinstance(body, dict) and body:
        assert recognise(status, json.dumps(body)) == overflow


@pytest.mark.parametrize("what", OTHER)
def test_what_is_no_overflow_is_not_taken_for_one(what: str) -> None:
    assert recognise(*OTHER[what]) is None


@pytest.mark.parametrize("written", ["131072", "131,072", "131.072", "131_072", "131\u202f072"])
def test_numbers_may_be_grouped(written: str) -> None:
    assert recognise(400, error(f"maximum context length is {written} tokens")) == Overflow(131_072)


@given(
    anything(["error", "message", "type", "choices", "response", "code", "n_ctx", "context_length_exceeded", "delta"])
)
def test_any_answer_can_be_looked_at(body: Any) -> None:
    for status in (200, 400, 413, 500):
        recognise(status, json.dumps(body))
        if isinstance(body, dict):
            recognise(status, body)


@pytest.mark.shared
@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic", "gemini"])
def test_no_recorded_answer_is_an_overflow(shared: Path, dialect: str) -> None:
    for found in recorded(shared, dialect):
        assert recognise(found["status"], found["stream"] or found["response"]) is None
