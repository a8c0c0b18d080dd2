"""Changes a cell of a Jupyter notebook; the rest of the file stays as it was written."""

from __future__ import annotations

import json
import re
from typing import Any

from yohaku.agent.toolkit.arguments import BadArguments, number, takes, text
from yohaku.agent.toolkit.edits import draft, save
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult


async def run(bench: ToolContext, given: Arguments) -> ToolResult:
    was = draft(bench, given["path"])
    try:
        book = json.loads(was.text)
        cells = book["cells"]
        assert isinstance(cells, list)
    except (ValueError, KeyError, TypeError, AssertionError, RecursionError):
        raise BadArguments(f"{was.name} is no notebook.") from None
    at, mode = given["cell"], given.get("mode", "replace")
    last = len(cells) - (mode != "insert")
    if not 0 <= at <= last:
        raise BadArguments(f"{was.name} has cells 0 to {len(cells) - 1}; {at} cannot be used to {mode}.")
    if mode == "delete":
        del cells[at]
    elif "source" not in given:
        raise BadArguments(f"To {mode} a cell, give its source.")
    elif mode == "insert":
        cells.insert(at, _cell(given.get("cell_type", "code"), given["source"], book))
    else:
        _replace(cells[at], given)
    indent = re.match(r"\{\n([ \t]+)", was.text)
    text = json.dumps(book, ensure_ascii=False, indent=indent[1] if indent else None)
    told = await save(bench, "notebook_edit", was, text + "\n" * was.text.endswith("\n"))
    return ToolResult(f"Edited {was.name}: {mode} cell {at}, {len(cells)} cells now.", diff=told)


def _replace(cell: dict[str, Any], given: Arguments) -> None:
    """What the old source printed is not what the new one would."""
    cell["source"] = given["source"].splitlines(keepends=True)
    kind = given.get("cell_type", cell.get("cell_type", "code"))
    cell["cell_type"] = kind
    if kind == "code":
        cell["outputs"], cell["execution_count"] = [], None
    else:
        cell.pop("outputs", None)
        cell.pop("execution_count", None)


def _cell(kind: str, source: str, book: dict[str, Any]) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
    ids = {each.get("id") for each in book["cells"]}
    if any(ids):
        cell["id"] = next(name for number in range(len(ids) + 1) if (name := f"cell-{number}") not in ids)
    return cell | ({"outputs": [], "execution_count": None} if kind == "code" else {})


TOOL = AgentTool(
    "notebook_edit",
    "Change a cell of a Jupyter notebook (.ipynb). Cells are counted from 0, as read shows them.",
    takes(
        "path cell",
        path=text(),
        cell=number(),
        source=text("Of the cell; not to delete one"),
        mode=text("Default replace", enum=["replace", "insert", "delete"]),
        cell_type=text(enum=["code", "markdown", "raw"]),
    ),
    "write",
    run,
    lambda given: f"Edit {given.get('path', '')} cell {given.get('cell', '')}",
)
