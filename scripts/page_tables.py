"""Parts of the generated pages in docs/: tables, and texts that are safe inside one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(escape_cell, row))} |" for row in rows)])


def escape_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def quote(*names: str) -> str:
    """Return names as code, with commas between them."""
    return ", ".join(f"`{name}`" for name in names)
