"""What the command line understands, and its pages of help.

Law: nothing is loaded here that a page of help does not need.
"""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from yohaku import __version__
from yohaku.cli import agent

RECIPES = ("auto", "local", "chat", "chat-summary", "chat-hybrid", "cache", "layers", "snapshot")
"""As in core.recipes, which is too much to load for a page of help."""


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
    """Says what is wrong in one line, like everything else here."""

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
    agent.add(program)
    commands = program.add_subparsers(metavar="COMMAND", title="commands", dest="command")
    _add_fit(commands)
    _add_show(commands)
    _add_count(commands)
    command = _command(commands, "demo", "fold a long recorded session, live in the terminal", ["yohaku demo"])
    command.add_argument("--window", type=_positive, metavar="N", help="tokens the model can hold (default 16384)")
    command.add_argument("--fast", action="store_true", help="without pauses")
    _add_doctor(commands)
    _add_recall(commands)
    _add_receipts(commands)
    _add_undo(commands)
    _add_mcp(commands)
    examples = ["yohaku config"]
    _command(commands, "config", "show every setting, and where it came from", examples)
    examples = ["yohaku lab run sessions/ --windows 8192 --recipes auto,sliding", "yohaku lab run --help"]
    command = _command(commands, "lab", "replay recorded sessions, and score what recipes keep", examples)
    command.add_argument("rest", nargs=argparse.REMAINDER, metavar="run PATH…", help="see yohaku lab run --help")
    return program


def _add_fit(commands: Any) -> None:
    examples = [
        "yohaku fit request.json --window 8192",
        "yohaku fit session.jsonl.gz --window 32768 --dialect anthropic --out request.json --report report.json",
        "cat request.json | yohaku fit - --model gpt-4o --recipe chat",
        'yohaku fit request.json --window 8192 --fold --words "keep what concerns the parser"',
    ]
    command = _command(commands, "fit", "give back the same conversation, within the window", examples)
    _conversation(command)
    _folding(command)
    _store(command)
    command.add_argument("--out", metavar="FILE", help="write the result here instead of standard output")
    command.add_argument("--report", metavar="FILE", help="write what was folded, and why, as JSON")
    command.add_argument("--transcript", metavar="FILE", help="write what is said, and each folding, as JSON lines")
    command.add_argument("--quiet", "-q", action="store_true", help="say nothing on standard error when all is well")


def _add_show(commands: Any) -> None:
    examples = [
        "yohaku show request.json",
        "yohaku show session.jsonl.gz --window 16384",
        "yohaku show --diff",
        "yohaku show --diff 2 5 --session 3f9a",
    ]
    command = _command(commands, "show", "show what is in a conversation, and what folding did or would do", examples)
    _conversation(command)
    _folding(command)
    what = "what changed between two foldings as receipts lists them; of one, or the last: what it did"
    command.add_argument("--diff", nargs="*", metavar="A B", help=what)
    _session(command)


def _add_count(commands: Any) -> None:
    examples = ["yohaku count request.json --model gpt-4o", "yohaku count notes.txt --text --model claude-sonnet-4-5"]
    command = _command(commands, "count", "count the tokens of a conversation or a text", examples)
    _conversation(command)
    command.add_argument("--text", action="store_true", help="the input is plain text, not a conversation")


def _add_doctor(commands: Any) -> None:
    examples = ["yohaku doctor", "yohaku doctor session.jsonl", "yohaku doctor request.json --out mended.json"]
    command = _command(commands, "doctor", "check a set-up, or repair a broken session file", examples)
    command.add_argument("file", nargs="?", metavar="FILE", help="a session file or request body; none: the set-up")
    command.add_argument("--out", metavar="FILE", help="write here instead of beside the original")
    examples = [
        "yohaku export session.jsonl --to anthropic",
        "yohaku export claude.jsonl --to transcript --out mine.jsonl",
    ]
    command = _command(commands, "export", "write a session in any dialect, or as our transcript", examples)
    command.add_argument("file", metavar="FILE", help="a recorded session, transcript or request body")
    names = ["openai_chat", "openai_responses", "anthropic", "gemini", "ollama", "transcript"]
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
    command = _command(commands, "recall", "open what was folded, by the ref that is shown for it", examples)
    command.add_argument("ref", nargs="?", metavar="REF", help="as shown: ref=… or without ref=")
    command.add_argument("--offset", type=_positive, metavar="N", help="the line to begin at (default 1)")
    command.add_argument(
        "--limit", type=_positive, metavar="N", help="lines at most (default 200; 50 with --grep, 20 with --search)"
    )
    which = command.add_mutually_exclusive_group()
    which.add_argument("--grep", metavar="RE", help="only lines that match a regular expression")
    which.add_argument("--raw", action="store_true", help="the bytes of the original, and nothing else")
    which.add_argument("--search", metavar="WORDS", help="lines with all these words, in everything that is kept")
    _store(command)


