"""Write docs/commands.md: every command of `yohaku`, its flags, and every slash command. Takes no arguments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from scripts.page_tables import quote, table  # noqa: E402 - nothing need be installed
from yohaku.agent.commands.slash_commands import COMMANDS  # noqa: E402
from yohaku.cli.parser import parser  # noqa: E402
from yohaku.lab import run as lab  # noqa: E402
from yohaku.messages.help_pages import HelpParser, help_text  # noqa: E402

PAGE = ROOT / "docs" / "commands.md"
EXIT_CODES = {
    "0": "done",
    "1": "not finished, or not allowed",
    "2": "misuse or bad input; one line says what is wrong and what to do",
    "3": "it does not fit the window",
    "4": "no model could be reached, or it could not go on",
    "130": "stopped",
}


def subcommands(program: HelpParser, prefix: str = "") -> Iterator[tuple[str, str, HelpParser]]:
    """Yield each command with what it does and its parser; those of `lab`, which has a parser of its own, behind it."""
    actions = [action for action in program._actions if isinstance(action, argparse._SubParsersAction)]
    for action in actions:
        about = {choice.dest: help_text(choice.help or "", "en") for choice in action._choices_actions}
        for name, command in action.choices.items():
            yield f"{prefix}{name}", about[name], command
            if name == "lab":
                yield from subcommands(lab._parser("yohaku lab", "en"), "lab ")


def flags_table(command: HelpParser) -> str:
    rows = []
    for action in command._actions:
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
            continue
        shown = f" {action.metavar}" if action.metavar and action.option_strings and action.nargs != 0 else ""
        names = [f"{name}{shown}" for name in action.option_strings] or [str(action.metavar or action.dest)]
        about = help_text(action.help or "", "en", command.facts)
        choices = ", ".join(action.choices or ())
        about = about.replace("%(default)s", str(action.default)).replace("%(choices)s", choices)
        rows.append((quote(*names), about))
    return table(("argument", "what it does"), rows)


def commands() -> str:
    parts = []
    for name, about, command in subcommands(parser()):
        parts += [f"### `yohaku {name}`", f"{about[:1].upper()}{about[1:]}.", flags_table(command)]
    return "\n\n".join(parts)


def page() -> str:
    slash = [(quote(command.usage), command.about("en")) for command in COMMANDS.values()]
    return f"""# Commands

<!-- Written by `python3 dev.py pages`; edit the code, not this page. -->

`yohaku COMMAND --help` shows the same with examples. Where a command folds or talks to a model, every
[setting](settings.md) is a flag too.

{table(("exit code", ""), EXIT_CODES.items())}

## The agent: `yohaku`

{flags_table(parser())}

In the agent, and in `yohaku --plain`:

{table(("command", "what it does"), slash)}

## Other commands

{commands()}
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
