from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.errors import Unreadable
from yohaku.doctor.notes import Notes
from yohaku.doctor.salvage import mend, salvage

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(values) | st.dictionaries(st.text(), values))
def test_whole_json_is_mended_to_itself(value: Any) -> None:
    assert mend(json.dumps(value)) == value


@given(st.dictionaries(st.text(), values, min_size=1), st.data())
def test_what_was_closed_before_a_break_is_kept(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text)))
    found = mend(text[:cut])
    names = list(value)
    assert list(found)[:-1] == names[: len(found) - 1] if found else True
    assert all(found[name] == value[name] for name in list(found)[:-1])


def test_a_lost_quote_costs_its_own_value_only() -> None:
    assert mend('[{"a": #x", "b": "one"}, {"a": "y, "b": "two"}, {"a": "z"}]') == [
        {"a": None, "b": "one"},
        {"a": "y, "},
        {"a": "z"},
    ]


def test_two_rows_on_one_line_are_two() -> None:
    notes = Notes()
    found = salvage(b'{"a":1}\n{"b":2}{"c":3}\n\n{"d":4}\n', notes)
    assert [(row.number, row.value) for row in found.rows] == [
        (1, {"a": 1}),
        (2, {"b": 2}),
        (2, {"c": 3}),
        (4, {"d": 4}),
    ]
    assert [(note.where, note.code) for note in notes.found] == [("line 2", "torn_line")]


def test_zeros_marks_and_other_encodings_are_read() -> None:
    notes = Notes()
    assert salvage("\ufeff[1]".encode() + b"\0\0", notes).rows[0].value == [1]
    assert salvage('{"a": "余白"}'.encode("utf-16"), notes).rows[0].value == {"a": "余白"}
    assert salvage(b'{"a": "x\xff"}', notes).rows[0].value == {"a": "x\ufffd"}
    assert [note.code for note in notes.found] == ["zeros", "utf16", "not_utf8"]


@pytest.mark.parametrize("piece", ["a", " ", '"', '\\"', "}", "]", '{"a":1}', "t", '",', "1", "[", "{", '{"a":'])
def test_no_text_takes_long(piece: str) -> None:
    began = time.process_time()
    for text in (piece * (200_000 // len(piece)), '{"x": ' + piece * (200_000 // len(piece))):
        try:
            mend(text)
        except Unreadable as refused:
            assert "nested" in str(refused)
    assert time.process_time() - began < 10
