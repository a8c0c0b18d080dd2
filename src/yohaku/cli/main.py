"""The command line: `yohaku` itself, `fit`, `show`, `count`, `demo`, `doctor`, `export`, `lab`, and stores' commands.

Law: exit 0 done, 2 misuse or bad input, 3 does not fit. What goes wrong is one plain line on standard error, and then
nothing has been written. Heavy parts load when a command needs them.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from yohaku import messages
from yohaku.cli import agent
from yohaku.cli.files import InputError, as_json, called, load, read, write
from yohaku.cli.parser import parser
from yohaku.config import settings as setting
from yohaku.core.errors import DoesNotFit, YohakuError


def main(argv: list[str] | None = None) -> int:
    settings = setting.read()
    lang = settings.lang
    _warn(settings.warnings, lang)
    arguments = parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a letter shows its number
            stream.reconfigure(errors="backslashreplace")
    try:
        return int(RUN[arguments.command](arguments, settings) or 0)
    except (InputError, agent.Misuse) as trouble:
        return _fail(str(trouble))
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
        return _fail("not enough memory for this input")


def _fail(line: str, code: int = 2) -> int:
    print(f"yohaku: {line}", file=sys.stderr)
    return code


def fit(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku.cli import stores
    from yohaku.session.persistence import in_memory
    from yohaku.session.session import Session

    given = load(arguments, settings, "fit")
    store = stores.for_fit(arguments.store, settings, lambda why: _warn([in_memory(why)], settings.lang))
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
    written = given.raw if body is given.body and given.raw is not None else as_json(body)
    write(arguments.out, written, settings)
    _write_report(arguments, session, settings)
    if not arguments.quiet:
        print(f"yohaku: {_summary(session, settings)}", file=sys.stderr)
    return 0


def show(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    if arguments.diff is not None:
        from yohaku.cli import history as cli_history

        if arguments.file is not None or len(arguments.diff) > 2:
            raise InputError(messages.say("diff_what", settings.lang))
        return cli_history.diff(arguments, settings)
    from yohaku.core.folds import View
    from yohaku.core.shape import shape
    from yohaku.session.session import Session

    given = load(arguments, settings, "show")
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
    print(_ledger(View(history), meter, session.budget.limit if known else None, lang, messages.say("before", lang)))
    if not known:
        return 0
    try:
        session.fit(given.body, fold=arguments.fold, words=arguments.words)
    finally:
        if session.receipt and session.receipt.folds:
            receipt = session.receipt
            view = receipt.outcome.view
            print("\n" + "\n".join(shape(view, meter)))
            print(_ledger(view, meter, receipt.limit, lang, messages.say("after", lang)))
            for fold in receipt.folds:
                what, why = messages.describe(fold.what, fold.why, lang, fold.detail)
                print(f"{fold.before:>9,} → {fold.after:<8,} {what}: {why}; ref={fold.ref}")
        else:
            print(messages.say("nothing_folded", lang))
    return 0


def count(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku import meters
    from yohaku.core.folds import View
    from yohaku.core.weigh import weigh

    model = arguments.model or settings.model
    if arguments.text:
        data = read(arguments, settings, "count")
        meter = meters.for_model(model)
        try:
            tokens = meter.count(data.decode("utf-8"))
        except UnicodeDecodeError:
            raise InputError(f"{arguments.file}: this is not UTF-8 text") from None
    else:
        from yohaku import dialects

        given = load(arguments, settings, "count")
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
    from yohaku.doctor import path_beside, repair

    repaired = repair(read(arguments, settings, "doctor"))
    file = called(arguments.file)
    if repaired.data is None:
        print(messages.say("doctor_healthy", settings.lang, name=file))
        return 0
    piped = arguments.file == "-"
    out = arguments.out or ("-" if piped else str(path_beside(Path(arguments.file))))
    if not piped and out != "-" and Path(out).exists() and Path(arguments.file).samefile(out):
        raise InputError(messages.say("doctor_same_file", settings.lang, name=file))
    told = sys.stderr if out == "-" else sys.stdout
    for note in repaired.notes:
        print(note.told(settings.lang), file=told)
    write(out, repaired.data, settings)
    print(messages.say("doctor_written", settings.lang, name=file, count=len(repaired.notes), about=out), file=told)
    return 0


def export(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku.session import transcript

    if arguments.to == "transcript":
        if not arguments.out:
            raise InputError(messages.say("export_out", settings.lang))
        transcript.bring(arguments.file, arguments.out)
    else:
        write(arguments.out, as_json(transcript.export(arguments.file, arguments.to)), settings)
    return 0


def recall(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku.cli import stores

    if (arguments.ref is None) == (arguments.search is None):
        raise InputError(messages.say("recall_what", settings.lang))
    if arguments.raw and (arguments.offset or arguments.limit):
        raise InputError(messages.say("recall_raw", settings.lang))
    with stores.opened(arguments.store, settings) as store:
        if arguments.search is not None:
            print(stores.search(store, arguments.search, arguments.limit, settings.lang))
            return 0
        ref, line = stores.place_in(arguments.ref)
        if arguments.raw:
            sys.stdout.buffer.writelines(stores.raw(store, ref))
            sys.stdout.buffer.flush()
        else:
            print(stores.lines(store, ref, arguments.offset or line or 1, arguments.limit, arguments.grep))
    return 0


def receipts(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku.cli import stores
    from yohaku.stores import redacted

    name = redacted(stores.url_of(arguments.store, settings))
    with stores.opened(arguments.store, settings) as store:
        print(stores.receipts(store, arguments.limit, name, settings.lang))
    return 0


def why(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku.cli import stores

    ref, _ = stores.place_in(arguments.ref)
    with stores.opened(arguments.store, settings) as store:
        told = stores.why(store, ref, settings.lang)
    if told is None:
        raise InputError(messages.say("why_unrecorded", settings.lang, name=ref))
    print(told)
    return 0


def collect(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku.cli import stores

    with stores.opened(arguments.store, settings) as store:
        folder = settings.data / "transcripts"
        limits = {"days": arguments.older_than, "size": arguments.size}
        print(stores.collect(store, settings.lang, **limits, dry_run=arguments.dry_run, transcripts=folder))
    return 0


def _later(module: str, function: str) -> Callable[..., int]:
    """A command of another module, which is loaded when it runs."""

    def run(arguments: argparse.Namespace, settings: setting.Settings) -> int:
        return int(getattr(import_module(module), function)(arguments, settings))

    return run


def lab(arguments: argparse.Namespace, settings: setting.Settings) -> int:
    from yohaku.lab.run import main as run

    return run(arguments.rest)


def _window_known(arguments: argparse.Namespace, settings: setting.Settings, model: str | None) -> bool:
    return bool(arguments.window or model or settings.window or settings.maxima)


def _window(arguments: argparse.Namespace, settings: setting.Settings, model: str | None) -> int | None:
    if not _window_known(arguments, settings, model):
        raise InputError(messages.say("no_window", settings.lang))
    window: int | None = arguments.window
    return window


def _warn(notices: Iterable[setting.Notice], lang: str) -> None:
    for notice in notices:
        print(f"yohaku: {messages.notice(notice.code, notice.text, notice.facts, lang)}", file=sys.stderr)


def _write_report(arguments: argparse.Namespace, session: Any, settings: setting.Settings) -> None:
    if arguments.report and session.receipt:
        write(arguments.report, as_json(session.receipt.report()), settings)


def _summary(session: Any, settings: setting.Settings) -> str:
    receipt, lang = session.receipt, settings.lang
    about = "" if receipt.exact else messages.say("estimated", lang)
    facts = {"before": receipt.before, "after": receipt.after, "limit": receipt.limit, "count": len(receipt.folds)}
    return messages.say("folded" if receipt.folds else "fits", lang, about=about, **facts)


def _ledger(view: Any, meter: Any, limit: int | None, lang: str, title: str) -> str:
    from yohaku.core.weigh import weigh

    ledger = weigh(view.shown, meter)
    rows = [(name, getattr(ledger, name)) for name in ("system", "tools", "turns", "request", "total")]
    rows += [("limit", limit)] if limit is not None else []
    lines = [f"  {messages.say(name, lang):20} {tokens:>12,}" for name, tokens in rows]
    about = "" if meter.exact else messages.say("estimated", lang)
    return "\n".join([f"-- {title}{about}", *lines])


RUN: dict[str | None, Callable[..., int]] = {
    None: agent.agent,
    "config": agent.config,
    "mcp": _later("yohaku.cli.mcp", "mcp"),
    **{command.__name__: command for command in (fit, show, count, demo, doctor, export, recall, receipts)},
    **{command.__name__: command for command in (why, collect, lab)},
    **{word: _later("yohaku.cli.history", word) for word in ("undo", "redo", "pin", "unpin", "pins")},
}
"""Every command by its name; none is the agent."""


if __name__ == "__main__":
    sys.exit(main())