def _add_receipts(commands: Any) -> None:
    examples = ["yohaku receipts", "yohaku receipts --limit 100"]
    command = _command(commands, "receipts", "tell what was folded, and when", examples)
    command.add_argument("--limit", type=_positive, default=20, metavar="N", help="the newest so many (default 20)")
    _store(command)
    command = _command(commands, "why", "tell why something was folded", ["yohaku why ref=abcdefgh2345"])
    command.add_argument("ref", metavar="REF", help="as shown: ref=… or without ref=")
    _store(command)
    examples = ["yohaku collect --dry-run", "yohaku collect --older-than 90", "yohaku collect --size 2GB"]
    command = _command(commands, "collect", "remove old originals that no fold shows any more", examples)
    command.add_argument("--older-than", type=_days, default=30, metavar="DAYS", help="how old (default 30)")
    command.add_argument("--size", type=_size, metavar="SIZE", help="what all may take, as 500MB: the oldest go first")
    command.add_argument("--dry-run", action="store_true", help="say what would be removed, and leave it")
    _store(command)


def _add_mcp(commands: Any) -> None:
    from yohaku.cli import mcp

    command = _command(commands, "mcp", mcp.WHAT, mcp.EXAMPLES)
    mcp.options(command)
    _store(command)


def _add_undo(commands: Any) -> None:
    examples = ["yohaku undo", "yohaku undo 2 --session 3f9a"]
    command = _command(commands, "undo", "take back the last folding of a session", examples)
    command.add_argument("count", nargs="?", type=_positive, default=1, metavar="N", help="how many (default 1)")
    _session(command)
    command = _command(commands, "redo", "make a folding stand again that was undone", ["yohaku redo"])
    command.add_argument("count", nargs="?", type=_positive, default=1, metavar="N", help="how many (default 1)")
    _session(command)
    examples = ["yohaku pin ref=abcdefgh2345", 'yohaku pin --text "never touch the database"']
    command = _command(commands, "pin", "keep something from being folded", examples)
    _pinned(command)
    examples = ["yohaku unpin ref=abcdefgh2345", 'yohaku unpin --text "never touch the database"']
    command = _command(commands, "unpin", "let something be folded again", examples)
    _pinned(command)
    command = _command(commands, "pins", "list what is pinned", ["yohaku pins", "yohaku pins --session 3f9a"])
    _session(command)


def _pinned(command: Any) -> None:
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("ref", nargs="?", metavar="REF", help="as shown: ref=…; or the key of a prompt or step")
    what.add_argument("--text", metavar="WORDS", help="words as they were said")
    _session(command)


def _session(command: Any) -> None:
    command.add_argument("--session", metavar="KEY", help="as receipts lists it, or how it begins (default: the last)")
    _store(command)


def _store(command: Any) -> None:
    stores = "memory:, sqlite:///path, redis://… or postgresql://…"
    command.add_argument("--store", metavar="URL", help=f"{stores} (default: YOHAKU_STORE, or a file of your own)")


def _command(commands: Any, name: str, what: str, examples: list[str]) -> Any:
    return commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog="examples:\n" + "\n".join(f"  {example}" for example in examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _conversation(command: Any) -> None:
    command.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a request body, message list or recorded session; - or none: standard input",
    )
    command.add_argument(
        "--model", metavar="NAME", help="whose tokens are counted (default: the one named in the file)"
    )
    names = ["openai_chat", "openai_responses", "anthropic", "gemini", "ollama"]
    command.add_argument("--dialect", choices=names, metavar="D", help=f"the format to write: {', '.join(names)}")


def _folding(command: Any) -> None:
    command.add_argument("--window", type=_positive, metavar="N", help="tokens the model can hold, prompt and reply")
    command.add_argument("--reserve", type=int, metavar="N", help="tokens kept free for the reply (default: an eighth)")
    names = f"{', '.join(RECIPES)}, or one of your own from [recipes.NAME] of the config file"
    command.add_argument("--recipe", metavar="R", help=f"how to fold (default auto): {names}")
    command.add_argument("--fold", action="store_true", help="fold now, whatever the weight, as /compact does")
    command.add_argument("--words", metavar="TEXT", default="", help="what a folding is to keep, in your words")
