"""A change that a small model shows instead of making it: what it wrote anew is put in the place of the old.

Law: only where the user asked for a change, only one definition that a file the model has read holds exactly once, and
by the tool that edits, so that the user sees the difference and is asked as for every edit.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING, NamedTuple

from yohaku.agent.small_models.preload import LARGEST, LONGEST, call, watched
from yohaku.agent.toolkit.file_lines import page, split
from yohaku.agent.toolkit.source_outline import Section, declarations
from yohaku.analysis.language import is_japanese
from yohaku.core.model import Call

if TYPE_CHECKING:
    from yohaku.agent.loop import Agent

SAME = (
    "[You showed {name} as it stands in {path}, so nothing would change. Say which line of it is wrong and why, then "
    "write all of it with that line changed.]"
)
WRITE = {
    "en": "[Nothing has been changed yet. Write the function that has to change, whole and corrected, in a code block. "
    "If nothing has to be changed, say why.]",
    "ja": "[まだ何も変更されていません。直した関数の全体をコードブロックに書いてください。"
    "変更が不要なら、その理由を答えてください。]",
}
TRIES = 5
"""Changes that are made for the model while it answers one prompt."""
URGES = 4
"""Times that it is urged, never twice in a row with the same words."""
FILES = 8
"""Of those read last that are looked into."""
HEAD = 8
"""Lines in which a definition must come to its body."""

_FENCE = re.compile(r"^[ \t]*```[\w+-]*[ \t]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_NUMBERED = re.compile(r"^[ \t]*\d+(?:\t|: ?|[ \t]{2,})", re.MULTILINE)
_ELIDED = re.compile(
    r"^[ \t]*(?:#|//|/\*|--)?[ \t]*(?:\.\.\.|…)|\b(?:rest of|existing code|unchanged)\b|省略", re.MULTILINE
)
_BECOMES = re.compile(
    r"`([^`\n]{6,300})`,?[ \t]*(?:to|with|by|into|→|->|を|から|should (?:be|read)|must be)[ \t]*`([^`\n]{1,300})`"
)
_IMPORT = re.compile(r"(?:import|from) \w")
_NOT = re.compile(r"\b(?:do not|don't|dont|never|without|not to)[ \t]+\w+", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:fix|repair|change|edit|implement|rename|replace|update|refactor|rewrite|make)\b"
    r"|(?:修正|変更|実装|更新|改名|リファクタリング)(?!は?(?:し|せ)(?:な|ず))|直し|直す|直せ"
    r"|(?:書き換え|置き換え|変え|付け加え)(?!な|ず)",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^\W*(?:how|why|what|which|who|when|where|whether|should|is|are|does)\b"
    r"|\b(?:explain|describe|suggest|propose|plan|review|show|tell)\b"
    r"|説明|なぜ|どう|何を|どこ|教え|提案|方法|ますか|でしょうか|見せ",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_QUESTION = re.compile(r"[?？]\s*$")
_SENTENCE = re.compile(r"[.!?](?=\s|$)|[。！？\n]")


class ImpliedEdit(NamedTuple):
    edits: tuple[Call, ...] = ()
    urge: str = ""
    """What is to be said to a model that shows things as they are."""
    begin: str = ""
    """How its next reply begins, where the server can begin one: who has the first line before them writes the next."""


def change(agent: Agent, prompt: str, said: str, done: bool = False, names: tuple[str, ...] = ()) -> ImpliedEdit:
    """The edits that a reply without calls speaks of; `done` when something was changed for this prompt already.

    `names` are definitions that were spoken of before it.
    """
    if not watched(agent) or not agent.tool("edit") or not wants_change(prompt):
        return ImpliedEdit()
    found = [*_found(agent, said), *_inline(agent, said)]
    speaks = said.strip() or (
        names and agent.talk.begins
    )  # one that says nothing is only helped where to begin is known
    idle = not done and agent.files.seen and agent.permissions.mode != "read-only" and speaks
    nothing = ImpliedEdit()
    if idle and not _QUESTION.search(said):
        nothing = ImpliedEdit(urge=WRITE["ja" if is_japanese([prompt]) else "en"], begin=_begin(agent, said, names))
    return next((shown for shown in found if shown.edits), next(iter(found), nothing))


def wants_change(prompt: str) -> bool:
    """Whether the user wants a change made, and not only something said of one."""
    said = _SENTENCE.split(_NOT.sub(" ", prompt[:LONGEST]))
    return any(_CHANGE.search(sentence) and not _ASKS.search(sentence) for sentence in said)


def _begin(agent: Agent, said: str, names: tuple[str, ...]) -> str:
    """The head of the definition that is spoken of first, in a code block; only the block where none is."""
    heads = {
        each.name: _head(split(text)[each.first - 1 : each.last])
        for path in agent.files.seen[-FILES:]
        if (text := _text(path))
        for each in declarations(text, path.name)
        if each.name
    }
    spoken = [word for word in (*_WORD.findall(said), *names) if word in heads]
    return f"```\n{heads[spoken[0]]}" if spoken else "```\n"


def _head(lines: list[str]) -> str:
    """Up to where its body begins; nothing where that cannot be told."""
    lines = _bare(lines, "").split("\n")
    ends = next((n for n, line in enumerate(lines[:HEAD], 1) if line.rstrip().endswith((":", "{"))), 0)
    return "".join(f"{line}\n" for line in dedent("\n".join(lines[:ends])).split("\n")) if ends else ""


def _found(agent: Agent, said: str) -> Iterator[ImpliedEdit]:
    """The last first: what is shown before it is often how things were."""
    for block in reversed(_FENCE.findall(said)):
        code = dedent(_NUMBERED.sub("", block) if _is_numbered(block) else block).strip("\n")
        for path in agent.files.seen[: -FILES - 1 : -1]:
            if shown := _in_file(agent, path, code):
                yield shown


def _is_numbered(block: str) -> bool:
    return len(_NUMBERED.findall(block)) >= sum(bool(line.strip()) for line in block.split("\n"))


def _in_file(agent: Agent, path: Path, code: str) -> ImpliedEdit | None:
    """What stands in the file for the one definition in the code, exchanged for it."""
    written = [each for each in declarations(code, path.name) if each.depth == 0]
    text = _text(path) if len(written) == 1 else ""
    there = [each for each in declarations(text, path.name) if _same(each, written[0])] if text else []
    if len(there) != 1:
        return None
    name, lines = agent.files.name(path), split(text)
    new = "\n".join(code.split("\n")[written[0].first - 1 : written[0].last])
    old = _bare(lines[there[0].first - 1 : there[0].last], new)
    new = indent(new, old[: len(old) - len(old.lstrip())])
    if _ELIDED.search(new) or 2 * new.count("\n") < old.count("\n"):
        return None  # not all of it
    needs = list(_imports(code, text)) if path.suffix == ".py" else []
    pairs = [*needs, *([(old, new)] if new != old else [])]
    if not pairs:
        return ImpliedEdit(urge=SAME.format(name=written[0].name, path=name))
    return ImpliedEdit(tuple(call(agent, "edit", path=name, old_string=was, new_string=now) for was, now in pairs))


def _inline(agent: Agent, said: str) -> Iterator[ImpliedEdit]:
    """`this` is to become `that`, said in a sentence: of what stands in one place of one file."""
    for was, now in _BECOMES.findall(said):
        places = [path for path in agent.files.seen[-FILES:] if (text := _text(path)) and was in text]
        if len(places) == 1 and _text(places[0]).count(was) == 1 and was != now:
            yield ImpliedEdit((call(agent, "edit", path=agent.files.name(places[0]), old_string=was, new_string=now),))


def _text(path: Path) -> str:
    found = page(path, 1, 1, LARGEST) if path.is_file() else None
    return found.text if found else ""


def _same(one: Section, other: Section) -> bool:
    return one.name == other.name != ""


def _bare(lines: list[str], new: str) -> str:
    """Without its decorators, where the new one is shown without any: those stay."""
    while len(lines) > 1 and lines[0].lstrip().startswith("@") and not new.startswith("@"):
        lines = lines[1:]
    return "\n".join(lines)


def _imports(code: str, text: str) -> Iterator[tuple[str, str]]:
    """What the code imports and the file does not, put where the file begins: (what stands there, with it)."""
    have = set(text.split("\n"))
    new = [line for line in code.split("\n") if _IMPORT.match(line) and line not in have]
    try:
        first = ast.parse(text).body[0] if new else None
    except (SyntaxError, ValueError, IndexError, RecursionError):
        return
    anchor = ast.get_source_segment(text, first) if first else None
    if anchor:
        told = isinstance(first, ast.Expr)  # what the file is about stays in front
        yield anchor, "\n".join([anchor, "", *new] if told else [*new, anchor])
