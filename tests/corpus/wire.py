"""The recorded exchanges, and what their providers billed for them."""

from __future__ import annotations

import gzip
import json
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from yohaku import dialects, meters
from yohaku.core.meter import Meter
from yohaku.core.model import History, Opaque
from yohaku.core.weigh import weigh
from yohaku.dialects.answer import Answer


@dataclass(frozen=True)
class Exchange:
    number: int
    dialect: str
    host: str
    path: str
    status: int
    request: dict[str, Any]
    response: dict[str, Any] | None
    stream: str | None

    @property
    def model(self) -> str:
        named = self.request.get("model")
        return str(named) if named else self.path.rpartition("/models/")[2].partition(":")[0]

    @property
    def answer(self) -> Answer:
        dialect = dialects.dialect_named(self.dialect)
        return dialect.read_stream(self.stream) if self.stream else dialect.read_reply(self.response or {})


@cache
def exchanges(shared: Path) -> tuple[Exchange, ...]:
    with gzip.open(shared / "wire" / "recordings.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return tuple(
        Exchange(
            n, r["dialect"], r["host"], r["path"], r["status"], r["request"], r.get("response"), r.get("stream") or None
        )
        for n, r in enumerate(rows)
    )


@dataclass(frozen=True)
class Row:
    """One request: what we count, and what was billed."""

    exchange: Exchange
    family: str
    kind: str
    """"text", "tools" (definitions or calls), "thoughts", "images", "documents", "files" (only named) or "other"."""
    ours: int
    billed: int
    exact: bool


MAKERS = (
    "api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com", "api.mistral.ai", "api.deepseek.com",
    "api.z.ai", "api.groq.com",
)  # fmt: skip
"""Who bills for the models itself. What a reseller puts around a request is its own affair."""

HIDDEN = (
    "previous_response_id", "conversation", "cachedContent", "context_management", "mcp_servers", "container",
    "web_search_options", "response_format", "text", "output_config", "search_settings", "prompt", "moderation",
    "reasoning", "thinking", "reasoning_effort", "preset",
)  # fmt: skip
"""Fields by which a provider adds what no request shows: instructions for thinking, schemas, its own tools, pages."""


def rows(shared: Path, meter: Any = meters.for_model) -> list[Row]:
    """The requests whose bill can be compared: answered, billed, with nothing in them that only the provider sees."""
    found = []
    for exchange in exchanges(shared):
        if exchange.status != 200 or _hidden(exchange):
            continue
        usage = exchange.answer.usage
        if usage is None or not usage.prompt:
            continue
        history = dialects.dialect_named(exchange.dialect).read(exchange.request).history()
        counter: Meter = meter(exchange.model, exchange.dialect)
        ours = weigh(history, counter).total
        found.append(Row(exchange, counter.name, kind_of(history), ours, usage.prompt, counter.exact))
    return found


SPRING = 1_743_465_600
"""1 April 2025. In its first weeks the Responses API billed a prompt of its own of about 200 tokens; the same request
(gpt-4o, one tool, a question) was billed 278 tokens in March and 36 in June."""


def _hidden(exchange: Exchange) -> bool:
    request = exchange.request
    config = request.get("generationConfig") or {}
    if exchange.host not in MAKERS or any(request.get(name) for name in HIDDEN):
        return True
    if {"responseSchema", "responseJsonSchema", "thinkingConfig", "response_schema"} & config.keys():
        return True
    if exchange.dialect == "openai_responses" and exchange.host == "api.openai.com" and _made(exchange) < SPRING:
        return True
    if exchange.dialect == "anthropic" and request["messages"][0]["role"] == "assistant":
        return True  # a prompt of its own is put before a conversation that opens with a reply
    if exchange.model.startswith("magistral"):
        return True  # instructions for thinking come with the model
    return any(_server_tool(tool) for tool in request.get("tools") or ()) or "item_reference" in json.dumps(request)


def _made(exchange: Exchange) -> int:
    """Seconds since 1970."""
    found = re.search(r'"created_at": ?(\d+)', exchange.stream or json.dumps(exchange.response))
    return int(found[1]) if found else SPRING


def _server_tool(tool: dict[str, Any]) -> bool:
    if "functionDeclarations" in tool or "function_declarations" in tool:
        return len(tool) > 1
    if tool.get("type", "function") not in ("function", "custom"):
        return True
    return not ({"function", "input_schema", "parameters"} & tool.keys())


def kind_of(history: History) -> str:
    parts = [*history.system, *(part for turn in history.turns for part in turn.prompt)]
    items = [item for step in history.steps for item in step.items]
    results = [part for step in history.steps for use in step.uses for part in use.result.parts]
    opaque = [part for part in (*parts, *items, *results) if isinstance(part, Opaque)]
    if any(part.form == "url" for part in opaque):
        return "files"
    if any(part.form == "base64" for part in opaque):
        return "images" if all(part.kind == "image" for part in opaque) else "documents"
    if opaque:
        return "thoughts" if all(part.kind == "thought" for part in opaque) else "other"
    if history.tools or any(step.uses for step in history.steps):
        return "tools"
    return "text"


def table(found: list[Row]) -> str:
    """Counts beside the bill, one line a family and kind."""
    groups: dict[tuple[str, str, str, bool], list[Row]] = {}
    for row in found:
        groups.setdefault((row.exchange.dialect, row.family, row.kind, row.exact), []).append(row)
    numbers = f"{'n':>4} {'billed':>9} {'ours':>9} {'sum':>7} {'lowest':>9} {'highest':>9}"
    lines = [f"{'dialect':17} {'meter':26} {'kind':9} {'':9} {numbers}"]
    for (dialect, family, kind, exact), group in sorted(groups.items()):
        billed, ours = sum(row.billed for row in group), sum(row.ours for row in group)
        gaps = [row.ours - row.billed for row in group]
        lines.append(
            f"{dialect:17} {family[:26]:26} {kind:9} {'exact' if exact else 'estimate':9} {len(group):>4} {billed:>9,} "
            f"{ours:>9,} {ours / billed - 1:>+7.1%} {min(gaps):>+9,} {max(gaps):>+9,}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    from tests.conftest import shared_folder

    print(table(rows(Path(sys.argv[1]) if len(sys.argv) > 1 else shared_folder())))
    print("\nlowest, highest: tokens our count is under (-) or over (+) the bill of a single request")
