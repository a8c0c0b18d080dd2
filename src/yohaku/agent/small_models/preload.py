"""A first look: what a prompt names is opened before a small model is asked, as a careful one would do by itself.

Law: these are calls the model could make, allowed and refused as its own are, and they stand in the conversation like
its own. Only what the user named is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from yohaku.agent.toolkit.danger import danger
from yohaku.agent.toolkit.file_lines import page
from yohaku.agent.toolkit.secrets import holds_secrets
from yohaku.agent.toolkit.source_outline import Section, declarations
from yohaku.core.model import Call, Reply, Result
from yohaku.dialects.dialect import dump

if TYPE_CHECKING:
    from yohaku.agent.loop import Agent

Use: TypeAlias = Callable[[Reply], Awaitable[dict[str, Result]]]

LONGEST = 8_000
"""Characters of a prompt, and of what a command printed last, that are looked at for names."""
FILES = SECTIONS = 2
"""Files that are opened, and definitions in each."""
LARGEST = 1 << 20
"""Bytes of a file that is looked into."""
WHOLE = 6
"""A file is read whole that takes no more than this part of the window."""
LINES = 60
"""Of one definition that are read."""
CONSTANTS = 8
HITS = 6
"""Lines a word may stand in; one that stands in more says nothing."""

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
_WORD = re.compile(r"[A-Za-z]{4,}")
_PLAIN = frozenset(
    "about after also change code does each explain file find from function have here into just line look make many "
    "more much only please read should show some tell than that them then there these they this what when where which "
    "while with within work write your".split()
)


class Preloaded(NamedTuple):
    failing: str = ""
    """The command that failed: it can be run `again` after a change."""
    names: tuple[str, ...] = ()
    """The definitions that were named, by the user or by what the command printed."""


async def look(agent: Agent, prompt: str, use: Use) -> Preloaded:
    """Runs what is said to fail, then opens the files that are named, where they are likeliest to matter."""
    if not watched(agent):
        return Preloaded()
    said = prompt[:LONGEST]
    if command := _failing(agent, said):
        said += (await again(agent, command, use)).text[-LONGEST:]
    calls: list[Call] = []
    names: list[str] = []
    for path in _files(agent, prompt[:LONGEST]):
        if found := page(path, 1, 1, LARGEST):
            sections = _declared(found.text, path.name, said)
            names += [each.name for each in sections]
            calls += _calls(agent, path, found.text, sections, prompt)
    if calls:
        await use(Reply(tuple(calls)))
    return Preloaded(command, tuple(names))


async def again(agent: Agent, command: str, use: Use) -> Result:
    run = call(agent, "bash", command=command)
    return (await use(Reply((run,))))[run.id]


def _failing(agent: Agent, prompt: str) -> str:
    """The command that is said to fail, unless it does harm or is not to be run."""
    found = _FAILS.search(prompt)
    if not found or not agent.tool("bash") or agent.permissions.mode == "read-only":
        return ""
    return "" if danger(found[1]) or _NOT_RUN.search(prompt) else found[1]


def watched(agent: Agent) -> bool:
    """Whether the model is one that is helped along: small, and on this machine or near it."""
    return agent.strategy.tier == "small" and agent.endpoint.local and bool(agent.tools)


def _files(agent: Agent, prompt: str) -> list[Path]:
    said = [run.rstrip(".-") for run in _RUN.findall(prompt) if _like_a_path(run)]
    paths = dict.fromkeys((agent.root / name).resolve() for name in said[:20])
    return [path for path in paths if _ours(agent, path)][:FILES]


def _like_a_path(run: str) -> bool:
    return len(run) <= 300 and ("/" in run or "." in run.strip("."))


def _ours(agent: Agent, path: Path) -> bool:
    try:
        ours = path.is_relative_to(agent.root) and path.is_file() and path.stat().st_size <= LARGEST
    except OSError:
        return False
    return ours and not holds_secrets(str(path))


def _calls(agent: Agent, path: Path, text: str, sections: list[Section], prompt: str) -> Iterator[Call]:
    if not agent.tool("read"):
        return
    name = agent.files.name(path)
    if agent.meter.count(text) <= agent.window // WHOLE:
        yield call(agent, "read", path=name)
    elif sections:
        for section in sections:
            lines = min(LINES, 1 + section.last - section.first)
            yield call(agent, "read", path=name, offset=section.first, limit=lines)
        if (constants := _constants(text, sections)) and agent.tool("grep"):
            yield call(agent, "grep", pattern=f"^({'|'.join(constants)})\\b", path=name)
    elif (words := _telling(text, prompt)) and agent.tool("grep"):
        yield call(agent, "grep", pattern=f"(?i){'|'.join(words)}", path=name)
    else:
        yield call(agent, "read", path=name)


def _declared(text: str, name: str, said: str) -> list[Section]:
    """The definitions that are named."""
    names = {group for found in _NAMES.finditer(said) for group in (found[0], *found.groups()) if group}
    sections = [each for each in declarations(text, name) if each.name in names]
    return sections[:SECTIONS]


def _constants(text: str, sections: list[Section]) -> list[str]:
    """What these definitions use and the file sets elsewhere, by names in capitals."""
    lines = text.split("\n")
    used = [name for each in sections for line in lines[each.first - 1 : each.last] for name in _CAPITALS.findall(line)]
    set_ = {found[0] for line in lines if (found := _CAPITALS.match(line))}
    return [name for name in dict.fromkeys(used) if name in set_][:CONSTANTS]


def _telling(text: str, prompt: str) -> list[str]:
    """Words of the prompt that stand in a few lines."""
    lines = text.lower().split("\n")
    said = _RUN.sub(lambda run: " " if _like_a_path(run[0]) else run[0], prompt[:LONGEST]).lower()
    words = [word for word in dict.fromkeys(_WORD.findall(said)) if word not in _PLAIN]
    return [word for word in words[:40] if 0 < sum(word in line for line in lines) <= HITS]


def call(agent: Agent, tool: str, **arguments: Any) -> Call:
    """A call that is made for the model."""
    name = f"for_{len(agent.ids)}"
    agent.ids.add(name)
    return Call(name, tool, dump(arguments))
