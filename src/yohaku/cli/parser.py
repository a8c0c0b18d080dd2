"""Commands, flags and help pages of the command line.

Law: a help page loads nothing of the commands themselves.
"""

from __future__ import annotations

import argparse
import re
from collections import ChainMap
from collections.abc import Iterable
from typing import Any, NoReturn

from yohaku import __version__
from yohaku.config.keys import KEYS, SettingKey, flag_of
from yohaku.dialects import DIALECTS

RECIPES = ("auto", "local", "chat", "chat-summary", "chat-hybrid", "cache", "layers", "snapshot")
"""Those of yohaku.recipes, which is too much to load for a help page."""
PRESETS = {
    "speed": "half the window that suits the memory: quicker replies",
    "balanced": "the window that suits the memory (default)",
    "quality": "half as much again, as far as memory goes: larger files",
}


def _positive(text: str) -> int:
    number = int(text.replace(",", "").replace("_", ""))
    if not 1 <= number < 10**12:
        raise ValueError
    return number


_positive.__name__ = "positive number"


def _days(text: str) -> int:
    number = int(text)
    if not 0 <= number < 10**6:
        raise ValueError
    return number


_days.__name__ = "number of days"


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?) ?([kmgt]?)i?b?", text.strip().lower())
    if not found:
        raise ValueError
    return int(float(found[1]) * 1000 ** " kmgt".index(found[2] or " "))


_size.__name__ = "size"


