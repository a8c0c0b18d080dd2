"""Write docs/windows.md: the window each machine gives each model, by the code that chooses it. Takes no arguments."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from yohaku.agent.equipment import MAX_FIXED_SECONDS, MIN_FULL_BILLIONS  # noqa: E402
from yohaku.agent.format import percent  # noqa: E402
from yohaku.agent.gauge import describe_folding  # noqa: E402
from yohaku.agent.host.capacity import (  # noqa: E402
    GIB,
    MIN_SLOW_WINDOW,
    ChosenWindow,
    MachineMemory,
    round_down,
    tier_of,
    window_for,
)
from yohaku.agent.host.kv_cache import kv_bytes_per_token  # noqa: E402 - the package need not be installed
from yohaku.agent.host.local_servers import BILLIONS_KEY  # noqa: E402
from yohaku.agent.host.reading_time import readable_tokens  # noqa: E402
from yohaku.analysis.window_profile import profile_for  # noqa: E402
from yohaku.client.endpoint import Endpoint  # noqa: E402
from yohaku.core.budget import Budget  # noqa: E402
from yohaku.core.recipe import Recipe  # noqa: E402
from yohaku.recipes.auto import RECIPES  # noqa: E402

PAGE = ROOT / "docs" / "windows.md"

MACHINES = (4, 8, 16, 32, 64, 128)
"""GB of memory, a quarter of which other programs have."""

SIZES = {"8B": (8.0, 4_920_000_000), "14B": (14.0, 9_000_000_000), "30B": (30.0, 18_600_000_000)}
"""Billions of parameters, and bytes of the file at about five bits each."""

METADATA = {"8B": (32, 8, 131_072), "14B": (40, 8, 40_960), "30B": (48, 4, 262_144)}
"""Layers, heads that keep something, tokens trained for: of Llama 3.1 8B, Qwen3 14B and Qwen3 Coder 30B A3B."""

CARDS = (8, 12, 24, 48)
"""GB on the graphics card of a machine with 32 GB beside it."""


def info(layers: int, heads: int, trained: int) -> dict[str, object]:
    return {
        "general.architecture": "llama",
        "llama.block_count": layers,
        "llama.context_length": trained,
        "llama.attention.head_count": 32,
        "llama.attention.head_count_kv": heads,
        "llama.attention.key_length": 128,
        "llama.attention.value_length": 128,
    }


def machine(gigabytes: int, card: int = 0) -> MachineMemory:
    return MachineMemory(gigabytes * GIB, gigabytes * GIB * 3 // 4, card * GIB, card * GIB * 15 // 16)


def slow_ways() -> str:
    """Table of the windows that can be read in time, by cores and size."""
    sizes = {"1.5B": 1.5, "4B": 4.0, "8B": 8.0, "14B": 14.0}
    rows = [f"| cores | {' | '.join(sizes)} |", "|---" * (len(sizes) + 1) + "|"]
    for cores in (2, 4, 8, 16):
        row = []
        for billions in sizes.values():
            endpoint = Endpoint("", "ollama", "ollama", "", "", local=True, info={BILLIONS_KEY: billions})
            readable = readable_tokens(endpoint, machine(16), cores - 1) or 0
            row.append(f"{max(MIN_SLOW_WINDOW, round_down(readable)):,}")
        rows.append(f"| {cores} | {' | '.join(row)} |")
    return "\n".join(rows)


def by_guide(memory: MachineMemory, name: str) -> ChosenWindow:
    size, weight = SIZES[name]
    return window_for(memory, weight, size)


def by_metadata(memory: MachineMemory, name: str) -> ChosenWindow:
    return window_for(memory, SIZES[name][1], info(*METADATA[name]))


def cell(chosen: ChosenWindow) -> str:
    tight = " †" if chosen.most < chosen.window else ""
    return f"{chosen.window:,} {chosen.tier}{tight}"


def table(first: str, rows: list[tuple[str, list[str]]], columns: list[str]) -> str:
    lines = [f"| {first} | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows)])


def matrix(choose: object, machines: list[tuple[str, MachineMemory]]) -> str:
    assert callable(choose)
    return table("memory", [(name, [cell(choose(each, size)) for size in SIZES]) for name, each in machines], [*SIZES])


BANDS = {"below 8K": 4_096, "8K to 16K": 8_192, "16K to 32K": 16_384, "32K and more": 32_768}
WINDOWS = (4_096, 8_192, 16_384, 32_768, 131_072)


def agent_ways() -> str:
    """Return what the agent does in each band, whatever the recipe."""
    rows = [
        (
            name,
            [
                tier_of(size),
                "function by function" if profile_for(size).propose_split != "off" else "as the model likes",
                "part by part",
            ],
        )
        for name, size in BANDS.items()
    ]
    return table("window", rows, ["prompt and tools", "a file too big to read at once", "a prompt too big to send"])


def folding_ways() -> str:
    """Return the tokens at which each recipe folds."""

    def start(recipe: Recipe, window: int) -> str:
        budget = Budget.of(window)
        at = recipe.starts_at(budget)
        return f"{at:,} ({percent(at, budget.limit)} %)" if at <= budget.limit else "full"

    rows = [
        (f"`{name}`", [describe_folding(recipe, "en"), *(start(recipe, window) for window in WINDOWS)])
        for name, recipe in RECIPES.items()
    ]
    return table("recipe", rows, ["when it folds", *(f"{window:,}" for window in WINDOWS)])


def result_ways() -> str:
    """Return what recipes do with tool results at every step, before they fold."""
    rows = []
    for name, recipe in RECIPES.items():
        quiet = {rung.pass_name for rung in recipe.rungs if rung.quiet}
        cells = []
        for size in BANDS.values():
            once = profile_for(size).folding in ("full", "on")
            codes = [code for code in QUIET if code in quiet and (code != "one_line_results" or once)]
            cells.append("; ".join(QUIET[code] for code in codes) or "whole until it folds")
        rows.append((f"`{name}`", cells))
    return table("recipe", rows, [*BANDS])


QUIET = {
    "one_line_results": "one line after the next step",
    "trim_new_results": "new ones cut to their share",
    "cap_results": "each cut at 50 KB",
    "limit_tool_output": "together a quarter of the window at most",
    "preview_huge_result": "huge ones by their beginning",
    "clear_old_results": "old ones cleared where that saves much",
}
"""Passes that run at every step."""


def page() -> str:
    plain = [(f"{each} GB", machine(each)) for each in MACHINES]
    cards = [(f"32 GB and a card of {each} GB", machine(32, each)) for each in CARDS]
    weights = ", ".join(f"{kv_bytes_per_token(info(*METADATA[name])) or 0:,} ({name})" for name in SIZES)
    return f"""\
