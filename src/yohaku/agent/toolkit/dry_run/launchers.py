"""Programs that start others: shells, `find -exec`, `xargs`, `parallel`, `env`, `timeout`, `sudo` and the like."""

from __future__ import annotations

import re

from yohaku.agent.toolkit.dry_run.find_roots import ACTIONS, find_action_end, find_roots, has_filter
from yohaku.agent.toolkit.dry_run.program import (
    KNOWN_PROGRAMS,
    LAUNCHERS,
    RUNNERS,
    CommandRunner,
    as_source,
    program_name,
)  # fmt: skip
from yohaku.agent.toolkit.dry_run.script_files import scripts_of, shell_lines
from yohaku.agent.toolkit.dry_run.shell_state import ShellState
from yohaku.agent.toolkit.dry_run.values import ANY, SOME, STAR, is_unknown, limit, show_value
from yohaku.analysis.shell import SHELLS

MAX_EXAMINED_WORDS = 64
"""Words of a launcher that are searched for the command it starts."""

COMMAND_OPTION = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*$|-Command$|--command$")
_QUOTED = re.compile(r"""["'`]([^"'`\n]{3,400})["'`]""")
_GIT_COMMANDS = frozenset(
    "-x --exec foreach --tree-filter --index-filter --msg-filter --env-filter --commit-filter".split()
)
"""Words of git after which a command line follows."""
_PACKAGERS = frozenset("npm pnpm yarn uv poetry pipenv pdm hatch rye nix mise asdf".split())
_PACKAGER_VERBS = frozenset("add install i remove rm uninstall why info view list ls show use".split())
"""Verbs after which names of packages follow, not of programs."""
_STDIN_SHELLS = frozenset("at batch ssh su sudo doas".split())
"""Launchers that run what they read."""
_OPTION_RUNNERS = frozenset("rsync scp sftp zip man".split())
"""Programs with options whose value is a command line."""
_ESCAPING_PROGRAMS = frozenset("sed gsed vi vim nvim ex ed sqlite3 psql mysql gdb ftp less man".split())
_ESCAPE = re.compile(r"(?:^|[:;|+\s\d/])(?:\\?!|\.(?:shell|system)\b|shell\b|e)\s*([A-Za-z/$][^\n]{3,400})")
"""Beginning of a command line in their words: `:!…`, `1e …`, `.shell …`."""
_JOB = re.compile(r"\s*(?:@\w+|(?:[\d*,/a-zA-Z-]+\s+){4}[\d*,/a-zA-Z-]+)\s+(.+)")
"""A line of a table of jobs, for cron."""
_SED_RUN = re.compile(r"(?:^|[;{}/\d])\s*s([/|,#!@%:])(?:\\.|(?!\1).)*\1((?:\\.|(?!\1).)+)\1[0-9gpIiMm]*e")
"""A substitution of sed whose result is run as a command."""
_CODE_OPTION = re.compile(r"-[A-Za-z]*[ceEr]$|(?:--)?eval$|--execute$|--print$")


def launch(runner: CommandRunner, words: list[str], state: ShellState, stdin: list[str] | None) -> list[str] | None:
    """Run what a program starts; return what that prints, or None where this is no launcher."""
    name = program_name(words[0])
    if name in SHELLS:
        return _run_shell(runner, words, state.fork(), stdin)
    if name in ("xargs", "gxargs"):
        return _run_xargs(runner, words, state, stdin)
    if name == "parallel":
        return _run_parallel(runner, words, state, stdin)
    if name in LAUNCHERS or name.startswith("-"):
        if name in _STDIN_SHELLS:
            for text in stdin or ():
                runner.run_text(as_source(text), state.fork())
        return _run_wrapped(runner, words, state, stdin)
    if name == "find":
        _run_find(runner, words, state)
    elif name in ("fd", "fdfind"):
        _run_fd(runner, words, state)
    elif name == "git":
        _run_git(runner, words, state)
    elif name == "crontab":
        _run_crontab(runner, words, state, stdin)
    elif name in RUNNERS:
        _run_code(runner, words, state, stdin)
    else:
        if name in _OPTION_RUNNERS:
            for word in words[1:MAX_EXAMINED_WORDS]:
                if " " in word and program_name(word.split()[0]) in KNOWN_PROGRAMS:
                    runner.run_text(as_source(word), state.fork())
        for text in _escapes(name, words):
            runner.run_text(as_source(text), state.fork())
        for word in words[1:MAX_EXAMINED_WORDS]:
            _run_option(runner, word, state)
        if name not in KNOWN_PROGRAMS:  # it may be a launcher too
            _run_wrapped(runner, words, state, stdin, with_texts=False)
    return None


def _run_option(runner: CommandRunner, word: str, state: ShellState) -> None:
    """Run a command in an option such as `--to-command=…`."""
    before, _, value = word.partition("=")
    if before.startswith("--") and " " in value:
        runner.run_text(as_source(value.removeprefix("exec=")), state.fork())


