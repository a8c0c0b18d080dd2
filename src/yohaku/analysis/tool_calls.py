"""Reader of one tool call: the command it ran, how it ended, its exit code, test summary and error lines.

Law: every line returned stands in the result, word for word (spaces aside); None or empty if there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from yohaku.analysis.shell import SHELLS, split_commands
from yohaku.core.model import ToolUse

RUN_WORDS = SHELLS | frozenset("shell exec execute run cmd command commands terminal console".split())
"""Words in the names of tools that run commands."""

COMMAND_ARGUMENTS = ("command", "cmd", "commands", "script", "action", "commandline", "code")
"""Names of arguments that hold the command, without case and underscores, the surest first."""

MAX_STATUS_CHARS = 600
"""Characters at either end of a result in which tools write how a command ended."""

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_QUOTE = re.compile(r"[^\w@%+=:,./-]")


@lru_cache(512)
def split_tool_name(name: str) -> frozenset[str]:
    """Return the words in the name of a tool: `read_file`, `fs.readFile` and `ReadFile` share theirs."""
    return frozenset(word.lower() for word in _WORDS.findall(name))


def normalize_name(name: str) -> str:
    """Return the name of an argument without case, underscores and hyphens."""
    return name.replace("_", "").replace("-", "").lower()


def read_arguments(use: ToolUse) -> dict[str, Any]:
    """Return the arguments by normalised name, not to be changed. Arguments that are plain text are named `input`."""
    return _parse_arguments(use.call.arguments)


@lru_cache(16)
def _parse_arguments(text: str) -> dict[str, Any]:
    # A small cache is enough: questions about one call come in a row.
    try:
        values = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        values = None
    if isinstance(values, dict):
        return {normalize_name(name): value for name, value in values.items()}
    return {"input": text} if text.strip() and text.lstrip()[:1] not in "{[" else {}


def find_command(use: ToolUse) -> str | None:
    """Return the shell command of a call; None for tools that run none."""
    if split_tool_name(use.call.name).isdisjoint(RUN_WORDS):
        return None
    arguments = read_arguments(use)
    for name in (*COMMAND_ARGUMENTS, "input"):
        if (found := _join_command(arguments.get(name))) is not None:
            return found
    return None


def _join_command(value: object) -> str | None:
    if isinstance(value, dict):
        return _join_command(value.get("command"))
    if isinstance(value, str):
        return value.strip() or None
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
        return None
    if len(value) > 2 and value[0].rsplit("/", 1)[-1] in SHELLS and value[1].startswith("-"):
        return str(value[2]).strip()
    return " ".join(_quote(word) for word in value)


def _quote(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'" if not word or _QUOTE.search(word) else word


# Exit codes and failures

_CODE = re.compile(
    r"<(?:returncode|exit_?code)>\s*(-?\d{1,10})\s*</"
    r"|\"(?:exit_?code|return_?code)\"\s*:\s*(-?\d{1,10})"
    r"|\[exit(?: code| status)?:? (-?\d{1,10})\]"
    r"|^.{0,60}?\b(?:exit(?:ed)?(?: with)?[ _](?:code|status)|return ?code):?=? {0,2}(-?\d{1,10})[\]>.)\s]*$"
    r"|^終了コード\s*[:：]?\s*(-?\d{1,10})",
    re.MULTILINE | re.IGNORECASE,
)

_FAILURE = re.compile(
    r"\s*(?:<tool_use_error>|error\s*[:：(\[\n]|エラー|failed\b|could not\b|cannot\b|can't\b|unable to\b|invalid\b"
    r"|no (?:replacement|such file|changes? (?:made|were made))|file (?:not found|does not exist|has not been read)"
    r"|permission denied|access denied|traceback \(most|your proposed edit has introduced|\[errno"
    r"|apply_patch verification failed|the user (?:doesn't want|rejected|denied|declined)"
    r"|(?:old_str\w*|string) .{0,40}not found|patch (?:failed|does not apply)|失敗|ファイルが見つかりません)",
    re.IGNORECASE,
)


_PRINTED_CODE = re.compile(r"^[\w ]{0,24}[:=]? ?(\d{1,3})\s*$")
"""A line that says no more than a code, as `echo "exit: $?"` prints it."""


def find_exit_code(use: ToolUse) -> int | None:
    """Return the exit code at the beginning or the end of a result, or the one that the command prints at its end."""
    text = use.result.text
    if "$?" in use.call.arguments and (printed := _PRINTED_CODE.match(text[-40:].rstrip().rpartition("\n")[2])):
        return int(printed[1])
    found = _CODE.search(text[:MAX_STATUS_CHARS]) or _find_last(_CODE.finditer(text[-MAX_STATUS_CHARS:]))
    return int(next(filter(None, found.groups()))) if found else None


def _find_last(found: Iterator[re.Match[str]]) -> re.Match[str] | None:
    last = None
    for last in found:  # noqa: B007
        pass
    return last


_REFUSED = re.compile(
    r"\s*the user (?:doesn't want to (?:proceed with this tool use|take this action)|rejected|denied|declined)\b",
    re.IGNORECASE,
)
_REFUSAL_WORDS = re.compile(r"\bthe user said:\s*(\S.*)", re.DOTALL | re.IGNORECASE)


def find_refusal(use: ToolUse) -> str | None:
    """Return what the user said when refusing a call, which may be nothing; None if it was not refused."""
    text = use.result.text
    if not _REFUSED.match(text[:MAX_STATUS_CHARS]):
        return None
    words = _REFUSAL_WORDS.search(text, 0, 4 * MAX_STATUS_CHARS)
    return text[words.start(1) :].strip() if words else ""


def has_failed(use: ToolUse) -> bool:
    """Test whether a call failed or was refused, by its error flag, exit code or the beginning of its result."""
    if _REFUSED.match(use.result.text[:MAX_STATUS_CHARS]):
        return True
    command = find_command(use)
    if command is None:
        return use.result.error or bool(_FAILURE.match(use.result.text[:MAX_STATUS_CHARS]))
    code = find_exit_code(use)
    if code == 1 and _is_query(command):
        return False
    return use.result.error or code not in (None, 0)


QUERY_COMMANDS = frozenset("grep egrep fgrep rg ag diff cmp test [ [[ which pgrep".split())
"""Commands whose exit code 1 is an answer: nothing found, or a difference."""


def _is_query(command: str) -> bool:
    last = split_commands(command)[-1:]
    return bool(last and last[0].words and last[0].words[0] in QUERY_COMMANDS)


# Test summaries and errors

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,16}[A-Za-z]")
_TESTS = re.compile(
    r"^(?P<whole>={2,} [^\n]{0,120}\b\d+ (?:x?passed|x?failed|errors?|skipped|deselected)\b[^\n]{0,120}"  # pytest
    r"|\d+ (?:passed|failed|errors?)(?:, \d+ \w+)* in [\d.]+s\b[^\n]{0,40}"
    r"|no tests ran in [^\n]{1,20}"
    r"|[ \t]{0,8}Tests:?[ \t]{1,12}[^\n]{0,80}\b\d+ (?:passed|failed|total|skipped|todo)\b[^\n]{0,80}"  # jest, vitest
    r"|Tests run: \d+, Failures: \d+[^\n]{0,80}"  # maven
    r"|Tests: \d+, Assertions: [^\n]{1,80}|OK \(\d+ tests?, [^\n]{1,40}"  # phpunit
    r"|\d+ (?:examples?|runs?|tests?|specs?), [^\n]{0,60}\d+ failures?[^\n]{0,60}"  # rspec, minitest, exunit
    r"|\d+% tests passed, [^\n]{1,60}"  # ctest
    r"|(?:Passed|Failed)!\s+- Failed: [^\n]{1,80}"  # dotnet
    r"|[ \t]{0,8}Executed \d+ tests?, with [^\n]{1,60}"  # xctest
    r"|DONE \d+ tests?[^\n]{0,60}"  # gotestsum
    r"|(?:ok|FAILED) \| \d+ passed[^\n]{0,60})"  # deno
    r"|^(?P<each>test result: (?:ok|FAILED)\.[^\n]{1,120}"  # cargo, per crate
    r"|ok[ ]{0,2}\t[^\n]{1,120}|FAIL\t[^\n]{1,120}|--- FAIL: [^\n]{1,120})"  # go, per package
    r"|^(?P<some>Ran \d+ tests? (?:in|across) [^\n]{1,60}|OK(?: \([a-z][^\n]{1,40})?[ \t]*$"
    r"|FAILED \([a-z]+=[^\n]{1,60}"  # unittest
    r"|[ \t]{0,4}\d+ (?:pass|fail|skip|todo)[ \t]*$"  # bun
    r"|[ \t]{0,4}\d+ (?:passing|failing|pending)\b[^\n]{0,20}"  # mocha
    r"|[ \t]{0,4}\d+ (?:passed|failed|flaky|skipped|did not run)(?: \([\d.]+\w+\))?[ \t]*$"  # playwright
    r"|(?:#|ℹ) (?:tests|pass|fail) \d+)",  # node, tap
    re.MULTILINE,
)
_FAILED_TESTS = re.compile(
    r"FAIL|\b[1-9]\d* (?:failed|fail|failing|errors?|failures?)\b|(?<!expected )\b(?:failures|errors)=[1-9]"
    r"|\bfail [1-9]|\b(?:Failures|Errors|Failed): [1-9]"
)

MAX_SCANNED_CHARS = 40_000
"""Characters of a result that are searched: at its end for a test summary, at both ends for errors."""


def find_test_summary(text: str) -> str | None:
    """Return the last summary of a test run, in one line; None if there is none."""
    found = list(_TESTS.finditer(_COLOUR.sub("", text[-MAX_SCANNED_CHARS:])))
    if not found:
        return None
    last = found[-1]
    if last.lastgroup == "each":
        red = [one[0] for one in found if one.lastgroup == "each" and has_failed_tests(one[0])]
        return " ".join((red[-1] if red else last[0]).split())
    if last.lastgroup == "whole":
        return " ".join(last[0].strip("= \t\r").split())
    together = [one for one in found if one.lastgroup == "some" and last.start() - one.start() < 200]
    return ", ".join(dict.fromkeys(one[0].strip() for one in together))


def has_failed_tests(summary: str) -> bool:
    """Test a summary of a test run for failures."""
    return bool(_FAILED_TESTS.search(summary))


_ERROR = re.compile(
    r"(?P<sure>[Ee]rror(?:\[\w{1,40}\]| TS\d{1,6})?:|(?:Error|Exception)(?=[:\s(]|$)|ERROR|fatal:|FATAL|panic:|FAILED"
    r"|--- FAIL|FAIL[\t:]|npm ERR!|Segmentation fault|core dumped|SIG(?:SEGV|KILL|ABRT)|:\d{1,6}:\d{1,6}: |CONFLICT \("
    r"|エラー[:：]|例外[:：]|失敗しました)"
    r"|(?P<weak>[Nn]o such file or directory|not found|[Pp]ermission denied|[Cc]annot \w|[Cc]an't \w|[Cc]ould not \w"
    r"|[Uu]nable to|[Ff]ailed to \w|FAIL\b|timed out|undefined(?:: | reference| name)|[Dd]oes not exist|[✕✗✘✖] "
    r"|[Ii]nvalid \w|denied|refus(?:ed|ing)|bug: |エラー|失敗"
    r"|見つかりません|存在しません|できません|ありません|不正な|無効な)"
)
"""For speed, each alternative begins with letters and none looks behind."""

# Lines that only look like errors: "no errors", and code that handles one.
_HARMLESS = re.compile(
    r"\b(?:0|no) (?:errors?|failures?|failed)\b|エラー(?:は|が)?(?:あり|ござい)ません"
    r"|^\s{0,40}(?:\d{1,6}[:→|]?\s{0,40})?(?:raise|except|throw|catch|return|if|def|import|from)\b",
    re.IGNORECASE,
)

_PASSED = re.compile(r"\b(?:pass(?:ed)?|ok|success(?:ful(?:ly)?)?|skipped)\W*$|[✓✔]", re.IGNORECASE)
"""A line of something that worked: not why the call failed."""

_TAGS = re.compile(r"</?[a-z_]{1,40}>")
_USER_REFUSED = re.compile(r"\bthe user said:\s*\S[^\n]{0,400}", re.IGNORECASE)
"""A refused call: what the user wrote is the reason."""

MAX_ERROR_CHARS = 240
"""A longer error line is shortened."""

MAX_HEADING_CHARS = 10
"""A shorter error line may be a heading: the next line says what is wrong."""


def find_errors(text: str, limit: int = 3) -> tuple[str, ...]:
    """Return the error lines, in order: sure ones, or else weak ones; of many the first ones and the last."""
    sure: dict[str, None] = {}
    weak: dict[str, None] = {}
    if len(text) > MAX_SCANNED_CHARS:
        text = f"{text[: MAX_SCANNED_CHARS // 2]}\n{text[-MAX_SCANNED_CHARS // 2 :]}"
    text = _COLOUR.sub("", text)
    at = 0
    while found := _ERROR.search(text, at):
        begin = text.rfind("\n", 0, found.start()) + 1
        at = text.find("\n", found.end())
        if 0 <= at - begin < MAX_HEADING_CHARS and not text[found.end() : at].strip(" \t\r:："):
            at = text.find("\n", at + 1)  # a heading such as "ERROR:"
        line = text[begin : at if at >= 0 else len(text)]
        if not _HARMLESS.search(line, 0, 2 * MAX_ERROR_CHARS):
            (sure if found.lastgroup == "sure" else weak)[_shorten_line(line, found.start() - begin)] = None
        if at < 0:
            break
    lines = list(sure or weak)
    if limit < 1:
        return ()
    return tuple(lines if len(lines) <= limit else [*lines[: limit - 1], lines[-1]])


def _shorten_line(line: str, at: int) -> str:
    """Return the part of a line around a position, without tags and extra spaces."""
    if len(line) > MAX_ERROR_CHARS:
        begin = max(0, at - MAX_ERROR_CHARS // 4)
        line = line[begin : begin + MAX_ERROR_CHARS]
    return " ".join(_TAGS.sub("", line).split())


def find_complaint(use: ToolUse, limit: int = 3) -> tuple[str, ...]:
    """Return why a call failed: the user's refusal, or error lines, or else one line of the result.

    That is the last line of a command's output, and the first line of other results.
    """
    text = use.result.text
    if (refused := _USER_REFUSED.search(text[: 4 * MAX_STATUS_CHARS])) and limit > 0:
        return (_shorten_line(refused[0], 0),)
    found = find_errors(text, limit)
    if found or limit < 1:
        return found
    ends = text[-2 * MAX_STATUS_CHARS :].splitlines()
    lines = [_shorten_line(line, 0) for line in ends if not (_CODE.search(line) or _PRINTED_CODE.match(line))]
    filled = [line for line in lines if line and not _PASSED.search(line)] or [line for line in lines if line]
    return tuple(filled[-1:] if find_command(use) is not None else filled[:1])


# One line for a call

MAX_CALL_CHARS = 60
MAX_SHORT_ARGUMENT_CHARS = 200
"""A longer argument is content, not what the call is about."""

_SURROUNDINGS = re.compile(r"^\s*cd [^&;|\n]{1,200}(?:&&|;)\s*|(?<=git)\s+-C\s+\S{1,200}|\s2>&1|\s2>/dev/null")
"""Parts of a command about where it runs and where its output goes, not about what it does."""


def describe_call(use: ToolUse, limit: int = MAX_CALL_CHARS) -> str:
    """Return a call in one short line: its command, or its name with two short arguments (of a long path the end)."""
    command = find_command(use)
    if command is None:
        values = [value for value in read_arguments(use).values() if isinstance(value, str)]
        lines = [value for value in values if 0 < len(value) <= MAX_SHORT_ARGUMENT_CHARS and "\n" not in value]
        return " ".join((use.call.name, *(line if len(line) <= limit else f"…{line[-limit:]}" for line in lines[:2])))
    command = " ".join(_SURROUNDINGS.sub("", command[: 8 * limit]).split())
    return command if len(command) <= limit else f"{command[: limit - 1]}…"
