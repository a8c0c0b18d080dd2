"""The agent on the command line: `yohaku`, `yohaku -p "…"`, pipes, `yohaku config`.

Law: exit 0 done, 1 not finished, 2 misuse, 3 does not fit, 4 no model could be reached, 130 stopped. The screen is
loaded only where there is a terminal to show it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from yohaku.cli.files import InputError
from yohaku.config import settings as setting
from yohaku.messages import say


def config(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku.agent.commands.config import config_text, explain_settings

    lang = settings.lang
    print(explain_settings(settings, arguments.names, lang) if arguments.names else config_text(settings, lang))
    return 0


def agent(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    try:
        Path.cwd()
    except OSError:
        raise InputError(say("cli_no_folder", settings.lang)) from None
    resume = _session_to_resume(arguments.resume, settings)
    piped = not sys.stdin.isatty()
    asked = arguments.prompt
    if arguments.task is not None:
        if asked:
            raise InputError(say("cli_two_tasks", settings.lang))
        asked = arguments.task if asked is not None or arguments.json or piped else None
    if asked is not None or arguments.json or piped:
        prompt = _read_prompt(asked, piped)
        if not prompt.strip():
            raise InputError(say("cli_no_prompt", settings.lang))
        return _run_once(settings, prompt, resume, json=arguments.json)
    if settings.plain or not sys.stdout.isatty():
        from yohaku.agent.plain import run_interactive
        from yohaku.agent.startup import Starter

        begin = Starter(settings)
        return _run(run_interactive(begin, resume=resume, first=arguments.task or ""), begin, settings)
    return _run_screen(settings, resume, arguments.task or "")


def _read_prompt(asked: str | None, piped: bool) -> str:
    """Join the task and what is piped in: `git diff | yohaku -p "review this"`."""
    task = "" if asked in (None, "-") else str(asked)
    given = _read_stdin() if piped and (not task or not _is_stdin_empty()) else ""
    return "\n\n".join(part for part in (task, given.strip("\n")) if part)


def _read_stdin() -> str:
    try:
        return sys.stdin.read()
    except (OSError, ValueError) as error:  # no input at all, or bytes that are no text
        raise InputError(f"-: {error}") from None


def _is_stdin_empty() -> bool:
    """Return True where standard input is neither a terminal nor a pipe or file, as under cron or in a container."""
    import os
    import stat

    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return True
    return stat.S_ISCHR(mode) or not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode))


def _session_to_resume(name: str | None, settings: setting.Settings) -> str:
    if name is None:
        return ""
    from yohaku.agent.sessions import find_session

    path = find_session(settings.data, name, Path.cwd())
    if path is None:
        raise InputError(say("cli_no_session" if name else "resume_none", settings.lang, name=name))
    return str(path)


def _run_once(settings: setting.Settings, prompt: str, resume: str, *, json: bool) -> int:
    from yohaku.agent.plain import run_once
    from yohaku.agent.startup import Starter

    begin = Starter(settings)
    return _run(run_once(begin, prompt, json=json, resume=resume), begin, settings)


def _run_screen(settings: setting.Settings, resume: str, first: str = "") -> int:
    import gc

    from yohaku.agent.startup import Starter

    gc.disable()  # until the first screen is drawn: all that is loaded for it stays
    try:
        from yohaku.tui.app import YohakuApp
    except ModuleNotFoundError as missing:
        raise _missing_package(missing, settings) from None
    begin, begun = Starter(settings), time.time()
    app = YohakuApp(begin, resume=resume, first=first)
    try:
        code = app.run()
    finally:
        begin.close()
    from yohaku.agent.sessions import list_sessions

    newest = next(iter(list_sessions(settings.data, 1, begin.root)), None)
    if newest and newest.at >= begun:
        print(say("cli_bye", settings.lang, name=newest.id), file=sys.stderr)
    return code if code is not None else app.return_code or 0


def _run(work: Coroutine[Any, Any, int], begin: Any, settings: setting.Settings) -> int:
    import asyncio

    try:
        return asyncio.run(work)
    except ModuleNotFoundError as missing:
        raise _missing_package(missing, settings) from None
    finally:
        begin.close()


def _missing_package(missing: ModuleNotFoundError, settings: setting.Settings) -> Exception:
    if (missing.name or "").startswith("yohaku"):
        return missing
    return InputError(say("cli_extra", settings.lang, name=missing.name))
