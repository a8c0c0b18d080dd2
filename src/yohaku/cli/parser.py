"""Commands and flags of the command line. Their help texts are codes, whose sentences are in messages/help.toml.

Law: a help page loads nothing of the commands themselves.
"""

from __future__ import annotations

import argparse
import re
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from yohaku import __version__
from yohaku.config.keys import KEYS, SettingKey, flag_of
from yohaku.dialects import DIALECTS
from yohaku.messages.help_pages import ArgumentType, HelpParser

RECIPES = ("auto", "local", "chat", "chat-summary", "chat-hybrid", "cache", "layers", "snapshot")
"""Those of yohaku.recipes, which is too much to load for a help page."""


def _parse_positive(text: str) -> int:
    number = int(text.replace(",", "").replace("_", ""))
    if not 1 <= number < 10**12:
        raise ValueError
    return number


def _parse_port(text: str) -> int:
    number = int(text)
    if not 0 <= number < 65_536:
        raise ValueError
    return number


def _parse_seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number < 10**6:
        raise ValueError
    return number


def _parse_days(text: str) -> int:
    number = int(text)
    if not 0 <= number < 10**6:
        raise ValueError
    return number


def _parse_size(text: str) -> int:
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?) ?([kmgt]?)i?b?", text.strip().lower())
    if not found:
        raise ValueError
    return int(float(found[1]) * 1000 ** " kmgt".index(found[2] or " "))


def _positive(command: HelpParser) -> ArgumentType:
    return ArgumentType(_parse_positive, "type_positive", command.lang)


def parser(lang: str = "en", words: Collection[str] | None = None) -> HelpParser:
    """Return the parser of the command line.

    `words` are those of the command line, if only they are to be understood: of four hundred arguments a start needs
    few.
    """
    program = HelpParser(prog="yohaku", lang=lang, code="program", facts={"recipes": ", ".join(RECIPES)})
    program.add_argument("--version", action="version", version=f"yohaku {__version__}")
    _add_agent(program)
    if words is None or any(word.startswith("-") for word in words):
        _add_settings(program)
    commands = program.add_commands(title="title_commands", dest="command")
    for name, add_arguments in COMMANDS.items():
        command = commands.add_parser(name, help=name, code=name)
        if words is None or name in words:
            add_arguments(command)
    return program


def _add_agent(program: HelpParser) -> None:
    group = program.add_argument_group("title_agent")
    group.add_argument("-p", "--prompt", nargs="?", const="", metavar="TEXT", help="agent_prompt")
    group.add_argument("--json", action="store_true", help="agent_json")
    group.add_argument("-c", "--continue", dest="resume", action="store_const", const="", help="agent_continue")
    group.add_argument("--resume", nargs="?", const="", metavar="FILE|ID", help="agent_resume")
    group.add_argument("--model", dest="agent_model", metavar="NAME", help="agent_model")
    group.add_argument("--window", "--context-window", dest="agent_window", metavar="N", help="agent_window")
    for preset in ("speed", "balanced", "quality"):
        what = f"agent_{preset}"
        group.add_argument(f"--{preset}", dest="agent_preset", action="store_const", const=preset, help=what)
    group.add_argument("--force", dest="agent_force", action="store_const", const=True, help="agent_force")
    for mode, what in (("yolo", "agent_yolo"), ("read-only", "agent_read_only")):
        group.add_argument(f"--{mode}", dest="agent_permissions", action="store_const", const=mode, help=what)
    for name in ("chat", "debug", "plain"):
        group.add_argument(f"--{name}", dest=f"agent_{name}", action="store_const", const=True, help=f"agent_{name}")


def _add_settings(command: Any, keys: Iterable[SettingKey] = KEYS.values()) -> None:
    """Make every setting a flag, also by its other names, unless there is one; they are too many to list."""
    taken = {flag for action in command._actions for flag in action.option_strings}
    for key in keys:
        flags = [flag for flag in dict.fromkeys(map(flag_of, (key.name, *key.aliases))) if flag not in taken]
        if flags:
            about = {"metavar": "VALUE", "help": argparse.SUPPRESS, "default": argparse.SUPPRESS}
            command.add_argument(*flags, dest=f"agent_{key.name}", **about)


