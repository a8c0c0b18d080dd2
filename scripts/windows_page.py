"""Write docs/windows.md: the window each machine gives each model, by the code that chooses it. Takes no arguments."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from yohaku.agent.host.capacity import GIB, ChosenWindow, MachineMemory, window_for  # noqa: E402
from yohaku.agent.host.kv_cache import kv_bytes_per_token  # noqa: E402 - the package need not be installed
from yohaku.analysis.window_profile import profile_for  # noqa: E402

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


def ways() -> str:
    names = {"below 8K": 4_096, "8K to 16K": 8_192, "16K to 32K": 16_384, "32K and more": 32_768}
    return table("window", [(name, list(profile_for(size))) for name, size in names.items()], COLUMNS)


COLUMNS = ["folding", "split reading", "light prompt", "splitting the work"]


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

{ways()}
"""


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
