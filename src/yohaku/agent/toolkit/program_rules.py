"""Programs that "always" may cover with any arguments, and the arguments that make them do something else."""

from __future__ import annotations

import re
from collections.abc import Sequence

READ_ONLY_PROGRAMS = frozenset(
    "ls cat head tail wc grep egrep fgrep rg pwd echo printf true false test which type stat file du df diff cmp cut "
    "tr nl od basename dirname realpath readlink md5sum sha1sum sha256sum cksum jq column comm paste fold seq uname id "
    "whoami nproc free uptime ps".split()
)
CHECK_PROGRAMS = frozenset(
    "pytest mypy pyright black isort flake8 yamllint shellcheck tsc eslint prettier jest vitest mocha rspec "
    "phpunit".split()
)
"""Programs that run no code but the project's own."""
VERBS = {
    name: frozenset(verbs.split())
    for names, verbs in (
        (
            "git",
            "status log diff show add commit ls-files blame rev-parse describe branch switch tag stash shortlog remote",
        ),
        ("npm pnpm yarn", "test run run-script ls list outdated why view"),
        ("cargo", "build check test clippy fmt doc tree bench"),
        ("go", "build test vet fmt list version doc"),
        ("pip pip3", "list show freeze check"),
        ("uv", "pip tree"),
        ("ruff", "check format"),
        ("poetry conda composer bundle brew", "show list info check validate search"),
        ("dotnet", "build test"),
        ("mix rails", "test compile format"),
        ("gh glab", "pr mr issue repo run release workflow"),
    )
    for name in names.split()
}
NESTED_VERBS = frozenset("run run-script stash remote pip pr mr issue repo release workflow".split())
"""Verbs whose key includes the next word: `npm run build`, `gh pr list`."""
MODULES = frozenset("pytest unittest mypy black isort flake8".split())
"""Modules that `python -m` may run with any arguments."""

_LONG_OPTIONS = tuple(
    "output output-file output-directory outputFile outFile outDir out-dir artifact-dir target-dir exec upload-pack "
    "receive-pack pre pre-glob hostname-bin to-command use-compress-program rsh ext-diff no-index "
    "open-files-in-pager checkpoint-action config config-file config-env toolexec vettool script-shell node-options "
    "userconfig globalconfig registry log log-file junitxml junit-xml log-junit basetemp pastebin debug report-log "
    "html-report txt-report xml-report any-exprs-report cobertura-xml-report linecount-report linecoverage-report "
    "lineprecision-report cache-dir python python-executable pythonpath install-types createstub fix fix-only "
    "unsafe-fixes add-noqa write in-place inplace compile magic-file from-file library-path external-sources "
    "source-path files0-from open property".split()
)
"""Long options, of any program, that write a file, run a program, or take names from a file."""
_SAFE_LONG_OPTIONS = frozenset("check cache".split())
"""Options that are the beginning of one of these."""
_SHORT_OPTIONS = {
    "file": "Cm", "shellcheck": "xP", "eslint": "o", "rspec": "or", "prettier": "w", "jq": "fL", "ruff": "o",
    "cargo": "ZC", "mocha": "r",
}  # fmt: skip
_GO_OPTIONS = frozenset(
    "o C exec toolexec vettool overlay modfile ldflags gcflags asmflags gccgoflags coverprofile cpuprofile memprofile "
    "blockprofile mutexprofile trace outputdir pkgdir compiler".split()
)
_ENVIRONMENT = re.compile(r"\benv\b|\$ENV|\bimport\b|\binclude\b|\binput_filename\b|\$__loc__")
"""Words of jq programs that print the environment or read other files."""


def does_more(words: Sequence[str]) -> bool:
    """Return whether arguments make a program write, run another one, or show the environment."""
    name, rest = words[0], words[1:]
    if any(_is_unsafe_long(word) for word in rest):
        return True
    letters = _SHORT_OPTIONS.get(name, "")
    if any(re.match(rf"-\w*[{letters}]", word) for word in rest if letters and not word.startswith("--")):
        return True
    match name:
        case "go":
            return any(word.startswith("-") and word.lstrip("-").partition("=")[0] in _GO_OPTIONS for word in rest)
        case "dotnet":
            return any(word.startswith(("-", "/")) and (":" in word or word[1:2] in "plo") for word in rest)
        case "jq" | "gh" | "glab":
            return any(_ENVIRONMENT.search(word) for word in rest)
        case "ps":
            return any(re.match(r"[A-Za-z]*e|-\w*E", word) for word in rest)
        case "test" | "printf" | "echo" | "type":  # builtins, which expand what stands in `name[…]` once more
            return any("$" in word or "`" in word for word in rest) and name != "echo"
        case "ls":
            options = "".join(word for word in rest if re.match(r"-\w", word))
            return ("R" in options or "--recursive" in rest) and ("L" in options or "--dereference" in rest)
    return False


def _is_unsafe_long(word: str) -> bool:
    """Programs accept the beginning of a long name, and some (Go, Java) one dash before it."""
    name = word.lstrip("-").partition("=")[0]
    if not word.startswith("-") or not name or name in _SAFE_LONG_OPTIONS:
        return False
    if word.startswith("--"):
        return any(each.startswith(name) for each in _LONG_OPTIONS)
    return name in ("exec", "toolexec", "vettool", "outfile") or word.startswith("-c=")


def reads_below(words: Sequence[str]) -> bool:
    """Return whether a program reads the files below the folders it is given."""
    name, rest = words[0], words[1:]
    if name in ("rg", "diff"):
        return True
    return name in ("grep", "egrep", "fgrep") and any(
        re.match(r"-\w*[rR]|-\w*d(?:rec|$)|--recursive|--rec|--dereference-r|--der|--directories|--dir", word)
        for word in rest
    )


def follows_links(words: Sequence[str]) -> bool:
    """Return whether a program that reads below folders enters links there."""
    name, rest = words[0], words[1:]
    letter = {"rg": "L"}.get(name, "R")
    return name == "diff" or any(re.match(rf"-\w*{letter}|--dereference|--der|--follow|--fol", word) for word in rest)


def reads_hidden(words: Sequence[str]) -> bool:
    """Return whether a search also takes hidden and ignored files."""
    if words[0] != "rg":
        return True
    return any(
        re.match(r"-\w*[u.g]|--(?:unrestricted|hidden|no-ig|no-i|glob|iglob|ignore-file|no-config)", word)
        for word in words[1:]
    )


_LOG_CONTENTS = (
    r"-[pucmSGLUW]|--(?:p(?:a|$)|cc|dd|full-d|un|word-d|color-w|func|binary|remerge|diff-m|no-index|textconv|ext-diff)"
)
_SHOWING_OPTIONS = {
    "log": re.compile(_LOG_CONTENTS),
    "stash": re.compile(_LOG_CONTENTS),
    "status": re.compile(r"-\w*v|--v"),
    "commit": re.compile(r"-\w*[vp]|--(?:v(?!erify)|pa|int)"),
    "add": re.compile(r"-\w*[pie]|--(?:p(?!athspec)|e|int)"),
}
"""Options with which a verb prints lines of files that are not named. Git takes the beginnings of many long ones."""


def shows_contents(words: Sequence[str]) -> bool:
    """Return whether git prints contents of files that are not named."""
    verb = words[1] if len(words) > 1 else ""
    options = _SHOWING_OPTIONS.get(verb)
    shown = options is not None and any(map(options.match, words[2:]))
    return shown or verb in ("diff", "show") or (verb == "stash" and "show" in words)
