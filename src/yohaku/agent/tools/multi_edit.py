"""Several exchanges in one file, all of them or none."""

from __future__ import annotations

from yohaku.agent.toolkit.arguments import BadArguments, flag, takes, text
from yohaku.agent.toolkit.diffs import counted
from yohaku.agent.toolkit.edits import draft, replaced, save
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult


async def run(bench: ToolContext, given: Arguments) -> ToolResult:
    edits = given["edits"]
    if not edits or not all(isinstance(one, dict) for one in edits):
        raise BadArguments("edits must be a list of objects with old_string and new_string.")
    was = draft(bench, given["path"])
    text = was.text
    for number, one in enumerate(edits, 1):
        old, new = one.get("old_string", one.get("old_str")), one.get("new_string", one.get("new_str"))
        if not isinstance(old, str) or not isinstance(new, str) or not old:
            raise BadArguments(f"Edit {number} of {len(edits)} lacks old_string or new_string; nothing was changed.")
        try:
            text = replaced(was, text, old, new, bool(one.get("replace_all")))
        except BadArguments as why:
            raise BadArguments(f"Edit {number} of {len(edits)}: {why} Nothing was changed.") from None
    told = await save(bench, "multi_edit", was, text)
    put, taken = counted(was.text, text)
    return ToolResult(f"Edited {was.name}: {len(edits)} edits (+{put} -{taken} lines).", diff=told)


TOOL = AgentTool(
    "multi_edit",
    "Make several edits in one file, one after the other: all of them, or none if one does not fit. Each as in edit.",
    takes(
        "path edits",
        path=text(),
        edits={
            "type": "array",
            "items": takes("old_string new_string", old_string=text(), new_string=text(), replace_all=flag()),
        },
    ),
    "write",
    run,
    lambda given: f"Edit {given.get('path', '')} in {len(given.get('edits') or ())} places",
)
