"""The command line: parse the arguments, run the command, turn errors into one line and an exit code.

Law: exit 0 done, 2 misuse or bad input, 3 does not fit. An error is one plain line on standard error, and then nothing
has been written. A command's module loads when the command runs.
"""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module

from yohaku import messages
from yohaku.cli.files import InputError, print_notices
from yohaku.cli.parser import parser, read_flags
from yohaku.cli.task_words import split_task
from yohaku.config import settings as setting
from yohaku.core.errors import DoesNotFit, YohakuError

MODULES = {
    "agent": ("agent", "config"),
    "fit": ("fit", "show", "count"),
    "session_files": ("doctor", "export"),
    "recall": ("recall", "receipts", "why", "collect"),
    "history": ("undo", "redo", "pin", "unpin", "pins"),
    "launch": ("acp", "demo", "lab", "mcp"),
    "proxy": ("proxy",),
    "run": ("run",),
}
"""Commands, each a function of the same name, by the module here that has it; `agent` is `yohaku` without a command."""


def main(argv: list[str] | None = None) -> int:
    settings = setting.read()
    lang = settings.lang
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a letter shows its number
            stream.reconfigure(errors="backslashreplace")
    print_notices(settings.warnings, lang)
    words = sys.argv[1:] if argv is None else argv
    program = parser(lang, words)
    try:
        task, rest = split_task(program, words, lang)
    except InputError as error:
        program.error(str(error))
    arguments = program.parse_args(rest)
    arguments.task = task
    command = arguments.command or "agent"
    module = next(module for module, commands in MODULES.items() if command in commands)
    try:
        settings = setting.with_flags(settings, read_flags(arguments))
        lang = settings.lang
        run = getattr(import_module(f"yohaku.cli.{module}"), command)
        return int(run(arguments, settings) or 0)
    except InputError as error:
        return _fail(str(error))
    except DoesNotFit as error:
        return _fail(messages.explain(error, lang), 3)
    except YohakuError as error:
        return _fail(messages.explain(error, lang))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _fail(messages.say("stopped", lang), 130)
    except MemoryError:
        return _fail(messages.say("no_memory", lang))


def _fail(line: str, code: int = 2) -> int:
    print(f"yohaku: {line}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
