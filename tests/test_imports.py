"""The direction of dependencies is a law: the core knows nobody, surfaces do not know one another."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "yohaku"

LAYERS = {
    "core": "",
    "plugins": "core",
    "analysis dialects meters messages stores testing": "core",
    "digest summary": "core analysis",
    "passes": "core analysis digest summary",
    "recipes": "core passes summary",
    "config": "core recipes",
    "session": "core analysis dialects meters stores recipes summary config",
    "recall": "core stores dialects",
    "client": "core dialects meters config messages",
    "agent": "core analysis passes summary dialects meters stores messages config session recall client",
    "adapters": "dialects stores session",
    "proxy": "core analysis dialects session stores recall config client",
    "tui": "core messages agent",
    "acp": "core dialects messages config agent",
    "mcp": "core dialects stores session recall messages",
    "lab": "core dialects meters recipes session config client messages",
    "doctor": "core dialects meters stores messages config",
    "demo": "core dialects messages session",
}
"""Packages, and what they may import beside themselves. Surfaces import one another only where it is written here;
`cli` may import everything, and every package but the core `plugins`."""

CORE_MAY_USE = {
    "__future__", "base64", "collections", "dataclasses", "functools", "hashlib", "heapq", "itertools", "json", "math",
    "msgspec", "re", "typing", "unicodedata",
}  # fmt: skip
"""No I/O, clock, environment, logging, randomness or async."""


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).parts[0].removesuffix(".py"), path


@cache
def imports(path: Path) -> tuple[str, ...]:
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            module = node.module or ""
            yield from (f"yohaku.{name.name}" for name in node.names) if module == "yohaku" else (module,)


def test_every_package_imports_only_what_lies_below_it() -> None:
    may = {home: {home, *below.split()} for homes, below in LAYERS.items() for home in homes.split()}
    for home in may.keys() - {"core"}:
        may[home].add("plugins")
    wrong = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for home, path in modules()
        for name in imports(path)
        if home in may and name.startswith("yohaku.") and name.split(".")[1] not in may[home] | {"__version__"}
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
        for name in ("splintr", "msgspec", "argparse", "json", "asyncio", "yohaku.core", "yohaku.session.session")
        if f"'{name}'" in loaded
    ]
    assert heavy == []


def test_there_are_at_most_twenty_five_public_names() -> None:
    import yohaku

    assert len(yohaku.__all__) <= 25
    assert all(getattr(yohaku, name) for name in yohaku.__all__)
