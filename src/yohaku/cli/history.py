"""Commands on the past of one session: `undo`, `redo`, `pin`, `unpin`, `pins`, and `show --diff`.

Law: without --session it is the session that was folded last.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from yohaku import messages
from yohaku.cli.files import InputError
from yohaku.cli.stores import open_store
from yohaku.config.settings import Settings
from yohaku.core.errors import BadSetting
from yohaku.core.pins import Pin
from yohaku.recall.ref import parse_ref
from yohaku.session import fold_log
from yohaku.session.diff import colour_lines
from yohaku.session.diff import diff as diff_foldings
from yohaku.session.fold_log import FoldLog
from yohaku.session.persistence import parse_pin, unknown_pin
from yohaku.stores import Store

KEY_CHARS = 8
"""Characters of a session's key that are printed."""


def undo(arguments: argparse.Namespace, settings: Settings) -> int:
    if arguments.files:
        if arguments.session or arguments.store:
            raise InputError(messages.say("files_and_session", settings.lang))
        from yohaku.cli.undo_files import undo_files

        return undo_files(arguments, settings)
    if arguments.dry_run or arguments.yes or arguments.overwrite:
        raise InputError(messages.say("files_only", settings.lang))
    return _change(arguments, settings, "undo")


def redo(arguments: argparse.Namespace, settings: Settings) -> int:
    return _change(arguments, settings, "redo")


def _change(arguments: argparse.Namespace, settings: Settings, what: str) -> int:
    with open_store(arguments.store, settings) as store:
        name = find_session(store, arguments.session)
        changed = (fold_log.undo if what == "undo" else fold_log.redo)(store, name, arguments.count, time.time())
    for done in changed:
        facts = {"before": done.row["before"], "after": done.row["after"], "number": done.number}
        print(messages.say("undone" if what == "undo" else "redone", settings.lang, name=name[:KEY_CHARS], **facts))
    if not changed:
        print(messages.say(f"nothing_to_{what}", settings.lang, name=name[:KEY_CHARS]))
    return 0


def pin(arguments: argparse.Namespace, settings: Settings) -> int:
    with open_store(arguments.store, settings) as store:
        name = find_session(store, arguments.session)
        what = _read_pin(arguments)
        if what.kind == "ref":
            _check_ref(store, name, what.value)
        fold_log.pin(store, name, what, time.time())
    print(messages.say("pinned", settings.lang, name=name[:KEY_CHARS], about=what))
    return 0


def unpin(arguments: argparse.Namespace, settings: Settings) -> int:
    with open_store(arguments.store, settings) as store:
        name = find_session(store, arguments.session)
        what = _read_pin(arguments)
        if what not in FoldLog.of(store.recorded(name)).pins:
            raise unknown_pin(what.value)
        fold_log.pin(store, name, what, time.time(), on=False)
    print(messages.say("unpinned", settings.lang, name=name[:KEY_CHARS], about=what))
    return 0


def pins(arguments: argparse.Namespace, settings: Settings) -> int:
    with open_store(arguments.store, settings) as store:
        name = find_session(store, arguments.session)
        found = FoldLog.of(store.recorded(name)).pins
    for each in found:
        print(each if each.kind != "text" else f"“{each.value}”")
    if not found:
        print(messages.say("pins_none", settings.lang, name=name[:KEY_CHARS]))
    return 0


def diff(arguments: argparse.Namespace, settings: Settings) -> int:
    one, other = (*arguments.diff, None, None)[:2]
    with open_store(arguments.store, settings) as store:
        found = diff_foldings(store, FoldLog.of(store.recorded(find_session(store, arguments.session))), one, other)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    print("\n".join(colour_lines(found) if colour else found) or messages.say("same", settings.lang))
    return 0


def find_session(store: Store, wanted: str | None) -> str:
    """Return the key of the session that begins with `wanted`, or of the one folded last."""
    known = store.conversations()
    if wanted:
        found = [name for name in known if name.startswith(wanted)]
        if len(found) == 1:
            return found[0]
        raise BadSetting(f"no one session begins with {wanted!r}: see yohaku receipts", "unknown_session", name=wanted)
    folded = (
        (max((done.row["at"] for done in FoldLog.of(store.recorded(name)).done), default=0), name) for name in known
    )
    at, name = max(folded, default=(0, ""))
    if not at:
        raise BadSetting("no folding is recorded in this store: see yohaku receipts", "nothing_folded")
    return name


def _read_pin(arguments: argparse.Namespace) -> Pin:
    if arguments.text is not None:
        if not arguments.text.strip():
            raise unknown_pin(arguments.text)
        return Pin("text", arguments.text)
    found = parse_pin(parse_ref(arguments.ref)[0])
    if found.kind == "text":
        raise unknown_pin(arguments.ref)
    return found


def _check_ref(store: Store, name: str, ref: str) -> None:
    """Raise unless the ref opens and stands for one piece."""
    store.about(ref)
    found = FoldLog.of(store.recorded(name))
    if any(done.id == ref for done in found.done):
        raise unknown_pin(ref)
    rows = [fold for done in found.done for fold in done.row["folds"]]
    if any(fold.get("ref") == ref and fold.get("kind") == "gist" for fold in rows):
        text = f"{ref} stands for a whole part of the conversation: pin a piece of it, or yohaku undo"
        raise BadSetting(text, "pin_whole", name=ref)
