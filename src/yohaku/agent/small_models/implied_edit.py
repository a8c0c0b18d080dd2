"""Edits for small models that show a change instead of making it: the code in the reply replaces that in the file.

Law: only where the user asked for a change, only definitions and lines that a file the model has read holds exactly
once, or a definition that the user wants added to it, and by the edit tool, so that the user sees the difference and is
asked as for every edit.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from textwrap import dedent, indent
from typing import NamedTuple

from yohaku.agent.small_models import Workspace
from yohaku.agent.small_models.added_code import find_place
from yohaku.agent.small_models.imported_files import SCRIPT_SUFFIXES
from yohaku.agent.small_models.preload import MAX_FILE_BYTES, MAX_TEXT_CHARS, make_call
from yohaku.agent.toolkit.file_lines import read_lines, split_lines
from yohaku.agent.toolkit.source_outline import Section, declarations
from yohaku.analysis.change_requests import asks_for_change, asks_to_add
from yohaku.analysis.language import is_japanese
from yohaku.core.model import Call

UNCHANGED = (
    "[You showed {name} as it stands in {path}, so nothing would change. Say which line of its body is wrong and why, "
    "then write all of it with that line changed.]"
)
WRONG_LINE = (
    "[Nothing is changed yet, that is how it stands. {why} Follow the code with these numbers step by step, say which "
    "line gives the wrong result, and what that line should be instead.]"
)
"""For a model that other nudges have not helped; `why` is the last line of the failure."""
WRITE_IT = {
    "en": "[Nothing has been changed yet. Write the function or the line that has to change, whole and corrected, in a "
    "code block. If nothing has to be changed, say why.]",
    "ja": "[まだ何も変更されていません。直した関数の全体、または直した行をコードブロックに書いてください。"
    "変更が不要なら、その理由を答えてください。]",
}
MAX_EDITS = 5
"""Replies of one turn whose changes are made for the model."""
MAX_NUDGES = 4
"""Nudges in one turn, never twice in a row with the same text."""
MAX_FILES = 8
"""Files that are searched, those read last."""
MAX_HEAD_LINES = 8
"""Lines in which the body of a definition must begin."""

_FENCE = re.compile(r"^[ \t]*```[\w+-]*[ \t]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_NUMBERED = re.compile(r"^[ \t]*\d+(?:\t|: ?|[ \t]{2,})", re.MULTILINE)
_ELIDED = re.compile(
    r"^[ \t]*(?:#|//|/\*|--)?[ \t]*(?:\.\.\.|…)|\b(?:rest of|existing code|unchanged)\b|省略", re.MULTILINE
)
_BECOMES = re.compile(
    r"`([^`\n]{6,300})`,?[ \t]*(?:to|with|by|into|→|->|を|から|should (?:be|read)|must be)[ \t]*`([^`\n]{1,300})`"
)
_CORRECTED = re.compile(
    r"`([^`\n]{6,300})`(?=((?:[^`]|`[^`\n]{1,80}`){0,400}?)(?:correct|should|instead|replac|chang|fix|正し|修正|直|べき)"
    r"[^`]{0,60}`([^`\n]{6,300})`)",
    re.IGNORECASE,
)
"""A line, and later what it should be."""
MIN_LIKENESS = 0.6
"""Share of letters that a line and the one in its place have in common."""
_ASSIGNED = re.compile(r"^([A-Za-z_]\w*)(?:[ \t]*:[^=\n]{1,60})?[ \t]*=(?!=)[ \t]*\S.*$", re.MULTILINE)
"""A value that is given a name at the beginning of a line."""
_DEFINED = re.compile(r"\b(?:def|class|function|func|fn)\s+(\w+)")
_IMPORT = re.compile(r"(?:import|from) \w")
_METHOD = re.compile(r"(?:@.*\n)*\s*(?:async )?def \w+\((?:self|cls)\b")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_QUESTION = re.compile(r"[?？]\s*$")


class ImpliedEdit(NamedTuple):
    edits: tuple[Call, ...] = ()
    nudge: str = ""
    """A message for a model that shows things as they are."""
    begin: str = ""
    """Start of its next reply, where the server can continue one: given the first line, models write the next."""
    same: bool = False
    """The reply shows code as it stands in the file."""


def find_implied_edit(
    workspace: Workspace, prompt: str, reply: str, done: bool = False, names: tuple[str, ...] = ()
) -> ImpliedEdit:
    """Return the edits that a reply without calls describes, or a nudge to write them.

    `done`: something was changed in this turn already. `names`: definitions that were named before the reply.
    """
    if not workspace.tool("edit") or not asks_for_change(prompt):
        return ImpliedEdit()
    found = [*_fenced_edits(workspace, prompt, reply), *_inline_edits(workspace, prompt, reply)]
    fallback = ImpliedEdit()
    if not done and _can_write(workspace, reply, names) and not _QUESTION.search(reply):
        language = "ja" if is_japanese([prompt]) else "en"
        fallback = ImpliedEdit(nudge=WRITE_IT[language], begin=_begin(workspace, reply, names))
    return next((edit for edit in found if edit.edits), next(iter(found), fallback))


def _can_write(workspace: Workspace, reply: str, names: tuple[str, ...]) -> bool:
    """Return whether a nudge can help; an empty reply needs a definition whose first line can be given."""
    if not workspace.files.seen or workspace.permissions.changes_nothing:
        return False
    return bool(reply.strip() or (names and workspace.can_begin_replies))


def _begin(workspace: Workspace, reply: str, names: tuple[str, ...]) -> str:
    """A code block with the head of the definition that is named first, or with nothing in it."""
    heads = {
        each.name: _head(split_lines(text)[each.first - 1 : each.last])
        for path in workspace.files.seen[-MAX_FILES:]
        if (text := _text(path))
        for each in declarations(text, path.name)
        if each.name
    }
    heads |= {
        match[1]: f"{match[1]} ="
        for path in workspace.files.seen[-MAX_FILES:]
        for match in _ASSIGNED.finditer(_text(path))
        if match[1] in names
    }
    named = [word for word in (*_WORD.findall(reply), *names) if word in heads]
    return f"```\n{heads[named[0]]}" if named else "```\n"


def _head(lines: list[str]) -> str:
    """The lines before the body, or nothing where the body cannot be found."""
    lines = _without_decorators(lines, "").split("\n")
    ends = next((n for n, line in enumerate(lines[:MAX_HEAD_LINES], 1) if line.rstrip().endswith((":", "{"))), 0)
    return "".join(f"{line}\n" for line in dedent("\n".join(lines[:ends])).split("\n")) if ends else ""


def _fenced_edits(workspace: Workspace, prompt: str, reply: str) -> Iterator[ImpliedEdit]:
    """From the last code block to the first: models often show the old code first."""
    for block in reversed(_FENCE.findall(reply)):
        code = dedent(_NUMBERED.sub("", block) if _is_numbered(block) else block).strip("\n")
        for path in workspace.files.seen[: -MAX_FILES - 1 : -1]:
            if edit := _edit_in_file(workspace, prompt, path, code):
                yield edit


def _is_numbered(block: str) -> bool:
    return len(_NUMBERED.findall(block)) >= sum(bool(line.strip()) for line in block.split("\n"))


def _edit_in_file(workspace: Workspace, prompt: str, path: Path, code: str) -> ImpliedEdit | None:
    """Replace definitions in the file by those in the code, and add those that the user wants added."""
    written = [each for each in _declared_in(code, path.name) if each.depth == 0 and each.name]
    text = _text(path)
    if not text or not written:
        return _edit_values(workspace, path, text, code)
    known, shown = declarations(text, path.name), code.split("\n")
    pairs: list[tuple[str, str]] = list(_missing_imports(code, text)) if path.suffix == ".py" else []
    added: dict[str, str] = {}
    for each in written:
        there = [other for other in known if _same_name(other, each)]
        new = "\n".join(shown[each.first - 1 : each.last])
        if _ELIDED.search(new) or len(there) > 1:
            return None  # not all of it, or not clear which
        if not there:
            added[each.name] = new
            continue
        old = _without_decorators(split_lines(text)[there[0].first - 1 : there[0].last], new)
        new = indent(new, old[: len(old) - len(old.lstrip())])
        if 2 * new.count("\n") < old.count("\n"):
            return None  # not all of it
        pairs += [(old, new)] if new != old else []
    if added:
        place = find_place(text, "\n\n\n".join(added.values())) if _is_wanted(workspace, prompt, path, added) else None
        if place is None:
            return None
        pairs.append(place)
    name = workspace.files.name(path)
    if not pairs:
        return ImpliedEdit(nudge=UNCHANGED.format(name=written[0].name, path=name), same=True)
    return ImpliedEdit(tuple(make_call("edit", path=name, old_string=was, new_string=now) for was, now in pairs))


def _declared_in(code: str, name: str) -> list[Section]:
    """Return the declarations of code that is shown; a method of JavaScript is one only inside a class."""
    found = declarations(code, name)
    if found or not name.endswith(SCRIPT_SUFFIXES):
        return found
    inside = declarations(f"class A {{\n{code}\n}}", name)[1:]
    return [each._replace(first=each.first - 1, last=each.last - 1, depth=each.depth - 1) for each in inside]


def _edit_values(workspace: Workspace, path: Path, text: str, code: str) -> ImpliedEdit | None:
    """Replace the values of names that stand alone in the code, and are given a value once in the file."""
    lines = [line for line in code.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    written = [match for line in lines if (match := _ASSIGNED.fullmatch(line))]
    if not written or len(written) < len(lines):
        return None
    there = [[match[0] for match in _ASSIGNED.finditer(text) if match[1] == each[1]] for each in written]
    if any(len(found) != 1 for found in there):
        return None
    name = workspace.files.name(path)
    pairs = [(found[0], each[0]) for found, each in zip(there, written, strict=True) if found[0] != each[0].rstrip()]
    if not pairs:
        return ImpliedEdit(nudge=UNCHANGED.format(name=written[0][1], path=name), same=True)
    return ImpliedEdit(tuple(make_call("edit", path=name, old_string=was, new_string=now) for was, now in pairs))


def _is_wanted(workspace: Workspace, prompt: str, path: Path, added: dict[str, str]) -> bool:
    """Return whether the user wants these definitions, by their names, added to this file."""
    words = set(_WORD.findall(prompt[:MAX_TEXT_CHARS]))
    if not asks_to_add(prompt) or not (len(added) == 1 or words.issuperset(added)):
        return False
    if any(_METHOD.match(each) for each in added.values()):  # of which class?
        return False
    return path.name in prompt or list(workspace.files.seen) == [path]


def _inline_edits(workspace: Workspace, prompt: str, reply: str) -> Iterator[ImpliedEdit]:
    """Sentences like "change `this` to `that`", where `this` stands in one place of one file."""
    corrected = [(was.strip(), now.strip()) for was, _, now in _CORRECTED.findall(reply) if _are_alike(was, now)]
    lines = {line.strip() for path in workspace.files.seen[-MAX_FILES:] for line in _text(path).split("\n")}
    for was, now in [*_BECOMES.findall(reply), *(pair for pair in corrected if pair[0] in lines)]:
        places = [path for path in workspace.files.seen[-MAX_FILES:] if (text := _text(path)) and was in text]
        if len(places) == 1 and _text(places[0]).count(was) == 1 and was != now and _keeps_names(prompt, was, now):
            name = workspace.files.name(places[0])
            yield ImpliedEdit((make_call("edit", path=name, old_string=was, new_string=now),))


def _keeps_names(prompt: str, was: str, now: str) -> bool:
    """Return whether no definition loses its name, except for one that the user has named."""
    old, new = _DEFINED.search(was), _DEFINED.search(now)
    return not old or bool(new and (new[1] == old[1] or re.search(rf"\b{re.escape(new[1])}\b", prompt)))


def _are_alike(was: str, now: str) -> bool:
    """Return whether one line may stand in the other's place."""
    return was.strip() != now.strip() and SequenceMatcher(None, was, now).ratio() >= MIN_LIKENESS


def _text(path: Path) -> str:
    found = read_lines(path, 1, 1, MAX_FILE_BYTES) if path.is_file() else None
    return found.text if found else ""


def _same_name(one: Section, other: Section) -> bool:
    return one.name == other.name != ""


def _without_decorators(lines: list[str], new: str) -> str:
    """Decorators stay in the file when the new code is shown without any."""
    while len(lines) > 1 and lines[0].lstrip().startswith("@") and not new.startswith("@"):
        lines = lines[1:]
    return "\n".join(lines)


def _missing_imports(code: str, text: str) -> Iterator[tuple[str, str]]:
    """Put the imports that the file lacks at its beginning: (what stands there, the same with them)."""
    have = set(text.split("\n"))
    new = [line for line in code.split("\n") if _IMPORT.match(line) and line not in have]
    try:
        first = ast.parse(text).body[0] if new else None
    except (SyntaxError, ValueError, IndexError, RecursionError):
        return
    anchor = ast.get_source_segment(text, first) if first else None
    if anchor:
        docstring = isinstance(first, ast.Expr)  # stays in front
        yield anchor, "\n".join([anchor, "", *new] if docstring else [*new, anchor])