# How large the window is

Nothing needs to be set. At start yohaku looks at the memory of the machine and of its graphics cards, within the limits
of a container, and at what the model says of itself, and takes two thirds of what fits. `small` and `full` are the
tier: the prompt and the tools that go with such a window. † marks a model that is too big for the machine: it is tried
all the same, and you are told.

Where the model's own numbers can be read (a GGUF file, Ollama), they decide. Here are three models that need
{weights} bytes of cache for each token:

{matrix(by_metadata, plain)}

With a graphics card the window is what fits beside the model there, if that is 16,384 tokens or more; else main memory
is used too, which is slower:

{matrix(by_metadata, cards)}

Where nothing can be read, a careful guide by size decides, which asks for about twice as much:

{matrix(by_guide, plain)}

These are bounds of memory. Without a graphics card there is a second one: an automatic window is no larger than what
the machine reads in ten minutes, and at least {MIN_SLOW_WINDOW:,} tokens. The speed is the one measured in earlier work
with this model; before that it is estimated from the model's size and the cores:

{slow_ways()}

| you say | you get |
|---|---|
| nothing, or `--balanced` | the automatic window |
| `--speed` | half of it |
| `--quality` | half as much again, as far as memory goes |
| `--context-window N` | N; if it does not fit it is made smaller, and both numbers are shown |
| `--context-window N --force` | N, whatever happens |

A running server that has a window already (llama.cpp, LM Studio, vLLM) is asked for it; it can only be made smaller.
Ollama is told how much to take. What a server refused once is remembered for that server and model.

## What changes with the window

What the agent does, with every recipe but `chat`, which refuses a prompt that is too big:

{agent_ways()}

The table is about the window. The small prompt with its six tools, and the
[help for small models](agent.md#with-a-small-model), are also used in a larger one

- if the model has fewer than {MIN_FULL_BILLIONS:.0f} billion parameters, by its file, its server or its name;
- if it runs here and was measured to read so slowly that the full prompt and tools take more than
  {MAX_FIXED_SECONDS:.0f} seconds;
- if these would take more than a quarter of the window.

`--tier small` and `--tier full` (a [setting](settings.md)) decide otherwise; `/context` says which it is and why.

When each recipe folds by itself, in tokens and as a share of the limit (window − reserve, here an eighth); "full": only
what does not fit. `local` follows the zones of its document: it folds from 80 % on, and what is at 90 % even so is cut
by force, with a warning. `auto` starts later, since every folding costs the prompt cache; the panel says when:

{folding_ways()}

What happens to tool results before that. Only `local` makes each one a line after the next step, below 16K:

{result_ways()}

`/context` says the same of the recipe and the window you have.
"""


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
