"""Functions that a small model is asked to write afresh, one after the other, while a command fails.

Law: each function once, the one that the model speaks of first; then the first of them again, at another temperature;
then an honest end. A function is begun for the model where the server lets it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.reply import Nudge
from yohaku.agent.small_models import Workspace
from yohaku.agent.small_models.suspects import MAX_FILE_BYTES, Suspect
from yohaku.agent.toolkit.edits import find_nearest_line
from yohaku.agent.toolkit.file_lines import read_lines, split_lines
from yohaku.agent.toolkit.source_outline import declarations
from yohaku.analysis.language import is_japanese

MAX_ASKED_AGAIN = 3
"""Functions that are asked for a second time, at another temperature."""
MAX_HEAD_LINES = 8
"""Lines in which the body of a definition must begin."""


class Wording(NamedTuple):
    write: str
    called: str
    uncalled: str
    fault: str
    missed: str
    honest: str
    passed: str
    back: str


_WRITE = "[{back}{wrong} Fix the function {name} of {path}: write it whole and corrected in a code block.]"
_CALLED = "{called}, which is wrong."
_UNCALLED = "{why} The function {name} of {path} is wrong."
_FAULT = "To fix the function `{name}`, "

WORDINGS = {
    "en": Wording(
        write=_WRITE,
        called=_CALLED,
        uncalled=_UNCALLED,
        fault=_FAULT,
        missed="[That changed nothing: old_string is not in {path} like that. Write the function {name} whole and "
        "corrected, in a code block; it takes the place of the old one.]",
        honest="[Nothing that was tried has helped, and the files are as they were. Say in two or three sentences what "
        "you have found out and what to try next. Do not say that it is fixed.]",
        passed="[`{command}` passes now. If nothing else was asked for, say in one or two sentences what was wrong and "
        "what was changed.]",
        back="That change did not help and was taken back.",
    ),
    "ja": Wording(
        write=_WRITE,  # in Japanese, five of six times it was given the function as it stands
        called=_CALLED,
        uncalled=_UNCALLED,
        fault=_FAULT,
        missed="[何も変わっていません。old_string はそのままの形では {path} にありません。"
        "直した関数 {name} の全体をコードブロックに書いてください。古いものと入れ替えます。]",
        honest="[試したことはどれも効果がなく、ファイルは元のままです。わかったことと、次に試すことを 2、3 文で"
        "日本語で答えてください。直ったとは言わないでください。]",
        passed="[`{command}` は成功するようになりました。ほかに頼まれたことがなければ、何が誤りで、何を変えたかを "
        "1、2 文の日本語で答えてください。]",
        back="その変更は効果がなかったので、元に戻しました。",
    ),
}
WHY = {"en": "The failure: {why}", "ja": "失敗の内容: {why}"}


class Rewrites:
    def __init__(self, workspace: Workspace, prompt: str) -> None:
        self._workspace = workspace
        self._language = "ja" if is_japanese([prompt]) else "en"
        self._left: list[Suspect] = []
        self._again: list[Suspect] = []
        self._vary = self._ended = False
        self.calls: tuple[str, ...] = ()
        """Lines about what functions were given and gave back."""
        self.code = ""
        """The line of the test that fails."""
        self.known = False
        """Whether there is a function that may be wrong."""

    @property
    def wording(self) -> Wording:
        return WORDINGS[self._language]

    def suspect(self, suspects: list[Suspect]) -> None:
        self._left, self.known = list(suspects), bool(suspects)
        self._again = self._left[:MAX_ASKED_AGAIN]

    def defer(self, said: str) -> None:
        """Put the functions that are written in a reply behind the others: they were tried."""
        written = [each for each in self._left if re.search(rf"\b{re.escape(each.name)}\b[^\n]*[:{{]\s*$", said, re.M)]
        self._left = [*(each for each in self._left if each not in written), *written]

    def ask(self, why: str, said: str = "", *, back: bool = False) -> Nudge | None:
        """Return what to ask next; None where nothing is left. `said`: the reply, which may name a function."""
        wording = self.wording
        code = " ".join(self.code.split("\n")[-1].split())
        told = WHY[self._language].format(why=f"{why} (`{code}`)" if code else why) if why else ""
        if not self._left and self._again:
            self._left, self._again, self._vary = self._again, [], True
        if self._left:
            spoken = [each for each in self._left if re.search(rf"\b{re.escape(each.name)}\b", said)]
            suspect = (spoken or self._left)[0]
            self._left.remove(suspect)
            return self._ask_for(suspect, told, back)
        if not self._ended:
            self._ended = True
            return Nudge(wording.honest, tools=False)
        return None

    def _ask_for(self, suspect: Suspect, why: str, back: bool) -> Nudge:
        """Call a function wrong: asked whether it is, small models say that it is not."""
        wording, path = self.wording, self._workspace.files.name(suspect.path)
        called = next((each for each in reversed(self.calls) if each.startswith(f"{suspect.name}(")), "")
        form = wording.called if called else wording.uncalled
        wrong = form.format(called=called, why=why, name=suspect.name, path=path).strip()
        said = wording.write.format(back=f"{wording.back} " * back, wrong=wrong, name=suspect.name, path=path)
        begin = wording.fault.format(name=suspect.name) if self._vary else self._begin(suspect)
        return Nudge(said, begin=begin, code=True, vary=self._vary)

    def _begin(self, suspect: Suspect) -> str:
        """Return the first line of a function in a code block: left to begin, small models begin a call."""
        text = _text(suspect.path)
        section = next((each for each in declarations(text, suspect.path.name) if each.name == suspect.name), None)
        lines = split_lines(text)[section.first - 1 : section.last] if section else []
        return f"```\n{head_of(lines)}"

    @property
    def ended(self) -> bool:
        """True once the honest end was asked for: nothing more is changed."""
        return self._ended

    def after_missed_edit(self, path: Path, old: str, new: str) -> Nudge | None:
        """Ask for the function in which an edit was to be, and whose text it did not meet."""
        text = _text(path)
        suspect = _definition_of(path, text, old, new) if text else None
        if suspect is None:
            return None
        said = self.wording.missed.format(name=suspect.name, path=self._workspace.files.name(path))
        return Nudge(said, begin=self._begin(suspect), code=True)


def head_of(lines: list[str]) -> str:
    """Return the lines of a definition before its body, or nothing where the body cannot be found."""
    from textwrap import dedent

    while len(lines) > 1 and lines[0].lstrip().startswith("@"):
        lines = lines[1:]
    ends = next((n for n, line in enumerate(lines[:MAX_HEAD_LINES], 1) if line.rstrip().endswith((":", "{"))), 0)
    return "".join(f"{line}\n" for line in dedent("\n".join(lines[:ends])).split("\n")) if ends else ""


def _definition_of(path: Path, text: str, old: str, new: str) -> Suspect | None:
    """Return the innermost definition that an edit names, or that holds the lines most like what it was to replace."""
    sections = [each for each in declarations(text, path.name) if each.name]
    named = [
        each
        for each in sections
        if re.search(rf"\b(?:def|function|func|fn)\s+{re.escape(each.name)}\b", old + "\n" + new)
    ]
    if named:
        return Suspect(path, named[-1].name)
    line = find_nearest_line(text, old)
    inside = [each for each in sections if line is not None and each.first <= line <= each.last]
    return Suspect(path, inside[-1].name) if inside else None


def _text(path: Path) -> str:
    found = read_lines(path, 1, 1, MAX_FILE_BYTES) if path.is_file() else None
    return found.text if found else ""
