"""Refresh src/yohaku/config/catalog/models.json from the table litellm ships in its wheel (MIT). Takes no arguments.

Law: facts only, in a fixed order, so that a refresh shows as a readable diff. litellm is unpacked, never imported:
its import takes seconds and asks the network. What it no longer lists, or never did, stands in EXTRA below.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from yohaku.config.catalog.names import key, stems  # noqa: E402 - the package need not be installed

Row: TypeAlias = list[Any]
"""id, window, output, [input, output, cache read, cache write], above, [the same four above that many tokens]"""

TARGET = ROOT / "src/yohaku/config/catalog/models.json"
TABLE = "litellm/model_prices_and_context_window_backup.json"

SOURCES = {
    "openai": ["openai"],
    "anthropic": ["anthropic"],
    "gemini": ["gemini", "vertex_ai-language-models", "vertex_ai"],
    "xai": ["xai"],
    "deepseek": ["deepseek"],
    "mistral": ["mistral"],
    "moonshot": ["moonshot"],
    "zai": ["zai"],
    "dashscope": ["dashscope"],
    "groq": ["groq"],
    "cerebras": ["cerebras"],
    "together": ["together_ai"],
    "fireworks": ["fireworks_ai"],
}
"""Our name of a provider and litellm's names of it; if two list one model, the first counts."""

NO_CHAT = re.compile(
    r"audio|tts|image|lyria|robotics|guard|realtime|computer-use|live|omni|container|voxtral|learnlm|medlm|-exp-\d|^ft:|^together-ai-"
)
"""Left out: models not for text conversations, ended experiments, and price classes."""

PRICES = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
)

