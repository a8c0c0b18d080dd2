"""Measure how easily the package is read: its size, its prose, names used twice, files and functions to join or part.

python3 dev.py house            one line each
python3 dev.py house --list     and each offender: file, line, name
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

SOURCE = Path(__file__).resolve().parent.parent / "src" / "yohaku"
SHORT_MODULE_LINES = 45
LONG_FUNCTION_LINES = 60
RELATIVE = re.compile(r"(?:What|Whether|Which|Where|Who)\b")
"""Openings of a docstring that leave the reader to guess what the thing is or does."""

Documented: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Place(NamedTuple):
    path: str
    """Within the package."""
    line: int
    text: str

    def __str__(self) -> str:
        return f"  {self.path}:{self.line}: {self.text}"


@cache
def trees() -> dict[str, ast.Module]:
    """Return the parsed modules, by their path within the package."""
    files = sorted(SOURCE.rglob("*.py"))
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in files}


@cache
def definitions() -> list[tuple[str, Documented]]:
    """Return every module, class and function with the path of its file."""
    return [(path, node) for path, tree in trees().items() for node in ast.walk(tree) if isinstance(node, Documented)]


@cache
def lines(path: str) -> int:
    return (SOURCE / path).read_text("utf-8").count("\n")


def docstrings() -> list[Place]:
    """Return the first line of every docstring of a module, class or function."""
    found = []
    for path, node in definitions():
        if text := ast.get_docstring(node):
            found.append(Place(path, getattr(node, "lineno", 1), text.partition("\n")[0]))
    return found


def relative_docstrings() -> list[Place]:
    return [each for each in docstrings() if RELATIVE.match(each.text)]


def shares() -> dict[str, float]:
    """Return the share of docstrings that open with a relative word, by package."""
    total = Counter(each.path.split("/")[0] for each in docstrings())
    relative = Counter(each.path.split("/")[0] for each in relative_docstrings())
    return {package: relative[package] / count for package, count in total.items()}


def double_classes() -> dict[str, list[Place]]:
    """Return the classes of which another has the same name."""
    found = defaultdict(list)
    for path, node in definitions():
        if isinstance(node, ast.ClassDef):
            found[node.name].append(Place(path, node.lineno, node.name))
    return {name: places for name, places in sorted(found.items()) if len(places) > 1}


def single_use_modules() -> list[Place]:
    """Return the modules that exactly one other imports. Their text is the one that does."""
    importers = defaultdict(set)
    for path, tree in trees().items():
        for name in _imported(tree):
            importers[name].add(path)
    found = []
    for path in trees():
        users = importers[_module(path)] - {path}
        if len(users) == 1 and not path.endswith("__init__.py"):
            found.append(Place(path, 1, f"imported by {min(users)} only"))
    return found


def _module(path: str) -> str:
    return ".".join(("yohaku", *Path(path).with_suffix("").parts))


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def short_modules() -> list[Place]:
    found = [Place(path, 1, f"{lines(path)} lines") for path in trees() if not path.endswith("__init__.py")]
    return [each for each in found if lines(each.path) < SHORT_MODULE_LINES]


def long_functions() -> list[Place]:
    found = []
    for path, node in definitions():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > LONG_FUNCTION_LINES:
                found.append(Place(path, node.lineno, f"{node.name}, {length} lines"))
    return found


def main(*arguments: str) -> int:
    asked, count = relative_docstrings(), len(docstrings())
    double = [place for places in double_classes().values() for place in places]
    rows: list[tuple[str, list[Place]]] = [
        (f"{len(asked) / count:.1%} of {count} docstrings open with What, Whether, Which, Where or Who", asked),
        (f"{len(double_classes())} class names stand for two things or more", double),
        (f"{len(single_use_modules())} modules are imported by exactly one other", single_use_modules()),
        (f"{len(short_modules())} modules have fewer than {SHORT_MODULE_LINES} lines", short_modules()),
        (f"{len(long_functions())} functions have more than {LONG_FUNCTION_LINES} lines", long_functions()),
    ]
    print(f"{sum(map(lines, trees())):,} lines in {len(trees())} files")
    for title, places in rows:
        print(title)
        if "--list" in arguments:
            print(*places, sep="\n", end="\n" if places else "")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
