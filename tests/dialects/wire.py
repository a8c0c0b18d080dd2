"""What the tests of several dialects share: recorded exchanges, folding at a window, bodies that are nearly right."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from yohaku.core.budget import Budget
from yohaku.core.engine import Outcome, plan
from yohaku.core.meter import Overhead
from yohaku.core.model import Call, History, Opaque, Part, Text, ToolUse
from yohaku.core.view import View
from yohaku.dialects.dialect import Dialect
from yohaku.dialects.json_values import dig, put_all
from yohaku.recipes.auto import RECIPES
from yohaku.session.driver import drive
from yohaku.testing import ByteMeter

METER = ByteMeter()
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def recorded(shared: Path, dialect: str) -> list[dict[str, Any]]:
    with gzip.open(shared / "wire" / "recordings.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [found for line in lines if (found := json.loads(line))["dialect"] == dialect]


def folded(dialect: Dialect, body: Any, window: int, recipe: str = "auto") -> tuple[Any, Outcome]:
    """The body as sent in a window of so many bytes, none of them for the reply."""
    view = View(dialect.read(body).history())
    outcome = drive(plan(view, Budget(window, 0), RECIPES[recipe], METER))
    return dialect.write(body, outcome.view), outcome


def spare(outcome: Outcome) -> int:
    """What the stubs of images are weighed too much: on the wire they may share an entry with what stands beside."""
    media = ("image", "document", "audio", "video")
    images = [stub for stub in outcome.view.live if str(stub.what) in media or re.search(r"bytes?; ref=", stub.text)]
    return (Overhead().message + 2) * len(images)


def leaves(history: History) -> Iterator[Part | Call]:
    """Everything that knows its place on the wire."""
    yield from history.system
    for turn in history.turns:
        yield from turn.prompt
        for item in (item for step in turn.steps for item in step.items):
            if isinstance(item, ToolUse):
                yield item.call
                yield from item.result.parts
            else:
                yield item


def misplaced(dialect: Dialect, body: Any) -> list[Any]:
    """Texts and blocks that are not where they say they are."""
    entries = dialect.entries_of(body)
    wrong: list[Any] = []
    for leaf in leaves(dialect.read(body).history()):
        first, *path = leaf.at
        found = dig(entries[first], tuple(path)) if isinstance(first, int) else dig(body, leaf.at)
        match leaf:
            case Text(text):
                wrong += [leaf] if found != text else []
            case Opaque():
                wrong += [leaf] if not isinstance(found, dict | list) and found != leaf.data else []
    return wrong


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from places(inner, (*path, key))


def anything(words: list[str]) -> st.SearchStrategy[Any]:
    """Any JSON, with a liking for the words of a format."""
    known = st.sampled_from(words)
    leaf = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | known
    return st.recursive(leaf, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(known, inner, max_size=4))


def near_misses(body: Any) -> st.SearchStrategy[Any]:
    """A good body with one to three places overwritten by something else."""
    words = sorted({str(key) for path in places(body) for key in path} | {"type", "role", "id", "content"})
    kinds = sorted({v for path in places(body) if isinstance(v := dig(body, path), str) and len(v) < 40})
    spoiling = st.tuples(st.sampled_from(list(places(body))[1:]), anything(words + kinds))

    def spoiled(changes: list[tuple[tuple[Any, ...], Any]]) -> Any:
        result = body
        for path, new in changes:
            if path in set(places(result)):
                result = put_all(result, {path: new})
        return result

    return st.lists(spoiling, min_size=1, max_size=3).map(spoiled)


def sse(*events: dict[str, Any]) -> str:
    return "".join(f"event: {event.get('type', '')}\ndata: {json.dumps(event)}\n\n" for event in events)
