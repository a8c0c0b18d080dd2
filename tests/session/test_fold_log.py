"""The log of a conversation, read from rows that an older version or another program may have recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from yohaku.core.errors import UnknownRef, YohakuError
from yohaku.core.originals import ref_of
from yohaku.session import fold_log
from yohaku.session.collect import collect
from yohaku.session.diff import diff
from yohaku.session.fold_log import FoldLog
from yohaku.stores.memory import MemoryStore

FOLD: dict[str, Any] = {
    "kind": "stub",
    "ref": "aaaaaaaaaaaa",
    "what": ["result", "bash"],
    "before": 9,
    "after": 1,
    "why": "old",
    "key": "k",
    "slot": ["result", 0, 0],
    "made_for": ["auto", 100, ""],
}
FOLDING: dict[str, Any] = {"at": 1, "id": "bbbbbbbbbbbb", "before": 9, "after": 1, "limit": 5, "folds": [FOLD]}


def with_fold(**fields: object) -> str:
    return json.dumps({**FOLDING, "folds": [{**FOLD, **fields}]})


HOSTILE = {
    "folds that are numbers": json.dumps({**FOLDING, "folds": [1]}),
    "a fold without a ref": json.dumps({**FOLDING, "folds": [{"key": "k", "what": "result"}]}),
    "a ref that is a list": with_fold(ref=[1]),
    "a subject that is a number": with_fold(what=7),
    "a subject of too many words": with_fold(what=["result"] * 9),
    "a subject of an object": with_fold(what=[{}]),
    "a reason that is a list": with_fold(why=["x"]),
    "a count that is a text": with_fold(before="9"),
    "a slot of lists": with_fold(slot=[[1], [2], [3]]),
    "a limit that is a list": with_fold(made_for=["auto", [1], ""]),
    "a detail that is a list": with_fold(detail=[1]),
    "a time beyond all clocks": json.dumps({**FOLDING, "at": 10**30}),
    "a time before all clocks": json.dumps({**FOLDING, "at": -(10**30)}),
    "deep nesting": "[" * 100_000,
    "deep nesting in a fold": json.dumps({**FOLDING, "folds": [FOLD]})[:-2] + ',{"what":' + "[" * 100_000,
    "a number of 5,000 digits": '{"at": ' + "9" * 5000 + "}",
    "another program's": '{"at": "noon", "said": "hello"}',
    "no JSON": "{",
}


@pytest.mark.parametrize("row", HOSTILE.values(), ids=HOSTILE)
def test_a_row_that_is_no_folding_is_passed_over(row: str) -> None:
    store = MemoryStore()
    store.record("c", json.dumps(FOLDING))
    store.record("c", row)
    log = FoldLog.of(store.recorded("c"))
    assert [done.row for done in log.done] == [FOLDING]
    assert fold_log.all_foldings(store) == [("c", log.done[0])]
    assert fold_log.find_fold(store, "aaaaaaaaaaaa") == (FOLD, 1)
    collect(store, dry_run=True)


@pytest.mark.parametrize(
    "content", ["no JSON", "[]", "{}", '{"folds": [1], "shown": 3}', '{"folds": 7, "shown": [1, 2]}', "[" * 100_000]
)
def test_an_id_of_something_else_opens_no_folding(content: str) -> None:
    store = MemoryStore()
    name = ref_of(content)
    store.put(name, content.encode())
    store.record("c", json.dumps({**FOLDING, "id": name}))
    (done,) = FoldLog.of(store.recorded("c")).done
    for read in (fold_log.read_folds, fold_log.read_shapes):
        with pytest.raises(UnknownRef):
            read(store, done)
    fold_log.undo(store, "c", 1, 2)
    with pytest.raises(YohakuError):
        fold_log.redo(store, "c", 1, 3)
    with pytest.raises(YohakuError):
        diff(store, FoldLog.of(store.recorded("c")))
