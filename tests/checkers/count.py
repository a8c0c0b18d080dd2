"""An outsider's count of a request: the texts in it by tiktoken's own BPE, plus the overheads providers document.

Law: never inflated. What has no certain size here (images, sealed thoughts, ids) weighs nothing, so
`count(body) <= limit` is the least a fitting request must satisfy.
"""

import gzip
import json
import re
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import tiktoken

O200K = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
    r"|\s*[\r\n]|\s+(?!\S)|\s"
)
PATTERNS = {"o200k": O200K, "cl100k": CL100K}
MESSAGE = {"openai_chat": 3, "openai_responses": 3, "anthropic": 3, "gemini": 0, "ollama": 3}
REPLY = {"openai_chat": 3, "openai_responses": 3, "anthropic": 0, "gemini": 1, "ollama": 0}
SKIPPED = {
    "thought",
    "role",
}  # thoughts of earlier turns are not billed; a role is one token only where it is documented
_RUN = re.compile(r"\s{20000}(?=\s)")


@cache
def encoding(name: str = "o200k") -> tiktoken.Encoding:
    spec = find_spec("bpe_openai")  # only its data: importing the package is slow, and warns
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("bpe-openai is needed for its vocabulary files: pip install bpe-openai")
    packed = Path(spec.submodule_search_locations[0], "data", f"{name}_base.tiktoken.gz").read_bytes()
    rows = (line.split() for line in gzip.decompress(packed).splitlines() if line)
    ranks = {b64decode(token): int(rank) for token, rank in rows}
    return tiktoken.Encoding(name, pat_str=PATTERNS[name], mergeable_ranks=ranks, special_tokens={})


def tokens(text: str, name: str = "o200k") -> int:
    """Exact, but for whitespace runs beyond 20,000 characters: tiktoken panics on long ones, so they are cut."""
    cut = [0, *(m.end() for m in _RUN.finditer(text)), len(text)]
    pieces = [text[a:b] for a, b in pairwise(cut)]
    return sum(len(encoding(name).encode_ordinary(p)) for p in pieces) - (len(pieces) - 1)


def count(body: Any, dialect: str | None = None, name: str = "o200k") -> int:
    """The least size of a request body or message list, in tokens of o200k (or cl100k)."""
    dialect = dialect or guess(body)
    total = REPLY[dialect]
    for kind, text in pieces(body, dialect):
        if kind == "message":
            total += MESSAGE[dialect]
        elif kind == "call":
            total += tokens(text, name) + (3 if dialect == "openai_chat" else 0)
        elif kind not in SKIPPED or (kind == "role" and dialect == "openai_chat"):
            total += tokens(text, name)
    return total


def texts(body: Any, dialect: str | None = None) -> list[str]:
    """Everything a reader could read in the conversation: prompts, replies, thoughts, calls, results."""
    kinds = {"system", "text", "thought", "call", "result"}
    return [text for kind, text in pieces(body, dialect or guess(body)) if kind in kinds and text]


def guess(body: Any) -> str:
    """The dialect of a body, by its fields; say it where you know it."""
    if isinstance(body, dict):
        if "contents" in body:
            return "gemini"
        if "input" in body:
            return "openai_responses"
        if "system" in body or "anthropic_version" in body:
            return "anthropic"
    items = body if isinstance(body, list) else body.get("messages") or []
    seen = json.dumps(items[:50])
    if '"parts": [' in seen:
        return "gemini"
    if '"function_call_output"' in seen or '"input_text"' in seen or '"output_text"' in seen:
        return "openai_responses"
    if '"tool_use"' in seen or '"tool_result"' in seen or '"thinking"' in seen:
        return "anthropic"
    calls = [c for m in items for c in m.get("tool_calls") or []]
    return "ollama" if any(isinstance(c["function"]["arguments"], dict) for c in calls) else "openai_chat"


def pieces(body: Any, dialect: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of everything that weighs: message, role, system, text, thought, call, result, tools."""
    key = {"gemini": "contents", "openai_responses": "input"}.get(dialect, "messages")
    items = body if isinstance(body, list) else body.get(key) or []
    if isinstance(body, dict):
        for field in ("system", "instructions", "systemInstruction", "system_instruction"):
            yield from (("system", text) for _, text in _content(body.get(field)))
        if body.get("tools"):
            yield "tools", compact(body["tools"])
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        yield "message", ""
        yield "role", str(item.get("role", ""))
        yield from _item(item)


def _item(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    kind = str(item.get("type", ""))
    if kind == "reasoning":
        yield from (("thought", text) for field in ("summary", "content") for _, text in _content(item.get(field)))
    elif kind in ("function_call", "custom_tool_call"):
        yield "call", str(item.get("name", "")) + str(item.get("arguments", item.get("input", "")))
    elif kind.endswith("_output"):
        yield from (("result", text) for _, text in _content(item.get("output")))
    else:
        role = item.get("role")
        for what, text in _content(item.get("content", item.get("parts"))):
            yield "result" if role == "tool" and what == "text" else what, text
        for field in ("reasoning_content", "reasoning", "thinking"):
            if isinstance(item.get(field), str):
                yield "thought", item[field]
        for call in item.get("tool_calls") or []:
            function = call.get("function") or call.get("custom") or {}
            arguments = function.get("arguments", function.get("input", ""))
            yield "call", function.get("name", "") + (arguments if isinstance(arguments, str) else compact(arguments))


def _content(content: Any) -> Iterator[tuple[str, str]]:
    """The texts of a content: a string, a block, a list of blocks; Gemini parts too."""
    if isinstance(content, str):
        yield "text", content
    elif isinstance(content, list):
        for block in content:
            yield from _content(block)
    elif isinstance(content, dict):
        call = content.get("functionCall") or content.get("function_call")
        response = content.get("functionResponse") or content.get("function_response")
        if call:
            yield "call", str(call.get("name", "")) + compact(call.get("args") or {})
        elif response:
            yield "result", str(response.get("name", ""))
            yield from (("result", leaf) for leaf in _leaves(response.get("response")))
        elif content.get("type") == "tool_use":
            yield "call", str(content.get("name", "")) + compact(content.get("input") or {})
        elif content.get("type") == "tool_result":
            yield from (("result", text) for _, text in _content(content.get("content")))
        elif content.get("type") == "thinking":
            yield "thought", str(content.get("thinking", ""))
        elif "parts" in content:
            yield from _content(content["parts"])
        elif isinstance(content.get("text"), str):
            yield "thought" if content.get("thought") else "text", content["text"]


def _leaves(value: Any) -> Iterator[str]:
    """Names and values of an object, without the marks JSON puts around them: that those are billed is nowhere said."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield str(value)


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