class _Parser(argparse.ArgumentParser):
    """Parser that reports an error in one line, like every command."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    program = _Parser(
        prog="yohaku",
        description="Keeps a conversation with a language model inside its context window. It folds; it never deletes.",
        epilog='examples:\n  yohaku\n  yohaku -p "find the slow test"\n  yohaku demo\n'
        "  yohaku fit request.json --window 8192 --out smaller.json\n"
        "  yohaku recall ref=abcdefgh2345\n  yohaku count request.json --model gpt-4o",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    program.add_argument("--version", action="version", version=f"yohaku {__version__}")
    _add_agent(program)
    commands = program.add_subparsers(metavar="COMMAND", title="commands", dest="command")
    _add_fit(commands)
    _add_show(commands)
    _add_count(commands)
    command = _add_command(commands, "demo", "fold a long recorded session, live in the terminal", ["yohaku demo"])
    command.add_argument("--window", type=_positive, metavar="N", help="tokens the model can hold (default 16384)")
    command.add_argument("--fast", action="store_true", help="without pauses")
    _add_doctor(commands)
    _add_recall(commands)
    _add_receipts(commands)
    _add_undo(commands)
    _add_mcp(commands)
    _add_proxy(commands)
    _add_run(commands)
    examples = ["yohaku config", "yohaku config window compaction", "yohaku config thresholdRatio"]
    command = _add_command(commands, "config", "show every setting, and where it came from", examples)
    command.add_argument("names", nargs="*", metavar="NAME", help="explain a setting, or all of a section")
    _add_settings(command)
    examples = ["yohaku lab run sessions/ --windows 8192 --recipes auto,sliding", "yohaku lab run --help"]
    command = _add_command(commands, "lab", "replay recorded sessions, and score what recipes keep", examples)
    command.add_argument("rest", nargs=argparse.REMAINDER, metavar="run PATH…", help="see yohaku lab run --help")
    return program


def _add_agent(program: argparse.ArgumentParser) -> None:
    group = program.add_argument_group("the agent (yohaku without a command)")
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
    _add_settings(group)


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


def _add_fit(commands: Any) -> None:
    examples = [
        "yohaku fit request.json --window 8192",
        "yohaku fit session.jsonl.gz --window 32768 --dialect anthropic --out request.json --report report.json",
        "cat request.json | yohaku fit - --model gpt-4o --recipe chat",
        'yohaku fit request.json --window 8192 --fold --words "keep what concerns the parser"',
    ]
    command = _add_command(commands, "fit", "give back the same conversation, within the window", examples)
    _add_conversation(command)
    _add_folding(command)
    _add_store(command)
    command.add_argument("--out", metavar="FILE", help="write the result here instead of standard output")
    command.add_argument("--report", metavar="FILE", help="write what was folded, and why, as JSON")
    command.add_argument("--transcript", metavar="FILE", help="write what is said, and each folding, as JSON lines")
    command.add_argument("--quiet", "-q", action="store_true", help="say nothing on standard error when all is well")
    _add_settings(command)


def _add_show(commands: Any) -> None:
    examples = [
        "yohaku show request.json",
        "yohaku show session.jsonl.gz --window 16384",
        "yohaku show --diff",
        "yohaku show --diff 2 5 --session 3f9a",
    ]
    what = "show what is in a conversation, and what folding did or would do"
    command = _add_command(commands, "show", what, examples)
    _add_conversation(command)
    _add_folding(command)
    what = "what changed between two foldings as receipts lists them; of one, or the last: what it did"
    command.add_argument("--diff", nargs="*", metavar="A B", help=what)
    _add_session(command)
    _add_settings(command)


def _add_count(commands: Any) -> None:
    examples = [
        "yohaku count request.json --model gpt-4o",
        "yohaku count notes.txt --text --model claude-sonnet-4-5",
        "yohaku count --gap",
    ]
    command = _add_command(commands, "count", "count the tokens of a conversation or a text", examples)
    _add_conversation(command)
    what = command.add_mutually_exclusive_group()
    what.add_argument("--text", action="store_true", help="the input is plain text, not a conversation")
    what.add_argument("--gap", action="store_true", help="show how far our counts were from what was billed, by model")
    command.add_argument("--json", dest="gap_json", action="store_true", help="with --gap: one JSON object a line")


def _add_doctor(commands: Any) -> None:
    examples = ["yohaku doctor", "yohaku doctor session.jsonl", "yohaku doctor request.json --out mended.json"]
    command = _add_command(commands, "doctor", "check a set-up, or repair a broken session file", examples)
    command.add_argument("file", nargs="?", metavar="FILE", help="a session file or request body; none: the set-up")
    command.add_argument("--out", metavar="FILE", help="write here instead of beside the original")
    examples = [
        "yohaku export session.jsonl --to anthropic",
        "yohaku export claude.jsonl --to transcript --out mine.jsonl",
    ]
    command = _add_command(commands, "export", "write a session in any dialect, or as our transcript", examples)
    command.add_argument("file", metavar="FILE", help="a recorded session, transcript or request body")
    dialects: Any = DIALECTS  # a list would leave out the dialects of plugins, which are found by name
    names = ChainMap({"transcript": None}, dialects)
    command.add_argument("--to", choices=names, default="openai_chat", metavar="D", help=", ".join(names))
    command.add_argument("--out", metavar="FILE", help="write here instead of standard output")


def _add_recall(commands: Any) -> None:
    examples = [
        "yohaku recall ref=abcdefgh2345",
        "yohaku recall abcdefgh2345 --offset 400 --limit 50",
        "yohaku recall abcdefgh2345 --grep '(?i)error'",
        "yohaku recall abcdefgh2345 --raw",
        "yohaku recall --search 'connection refused'",
    ]
    command = _add_command(commands, "recall", "open what was folded, by the ref that is shown for it", examples)
    command.add_argument("ref", nargs="?", metavar="REF", help="as shown: ref=… or without ref=")
    command.add_argument("--offset", type=_positive, metavar="N", help="the line to begin at (default 1)")
    command.add_argument(
        "--limit",
        type=_positive,
        metavar="N",
        help="lines at most (default 200; 50 with --grep, 20 with --search)",
    )
    which = command.add_mutually_exclusive_group()
    which.add_argument("--grep", metavar="RE", help="only lines that match a regular expression")
    which.add_argument("--raw", action="store_true", help="the bytes of the original, and nothing else")
    which.add_argument("--search", metavar="WORDS", help="lines with all these words, in everything that is kept")
    _add_store(command)


def _add_receipts(commands: Any) -> None:
    examples = ["yohaku receipts", "yohaku receipts --limit 100"]
    command = _add_command(commands, "receipts", "tell what was folded, and when", examples)
    command.add_argument("--limit", type=_positive, default=20, metavar="N", help="the newest so many (default 20)")
    _add_store(command)
    command = _add_command(commands, "why", "tell why something was folded", ["yohaku why ref=abcdefgh2345"])
    command.add_argument("ref", metavar="REF", help="as shown: ref=… or without ref=")
    _add_store(command)
    examples = ["yohaku collect --dry-run", "yohaku collect --older-than 90", "yohaku collect --size 2GB"]
    command = _add_command(commands, "collect", "remove old originals that no fold shows any more", examples)
    command.add_argument("--older-than", type=_days, default=30, metavar="DAYS", help="how old (default 30)")
    command.add_argument("--size", type=_size, metavar="SIZE", help="what all may take, as 500MB: the oldest go first")
    command.add_argument("--dry-run", action="store_true", help="say what would be removed, and leave it")
    _add_store(command)


def _add_mcp(commands: Any) -> None:
    examples = [
        "yohaku mcp",
        "yohaku mcp --store sqlite:///srv/yohaku/store.db",
        "claude mcp add yohaku -- yohaku mcp",
    ]
    what = "offer what was folded to a program that speaks MCP, over standard input and output"
    command = _add_command(commands, "mcp", what, examples)
    command.add_argument("--session", metavar="KEY", help="search only in what this session folded (default: in all)")
    _add_store(command)


def _add_proxy(commands: Any) -> None:
    examples = [
        "yohaku proxy",
        "yohaku proxy --upstream http://127.0.0.1:8080 --window 8192",
        "yohaku proxy --port 9000 --store redis://127.0.0.1/0",
    ]
    what = "keep any client inside its window: stand between it and its provider"
    command = _add_command(commands, "proxy", what, examples)
    command.add_argument("--port", type=_positive, default=8787, metavar="N", help="default %(default)s")
    command.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="loopback only (default %(default)s)")
    _add_upstream(command)
    _add_settings(command)


def _add_run(commands: Any) -> None:
    examples = [
        "yohaku run claude",
        "yohaku run claude --upstream http://localhost:11434 --model qwen3:8b --window 32768",
        'yohaku run codex --upstream http://localhost:8080 --window 16384 exec "fix the test"',
        "yohaku run aider --upstream http://localhost:8080",
    ]
    command = _add_command(commands, "run", "start a client with the proxy in front of its provider", examples)
    command.add_argument("--model", metavar="NAME", help="the model the client asks for")
    _add_upstream(command)
    _add_settings(command, (key for key in KEYS.values() if key.is_option))  # the others may be the client's
    clients = ("aider", "claude", "codex", "gemini", "opencode", "qwen")
    command.add_argument("client", choices=clients, metavar="CLIENT", help=", ".join(clients))
    command.add_argument("arguments", nargs=argparse.REMAINDER, metavar="…", help="given to the client")
    command.set_defaults(parse_more=lambda words: command.parse_args(words))


def _add_upstream(command: Any) -> None:
    command.add_argument("--upstream", metavar="URL", help="for every path (default: each provider's own address)")
    command.add_argument("--window", type=_positive, metavar="N", help="tokens the model can hold (default: by model)")
    command.add_argument("--reserve", type=_positive, metavar="N", help="tokens kept free for the reply")
    command.add_argument("--recipe", metavar="NAME", help="how to fold (default auto)")
    _add_store(command)


def _add_undo(commands: Any) -> None:
    examples = ["yohaku undo", "yohaku undo 2 --session 3f9a"]
    command = _add_command(commands, "undo", "take back the last folding of a session", examples)
    command.add_argument("count", nargs="?", type=_positive, default=1, metavar="N", help="how many (default 1)")
    _add_session(command)
    command = _add_command(commands, "redo", "make a folding stand again that was undone", ["yohaku redo"])
    command.add_argument("count", nargs="?", type=_positive, default=1, metavar="N", help="how many (default 1)")
    _add_session(command)
    examples = ["yohaku pin ref=abcdefgh2345", 'yohaku pin --text "never touch the database"']
    command = _add_command(commands, "pin", "keep something from being folded", examples)
    _add_pin_arguments(command)
    examples = ["yohaku unpin ref=abcdefgh2345", 'yohaku unpin --text "never touch the database"']
    command = _add_command(commands, "unpin", "let something be folded again", examples)
    _add_pin_arguments(command)
    command = _add_command(commands, "pins", "list what is pinned", ["yohaku pins", "yohaku pins --session 3f9a"])
    _add_session(command)


def _add_pin_arguments(command: Any) -> None:
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("ref", nargs="?", metavar="REF", help="as shown: ref=…; or the key of a prompt or step")
    what.add_argument("--text", metavar="WORDS", help="words as they were said")
    _add_session(command)


def _add_session(command: Any) -> None:
    command.add_argument("--session", metavar="KEY", help="as receipts lists it, or how it begins (default: the last)")
    _add_store(command)


def _add_store(command: Any) -> None:
    stores = "memory:, sqlite:///path, redis://… or postgresql://…"
    command.add_argument("--store", metavar="URL", help=f"{stores} (default: YOHAKU_STORE, or a file of your own)")


def _add_command(commands: Any, name: str, what: str, examples: list[str]) -> Any:
    return commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog="examples:\n" + "\n".join(f"  {example}" for example in examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_conversation(command: Any) -> None:
    command.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a request body, message list or recorded session; - or none: standard input",
    )
    command.add_argument(
        "--model", metavar="NAME", help="whose tokens are counted (default: the one named in the file)"
    )
    command.add_argument("--tokenizer", metavar="FILE", help="count exactly by the model's tokenizer.json or .gguf")
    about = f"the format to write: {', '.join(DIALECTS)}"
    command.add_argument("--dialect", choices=DIALECTS, metavar="D", help=about)


def _add_folding(command: Any) -> None:
    command.add_argument("--window", type=_positive, metavar="N", help="tokens the model can hold, prompt and reply")
    command.add_argument("--reserve", type=int, metavar="N", help="tokens kept free for the reply (default: an eighth)")
    names = f"{', '.join(RECIPES)}, or one of your own from [recipes.NAME] of the config file"
    command.add_argument("--recipe", metavar="R", help=f"how to fold (default auto): {names}")
    command.add_argument("--fold", action="store_true", help="fold now, whatever the weight, as /compact does")
    command.add_argument("--words", metavar="TEXT", default="", help="what a folding is to keep, in your words")