# Retired or left out upstream, but still asked for: old recordings, gateways, other clouds. Written from memory; most
# windows and prices agree with litellm's rows for other clouds or with genai-prices (tests/config/test_catalog.py
# compares). Output limits, prices above a limit and Ollama's windows have no second source: correct them where you
# know better.
EXTRA: dict[str, list[Row]] = {
    "openai": [
        ["chatgpt-4o-latest", 128000, 16384, [5, 15]],
        ["gpt-3.5-turbo-0301", 4096, 4096, [1.5, 2]],
        ["gpt-3.5-turbo-0613", 4096, 4096, [1.5, 2]],
        ["gpt-4-0125-preview", 128000, 4096, [10, 30]],
        ["gpt-4-32k", 32768, 4096, [60, 120]],
        ["gpt-4-vision-preview", 128000, 4096, [10, 30]],
        ["gpt-4.5-preview", 128000, 16384, [75, 150, 37.5]],
        ["o1-mini", 128000, 65536, [1.1, 4.4, 0.55]],
        ["o1-preview", 128000, 32768, [15, 60, 7.5]],
    ],
    "anthropic": [
        ["claude-2", 100000, 4096, [8, 24]],
        ["claude-2.1", 200000, 4096, [8, 24]],
        ["claude-3-haiku", 200000, 4096, [0.25, 1.25, 0.03, 0.3]],
        ["claude-3-sonnet", 200000, 4096, [3, 15, 0.3, 3.75]],
        ["claude-3-opus", 200000, 4096, [15, 75, 1.5, 18.75]],
        ["claude-3-5-haiku", 200000, 8192, [0.8, 4, 0.08, 1]],
        ["claude-3-5-sonnet", 200000, 8192, [3, 15, 0.3, 3.75]],
        ["claude-3-7-sonnet", 200000, 64000, [3, 15, 0.3, 3.75]],
        ["claude-sonnet-4", 200000, 64000, [3, 15, 0.3, 3.75]],
        ["claude-opus-4", 200000, 32000, [15, 75, 1.5, 18.75]],
        ["claude-opus-4-1", 200000, 32000, [15, 75, 1.5, 18.75]],
    ],
    "gemini": [
        ["gemini-1.5-flash", 1048576, 8192, [0.075, 0.3, 0.01875], 128000, [0.15, 0.6, 0.0375]],
        ["gemini-1.5-flash-8b", 1048576, 8192, [0.0375, 0.15, 0.01], 128000, [0.075, 0.3, 0.02]],
        ["gemini-1.5-pro", 2097152, 8192, [1.25, 5, 0.3125], 128000, [2.5, 10, 0.625]],
        ["gemini-2.0-flash", 1048576, 8192, [0.1, 0.4, 0.025]],
        ["gemini-2.0-flash-lite", 1048576, 8192, [0.075, 0.3]],
    ],
    "groq": [
        ["llama-3.1-8b-instant", 131072, 131072, [0.05, 0.08]],
        ["llama-3.3-70b-versatile", 131072, 32768, [0.59, 0.79]],
        ["moonshotai/kimi-k2-instruct", 131072, 16384, [1, 3]],
        ["qwen/qwen3-32b", 131072, 40960, [0.29, 0.59]],
    ],
    "moonshot": [
        ["kimi-k2-0711-preview", 131072, None, [0.6, 2.5, 0.15]],
        ["kimi-k2-0905-preview", 262144, None, [0.6, 2.5, 0.15]],
        ["kimi-k2-thinking", 262144, None, [0.6, 2.5, 0.15]],
    ],
    "xai": [
        ["grok-3", 131072, 131072, [3, 15, 0.75]],
        ["grok-3-mini", 131072, 131072, [0.3, 0.5, 0.075]],
        ["grok-4", 256000, 256000, [3, 15, 0.75], 128000, [6, 30]],
        ["grok-4-fast-non-reasoning", 2000000, None, [0.2, 0.5, 0.05], 128000, [0.4, 1]],
        ["grok-4-fast-reasoning", 2000000, None, [0.2, 0.5, 0.05], 128000, [0.4, 1]],
    ],
    # What the models were trained for; the server decides what it runs with. The smallest of a name where sizes differ.
    "ollama": [
        ["codellama", 16384],
        ["codestral", 32768],
        ["deepseek-coder-v2", 163840],
        ["deepseek-r1", 131072],
        ["deepseek-v3", 163840],
        ["devstral", 131072],
        ["gemma", 8192],
        ["gemma2", 8192],
        ["gemma3", 131072],
        ["gemma3:1b", 32768],
        ["gemma3:270m", 32768],
        ["gemma3n", 32768],
        ["gpt-oss", 131072],
        ["granite3.3", 131072],
        ["llama2", 4096],
        ["llama3", 8192],
        ["llama3.1", 131072],
        ["llama3.2", 131072],
        ["llama3.3", 131072],
        ["llama4", 1048576],
        ["mistral", 32768],
        ["mistral-nemo", 131072],
        ["mistral-small", 32768],
        ["mistral-small3.2", 131072],
        ["mixtral", 32768],
        ["phi3", 4096],
        ["phi4", 16384],
        ["phi4-mini", 131072],
        ["qwen2.5", 32768],
        ["qwen2.5-coder", 32768],
        ["qwen3", 40960],
        ["qwen3-coder", 262144],
        ["qwen3-vl", 262144],
        ["qwq", 40960],
        ["smollm2", 8192],
        ["tinyllama", 2048],
    ],
}

# Where upstream gives what the weights can do, and genai-prices says the provider itself serves less.
SMALLER = {("cerebras", "llama3.1-8b"): 32768, ("deepseek", "deepseek-v3.2"): 131072}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, help="a litellm wheel already at hand; else pip fetches the newest")
    wheel = parser.parse_args().wheel
    with tempfile.TemporaryDirectory() as folder:
        wheel = wheel or fetch(Path(folder))
        with zipfile.ZipFile(wheel) as archive:
            table = json.loads(archive.read(TABLE))
    version = wheel.name.split("-")[1]
    models = {provider: rows_of(provider, table) for provider in SOURCES | EXTRA}
    TARGET.write_text(write(models, version), encoding="utf-8")
    print(f"litellm {version}: {sum(map(len, models.values()))} models, {TARGET.stat().st_size:,} bytes")
    return 0


def fetch(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), "litellm"]
    subprocess.run(command, check=True)
    return next(folder.glob("litellm-*.whl"))


