"""The recorded sessions, as the tests take them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from tests import checkers
from tests.conftest import shared_folder
from yohaku.core.model import History, Text
from yohaku.dialects.load import Request, load

ALL = os.environ.get("YOHAKU_CORPUS") == "all"
DIALECTS = tuple(checkers.DIALECTS)
FILES = sorted((shared_folder() / "data").glob("*/*.jsonl.gz"))


def read(path: Path) -> History:
    loaded = load(path.read_bytes(), path.name)
    assert not isinstance(loaded, Request)
    return loaded.history


def as_taken(history: History, dialect: str) -> History:
    """Anthropic refuses blanks at the end of a final reply, so they are the one thing that is not written."""
    *turns, last = history.turns
    if dialect != "anthropic" or not last.steps or last.steps[-1].uses:
        return history
    step = last.steps[-1]
    if not isinstance(final := step.items[-1], Text):
        return history
    step = replace(step, items=(*step.items[:-1], Text(final.text.rstrip())))
    return replace(history, turns=(*turns, replace(last, steps=(*last.steps[:-1], step))))
