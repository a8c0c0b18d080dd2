"""The command line: `yohaku` itself, `fit`, `show`, `count`, `demo`, `doctor`, `export`, `lab`, and stores' commands.

Law: exit 0 done, 2 misuse or bad input, 3 does not fit. What goes wrong is one plain line on standard error, and then
nothing has been written. Heavy parts load when a command needs them.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from yohaku import __version__, cli_agent, phrases
from yohaku import settings as setting
from yohaku.core.errors import DoesNotFit, YohakuError

MOST = 256 * 1024 * 1024
"""Bytes of input that are read at most."""
RECIPES = ("auto", "local", "chat", "chat-summary", "chat-hybrid", "cache", "layers", "snapshot")
"""As in core.recipes, which is too much to load for a page of help."""


class Trouble(Exception):
    """Something to tell the user in one line, and end with exit 2."""


def main(argv: list[str] | None = None) -> int:
    settings = setting.read()
    lang = settings.lang
    _warn(settings.warnings, lang)
    arguments = _parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a letter shows its number
            stream.reconfigure(errors="backslashreplace")
    try:
        return int(arguments.run(arguments, settings) or 0)
    except (Trouble, cli_agent.Misuse) as trouble:
        return _fail(str(trouble))
    except DoesNotFit as error:
        return _fail(phrases.explain(error, lang), 3)
    except YohakuError as error:
        return _fail(phrases.explain(error, lang))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _fail(phrases.say("stopped", lang), 130)
    except MemoryError:
        return _fail("not enough memory for this input")


def _fail(line: str, code: int = 2) -> int:
    print(f"yohaku: {line}", file=sys.stderr)
    return code


def fit(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku import cli_stores
    from yohaku.keeping import in_memory
    from yohaku.session import Session

    given = _load(arguments, settings, "fit")
    store = cli_stores.for_fit(arguments.store, settings, lambda why: _warn([in_memory(why)], settings.lang))
    session = Session(
        _window(arguments, settings, given.model),
        arguments.reserve if arguments.reserve is not None else settings.reserve,
        arguments.recipe or settings.recipe,
        given.model,
        dialect=given.dialect,
        store=store,
        transcript=arguments.transcript or False,
        settings=settings,
    )
    _warn(session.warnings, settings.lang)
    told = len(session.warnings)
    try:
        body = session.fit(given.body, fold=arguments.fold, words=arguments.words)
    except DoesNotFit:
        _write_report(arguments, session, settings)
        raise
    finally:
        _warn(session.warnings[told:], settings.lang)
        session.close()
        store.close()
    written = given.raw if body is given.body and given.raw is not None else _json(body)
    _write(arguments.out, written, settings)
    _write_report(arguments, session, settings)
    if not arguments.quiet:
        print(f"yohaku: {_summary(session, settings)}", file=sys.stderr)
    return 0


def show(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    if arguments.diff is not None:
        from yohaku import cli_history

        if arguments.file is not None or len(arguments.diff) > 2:
            raise Trouble(phrases.say("diff_what", settings.lang))
        return cli_history.diff(arguments, settings)
    from yohaku.core.fold import View
    from yohaku.core.shape import shape
    from yohaku.session import Session

    given = _load(arguments, settings, "show")
    lang = settings.lang
    known = _window_known(arguments, settings, given.model)
    session = Session(
        arguments.window if known else 1 << 40,
        arguments.reserve if arguments.reserve is not None else settings.reserve,
        arguments.recipe or settings.recipe,
        given.model,
        dialect=given.dialect,
        settings=settings,
    )
    _warn(session.warnings, settings.lang)
    meter = session.meter_for(given.dialect)
    history = session.read(given.body)
    print("\n".join(shape(View(history), meter)))
    print(_ledger(View(history), meter, session.budget.limit if known else None, lang, phrases.say("before", lang)))
    if not known:
        return 0
    try:
        session.fit(given.body, fold=arguments.fold, words=arguments.words)
    finally:
        if session.receipt and session.receipt.folds:
            receipt = session.receipt
            view = receipt.outcome.view
            print("\n" + "\n".join(shape(view, meter)))
            print(_ledger(view, meter, receipt.limit, lang, phrases.say("after", lang)))
            for fold in receipt.folds:
                print(f"{fold.before:>9,} → {fold.after:<8,} {fold.what}: {fold.why}; ref={fold.ref}")
        else:
            print(phrases.say("nothing_folded", lang))
    return 0


def count(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku import meters
    from yohaku.core.fold import View
    from yohaku.core.ledger import weigh

    model = arguments.model or settings.model
    if arguments.text:
        data = _read(arguments, settings, "count")
        meter = meters.for_model(model)
        try:
            tokens = meter.count(data.decode("utf-8"))
        except UnicodeDecodeError:
            raise Trouble(f"{arguments.file}: this is not UTF-8 text") from None
    else:
        from yohaku import dialects

        given = _load(arguments, settings, "count")
        meter = meters.for_model(given.model, given.dialect)
        history = dialects.dialect_named(given.dialect).read(given.body).history()
        tokens = weigh(View(history).shown, meter).total
    print(json.dumps({"tokens": tokens, "exact": meter.exact, "meter": meter.name}, ensure_ascii=False))
    return 0


def demo(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku.demo import play

    return play(arguments.window or 16_384, settings.lang, fast=arguments.fast)


def doctor(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    if arguments.file is None:
        from yohaku.doctor.setup import report

        page, code = report(settings)
        print(page)
        return code
    from yohaku.doctor import repair
    from yohaku.doctor.files import beside, same

    repaired = repair(_read(arguments, settings, "doctor"))
    name = _name(arguments.file)
    if repaired.data is None:
        print(phrases.say("doctor_healthy", settings.lang, name=name))
        return 0
    piped = arguments.file == "-"
    out = arguments.out or ("-" if piped else str(beside(Path(arguments.file))))
    if not piped and out != "-" and same(Path(arguments.file), Path(out)):
        raise Trouble(phrases.say("doctor_same_file", settings.lang, name=name))
    told = sys.stderr if out == "-" else sys.stdout
    for note in repaired.notes:
        print(note.told(settings.lang), file=told)
    _write(out, repaired.data, settings)
    print(phrases.say("doctor_written", settings.lang, name=name, count=len(repaired.notes), about=out), file=told)
    return 0


def export(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku import transcript

    if arguments.to == "transcript":
        if not arguments.out:
            raise Trouble(phrases.say("export_out", settings.lang))
        transcript.bring(arguments.file, arguments.out)
    else:
        _write(arguments.out, _json(transcript.export(arguments.file, arguments.to)), settings)
    return 0


def recall(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku import cli_stores

    if (arguments.ref is None) == (arguments.search is None):
        raise Trouble(phrases.say("recall_what", settings.lang))
    if arguments.raw and (arguments.offset or arguments.limit):
        raise Trouble(phrases.say("recall_raw", settings.lang))
    with cli_stores.opened(arguments.store, settings) as store:
        if arguments.search is not None:
            print(cli_stores.search(store, arguments.search, arguments.limit, settings.lang))
            return 0
        ref = cli_stores.ref_in(arguments.ref)
        if arguments.raw:
            sys.stdout.buffer.writelines(cli_stores.raw(store, ref))
            sys.stdout.buffer.flush()
        else:
            print(cli_stores.lines(store, ref, arguments.offset or 1, arguments.limit, arguments.grep))
    return 0


def receipts(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku import cli_stores, stores

    name = stores.redacted(cli_stores.url_of(arguments.store, settings))
    with cli_stores.opened(arguments.store, settings) as store:
        print(cli_stores.receipts(store, arguments.limit, name, settings.lang))
    return 0


def why(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku import cli_stores

    ref = cli_stores.ref_in(arguments.ref)
    with cli_stores.opened(arguments.store, settings) as store:
        told = cli_stores.why(store, ref, settings.lang)
    if told is None:
        raise Trouble(phrases.say("why_unrecorded", settings.lang, name=ref))
    print(told)
    return 0


def collect(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku import cli_stores

    with cli_stores.opened(arguments.store, settings) as store:
        folder = settings.data / "transcripts"
        days, dry_run = arguments.older_than, arguments.dry_run
        print(cli_stores.collect(store, days, settings.lang, dry_run=dry_run, transcripts=folder))
    return 0


def history(name: str) -> Callable[..., int]:
    """A command of cli_history, which is loaded when it runs."""

    def run(arguments: argparse.Namespace, settings: setting.Settings) -> int:
        from yohaku import cli_history

        return int(getattr(cli_history, name)(arguments, settings))

    return run


def lab(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku.lab.run import main as run

    return run(arguments.rest)


class Given:
    """A conversation to work on: a body in a dialect, and the bytes it came as."""

    def __init__(self, body: Any, dialect: str, model: str | None, raw: bytes | None) -> None:
        self.body, self.dialect, self.model, self.raw = body, dialect, model, raw


def _load(arguments: argparse.Namespace, settings: setting.Settings, command: str) -> Given:
    """A recording, or a body of another dialect than the one asked for, is put into that dialect first."""
    from yohaku import dialects
    from yohaku.dialects.load import Request, load

    data = _read(arguments, settings, command)
    loaded = load(data, _name(arguments.file))
    wanted = arguments.dialect
    model = arguments.model
    if isinstance(loaded, Request):
        model = model or (loaded.value.get("model") if isinstance(loaded.value, dict) else None)
        model = model if isinstance(model, str) else None
        if wanted in (None, loaded.dialect):
            raw = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            return Given(loaded.value, loaded.dialect, model or settings.model, raw)
        history = dialects.dialect_named(loaded.dialect).read(loaded.value).history()
    else:
        history, model = loaded.history, model or loaded.model or None
    dialect = dialects.dialect_named(wanted or "openai_chat")
    return Given(dialect.compose(history, model or ""), dialect.name, model or settings.model, None)


def _read(arguments: argparse.Namespace, settings: setting.Settings, command: str) -> bytes:
    lang, name = settings.lang, _name(arguments.file)
    if arguments.file in (None, "-"):
        if sys.stdin.isatty():
            raise Trouble(phrases.say("no_input", lang, command=command))
        data = sys.stdin.buffer.read(MOST + 1)
        size = len(data)
    else:
        path = Path(arguments.file)
        try:
            size = path.stat().st_size
            data = path.read_bytes() if size <= MOST else b""
        except OSError as error:
            raise Trouble(_os_trouble(error, name, lang)) from None
    if size > MOST:
        raise Trouble(phrases.say("too_large", lang, name=name, size=size, most=MOST))
    return data


def _name(file: str | None) -> str:
    return "standard input" if file in (None, "-") else str(file)


def _os_trouble(error: OSError, name: str, lang: str) -> str:
    match error:
        case FileNotFoundError():
            return phrases.say("no_file", lang, name=name)
        case IsADirectoryError():
            return phrases.say("is_folder", lang, name=name)
        case PermissionError():
            return phrases.say("no_permission", lang, name=name)
    return phrases.say("os_error", lang, name=name, why=error.strerror)


def _window_known(arguments: argparse.Namespace, settings: setting.Settings, model: str | None) -> bool:
    return bool(arguments.window or model or settings.window or settings.maxima)


def _window(arguments: argparse.Namespace, settings: setting.Settings, model: str | None) -> int | None:
    if not _window_known(arguments, settings, model):
        raise Trouble(phrases.say("no_window", settings.lang))
    window: int | None = arguments.window
    return window


def _warn(notices: Iterable[setting.Notice], lang: str) -> None:
    for notice in notices:
        print(f"yohaku: {phrases.notice(notice.code, notice.text, notice.facts, lang)}", file=sys.stderr)


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair can only be written as an escape
        return json.dumps(value).encode() + b"\n"


def _write(out: str | None, data: bytes, settings: setting.Settings) -> None:
    """All of it or nothing: a file is written beside its place and moved there."""
    if out in (None, "-"):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        _replace(Path(str(out)), data)
    except (OSError, ValueError) as error:
        why = error if isinstance(error, OSError) else IsADirectoryError()
        raise Trouble(_os_trouble(why, str(out), settings.lang)) from None


def _replace(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file():  # a device or a pipe is written to, never replaced
        path.write_bytes(data)
        return
    path = path.resolve()
    beside = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o7777)
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _write_report(arguments: argparse.Namespace, session: Any, settings: setting.Settings) -> None:
    if arguments.report and session.receipt:
        _write(arguments.report, _json(session.receipt.report()), settings)


def _summary(session: Any, settings: setting.Settings) -> str:
    receipt, lang = session.receipt, settings.lang
    about = "" if receipt.exact else phrases.say("estimated", lang)
    facts = {"before": receipt.before, "after": receipt.after, "limit": receipt.limit, "count": len(receipt.folds)}
    return phrases.say("folded" if receipt.folds else "fits", lang, about=about, **facts)


def _ledger(view: Any, meter: Any, limit: int | None, lang: str, title: str) -> str:
    from yohaku.core.ledger import weigh

    ledger = weigh(view.shown, meter)
    rows = [(name, getattr(ledger, name)) for name in ("system", "tools", "turns", "request", "total")]
    rows += [("limit", limit)] if limit is not None else []
    lines = [f"  {phrases.say(name, lang):20} {tokens:>12,}" for name, tokens in rows]
    about = "" if meter.exact else phrases.say("estimated", lang)
    return "\n".join([f"-- {title}{about}", *lines])


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


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, like everything else here."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="yohaku",
        description="Keeps a conversation with a language model inside its context window. It folds; it never deletes.",
        epilog='examples:\n  yohaku\n  yohaku -p "find the slow test"\n  yohaku demo\n'
        "  yohaku fit request.json --window 8192 --out smaller.json\n"
        "  yohaku recall ref=abcdefgh2345\n  yohaku count request.json --model gpt-4o",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"yohaku {__version__}")
    cli_agent.add(parser)
    parser.set_defaults(run=cli_agent.agent)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    _add_fit(commands)
    _add_show(commands)
    _add_count(commands)
    command = _command(commands, "demo", demo, "fold a long recorded session, live in the terminal", ["yohaku demo"])
    command.add_argument("--window", type=_positive, metavar="N", help="tokens the model can hold (default 16384)")
    command.add_argument("--fast", action="store_true", help="without pauses")
    _add_doctor(commands)
    _add_recall(commands)
    _add_receipts(commands)
    _add_undo(commands)
    _add_mcp(commands)
    examples = ["yohaku config"]
    _command(commands, "config", cli_agent.config, "show every setting, and where it came from", examples)
    examples = ["yohaku lab run sessions/ --windows 8192 --recipes auto,sliding", "yohaku lab run --help"]
    command = _command(commands, "lab", lab, "replay recorded sessions, and score what recipes keep", examples)
    command.add_argument("rest", nargs=argparse.REMAINDER, metavar="run PATH…", help="see yohaku lab run --help")
    return parser


def _add_fit(commands: Any) -> None:
    examples = [
        "yohaku fit request.json --window 8192",
        "yohaku fit session.jsonl.gz --window 32768 --dialect anthropic --out request.json --report report.json",
        "cat request.json | yohaku fit - --model gpt-4o --recipe chat",
        'yohaku fit request.json --window 8192 --fold --words "keep what concerns the parser"',
    ]
    command = _command(commands, "fit", fit, "give back the same conversation, within the window", examples)
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
    command = _command(
        commands, "show", show, "show what is in a conversation, and what folding did or would do", examples
    )
    _conversation(command)
    _folding(command)
    what = "what changed between two foldings as receipts lists them; of one, or the last: what it did"
    command.add_argument("--diff", nargs="*", metavar="A B", help=what)
    _session(command)


def _add_count(commands: Any) -> None:
    examples = ["yohaku count request.json --model gpt-4o", "yohaku count notes.txt --text --model claude-sonnet-4-5"]
    command = _command(commands, "count", count, "count the tokens of a conversation or a text", examples)
    _conversation(command)
    command.add_argument("--text", action="store_true", help="the input is plain text, not a conversation")


def _add_doctor(commands: Any) -> None:
    examples = ["yohaku doctor", "yohaku doctor session.jsonl", "yohaku doctor request.json --out mended.json"]
    command = _command(commands, "doctor", doctor, "check a set-up, or repair a broken session file", examples)
    command.add_argument("file", nargs="?", metavar="FILE", help="a session file or request body; none: the set-up")
    command.add_argument("--out", metavar="FILE", help="write here instead of beside the original")
    examples = [
        "yohaku export session.jsonl --to anthropic",
        "yohaku export claude.jsonl --to transcript --out mine.jsonl",
    ]
    command = _command(commands, "export", export, "write a session in any dialect, or as our transcript", examples)
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
    command = _command(commands, "recall", recall, "open what was folded, by the ref that is shown for it", examples)
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
    command = _command(commands, "receipts", receipts, "tell what was folded, and when", examples)
    command.add_argument("--limit", type=_positive, default=20, metavar="N", help="the newest so many (default 20)")
    _store(command)
    command = _command(commands, "why", why, "tell why something was folded", ["yohaku why ref=abcdefgh2345"])
    command.add_argument("ref", metavar="REF", help="as shown: ref=… or without ref=")
    _store(command)
    examples = ["yohaku collect --dry-run", "yohaku collect --older-than 90"]
    command = _command(commands, "collect", collect, "remove old originals that no fold shows any more", examples)
    command.add_argument("--older-than", type=_days, default=30, metavar="DAYS", help="how old (default 30)")
    command.add_argument("--dry-run", action="store_true", help="say what would be removed, and leave it")
    _store(command)


def _add_mcp(commands: Any) -> None:
    from yohaku import cli_mcp

    command = _command(commands, "mcp", cli_mcp.mcp, cli_mcp.WHAT, cli_mcp.EXAMPLES)
    cli_mcp.options(command)
    _store(command)


def _add_undo(commands: Any) -> None:
    examples = ["yohaku undo", "yohaku undo 2 --session 3f9a"]
    command = _command(commands, "undo", history("undo"), "take back the last folding of a session", examples)
    command.add_argument("count", nargs="?", type=_positive, default=1, metavar="N", help="how many (default 1)")
    _session(command)
    command = _command(commands, "redo", history("redo"), "make a folding stand again that was undone", ["yohaku redo"])
    command.add_argument("count", nargs="?", type=_positive, default=1, metavar="N", help="how many (default 1)")
    _session(command)
    examples = ["yohaku pin ref=abcdefgh2345", 'yohaku pin --text "never touch the database"']
    command = _command(commands, "pin", history("pin"), "keep something from being folded", examples)
    _pinned(command)
    examples = ["yohaku unpin ref=abcdefgh2345", 'yohaku unpin --text "never touch the database"']
    command = _command(commands, "unpin", history("unpin"), "let something be folded again", examples)
    _pinned(command)
    command = _command(
        commands, "pins", history("pins"), "list what is pinned", ["yohaku pins", "yohaku pins --session 3f9a"]
    )
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


def _command(commands: Any, name: str, run: Callable[..., int], what: str, examples: list[str]) -> Any:
    command = commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog="examples:\n" + "\n".join(f"  {example}" for example in examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


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


if __name__ == "__main__":
    sys.exit(main())
