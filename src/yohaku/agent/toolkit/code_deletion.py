"""Deletion of precious folders by code in another language: `python -c`, `node -e`, scripts in a heredoc.

The code is not run or parsed: it counts as deleting what it names in quotes, or by the ways in which a language names
the home, where it calls something that deletes whole folders.
"""

from __future__ import annotations

import re

from yohaku.agent.toolkit.dry_run.launchers import codes_in
from yohaku.agent.toolkit.dry_run.program import StartedProgram
from yohaku.agent.toolkit.dry_run.values import mark_wildcards
from yohaku.agent.toolkit.precious_paths import PathWorth, PreciousPaths

MAX_CODE_CHARS = 20_000
MAX_STRINGS = 200

INTERPRETER = re.compile(
    r"(?:python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|julia|Rscript|emacs|osascript|pwsh|powershell|ts-node|tsx)[\d.]*"
)
_FOLDERS = (
    r"rmtree|remove_tree|remove_dir_all|RemoveAll|delete-directory|rm_rf|rm_r|rimraf|rm(?:dir)?Sync|fs(?:\.promises)?\.rm|"
    r"remove(?:Dir)?Sync|emptyDir(?:Sync)?|deleteDirectory|Remove-Item"
)
"""Names of what deletes a folder with all that is in it."""
_DELETES_FOLDERS = re.compile(
    rf"\b(?:{_FOLDERS})\b|\bunlink\([^)]{{0,200}}\brecursive\b|[\"']rm[\"']\s*,\s*\[?\s*[\"']-"
)
_DELETES_FILES = re.compile(r"\bunlink\b|\bos\.remove\b|\bmove\(|\brename\b")
_LISTS_FILES = re.compile(r"glob|walk|iterdir|listdir|scandir|readdir")
_HOME = re.compile(
    r"Path\.home\(\)(?!\s*(?:/|\.joinpath))|expanduser\(\s*[\"']~/?[\"']\s*\)(?!\s*/)|homedir\(\)|Dir\.home"
    r"|(?:ENV|environ|env|getenv|env\.get)\W{1,4}HOME\b(?![\"'\])}]*\s*[/+.]\s*[\"'/]*\w)|\$HOME\b(?!/\w)"
)
_DELETION_CALL = re.compile(rf"\b(?:{_FOLDERS})\s*\(\s*([^\n,]{{1,200}}?)\s*(?:,[^\n]*)?\)\s*;?\s*$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PATH = re.compile(r"""(["'])((?:~|/)[^"'\n]{0,200})\1""")
_RELATIVE = re.compile(rf"""\b(?:{_FOLDERS})\W{{1,3}}(["'])(\.[./]*)\1""")


def worth_of_code(program: StartedProgram, precious: PreciousPaths) -> PathWorth:
    """Return the worth of what the code given to an interpreter may delete."""
    if not INTERPRETER.fullmatch(program.name):
        return PathWorth.ORDINARY
    if program.from_disk:
        return max(
            (_worth_of_script(code, program, precious) for code in program.stdin or ()), default=PathWorth.ORDINARY
        )
    codes = [*codes_in(list(program.shown)), *(program.stdin or ())]
    return max((_worth(code[:MAX_CODE_CHARS], program, precious) for code in codes), default=PathWorth.ORDINARY)


def _worth(code: str, program: StartedProgram, precious: PreciousPaths) -> PathWorth:
    if not (_DELETES_FOLDERS.search(code) or (_DELETES_FILES.search(code) and _LISTS_FILES.search(code))):
        return PathWorth.ORDINARY
    if _HOME.search(code):
        return PathWorth.HOME
    absolute = [re.sub(r"^~(?=/|$)", precious.home, found[2]) for found in _PATH.finditer(code)]
    paths = [*absolute[:MAX_STRINGS], *(found[2] for found in _RELATIVE.finditer(code))]
    return max((precious.worth(mark_wildcards(path), program.folders) for path in paths), default=PathWorth.ORDINARY)


def _worth_of_script(code: str, program: StartedProgram, precious: PreciousPaths) -> PathWorth:
    """Return the worth of what a script hands to a deletion, word for word or by a name that stands for it."""
    worth = PathWorth.ORDINARY
    for call in _DELETION_CALL.finditer(code[:MAX_CODE_CHARS]):
        given = call[1].strip()
        if _NAME.fullmatch(given):
            values = re.findall(
                rf"^[ \t]*(?:const |let |var )?{re.escape(given)}\s*=\s*([^=\n].{{0,200}})$", code, re.M
            )
            given = values[0] if len(values) == 1 else ""
        if _HOME.match(re.sub(r"^(?:os\.path\.|os\.|process\.)", "", given)):
            return PathWorth.HOME
        if path := re.match(r"""(?:(?:pathlib\.)?Path\()?(["'])((?:~|/)[^"'\n]{0,200})\1\)?\s*[,)]?\s*$""", given):
            named = re.sub(r"^~(?=/|$)", precious.home, path[2])
            worth = max(worth, precious.worth(mark_wildcards(named), program.folders))
    return worth
