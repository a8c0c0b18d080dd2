"""A first look for small models: files and commands that a prompt names are opened before the first request.

Law: these are calls the model could make, permitted or refused like its own, and they stand in the conversation like
its own. Only what the user named is opened, or what the output of the command they named points to; the project is
searched for the words of a prompt only where it speaks of the code.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from yohaku.agent.small_models import Workspace
from yohaku.agent.small_models.failure_trail import PLACE, Trail, follow_failure, is_test
from yohaku.agent.small_models.progress import last_line
from yohaku.agent.small_models.reproduction import find_check
from yohaku.agent.small_models.suspects import Suspect, find_suspects
from yohaku.agent.small_models.traced_command import trace_command
from yohaku.agent.small_models.word_search import TEST_FILE, count_definitions, find_definitions
from yohaku.agent.toolkit.danger import find_danger
from yohaku.agent.toolkit.file_lines import read_lines
from yohaku.agent.toolkit.found_hits import DEFINITIONS
from yohaku.agent.toolkit.secrets import holds_secrets
from yohaku.agent.toolkit.source_outline import Section, declarations
from yohaku.analysis.change_requests import asks_for_change
from yohaku.core.model import Call, Reply, Result, ToolUse
from yohaku.dialects.json_values import dump

RunTools: TypeAlias = Callable[[Reply], Awaitable[tuple[ToolUse, ...]]]

MAX_TEXT_CHARS = 8_000
"""Characters of a prompt, and of the end of a command's output, that are searched for names."""
MAX_FILES = MAX_SECTIONS = 2
"""Files that are opened, and definitions in each."""
MAX_FILE_BYTES = 1 << 20
WHOLE_FILE_DIVISOR = 6
"""A file is read whole if it takes at most this fraction of the window."""
ALL_FILES_DIVISOR = 3
"""All that is opened before the first request takes at most this fraction of the window."""
MAX_SECTION_LINES = 60
MAX_CONSTANTS = 8
MAX_WORD_LINES = 6
"""A word in more lines than this says nothing about where to look."""
MAX_SEARCHED_WORDS = 6
"""Words of a prompt that the whole project is searched for."""
MAX_PATHS, MAX_WORDS = 20, 40
"""Paths and words of a prompt that are tried."""
MAX_PATH_CHARS = MAX_FAILURE_CHARS = 300
MAX_OUTLINED = 150
"""Definitions of a project up to which all of them are shown for a prompt without a word of the code."""

SOURCE_SUFFIXES = (".py", ".js", ".ts", ".go", ".rb", ".rs", ".java", ".kt", ".php", ".lua")
"""Of files that a dotted name such as `money.percent` may mean."""

_MARKED = re.compile(r"(?<![\w@])@([\w./~-]+)", re.ASCII)
_DOTTED = re.compile(r"(?<![\w./])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*){1,5})(?![\w/])", re.ASCII)
_RUN = re.compile(r"[\w./~-]+", re.ASCII)
_FAILS = re.compile(
    r"`([^`\n]{2,200})`[^`.。\n]{0,24}?(?:\bfails?\b|\bfailing\b|\bcrash|\berrors?\b|does not (?:pass|work)"
    r"|失敗|エラー|落ち|通ら|動か)"
)
_NOT_RUN = re.compile(
    r"\b(?:don['’]?t|do not|never|without)\s+(?:re-?)?(?:run|start|execut|call)|(?:実行|起動)(?:し|せ)(?:な|ず)", re.I
)
_NAMES = re.compile(
    r"(?<![\w.])(?:[A-Za-z]\w*_\w+|[A-Za-z][a-z0-9]+[A-Z]\w*|_\w+)(?![\w(])"  # as only code is written
    r"|(?:functions?|methods?|class(?:es)?|関数|メソッド|クラス)[\s`「]*([A-Za-z_]\w*)|`([A-Za-z_]\w*)`"
    r"|(?<!\w)([A-Za-z_]\w*)\(",
    re.ASCII,
)
_CAPITALS = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|\b[A-Z]{4,}\b", re.ASCII)
_WORD, _LETTER = re.compile(r"[A-Za-z]{4,}"), re.compile("[A-Za-z]")
_COMMON_WORDS = frozenset(
    "about after also change code does each explain file find from function have here into just line look make many "
    "more much only please read should show some tell than that them then there these they this what when where which "
    "while with within work write your".split()
)
_KEYWORDS = frozenset("return import class else elif while true false none null self yield async await const".split())
_ABOUT_CODE = re.compile(
    r"\b(?:code|codebase|project|repo|repository|source|sources|program)\b|コード|ソース|プロジェクト|リポジトリ|プログラム",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"\b(?:review|summar\w*|explain|describe|check|audit|document|overview|understand|analy[sz]e|translate|walk)\b"
    r"|レビュー|要約|まとめ|説明|概要|解説|全体|見直|点検|分析|翻訳|把握",
    re.IGNORECASE,
)
"""Matches requests that concern a file as a whole."""


