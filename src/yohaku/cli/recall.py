"""Commands on a store: `recall` opens originals, `receipts` and `why` explain foldings, `collect` removes old ones."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from yohaku import messages
from yohaku.cli.files import InputError
from yohaku.cli.stores import open_store, url_of
from yohaku.config.settings import Settings
from yohaku.core.errors import YohakuError
from yohaku.core.folds import Fold
from yohaku.recall.ref import RefAndLine, parse_ref
from yohaku.session.fold_log import FoldingRecord, all_foldings, find_fold
from yohaku.stores import DAY, Store, redact


def recall(arguments: argparse.Namespace, settings: Settings) -> int:
    if (arguments.ref is None) == (arguments.search is None):
        raise InputError(messages.say("recall_what", settings.lang))
    if arguments.raw and (arguments.offset or arguments.limit):
        raise InputError(messages.say("recall_raw", settings.lang))
    with open_store(arguments.store, settings) as store:
        if arguments.search is not None:
            everywhere = arguments.all or bool(arguments.store)
            refs = None if everywhere else _refs_of_folder(settings.data)
            print(_search(store, arguments.search, arguments.limit, settings.lang, refs))
            return 0
        place = parse_ref(arguments.ref)
        if arguments.raw:
            sys.stdout.buffer.writelines(piece.data for piece in store.open(place.ref).pieces)
            sys.stdout.buffer.flush()
        else:
            print(_open(store, place, arguments.offset, arguments.limit, arguments.grep))
    return 0


def _open(store: Store, place: RefAndLine, offset: int | None, limit: int | None, pattern: str | None) -> str:
    from yohaku import recall
    from yohaku.recall.lines import MAX_SHOWN_BYTES

    room = MAX_SHOWN_BYTES if limit is None else 1 << 40  # an explicit number of lines is given whole
    if pattern is not None:
        first = offset or place.line or 1
        return str(recall.grep(store, place.ref, pattern, limit=limit or 50, offset=first, room=room))
    return str(recall.open_ref(store, place, offset, limit, room=room))


def _refs_of_folder(data: Path) -> frozenset[str] | None:
    """Return the refs of the agent's sessions in this folder; None where there is no such session."""
    from yohaku.agent.sessions import refs_of_project

    try:
        here = Path.cwd()
    except OSError:
        return None
    return refs_of_project(data, here)


def _search(store: Store, words: str, limit: int | None, lang: str, refs: frozenset[str] | None = None) -> str:
    from yohaku import recall

    found = recall.search(store, words, limit or 20, refs=refs)
    lines = [f"ref={hit.ref}:{hit.number}: {hit.text}" for hit in found.hits]
    if found.passages:
        lines += [messages.say("search_passages", lang), *map(str, found.passages)]
    if not found.complete:
        lines.append(messages.say("search_late" if found.late else "search_more", lang))
    lines = lines or [messages.say("search_none", lang, name=words)]
    return "\n".join(lines if refs is None else [*lines, messages.say("search_folder", lang)])


def receipts(arguments: argparse.Namespace, settings: Settings) -> int:
    lang = settings.lang
    with open_store(arguments.store, settings) as store:
        newest = all_foldings(store)[-arguments.limit :]
    lines = [_format_receipt(done, conversation, lang) for conversation, done in newest]
    name = redact(url_of(arguments.store, settings))
    print("\n".join(lines) or messages.say("receipts_none", lang, name=name))
    return 0


def _format_receipt(done: FoldingRecord, conversation: str, lang: str) -> str:
    folds = done.row["folds"]
    kinds = Counter(
        ": ".join(messages.describe(fold["what"], fold.get("why", ""), lang, fold.get("detail", ""))) for fold in folds
    )
    why = "; ".join(f"{count:,} × {kind}" for kind, count in kinds.most_common(4)) + ("; …" if len(kinds) > 4 else "")
    why = why if done.standing else messages.say("was_undone", lang, why=why)
    name = f"{conversation[:8]} #{done.number} {done.id}".rstrip()
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(done.row["at"]))
    facts = {name: done.row[name] for name in ("before", "after", "limit")}
    return messages.say("receipt", lang, about=when, name=name, count=len(folds), why=why, **facts)


def why(arguments: argparse.Namespace, settings: Settings) -> int:
    ref = parse_ref(arguments.ref).ref
    with open_store(arguments.store, settings) as store:
        found = find_fold(store, ref)
    if found is None:
        raise InputError(messages.say("why_unrecorded", settings.lang, name=ref))
    print(messages.explain_fold(*found, settings.lang))
    return 0


def collect(arguments: argparse.Namespace, settings: Settings) -> int:
    from yohaku.session.collect import collect, collect_all

    live = _folds_in_transcripts(settings.data / "transcripts")
    with open_store(arguments.store, settings) as store:
        age, size, dry_run = arguments.older_than * DAY, arguments.size, arguments.dry_run
        of_all = not settings.variable("YOHAKU_TENANT")  # the store is that tenant's part of it
        done = (collect_all if of_all else collect)(store, age=age, size=size, dry_run=dry_run, live=live)
    facts = {"count": len(done.refs), "size": done.freed, "folds": done.folds, "after": done.left, "rows": done.records}
    print(messages.say("collectable" if dry_run else "collected", settings.lang, **facts))
    if done.over:
        print(messages.say("collect_over", settings.lang, size=done.over))
    return 0


def _folds_in_transcripts(folder: Path) -> list[Fold]:
    """Read the folds that transcripts show: they stay, as a transcript may be resumed."""
    from yohaku.session import transcript

    found: list[Fold] = []
    for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
        with suppress(YohakuError, OSError):  # a broken one is for the doctor
            found += transcript.read(path).folds
    return found
