"""The agent on the command line: `yohaku`, `yohaku -p "…"`, pipes, `yohaku config`.

Law: exit 0 done, 1 not finished, 2 misuse, 3 does not fit, 4 no model could be reached, 130 stopped. Nothing of the
screen is loaded before it is wanted, and nothing of the agent for a command that needs none.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from yohaku.config import settings as setting

PRESETS = {
    "speed": "half the window that suits the memory: quicker replies",
    "balanced": "the window that suits the memory (default)",
    "quality": "half as much again, as far as memory goes: larger files",
}


class Misuse(Exception):
    """One line for standard error, and exit 2."""


def add(parser: argparse.ArgumentParser) -> None:
    """The flags of the agent, on the program itself."""
    group = parser.add_argument_group("the agent (yohaku without a command)")
    group.add_argument(
        "-p",
        "--prompt",
        nargs="?",
        const="",
        metavar="TEXT",
        help="do one task, without a screen; - or none: from a pipe",
    )
    group.add_argument("--json", action="store_true", help="with -p: what happens, one JSON object a line")
    group.add_argument("--resume", nargs="?", const="", metavar="FILE|ID", help="go on with an earlier session")
    group.add_argument("--model", dest="agent_model", metavar="NAME", help="provider/model, URL#model, or a .gguf file")
    group.add_argument(
        "--window", "--context-window", dest="agent_window", metavar="N", help="tokens the model is to hold"
    )
    for preset, what in PRESETS.items():
        group.add_argument(f"--{preset}", dest="agent_preset", action="store_const", const=preset, help=what)
    group.add_argument("--force", dest="agent_force", action="store_const", const=True, help="keep --window as it is")
    for mode, what in (("yolo", "everything without asking"), ("read-only", "nothing but reading")):
        group.add_argument(
            f"--{mode}", dest="agent_permissions", action="store_const", const=mode, help=f"allow {what}"
        )
    for name, what in (
        ("chat", "only talk, no tools"),
        ("debug", "show where every token is"),
        ("plain", "lines instead of a screen"),
    ):
        group.add_argument(f"--{name}", dest=f"agent_{name}", action="store_const", const=True, help=what)
    told = {action.dest for action in group._group_actions}
    for name in setting.KEYS:  # each is a flag too, also the ones seldom wanted
        flag = f"--{name.replace('_', '-')}"
        if f"agent_{name}" not in told or name in ("preset", "permissions"):
            group.add_argument(flag, dest=f"agent_{name}", metavar="VALUE", help=argparse.SUPPRESS)


def flags(arguments: argparse.Namespace) -> dict[str, object]:
    """What the command line says of settings, by their names."""
    return {
        name.removeprefix("agent_"): value
        for name, value in vars(arguments).items()
        if name.startswith("agent_") and value is not None
    }


def config(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    """`yohaku config`."""
    from yohaku.agent.commands.slash_commands import config_text

    print(config_text(setting.with_flags(settings, flags(arguments)), settings.lang))
    return 0


def agent(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    """`yohaku` and `yohaku -p`."""
    from yohaku.messages import say

    settings = setting.with_flags(settings, flags(arguments))
    try:
        Path.cwd()
    except OSError:
        raise Misuse(say("cli_no_folder", settings.lang)) from None
    resume = _resumed(arguments.resume, settings)
    piped = not sys.stdin.isatty()
    asked = arguments.prompt
    if asked is not None or arguments.json or piped:
        prompt = _prompt(asked, piped)
        if not prompt.strip():
            raise Misuse(say("cli_no_prompt", settings.lang))
        return _scripted(settings, prompt, resume, json=arguments.json)
    if settings.plain or not sys.stdout.isatty():
        from yohaku.agent.plain import run_interactive
        from yohaku.agent.startup import Starter

        begin = Starter(settings)
        return _run(run_interactive(begin, resume=resume), begin, settings)
    return _screen(settings, resume)


def _prompt(asked: str | None, piped: bool) -> str:
    """What is to be done, with what is piped in under it: `git diff | yohaku -p "review this"`."""
    told = "" if asked in (None, "-") else str(asked)
    given = _piped() if piped and (not told or not _empty_input()) else ""
    return "\n\n".join(part for part in (told, given.strip("\n")) if part)


def _piped() -> str:
    try:
        return sys.stdin.read()
    except (OSError, ValueError) as why:  # no input at all, or bytes that are no text
        raise Misuse(f"-: {why}") from None


def _empty_input() -> bool:
    """Whether nothing is piped, though standard input is no terminal: as under cron, or in a container."""
    import os
    import stat

    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return True
    return stat.S_ISCHR(mode) or not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode))


def _resumed(name: str | None, settings: setting.Settings) -> str:
    from yohaku.agent.sessions import find_session
    from yohaku.messages import say

    if name is None:
        return ""
    path = find_session(settings.data, name)
    if path is None:
        raise Misuse(say("resume_none", settings.lang) if not name else f"{name}: {say('resume_none', settings.lang)}")
    return str(path)


def _scripted(settings: setting.Settings, prompt: str, resume: str, *, json: bool) -> int:
    from yohaku.agent.plain import run_once
    from yohaku.agent.startup import Starter

    begin = Starter(settings)
    return _run(run_once(begin, prompt, json=json, resume=resume), begin, settings)


def _screen(settings: setting.Settings, resume: str) -> int:
    from yohaku.agent.sessions import list_sessions
    from yohaku.agent.startup import Starter
    from yohaku.messages import say

    try:
        from yohaku.tui.app import YohakuApp
    except ModuleNotFoundError as missing:
        raise _missing(missing, settings) from None
    begin, begun = Starter(settings), time.time()
    app = YohakuApp(begin, resume=resume)
    try:
        code = app.run()
    finally:
        begin.close()
    newest = next(iter(list_sessions(settings.data, 1)), None)
    if newest and newest.at >= begun:
        print(say("cli_bye", settings.lang, name=newest.id), file=sys.stderr)
    return code if code is not None else app.return_code or 0


def _run(work: Coroutine[Any, Any, int], begin: Any, settings: setting.Settings) -> int:
    import asyncio

    try:
        return asyncio.run(work)
    except ModuleNotFoundError as missing:
        raise _missing(missing, settings) from None
    finally:
        begin.close()


def _missing(missing: ModuleNotFoundError, settings: setting.Settings) -> Exception:
    from yohaku.messages import say

    if (missing.name or "").startswith("yohaku"):
        return missing
    return Misuse(say("cli_extra", settings.lang, name=missing.name))