class BigFile(NamedTuple):
    """A file that a prompt is about as a whole, and that is too big to be read at once."""

    path: Path
    name: str
    text: str
    sections: tuple[Section, ...]


class Preloaded(NamedTuple):
    failing: str = ""
    """The command that failed: it can be run again after a change."""
    failure: str = ""
    """The last line of its output."""
    names: tuple[str, ...] = ()
    """The definitions that were named, by the user or in the output of the command."""
    output: str = ""
    """What the command printed."""
    suspects: tuple[Suspect, ...] = ()
    """Functions that may be wrong, where a command failed."""
    calls: tuple[str, ...] = ()
    """Lines about what these were given and gave back, where that could be traced."""
    code: str = ""
    """The line of the test that fails."""


async def preload(workspace: Workspace, prompt: str, run_tools: RunTools) -> Preloaded:
    """Run the command that is said to fail, then open the files that are named, where they are likeliest to matter.

    Where nothing is named, the project is searched for definitions by the words of the prompt.
    """
    text, output, trail, failed = prompt[:MAX_TEXT_CHARS], "", Trail(), False
    if command := _failing_command(workspace, text):
        result = await rerun(command, run_tools)
        output, failed = result.text[-MAX_TEXT_CHARS:], result.error
        text += f"\n{output}"
    calls: list[Call] = []
    names: list[str] = []
    beside = prompt[:MAX_TEXT_CHARS].replace(command, " ") if command else prompt[:MAX_TEXT_CHARS]
    files = _named_files(workspace, beside)
    if command:
        trail = _follow(workspace, command, text)
        files, text = files or list(trail.files), f"{text}\n{trail.code}"
    room = workspace.window // ALL_FILES_DIVISOR
    for path in files or _named_files(workspace, prompt[:MAX_TEXT_CHARS]):
        if found := read_lines(path, 1, 1, MAX_FILE_BYTES):
            sections = _named_sections(found.text, path.name, text)
            room -= min(workspace.meter.count(found.text), workspace.window // WHOLE_FILE_DIVISOR)
            if calls and room < 0:
                break
            names += [each.name for each in sections]
            calls += _open(workspace, path, found.text, sections, prompt)
    if files and command:
        calls += _open_called(workspace, files)
    if not calls and not command:
        calls += await asyncio.to_thread(_search, workspace, prompt[:MAX_TEXT_CHARS], names)
    suspects = await asyncio.to_thread(_find_suspects, workspace, trail, files, names) if failed else ()
    traced = trace_command(command, [each.name for each in suspects]) if asks_for_change(prompt) else ""
    if traced:
        calls.append(make_call("bash", command=traced))
    uses = await run_tools(Reply(tuple(calls))) if calls else ()
    told = tuple(uses[-1].result.text.split("\n")) if traced and uses and not uses[-1].result.error else ()
    return Preloaded(command, last_line(output)[:MAX_FAILURE_CHARS], tuple(names), output, suspects, told, trail.code)


def find_big_file(workspace: Workspace, prompt: str, room: int) -> BigFile | None:
    """Return the one file that a prompt names and concerns as a whole, if it takes more than `room` tokens."""
    text = prompt[:MAX_TEXT_CHARS]
    if len(prompt) > len(text) or not workspace.tool("read") or not _WHOLE.search(text):
        return None
    files = _named_files(workspace, text)
    found = read_lines(files[0], 1, 1, MAX_FILE_BYTES) if len(files) == 1 else None
    if not found or not found.text or workspace.meter.count(found.text) <= room:
        return None
    name = workspace.files.name(files[0])
    if _named_sections(found.text, name, _RUN.sub(lambda run: " " if _like_a_path(run[0]) else run[0], text)):
        return None
    return BigFile(files[0], name, found.text, tuple(declarations(found.text, name)))


async def rerun(command: str, run_tools: RunTools) -> Result:
    (use,) = await run_tools(Reply((make_call("bash", command=command),)))
    return use.result


def make_call(tool: str, **arguments: Any) -> Call:
    """Return a call on behalf of the model; it gets its id when it is run."""
    return Call("", tool, dump(arguments))


def _failing_command(workspace: Workspace, prompt: str) -> str:
    """The command that is said to fail, or shows what is said to be wrong, unless it does harm or is not to be run."""
    if not workspace.tool("bash") or workspace.permissions.changes_nothing or _NOT_RUN.search(prompt):
        return ""
    found = _FAILS.search(prompt)
    if not found:
        return find_check(workspace.root, prompt)
    return "" if find_danger(found[1]) else found[1]


def _named_files(workspace: Workspace, prompt: str) -> list[Path]:
    """Files that the prompt names: those marked with @ first, those it means by a dotted name last."""
    marked = [name.rstrip(".-") for name in _MARKED.findall(prompt)]
    names = [run.rstrip(".-") for run in _RUN.findall(prompt) if _like_a_path(run)]
    tried = [(workspace.root / name).resolve() for name in (*marked, *names)[:MAX_PATHS]]
    paths = dict.fromkeys((*tried, *_dotted_files(workspace, prompt)))
    found = [path for path in paths if _may_open(workspace, path)]
    return (_tests_last(workspace, found) if PLACE.search(prompt) else found)[:MAX_FILES]


def _follow(workspace: Workspace, command: str, text: str) -> Trail:
    """Follow a failure: through the places of its output, the files its words mean, and those the command runs."""
    named = [(workspace.root / run).resolve() for run in _RUN.findall(command)[:MAX_PATHS] if _like_a_path(run)]
    others = [path for path in (*_dotted_files(workspace, text), *named) if _may_open(workspace, path)]
    return follow_failure(workspace.root, text, others, lambda path: _may_open(workspace, path))


def _find_suspects(workspace: Workspace, trail: Trail, files: list[Path], names: list[str]) -> tuple[Suspect, ...]:
    """Return the functions that may be wrong, those in the files that the user names first."""
    sources = [path for path in dict.fromkeys((*files, *trail.files)) if not is_test(workspace.root, path)]
    found = find_suspects(sources, trail.code, () if trail.code else names)
    return tuple(sorted(found, key=lambda each: bool(files) and each.path not in files))


def _tests_last(workspace: Workspace, paths: list[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: bool(TEST_FILE.search(workspace.files.name(path))))


def _dotted_files(workspace: Workspace, text: str) -> Iterator[Path]:
    """Files that dotted names mean: `money.percent` is in money.py, `shop.money.percent` in shop/money.py."""
    for name in list(dict.fromkeys(_DOTTED.findall(text)))[-MAX_PATHS:]:
        parts = name.split(".")
        tried = (
            (workspace.root / folder).joinpath(*parts[:count]).with_suffix(suffix)
            for count in range(len(parts), 0, -1)
            for folder in ("", "src")
            for suffix in SOURCE_SUFFIXES
        )
        if found := next((path for path in tried if path.is_file()), None):
            yield found.resolve()


def _like_a_path(run: str) -> bool:
    return len(run) <= MAX_PATH_CHARS and ("/" in run or "." in run.strip("."))


def _may_open(workspace: Workspace, path: Path) -> bool:
    try:
        inside = path.is_relative_to(workspace.root) and path.is_file() and path.stat().st_size <= MAX_FILE_BYTES
    except OSError:
        return False
    return inside and not holds_secrets(str(path))


def _open(workspace: Workspace, path: Path, text: str, sections: list[Section], prompt: str) -> Iterator[Call]:
    if not workspace.tool("read"):
        return
    name = workspace.files.name(path)
    if workspace.meter.count(text) <= workspace.window // WHOLE_FILE_DIVISOR:
        yield make_call("read", path=name)
    elif sections:
        for section in sections:
            lines = min(MAX_SECTION_LINES, 1 + section.last - section.first)
            yield make_call("read", path=name, offset=section.first, limit=lines)
        if (constants := _constants(text, sections)) and workspace.tool("grep"):
            yield make_call("grep", pattern=f"^({'|'.join(constants)})\\b", path=name)
    elif (words := _rare_words(text, prompt)) and workspace.tool("grep"):
        yield make_call("grep", pattern=f"(?i){'|'.join(words)}", path=name)
    else:
        yield make_call("read", path=name)


def _open_called(workspace: Workspace, files: list[Path]) -> Iterator[Call]:
    """Open the file whose functions the first of these files calls: the fault is often there."""
    found = read_lines(files[0], 1, 1, MAX_FILE_BYTES)
    text = found.text if found else ""
    called = [path for path in _dotted_files(workspace, text) if path not in files and _may_open(workspace, path)]
    for path in _tests_last(workspace, called)[:1]:
        if inside := read_lines(path, 1, 1, MAX_FILE_BYTES):
            sections = _named_sections(inside.text, path.name, text)
            yield from _open(workspace, path, inside.text, sections, "") if sections else ()


def _search(workspace: Workspace, prompt: str, names: list[str]) -> list[Call]:
    """Search the project for a prompt that names no file, and add to `names` the definitions that are found."""
    if not workspace.tool("grep"):
        return []
    found = find_definitions(workspace.root, prompt)
    names += [each.name for each in found]
    if found and asks_for_change(prompt):
        inside = read_lines(found[0].path, 1, 1, MAX_FILE_BYTES)
        if inside is None:
            return []
        sections = [each for each in declarations(inside.text, found[0].path.name) if each.name == found[0].name]
        return [*_open(workspace, found[0].path, inside.text, sections, prompt)]
    if found:
        return [make_call("grep", pattern=rf"\b({'|'.join(each.name for each in found)})\b")]
    words = [word for word in _telling_words(prompt) if word not in _KEYWORDS][:MAX_SEARCHED_WORDS]
    about_code = bool(_ABOUT_CODE.search(prompt))
    if len(words) > 1 and about_code:
        return [make_call("grep", pattern=f"(?i){'|'.join(words)}")]
    if words or _LETTER.search(prompt) or not (about_code or asks_for_change(prompt)):
        return []
    few = 0 < count_definitions(workspace.root) <= MAX_OUTLINED  # in a language that shares no words with the code
    return [make_call("grep", pattern=DEFINITIONS)] if few else []


def _named_sections(text: str, file: str, prompt: str) -> list[Section]:
    names = {group for found in _NAMES.finditer(prompt) for group in (found[0], *found.groups()) if group}
    names |= {part for name in _DOTTED.findall(prompt) for part in name.split(".")[1:]}
    sections = [each for each in declarations(text, file) if each.name in names]
    return sections[:MAX_SECTIONS]


def _constants(text: str, sections: list[Section]) -> list[str]:
    """Names in capitals that these definitions use and the file sets elsewhere."""
    lines = text.split("\n")
    used = [name for each in sections for line in lines[each.first - 1 : each.last] for name in _CAPITALS.findall(line)]
    assigned = {found[0] for line in lines if (found := _CAPITALS.match(line))}
    return [name for name in dict.fromkeys(used) if name in assigned][:MAX_CONSTANTS]


def _rare_words(text: str, prompt: str) -> list[str]:
    """Words of the prompt that stand in a few lines of the text."""
    lines = text.lower().split("\n")
    telling = _telling_words(prompt)[:MAX_WORDS]
    return [word for word in telling if 0 < sum(word in line for line in lines) <= MAX_WORD_LINES]


def _telling_words(prompt: str) -> list[str]:
    """Words that say what a prompt is about, without paths."""
    words = _RUN.sub(lambda run: " " if _like_a_path(run[0]) else run[0], prompt[:MAX_TEXT_CHARS]).lower()
    return [word for word in dict.fromkeys(_WORD.findall(words)) if word not in _COMMON_WORDS]
