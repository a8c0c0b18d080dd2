"""Tests of how the result of a call in JSON is read."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from yohaku.digest.readable_json import MIN_CHARS, read_json_text

COMMENTS = [
    {
        "id": 2725404958,
        "node_id": "PRRC_kwDO",
        "url": "https://example.com/comments/2725404958",
        "path": "cmd/state.go",
        "diff_hunk": "@@ -1 +1 @@\n-a\n+b",
        "user": {"login": "Copilot", "id": 17, "avatar_url": "https://example.com/a.png"},
        "body": "The value is not validated.\n\nA path such as `../..` gets through.",
        "line": None,
    },
    {"id": 2725404963, "path": "cmd/state.go", "user": {"login": "Copilot"}, "body": "Two of them may race. " * 9},
]


def test_an_object_is_a_line_and_its_texts_follow() -> None:
    assert read_json_text(json.dumps(COMMENTS)).splitlines() == [
        "id: 2725404958, path: cmd/state.go, user.login: Copilot, user.id: 17",
        "body: The value is not validated.",
        "A path such as `../..` gets through.",
        "id: 2725404963, path: cmd/state.go, user.login: Copilot",
        f"body: {COMMENTS[1]['body']}",
    ]


def test_objects_one_to_a_line_are_read_too() -> None:
    text = "\n".join(json.dumps({"name": f"server-{number}", "state": "up" * 20}) for number in range(9))
    assert read_json_text(text).splitlines()[3] == f"name: server-3, state: {'up' * 20}"


def test_what_is_short_or_no_json_stays_as_it_is() -> None:
    for text in (
        '{"id": 1}',
        "[main 85c7b08] fix\n" * 40,
        "{" * 400,
        '{"a": 1}\n' * 40 + "and so on",
        "[]" + " " * 400,
    ):
        assert read_json_text(text) == text


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=9), inner, max_size=5),
)


@given(JSON)
def test_any_json_can_be_read(value: object) -> None:
    text = json.dumps([value, "x" * MIN_CHARS])
    assert ("x" * MIN_CHARS) in read_json_text(text)
