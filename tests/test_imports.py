"""The direction of dependencies is a law: the core knows nobody, surfaces do not know one another."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "yohaku"

MAY_IMPORT = {
    "core": {"core"},
    "catalog": {"core", "catalog"},
    "settings": {"core"},
    "resolve": {"core", "catalog", "settings"},
    "meters": {"core", "meters"},
    "dialects": {"core", "dialects"},
    "stores": {"core", "stores"},
    "drive": {"core"},
    "phrases": {"core", "phrases"},
    "testing": {"core"},
    "drafts": {"core", "drive"},
    "watch": {"core"},
    "summariser": {"core", "dialects"},
    "growth": {"core"},
    "past": {"core", "stores"},
    "minutes": {"core", "settings", "transcript"},
    "keeping": {"core", "settings", "stores", "past", "growth", "minutes", "diff"},
    "session": {
        "core",
        "catalog",
        "settings",
        "resolve",
        "meters",
        "dialects",
        "stores",
        "drive",
        "drafts",
        "watch",
        "growth",
        "past",
        "keeping",
    },
    "demo": {"core", "meters", "dialects", "session", "phrases", "settings"},
    "lab": {"core", "meters", "dialects", "stores", "session", "drive", "settings", "catalog", "lab"},
    "transcript": {"core", "dialects"},
    "doctor": {"core", "catalog", "settings", "resolve", "meters", "dialects", "stores", "phrases", "doctor"},
    "cli_stores": {"core", "stores", "settings", "phrases", "recall", "collect", "past", "transcript"},
    "cli_history": {"core", "stores", "settings", "phrases", "past", "keeping", "diff", "cli_stores"},
    "diff": {"core", "stores", "past"},
    "mcp_server": {"core", "dialects", "stores", "recall", "cli_stores"},
    "cli_mcp": {"settings", "cli_stores", "mcp_server"},
    "agent": {
        "core",
        "catalog",
        "settings",
        "resolve",
        "meters",
        "dialects",
        "stores",
        "session",
        "recall",
        "phrases",
        "transcript",
        "summariser",
        "past",
        "agent",
    },
    "tui": {"core", "settings", "agent", "tui"},
    "cli_agent": {"core", "settings", "agent", "tui"},
    "cli_files": {"dialects", "phrases", "settings"},
    "cli_parser": {"cli_agent", "cli_mcp"},
    "cli": {
        "cli_agent",
        "cli_files",
        "cli_parser",
        "cli_mcp",
        "cli_stores",
        "cli_history",
        "keeping",
        "doctor",
        "transcript",
        "core",
        "meters",
        "dialects",
        "stores",
        "session",
        "phrases",
        "settings",
        "demo",
        "lab",
        "catalog",
    },
}
"""Who may know whom. What is not listed may import everything but the surfaces."""

PARTS = {
    "words": {"words", "host"},
    "bench": {"bench", "words", "events"},
    "tools": {"tools", "bench", "words"},
    "host": {"host", "words", "endpoint"},
    "talking": {"talking", "host", "words", "endpoint", "errors", "events"},
}
"""The same inside the agent: these know neither the loop nor any surface."""

CORE_MAY_USE = {
    "__future__", "base64", "collections", "dataclasses", "functools", "hashlib", "heapq", "itertools", "json", "math",
    "msgspec", "re", "typing", "unicodedata",
}  # fmt: skip
"""No I/O, clock, environment, logging, randomness or async."""


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).parts[0].removesuffix(".py"), path


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            module = node.module or ""
            yield from (f"yohaku.{name.name}" for name in node.names) if module == "yohaku" else (module,)


def test_every_module_imports_only_what_lies_below_it() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for home, path in modules()
        for name in imports(path)
        if home in MAY_IMPORT
        and name.startswith("yohaku.")
        and name.split(".")[1] not in MAY_IMPORT[home] | {"__version__"}
    ]
    assert wrong == []


def test_the_parts_of_the_agent_know_only_what_lies_below_them() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for part, below in PARTS.items()
        for path in (SOURCE / "agent" / part).rglob("*.py")
        for name in imports(path)
        if name.startswith("yohaku.agent.") and name.split(".")[2] not in below
    ]
    assert wrong == []


def test_the_core_touches_nothing_outside() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for home, path in modules()
        if home == "core"
        for name in imports(path)
        if name.split(".")[0] not in CORE_MAY_USE | {"yohaku"}
    ]
    assert wrong == []


def test_importing_yohaku_loads_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import yohaku; print(sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    heavy = [
        name
        for name in ("splintr", "msgspec", "argparse", "json", "asyncio", "yohaku.core", "yohaku.session")
        if f"'{name}'" in loaded
    ]
    assert heavy == []


def test_there_are_at_most_twenty_five_public_names() -> None:
    import yohaku

    assert len(yohaku.__all__) <= 25
    assert all(getattr(yohaku, name) for name in yohaku.__all__)