def rows_of(provider: str, table: dict[str, Any]) -> list[Row]:
    rows: dict[str, Row] = {}
    for upstream in SOURCES.get(provider, []):
        for name, facts in sorted(table.items()):
            if facts.get("litellm_provider") == upstream and wanted(provider, name, facts):
                row = row_of(name.removeprefix(f"{upstream}/").removeprefix("vertex_ai/"), facts)
                rows.setdefault(row[0].removeprefix("accounts/fireworks/models/"), row)
    for short, row in rows.items():
        row[0] = short
        row[1] = min(row[1], SMALLER.get((provider, short), row[1]))
    rows |= {row[0]: row for row in EXTRA.get(provider, []) if row[0] not in rows}
    return [row for _, row in sorted(without_editions(rows).items())]


def wanted(provider: str, name: str, facts: dict[str, Any]) -> bool:
    if facts.get("mode") not in ("chat", "responses") or NO_CHAT.search(name) or not window_of(facts):
        return False
    if provider == "gemini":
        return bool(re.search(r"^(?:vertex_ai/)?gemini-|^gemini/(?:gemini|gemma)-(?!gemma)", name))
    if provider == "fireworks":  # its list of everything ever hosted is long; what has a cache price is offered today
        return "cache_read_input_token_cost" in facts and "/routers/" not in name
    return True


def window_of(facts: dict[str, Any]) -> int | None:
    return facts.get("max_input_tokens") or facts.get("max_tokens")


def row_of(name: str, facts: dict[str, Any]) -> Row:
    above, tier = tier_of(facts)
    row = [name, window_of(facts), facts.get("max_output_tokens"), first_prices(facts), above, tier]
    while not row[-1]:
        row.pop()
    return row


def first_prices(facts: dict[str, Any]) -> list[float | None]:
    steps = facts.get("tiered_pricing")
    return per_million([(steps[0] if steps else facts).get(field) for field in PRICES])


def tier_of(facts: dict[str, Any]) -> tuple[int | None, list[float | None]]:
    """Return the first step up in price. Alibaba has three; the first is where it begins to cost more."""
    steps = facts.get("tiered_pricing") or []
    if len(steps) > 1:
        return int(steps[1]["range"][0]), per_million([steps[1].get(field) for field in PRICES])
    for field in sorted(facts):
        if found := re.fullmatch(r"input_cost_per_token_above_(\d+)k_tokens", field):
            dear = [facts.get(f"{price}_above_{found[1]}k_tokens") for price in PRICES]
            return int(found[1]) * 1000, per_million(dear)
    return None, []


def per_million(costs: list[float | None]) -> list[float | None]:
    prices = [None if cost is None else round(cost * 1_000_000, 6) for cost in costs]
    prices = [int(price) if price is not None and price == int(price) else price for price in prices]
    while prices and prices[-1] is None:
        prices.pop()
    return prices


def without_editions(rows: dict[str, Row]) -> dict[str, Row]:
    """Leave out an edition or spelling with the same facts as the shorter name, which finds them."""
    by_key = {key(name): row for name, row in rows.items()}
    kept = {}
    for name, row in rows.items():
        shorter = (by_key[stem] for stem in stems(name) if by_key.get(stem, row) is not row)
        if (same := next(shorter, None)) is None or same[1:] != row[1:]:
            kept[name] = row
    return kept


def write(models: dict[str, list[Row]], version: str) -> str:
    """Write one model a line, so that a refresh can be read in the diff."""
    about = {
        "source": f"litellm {version}, model_prices_and_context_window_backup.json, and rows by hand",
        "licence": "MIT, Copyright (c) 2023 Berri AI",
        "fields": "id, window, output, [input, output, cache read, cache write: USD a million], above, [prices above]",
    }
    blocks = []
    for provider, rows in models.items():
        lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
        blocks.append(f"{json.dumps(provider)}: [\n{lines}\n]")
    head = ",\n".join(f"{json.dumps(field)}: {json.dumps(value)}" for field, value in about.items())
    return "{" + head + ',\n"models": {\n' + ",\n".join(blocks) + "\n}}\n"


if __name__ == "__main__":
    raise SystemExit(main())