def _run_shell(runner: CommandRunner, words: list[str], state: ShellState, stdin: list[str] | None) -> list[str]:
    rest = words[1:]
    given = False
    at = 0
    while at < len(rest) and (rest[at].startswith(("-", "+")) and rest[at] != "-"):
        given = given or bool(COMMAND_OPTION.match(rest[at]))
        at += 2 if rest[at] in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file") else 1
    operands = rest[at:]
    if given:
        state.arguments = operands[2:]
        return runner.run_text(as_source(operands[0]), state, stdin) if operands else []
    if operands and operands[0] not in ("-", "/dev/stdin") and "-s" not in rest[:at]:
        texts = scripts_of(operands[0], state)
        state.arguments = operands[1:]
    else:
        texts = stdin or []
        state.arguments = operands
    return limit(value for text in texts for value in runner.run_text(as_source(text), state))


def _run_find(runner: CommandRunner, words: list[str], state: ShellState) -> None:
    filtered = has_filter(words)
    found = [path for root in find_roots(words) for path in _below(root, filtered)]
    for at, word in enumerate(words):
        if word in ACTIONS:
            inner = words[at + 1 : find_action_end(words, at)]
            if inner:
                runner.run_words(_put_in(inner, "{}", found), state.fork())


def _below(root: str, filtered: bool) -> list[str]:
    folder = root.rstrip("/") if root.strip("/") else ""
    return [f"{folder}/{SOME}"] if filtered else [root, f"{folder}/{STAR}"]


def _put_in(words: list[str], place: str, values: list[str]) -> list[str]:
    """Replace a placeholder in words by all values."""
    return [word.replace(place, value) for word in words for value in (values if place in word else [""])]


def _run_fd(runner: CommandRunner, words: list[str], state: ShellState) -> None:
    for at, word in enumerate(words[1:], 1):
        if word in ("-x", "-X", "--exec", "--exec-batch"):
            operands = [each for each in words[1:at] if not each.startswith("-")]
            roots = operands[1:] or ["."]
            everything = not operands or any(show_value(each) in ("", ".", ".*", "*", "^") for each in operands)
            found = [path for root in roots for path in _below(root, not everything)]
            inner = _put_in(words[at + 1 :], "{}", found)
            runner.run_words(inner if "{}" in words[at + 1 :] else [*inner, *found], state.fork())
            return


def _run_xargs(runner: CommandRunner, words: list[str], state: ShellState, stdin: list[str] | None) -> list[str]:
    from_file = any(re.match(r"-a|--arg", word) for word in words)  # then the command reads what xargs would read
    values, passed = ([ANY], stdin) if from_file else ([ANY] if stdin is None else stdin, None)
    start = _find_program(words)
    if not start:
        return [ANY]
    options, inner = words[1:start], words[start:]
    place = ""
    for at, word in enumerate(options):
        if word == "-I":
            place = options[at + 1] if at + 1 < len(options) else ""
        elif word.startswith(("-I", "--replace=")):
            place = word.removeprefix("-I").removeprefix("--replace=")
        elif word in ("-i", "--replace"):
            place = "{}"
    if place:
        return runner.run_words(_put_in(inner, place, values), state.fork(), passed)
    return runner.run_words([*inner, *limit(part for value in values for part in value.split())], state.fork(), passed)


def _run_parallel(runner: CommandRunner, words: list[str], state: ShellState, stdin: list[str] | None) -> list[str]:
    marks = [at for at, word in enumerate(words) if word.startswith(":::")]
    values = [word for word in words[marks[0] :] if not word.startswith(":::")] if marks else stdin or [ANY]
    inner = words[1 : marks[0]] if marks else words[1:]
    while inner and inner[0].startswith("-"):
        inner = inner[1:]
    if not inner:  # the values are commands
        return [each for value in values for each in runner.run_text(as_source(value), state)]
    if any(" " in word for word in inner):
        text = " ".join(inner)
        return [
            each
            for value in values
            for each in runner.run_text(
                as_source(text.replace("{}", value) if "{}" in text else f"{text} {value}"), state
            )
        ]
    start = _find_program(["parallel", *inner]) - 1
    if start < 0:
        return [ANY]
    placed = _put_in(inner[start:], "{}", values)
    return runner.run_words(placed if "{}" in inner else [*placed, *values], state.fork())


def _escapes(name: str, words: list[str]) -> list[str]:
    """Return the command lines in what an editor or a database client is told to do."""
    found = [_ESCAPE.search(word) for word in words[1:MAX_EXAMINED_WORDS]] if name in _ESCAPING_PROGRAMS else []
    texts = [each[1] for each in found if each]
    if name in ("sed", "gsed"):  # what it puts in is run, with what it leaves of the line
        replaced = [
            re.sub(r"\\(\W)", r"\1", each[2])
            for word in words[1:MAX_EXAMINED_WORDS]
            for each in _SED_RUN.finditer(word)
        ]
        texts += [text for each in replaced for text in (each, each + ANY)]
    return texts


