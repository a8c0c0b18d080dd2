"""Tool that changes a cell of a Jupyter notebook; the rest of the file stays as it is."""

from __future__ import annotations

import json
import re
from typing import Any

from yohaku.agent.toolkit.arguments import BadArguments, integer, object_schema, string
from yohaku.agent.toolkit.edits import open_for_edit, save_edit
from yohaku.agent.toolkit.secrets import restore_secrets
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    file = open_for_edit(context, arguments["path"])
    try:
        book = json.loads(file.text)
        cells = book["cells"]
        assert isinstance(cells, list)
    except (ValueError, KeyError, TypeError, AssertionError, RecursionError):
        raise BadArguments(f"{file.name} is no notebook.") from None
    if "source" in arguments:
        arguments = {**arguments, "source": restore_secrets(arguments["source"], file.text)}
    at, mode = arguments["cell"], arguments.get("mode", "replace")
    last = len(cells) - (mode != "insert")
    if not 0 <= at <= last:
        raise BadArguments(f"{file.name} has cells 0 to {len(cells) - 1}; {at} cannot be used to {mode}.")
    if mode == "delete":
        del cells[at]
    elif "source" not in arguments:
        raise BadArguments(f"To {mode} a cell, give its source.")
    elif mode == "insert":
        cells.insert(at, _new_cell(arguments.get("cell_type", "code"), arguments["source"], book))
    else:
        _replace_cell(cells[at], arguments)
    indent = re.match(r"\{\n([ \t]+)", file.text)
    text = json.dumps(book, ensure_ascii=False, indent=indent[1] if indent else None)
    saved = await save_edit(context, "notebook_edit", file, text + "\n" * file.text.endswith("\n"))
    return ToolResult(f"Edited {file.name}: {mode} cell {at}, {len(cells)} cells now.{saved.note}", diff=saved.diff)


def _replace_cell(cell: dict[str, Any], arguments: Arguments) -> None:
    """Replace source and type of a cell, and drop its outputs, which belong to the old source."""
    cell["source"] = arguments["source"].splitlines(keepends=True)
    kind = arguments.get("cell_type", cell.get("cell_type", "code"))
    cell["cell_type"] = kind
    if kind == "code":
        cell["outputs"], cell["execution_count"] = [], None
    else:
        cell.pop("outputs", None)
        cell.pop("execution_count", None)


def _new_cell(kind: str, source: str, book: dict[str, Any]) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
    ids = {each.get("id") for each in book["cells"]}
    if any(ids):
        cell["id"] = next(name for number in range(len(ids) + 1) if (name := f"cell-{number}") not in ids)
    return cell | ({"outputs": [], "execution_count": None} if kind == "code" else {})


TOOL = AgentTool(
    "notebook_edit",
    "Change a cell of a Jupyter notebook (.ipynb). Cells are counted from 0, as read shows them.",
    object_schema(
        "path cell",
        path=string(),
        cell=integer(),
        source=string("Of the cell; not to delete one"),
        mode=string("Default replace", enum=["replace", "insert", "delete"]),
        cell_type=string(enum=["code", "markdown", "raw"]),
    ),
    "write",
    run,
    lambda arguments: f"Edit {arguments.get('path', '')} cell {arguments.get('cell', '')}",
)
