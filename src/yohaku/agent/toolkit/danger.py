"""Detection of shell commands that cannot be undone.

Law: what counts is what would run, by a dry run (`dry_run/`): behind sudo and other launchers, in quotes,
substitutions, functions and heredocs, with the values of variables. A program that cannot be resolved is reported as
hidden, and a deletion whose target cannot be resolved is grave.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from yohaku.agent.toolkit.danger_rules import Danger, judge_program
from yohaku.agent.toolkit.dry_run.program import StartedProgram
from yohaku.agent.toolkit.dry_run.walker import DryRun
from yohaku.agent.toolkit.precious_paths import PreciousPaths
from yohaku.analysis.shell import split_commands, strip_heredocs

MAX_EXAMINED_CHARS = 10_000
"""Length of a command, without its heredocs, that is searched; a longer one counts as dangerous."""
MAX_HEREDOC_CHARS = 200_000

CERTAIN = ("tools_root", "tools_disk")
"""Dangers of a script on the disk that are told: that it deletes a home, the system or a disk."""

_BOMB = re.compile(
    r"([^\s(){};|&]{1,40})[ \t]*\(\)[ \t\n]*\{[ \t\n]*\1[ \t]*\|[ \t]*\1[ \t]*&"
    r"|\bwhile[ \t]+(?:true|:|1|\[ 1 \])[ \t]*;[ \t\n]*do\b[^\n;]{0,200}[^&]&[ \t]*(?:;[ \t]*)?done"
    r"|\bos\.fork\(\)"
)
_FETCHED = re.compile(
    r"(?:\b(?:eval|source|exec)\b|(?:^|[\s;&|])\.|\b(?:ba|z|da|k)?sh\b|\bpython3?\b)[^\n]{0,200}?(?:\$\(|<\(|`)[^\n]{0,40}?"
    r"\b(?:curl|wget|fetch|base64|nc)\b"
    r"|/dev/(?:tcp|udp)/|\b(?:nc|ncat)\b[^\n|;]{0,100} -[a-z]*[ec]\b"
)
_PATTERNS = ((_BOMB, Danger("tools_bomb", grave=True)), (_FETCHED, Danger("tools_pipe_shell")))


def find_danger(
    command: str, root: Path | None = None, home: Path | None = None, environ: Mapping[str, str] | None = None
) -> Danger | None:
    """Return the worst danger found in a command; None for an everyday one.

    `root`, `home` and `environ` are those the command will have; by default this program's own.
    """
    found = list(_find_dangers(command, root or Path.cwd(), home or Path.home(), environ or os.environ))
    return next((each for each in found if each.grave), found[0] if found else None)


def _find_dangers(command: str, root: Path, home: Path, environ: Mapping[str, str]) -> Iterator[Danger]:
    bare = strip_heredocs(command)
    if len(bare) > MAX_EXAMINED_CHARS or len(command) > MAX_HEREDOC_CHARS:
        yield Danger("tools_hidden")
        bare = command = bare[:MAX_EXAMINED_CHARS]
    for pattern, found in _PATTERNS:
        if pattern.search(bare):
            yield found
    folder, precious = str(root.resolve()), PreciousPaths(str(root.resolve()), str(home.resolve()))
    run = DryRun(folder, str(home), environ)
    started = run.run(command)
    yield from _judge(started, precious)
    if not run.complete:  # the quick splitter may see more in what is no bash
        again = DryRun(folder, str(home), environ)
        for one in split_commands(bare):
            if one.words:
                again.run_simple_words(list(one.words))
        yield from _judge(again.started, precious)


def _judge(started: list[StartedProgram], precious: PreciousPaths) -> Iterator[Danger]:
    for program in started:
        for danger in judge_program(program, precious):
            if not program.from_disk or (danger.grave and danger.why in CERTAIN):
                yield danger
