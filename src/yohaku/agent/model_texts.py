"""Sentences of ours that are written for the model, and what people see in place of them.

Law: nobody is shown an instruction that is meant for the model. What programs print, and what tools of others answer,
is shown as it is.
"""

from __future__ import annotations

import re

from yohaku.messages import say

REFUSED = "The user did not allow this. Do not try it in another way: go on without it, or say what you would do."
STOPPED = "[stopped by the user]"
NO_SUCH_TOOL = "There is no tool {name!r}. Take one of: {names}."
PLAN_NOTE = (
    "[Plan mode: nothing may be changed. Edits are refused, and so is any command that is not known to only read. "
    "Read what you need, then reply with a plan: which files you would change, and how.]"
)
PLAN_OVER_NOTE = "[Plan mode is over: you may change files and run commands again.]"
CHANGED = "[changed on disk since you read it: {names}. Read again what you need of it.]"
TIMED_OUT = (
    "[stopped after {seconds} seconds; give a longer timeout, or run it in the background with & and send its output "
    "to a file]"
)

_OUR_TOOLS = frozenset(
    "read write edit glob grep list_dir multi_edit notebook_edit todo sub_agent ask_user tool_output_cache "
    "tool_output_cache_grep".split()
)
"""Tools whose errors are written for the model; those of commands and pages are theirs."""
_NOTE = re.compile(
    "\n\n(?:"
    + "|".join(
        [re.escape(PLAN_NOTE), re.escape(PLAN_OVER_NOTE), re.escape(CHANGED).replace(r"\{names\}", r"[^\n]{0,2000}")]
    )
    + r")\Z"
)
_TIMED_OUT = re.compile(re.escape(TIMED_OUT).replace(r"\{seconds\}", r"(\d+)"))
_EXIT = re.compile(r"\[exit \d+\].{0,40}\Z")


def prompt_for_people(text: str) -> str:
    """Return a prompt as the user wrote it, without the notes that were added for the model."""
    while len(shorter := _NOTE.sub("", text)) < len(text):
        text = shorter
    return text


def failure_for_people(tool: str, text: str, lang: str) -> str:
    """Return why a call failed, in a line or two for people; empty where only the model was told."""
    text = text.strip()
    if text.startswith(REFUSED):
        return say("tool_refused", lang)
    if text == STOPPED:
        return say("tool_stopped", lang)
    if tool in _OUR_TOOLS or text.startswith(NO_SUCH_TOOL.partition("{")[0]):
        return ""
    lines = [line for line in _TIMED_OUT.sub(lambda found: _describe_timeout(found, lang), text).split("\n") if line]
    if len(lines) > 1 and _EXIT.match(lines[-1]):
        return f"{lines[-2]} {lines[-1]}"
    return lines[-1] if lines else ""


def _describe_timeout(found: re.Match[str], lang: str) -> str:
    return say("tool_timed_out", lang, seconds=int(found[1]))