def _run_git(runner: CommandRunner, words: list[str], state: ShellState) -> None:
    for at, word in enumerate(words[1:MAX_EXAMINED_WORDS], 1):
        before, _, value = word.partition("=")
        if words[at - 1] in _GIT_COMMANDS:
            runner.run_text(as_source(word), state.fork())
        elif (words[at - 1] == "-c" and " " in value) or (before in _GIT_COMMANDS and value):
            runner.run_text(as_source(value.removeprefix("!")), state.fork())
        elif word == "run" and "bisect" in words[:at]:
            runner.run_words(words[at + 1 :], state.fork())
            return
        _run_option(runner, word, state)


def _run_crontab(runner: CommandRunner, words: list[str], state: ShellState, stdin: list[str] | None) -> None:
    """Run what a table of jobs will: its lines, without the time that each begins with."""
    operands = [word for word in words[1:] if word == "-" or not word.startswith("-")]
    texts = [text for word in operands for text in (stdin or () if word == "-" else scripts_of(word, state.fork()))]
    for line in (line for text in texts for line in text.split("\n")):
        if found := _JOB.match(line):
            runner.run_text(as_source(found[1]), state.fork())


def codes_in(words: list[str]) -> list[str]:
    """Return the code that an interpreter is given as words."""
    return [word for at, word in enumerate(words) if at and (_CODE_OPTION.match(words[at - 1]) or "awk" in words[0])]


def _run_code(runner: CommandRunner, words: list[str], state: ShellState, stdin: list[str] | None) -> None:
    """Run what stands in quotes in the code of another language and begins with a program that destroys."""
    operands = [word for word in words[1:3] if not word.startswith("-")]
    inside = state.fork()
    if not state.from_disk and (scripts := [text for word in operands for text in scripts_of(word, inside)]):
        runner.run_words([words[0], "/dev/stdin"], inside, limit(scripts))
    if state.from_disk:
        for line in (line for code in stdin or () for line in shell_lines(code)):
            runner.run_text(as_source(line), state.fork())
        return
    for code in [*codes_in(words), *(stdin or ())][:4]:
        for text in _QUOTED.findall(code)[:20]:
            if program_name(text.split()[0] if text.split() else "") in KNOWN_PROGRAMS and " " in text:
                whole = text + ANY if text.endswith(" ") else text  # joined with something else
                runner.run_text(as_source(whole), state.fork())


def _run_wrapped(
    runner: CommandRunner, words: list[str], state: ShellState, stdin: list[str] | None, *, with_texts: bool = True
) -> list[str]:
    """Run the first word that is the name of a program; `with_texts`: also words that look like command lines."""
    inside = state.fork()
    for at, word in enumerate(words[1:MAX_EXAMINED_WORDS], 1):
        value = word.partition("=")[2]
        if word in ("-C", "-D", "--chdir") and at + 1 < len(words):
            inside.folders = inside.resolve(words[at + 1])
        elif word.startswith("--chdir="):
            inside.folders = inside.resolve(value)
        elif re.match(r"[A-Za-z_]\w*=", word):
            inside.assign(word.partition("=")[0], [value])
        if with_texts and (" " in word.strip() or word.startswith(("-S", "--split-string"))):
            runner.run_text(as_source(_command_in(word)), inside)
    start = _find_program(words)
    script = next((at for at, word in enumerate(words[1 : start or None], 1) if _is_written(word, state)), 0)
    if script or start:
        return runner.run_words(words[script or start :], inside, stdin)
    unknown = next((at for at, word in enumerate(words[1:], 1) if is_unknown(word)), 0)
    return runner.run_words(words[unknown:], inside, stdin) if unknown else [ANY]


def _command_in(word: str) -> str:
    """Return the command line in a word such as `-S'…'` or `--run=…`."""
    if word.startswith("--"):
        return word.partition("=")[2]
    return re.sub(r"^-[a-zA-Z]*S|^[A-Za-z]*Command=", "", word)


def _is_written(word: str, state: ShellState) -> bool:
    """Return whether a word is the path of a script that this very command wrote."""
    return "/" in word and any(path in state.written for path in state.resolve(word))


def _find_program(words: list[str]) -> int:
    """Return the place of the first word that is the name of a program, leaving out the options; 0 if there is none."""
    if program_name(words[0]) in _PACKAGERS and not _PACKAGER_VERBS.isdisjoint(words[1:2]):
        return 0
    for at, word in enumerate(words[1:MAX_EXAMINED_WORDS], 1):
        name = program_name(word)
        if not word.startswith("-") and (name in KNOWN_PROGRAMS or name.startswith("mkfs")):
            return at
    return 0