def read_flags(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the settings given as flags, by name."""
    return {
        name.removeprefix("agent_"): value
        for name, value in vars(arguments).items()
        if name.startswith("agent_") and value is not None
    }


def _add_fit(command: Any) -> None:
    _add_conversation(command)
    _add_folding(command)
    _add_store(command)
    command.add_argument("--out", metavar="FILE", help="fit_out")
    command.add_argument("--report", metavar="FILE", help="fit_report")
    command.add_argument("--transcript", metavar="FILE", help="fit_transcript")
    command.add_argument("--quiet", "-q", action="store_true", help="fit_quiet")
    _add_settings(command)


def _add_show(command: Any) -> None:
    _add_conversation(command)
    _add_folding(command)
    command.add_argument("--diff", nargs="*", metavar="A B", help="show_diff")
    _add_session(command)
    _add_settings(command)


def _add_count(command: Any) -> None:
    _add_conversation(command)
    what = command.add_mutually_exclusive_group()
    what.add_argument("--text", action="store_true", help="count_text")
    what.add_argument("--gap", action="store_true", help="count_gap")
    command.add_argument("--json", dest="gap_json", action="store_true", help="count_json")


def _add_demo(command: Any) -> None:
    command.add_argument("--window", type=_positive(command), metavar="N", help="demo_window")
    command.add_argument("--fast", action="store_true", help="demo_fast")


def _add_doctor(command: Any) -> None:
    command.add_argument("file", nargs="?", metavar="FILE", help="doctor_file")
    command.add_argument("--out", metavar="FILE", help="doctor_out")


def _add_export(command: Any) -> None:
    command.add_argument("file", metavar="FILE", help="export_file")
    dialects: Any = DIALECTS  # a list would leave out the dialects of plugins, which are found by name
    names = ChainMap({"transcript": None}, dialects)
    command.add_argument("--to", choices=names, default="openai_chat", metavar="D", help="export_to")
    command.add_argument("--out", metavar="FILE", help="export_out")


def _add_recall(command: Any) -> None:
    command.add_argument("ref", nargs="?", metavar="REF", help="ref")
    command.add_argument("--offset", type=_positive(command), metavar="N", help="recall_offset")
    command.add_argument("--limit", type=_positive(command), metavar="N", help="recall_limit")
    which = command.add_mutually_exclusive_group()
    which.add_argument("--grep", metavar="RE", help="recall_grep")
    which.add_argument("--raw", action="store_true", help="recall_raw")
    which.add_argument("--search", metavar="WORDS", help="recall_search")
    command.add_argument("--all", action="store_true", help="recall_all")
    _add_store(command)


def _add_receipts(command: Any) -> None:
    command.add_argument("--limit", type=_positive(command), default=20, metavar="N", help="receipts_limit")
    _add_store(command)


def _add_why(command: Any) -> None:
    command.add_argument("ref", metavar="REF", help="ref")
    _add_store(command)


def _add_collect(command: Any) -> None:
    days, size = (
        ArgumentType(parse, code, command.lang)
        for parse, code in ((_parse_days, "type_days"), (_parse_size, "type_size"))
    )
    command.add_argument("--older-than", type=days, default=30, metavar="DAYS", help="collect_older_than")
    command.add_argument("--size", type=size, metavar="SIZE", help="collect_size")
    command.add_argument("--dry-run", action="store_true", help="collect_dry_run")
    _add_store(command)


def _add_mcp(command: Any) -> None:
    command.add_argument("--session", metavar="KEY", help="mcp_session")
    _add_store(command)


def _add_acp(command: Any) -> None:
    command.add_argument("--model", dest="agent_model", metavar="NAME", help="agent_model")
    command.add_argument("--window", "--context-window", dest="agent_window", metavar="N", help="agent_window")
    for mode, what in (("yolo", "agent_yolo"), ("read-only", "agent_read_only")):
        command.add_argument(f"--{mode}", dest="agent_permissions", action="store_const", const=mode, help=what)
    _add_settings(command)


def _add_proxy(command: Any) -> None:
    port = ArgumentType(_parse_port, "type_port", command.lang)
    command.add_argument("--port", type=port, default=8787, metavar="N", help="proxy_port")
    command.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="proxy_host")
    command.add_argument("--token", metavar="TEXT", help="proxy_token")
    command.add_argument("--tenant", metavar="NAME", help="proxy_tenant")
    _add_upstream(command)
    _add_settings(command)


def _add_run(command: Any) -> None:
    command.add_argument("--model", metavar="NAME", help="run_model")
    _add_upstream(command)
    _add_settings(command, (key for key in KEYS.values() if key.is_option))  # the others may be the client's
    clients = ("aider", "claude", "codex", "gemini", "opencode", "qwen")
    command.add_argument("client", choices=clients, metavar="CLIENT", help="run_client")
    command.add_argument("arguments", nargs=argparse.REMAINDER, metavar="…", help="run_arguments")
    command.set_defaults(parse_more=lambda words: command.parse_args(words))


def _add_config(command: Any) -> None:
    command.add_argument("names", nargs="*", metavar="NAME", help="config_names")
    _add_settings(command)


def _add_lab(command: Any) -> None:
    command.add_argument("rest", nargs=argparse.REMAINDER, metavar="run PATH…", help="lab_rest")


def _add_upstream(command: Any) -> None:
    command.add_argument("--upstream", metavar="URL", help="upstream")
    command.add_argument("--window", type=_positive(command), metavar="N", help="upstream_window")
    command.add_argument("--reserve", type=_positive(command), metavar="N", help="upstream_reserve")
    command.add_argument("--recipe", metavar="NAME", help="upstream_recipe")
    command.add_argument("--recall-tool", action="store_true", help="upstream_recall_tool")
    command.add_argument("--squeeze", action="store_true", help="upstream_squeeze")
    command.add_argument("--believe", type=_positive(command), metavar="N", help="upstream_believe")
    command.add_argument("--summaries", metavar="MODEL", help="upstream_summaries")
    command.add_argument("--hold-state", action="store_true", help="upstream_hold_state")
    seconds = ArgumentType(_parse_seconds, "type_seconds", command.lang)
    command.add_argument("--summary-wait", type=seconds, metavar="SECONDS", help="upstream_summary_wait")
    _add_store(command)


def _add_undo(command: Any) -> None:
    _add_number(command)
    for flag in ("files", "dry-run", "yes", "overwrite"):
        command.add_argument(f"--{flag}", action="store_true", help=f"undo_{flag.replace('-', '_')}")
    _add_session(command)


def _add_redo(command: Any) -> None:
    _add_number(command)
    _add_session(command)


def _add_number(command: Any) -> None:
    number = _positive(command)
    command.add_argument("count", nargs="?", type=number, default=1, metavar="N", help="count_of_foldings")


def _add_pin(command: Any) -> None:
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("ref", nargs="?", metavar="REF", help="pin_ref")
    what.add_argument("--text", metavar="WORDS", help="pin_text")
    _add_session(command)


def _add_session(command: Any) -> None:
    command.add_argument("--session", metavar="KEY", help="session")
    _add_store(command)


def _add_store(command: Any) -> None:
    command.add_argument("--store", metavar="URL", help="store")


def _add_conversation(command: Any) -> None:
    command.add_argument("file", nargs="?", metavar="FILE", help="conversation")
    command.add_argument("--model", metavar="NAME", help="counted_model")
    command.add_argument("--tokenizer", metavar="FILE", help="tokenizer")
    command.add_argument("--dialect", choices=DIALECTS, metavar="D", help="dialect")


def _add_folding(command: Any) -> None:
    command.add_argument("--window", type=_positive(command), metavar="N", help="window")
    whole = ArgumentType(int, "type_whole", command.lang)
    command.add_argument("--reserve", type=whole, metavar="N", help="reserve")
    command.add_argument("--recipe", metavar="R", help="recipe")
    command.add_argument("--fold", action="store_true", help="fold")
    command.add_argument("--words", metavar="TEXT", default="", help="words")


COMMANDS: Mapping[str, Callable[[Any], None]] = {
    "fit": _add_fit,
    "show": _add_show,
    "count": _add_count,
    "demo": _add_demo,
    "doctor": _add_doctor,
    "export": _add_export,
    "recall": _add_recall,
    "receipts": _add_receipts,
    "why": _add_why,
    "collect": _add_collect,
    "undo": _add_undo,
    "redo": _add_redo,
    "pin": _add_pin,
    "unpin": _add_pin,
    "pins": _add_session,
    "mcp": _add_mcp,
    "acp": _add_acp,
    "proxy": _add_proxy,
    "run": _add_run,
    "config": _add_config,
    "lab": _add_lab,
}
"""What adds the arguments of each command, in the order of the help page."""
