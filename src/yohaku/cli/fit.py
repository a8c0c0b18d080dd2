"""Commands on a conversation: `fit` folds it, `show` explains it, `count` weighs it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from yohaku import messages
from yohaku.cli.files import InputError, LoadedInput, load, print_notices, read, to_json, write
from yohaku.config.settings import Settings, with_flags
from yohaku.core.errors import DoesNotFit
from yohaku.core.meter import Meter
from yohaku.core.verdict import Inflated, LeftAlone
from yohaku.core.view import View
from yohaku.core.weigh import weigh
from yohaku.session.receipt import Receipt

if TYPE_CHECKING:
    from yohaku.agent.hooks import Hooks
    from yohaku.session.session import Session

GAP_ROW = (
    "{replies:>7,}  {counted:>12,}  {billed:>12,}  {gap:>+6.1%}  {worst:>8.1%}   "
    "× {next_ratio:<5.3f} + {next_added:<5,}     {model} ({meter})"
)
"""Columns under the sentence `gap_head`."""


def fit(arguments: argparse.Namespace, settings: Settings) -> int:
    from yohaku.cli import stores
    from yohaku.session.count_gaps import CountGaps
    from yohaku.session.persistence import in_memory_notice
    from yohaku.session.session import Session

    settings = _with_tokenizer(arguments, settings)
    given = load(arguments, settings, "fit")
    if not _window_known(arguments, settings, given):
        raise InputError(messages.say("no_window", settings.lang))
    store = stores.open_for_fit(
        arguments.store, settings, lambda error: print_notices([in_memory_notice(error)], settings.lang)
    )
    hooks = _open_hooks(settings)
    session = Session(
        arguments.window,
        arguments.reserve if arguments.reserve is not None else settings.reserve,
        arguments.recipe or settings.recipe,
        given.model,
        dialect=given.dialect,
        store=store,
        transcript=arguments.transcript or False,
        gaps=CountGaps.in_folder(settings.data),
        settings=settings,
        before=hooks.run_before if hooks and hooks.before else None,
    )
    print_notices(session.warnings, settings.lang)
    printed = len(session.warnings)
    outputs: list[dict[str, object]] = []
    try:
        body = _fit(session, given.body, hooks, arguments)
        if arguments.report and (session.keeps_outputs or (session.receipt and session.receipt.folds)):
            outputs = [output.row() for output in session.outputs]  # else all of them stand in the request
    except DoesNotFit:
        _write_report(arguments, session.receipt, outputs, settings)
        raise
    finally:
        print_notices(session.warnings[printed:], settings.lang)
        session.close()
        store.close()
    write(arguments.out, given.raw if body is given.body and given.raw is not None else to_json(body), settings)
    _write_report(arguments, session.receipt, outputs, settings)
    if not arguments.quiet and session.receipt:
        for line in _summarise(session.receipt, settings.lang):
            print(f"yohaku: {line}", file=sys.stderr)
    return 0


def _open_hooks(settings: Settings) -> Hooks | None:
    if not (settings.hook_before or settings.hook_after):
        return None
    from yohaku.agent.hooks import Hooks

    def report(why: str) -> None:
        print(f"yohaku: {why}", file=sys.stderr)

    return Hooks(settings.hook_before, settings.hook_after, report=report)


def _fit(session: Session, body: Any, hooks: Hooks | None, arguments: argparse.Namespace) -> Any:
    if hooks is None:
        return session.fit(body, fold=arguments.fold, words=arguments.words)
    import asyncio

    async def fit_and_report() -> Any:
        out = await session.afit(body, fold=arguments.fold, words=arguments.words)
        if session.receipt and session.receipt.outcome.announced:
            await hooks.run_after(session, session.receipt, arguments.fold)
        return out

    return asyncio.run(fit_and_report())


def show(arguments: argparse.Namespace, settings: Settings) -> int:
    if arguments.diff is not None:
        from yohaku.cli.history import diff

        if arguments.file is not None or len(arguments.diff) > 2:
            raise InputError(messages.say("diff_what", settings.lang))
        return diff(arguments, settings)
    from yohaku.core.shape import shape
    from yohaku.session.count_gaps import CountGaps
    from yohaku.session.session import Session

    settings = _with_tokenizer(arguments, settings)
    given = load(arguments, settings, "show")
    lang = settings.lang
    known = _window_known(arguments, settings, given)
    session = Session(
        arguments.window if known else 1 << 40,
        arguments.reserve if arguments.reserve is not None else settings.reserve,
        arguments.recipe or settings.recipe,
        given.model,
        dialect=given.dialect,
        gaps=CountGaps.in_folder(settings.data),
        settings=settings,
    )
    session.warn_if_estimated(given.dialect)
    print_notices(session.warnings, lang)
    meter = session.meter_for(given.dialect)
    view = View(session.read(given.body))
    print("\n".join(shape(view, meter)))
    print(_format_ledger(view, meter, session.budget.limit if known else None, lang, messages.say("before", lang)))
    if not known:
        return 0
    printed = len(session.warnings)
    try:
        session.fit(given.body, fold=arguments.fold, words=arguments.words)
    finally:
        print_notices(session.warnings[printed:], lang)
        if session.receipt and session.receipt.folds:
            _print_folds(session.receipt, meter, lang)
        else:
            bigger = session.receipt is not None and isinstance(session.receipt.verdict, Inflated)
            print(messages.say("nothing_folded_bigger" if bigger else "nothing_folded", lang))
    return 0


def count(arguments: argparse.Namespace, settings: Settings) -> int:
    from yohaku import dialects

    if arguments.gap:
        return _show_gaps(arguments, settings)
    settings = _with_tokenizer(arguments, settings)
    if arguments.text:
        data = read(arguments, settings, "count")
        meter = _open_meter(arguments.model or settings.model, None, settings)
        try:
            tokens = meter.count(data.decode("utf-8"))
        except UnicodeDecodeError:
            raise InputError(messages.say("not_utf8", settings.lang, name=arguments.file)) from None
    else:
        given = load(arguments, settings, "count")
        meter = _open_meter(given.model, given.dialect, settings)
        history = dialects.dialect_named(given.dialect).read(given.body).history()
        tokens = weigh(View(history).shown, meter).total
    print(json.dumps({"tokens": tokens, "exact": meter.exact, "meter": meter.name}, ensure_ascii=False))
    return 0


def _with_tokenizer(arguments: argparse.Namespace, settings: Settings) -> Settings:
    return with_flags(settings, {"tokenizer": arguments.tokenizer})


def _open_meter(model: str | None, dialect: str | None, settings: Settings) -> Meter:
    """Return the meter of a model, and say once that its counts are estimates."""
    from yohaku import meters
    from yohaku.session.count_gaps import CountedModel, CountGaps, notice_of_estimate

    if settings.tokenizer:
        return meters.from_file(settings.tokenizer, model)
    meter = meters.for_model(model, dialect)
    gaps = CountGaps.in_folder(settings.data)
    if not meter.exact and gaps.tell_once(CountedModel(model or "", "", meter.name)):
        print_notices([notice_of_estimate(model, meter.name, meters.way_to_exact(model, dialect))], settings.lang)
    return meter


def _show_gaps(arguments: argparse.Namespace, settings: Settings) -> int:
    """Show how far our counts were from what was billed, by model."""
    from yohaku.session.count_gaps import CountGaps

    gaps, lang = CountGaps.in_folder(settings.data), settings.lang
    rows = [line for line in gaps.totals() if arguments.model in (None, line.model)]
    if not rows:
        print(messages.say("gap_none", lang, name=gaps.path), file=sys.stderr)
        return 0
    if not arguments.gap_json:
        print(messages.say("gap_head", lang))
    for line in rows:
        start = gaps.tuned(line.key)
        facts = {"model": line.model, "meter": line.meter, "replies": line.replies, "counted": line.counted,
                 "billed": line.billed, "gap": round(line.gap, 4), "worst": line.worst,
                 "next_ratio": round(start.ratio, 4), "next_added": start.hidden}  # fmt: skip
        print(json.dumps(facts, ensure_ascii=False) if arguments.gap_json else GAP_ROW.format(**facts))
    return 0


def _window_known(arguments: argparse.Namespace, settings: Settings, given: LoadedInput) -> bool:
    return bool(arguments.window or given.model or settings.window or settings.maxima)


def _write_report(
    arguments: argparse.Namespace, receipt: Receipt | None, outputs: list[dict[str, object]], settings: Settings
) -> None:
    if arguments.report and receipt:
        write(arguments.report, to_json({**receipt.report(), "outputs": outputs}), settings)


def _summarise(receipt: Receipt, lang: str) -> Iterator[str]:
    """Yield a line on folds that are used again, and one on the verdict."""
    about = "" if receipt.exact else messages.say("estimated", lang)
    facts = {"limit": receipt.limit, "about": about}
    if receipt.reused:
        count, made = len(receipt.reused), receipt.outcome.folds
        yield messages.say("reused", lang, before=receipt.unfolded, after=receipt.before, count=count, **facts)
        if not made:
            return
    facts |= {"before": receipt.before, "after": receipt.after, "count": len(receipt.folds)}
    name = "left_alone" if isinstance(receipt.verdict, LeftAlone) else receipt.verdict.name
    yield messages.say(f"fits_{name}" if name in ("inflated", "refused") else name, lang, **facts)


def _print_folds(receipt: Receipt, meter: Meter, lang: str) -> None:
    from yohaku.core.shape import shape

    view = receipt.outcome.view
    print("\n" + "\n".join(shape(view, meter)))
    print(_format_ledger(view, meter, receipt.limit, lang, messages.say("after", lang)))
    for fold in receipt.folds:
        what, why = messages.describe(fold.what, fold.why, lang, fold.detail, fold.made_for)
        print(f"{fold.before:>9,} → {fold.after:<8,} {what}: {why}; ref={fold.ref}")


def _format_ledger(view: View, meter: Meter, limit: int | None, lang: str, title: str) -> str:
    ledger = weigh(view.shown, meter)
    rows = [(name, getattr(ledger, name)) for name in ("system", "tools", "turns", "request", "total")]
    rows += [("limit", limit)] if limit is not None else []
    lines = [f"  {messages.say(name, lang):20} {tokens:>12,}" for name, tokens in rows]
    about = "" if meter.exact else messages.say("estimated", lang)
    return "\n".join([f"-- {title}{about}", *lines])
