"""Tool that makes several replacements in one file, all or none."""

from __future__ import annotations

from yohaku.agent.toolkit.arguments import BadArguments, boolean, object_schema, string
from yohaku.agent.toolkit.diffs import count_changed_lines
from yohaku.agent.toolkit.edits import open_for_edit, replace_text, save_edit
from yohaku.agent.toolkit.tool import AgentTool, Arguments, ToolContext, ToolResult


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    edits = arguments["edits"]
    if not edits or not all(isinstance(one, dict) for one in edits):
        raise BadArguments("edits must be a list of objects with old_string and new_string.")
    file = open_for_edit(context, arguments["path"])
    text = file.text
    for number, one in enumerate(edits, 1):
        old, new = one.get("old_string", one.get("old_str")), one.get("new_string", one.get("new_str"))
        if not isinstance(old, str) or not isinstance(new, str) or not old:
            raise BadArguments(f"Edit {number} of {len(edits)} lacks old_string or new_string; nothing was changed.")
        try:
            text = replace_text(file, text, old, new, bool(one.get("replace_all")))
        except BadArguments as why:
            raise BadArguments(f"Edit {number} of {len(edits)}: {why} Nothing was changed.") from None
    saved = await save_edit(context, "multi_edit", file, text)
    put, taken = count_changed_lines(file.text, text)
    return ToolResult(f"Edited {file.name}: {len(edits)} edits (+{put} -{taken} lines).{saved.note}", diff=saved.diff)


TOOL = AgentTool(
    "multi_edit",
    "Make several edits in one file, one after the other: all of them, or none if one does not fit. Each as in edit.",
    object_schema(
        "path edits",
        path=string(),
        edits={
            "type": "array",
            "items": object_schema(
                "old_string new_string", old_string=string(), new_string=string(), replace_all=boolean()
            ),
        },
    ),
    "write",
    run,
    lambda arguments: f"Edit {arguments.get('path', '')} in {len(arguments.get('edits') or ())} places",
)
