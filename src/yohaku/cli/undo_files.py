"""`yohaku undo --files`: take back what the agent did to the files of this folder.

Law: what would be done is printed first. Nothing is done without a yes, typed or given as --yes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from yohaku.agent.commands.files import describe_outcome, describe_plan
from yohaku.agent.file_history.file_history import FileHistory
from yohaku.cli.files import InputError
from yohaku.config.settings import Settings
from yohaku.messages import say


def undo_files(arguments: argparse.Namespace, settings: Settings) -> int:
    lang = settings.lang
    try:
        history = FileHistory(settings.data, Path.cwd())
    except OSError:
        raise InputError(say("cli_no_folder", lang)) from None
    try:
        plan = history.plan_undo(arguments.count)
        if not plan.changes:
            print(say("files_nothing", lang))
            return 0
        print(describe_plan(history, plan, lang))
        if arguments.dry_run:
            return 0
        if not arguments.yes and not _confirmed(lang):
            return 1
        failures = history.undo(plan, overwrite=arguments.overwrite)
        print(describe_outcome(plan, failures, arguments.overwrite, lang))
        return 1 if failures or plan.impossible or (plan.touched and not arguments.overwrite) else 0
    finally:
        history.close()


def _confirmed(lang: str) -> bool:
    if not sys.stdin.isatty():
        raise InputError(say("files_say_yes", lang))
    try:
        answer = input(say("files_confirm", lang)).strip().lower()
    except EOFError:
        answer = ""
    if answer in ("y", "yes", "はい"):
        return True
    print(say("files_left", lang))
    return False
