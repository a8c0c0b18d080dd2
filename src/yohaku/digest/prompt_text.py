"""Text of a prompt as its user wrote it: without what clients put into prompts, and with pasted tables shortened."""

from __future__ import annotations

import re

from yohaku.digest.written_changes import bound_text

_COMMAND_TAGS = re.compile(
    r"<command-message>.*?</command-message>\s*|</?(?:command-(?:name|args)|local-command-stdout)>"
)
_REPORT_BEGINS, _REPORT_ENDS = "<task-notification>", "</task-notification>"
"""Around the report of a background task, which the client sends as a prompt: these are not the user's words."""
_REPORT = re.compile(r"<summary>(?P<summary>.*?)</summary>\s*<result>(?P<result>.*)</result>", re.DOTALL)
_FULL_TRANSCRIPT = re.compile(r"\s*Full transcript available at: \S+")
_CAVEAT = re.compile(r"<(local-command-caveat|system-reminder)>.*?</\1>", re.DOTALL)


def split_reports(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return a prompt without the reports of background tasks in it, and the title and text of each of these."""
    left: list[str] = []
    found: list[tuple[str, str]] = []
    at = 0
    while (begin := text.find(_REPORT_BEGINS, at)) >= 0 and (end := text.find(_REPORT_ENDS, begin)) >= 0:
        report = _REPORT.search(text, begin, end)
        if report is None:
            break
        found.append((" ".join(report["summary"].split()), report["result"].strip()))
        left.append(text[at:begin])
        at = end + len(_REPORT_ENDS)
        at = told.end() if (told := _FULL_TRANSCRIPT.match(text, at)) else at
    return "".join([*left, text[at:]]), found


def clean_prompt(text: str) -> str:
    """Return a prompt without the tags in which clients wrap commands, and without texts of the client itself."""
    if "<" in text:
        text = _COMMAND_TAGS.sub(" ", _CAVEAT.sub("", text))
    return bound_text(_TABLE.sub(_shorten_table, text.strip()))


_INSTRUCTIONS = re.compile(r"\s*(?:#[^\n]{0,200}\s+)?<(?:user_)?instructions>", re.IGNORECASE)


def is_instructions(text: str) -> bool:
    """Test for the instructions of a project, which some clients send as a prompt before the user's own."""
    return _INSTRUCTIONS.match(text) is not None


MIN_TABLE_ROWS = 10
_TABLE = re.compile(rf"(?:^[ \t]*\S+(?:[ \t]{{2,}}\S+){{1,4}}[ \t\r]*\n){{{MIN_TABLE_ROWS},}}", re.MULTILINE)
"""Rows of a pasted table, such as the versions of all installed packages."""


def _shorten_table(table: re.Match[str]) -> str:
    rows = table[0].splitlines()
    return "\n".join([*rows[:2], f"[… {len(rows) - 3:,} rows …]", rows[-1], ""])
