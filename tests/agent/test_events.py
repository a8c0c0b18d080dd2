"""What programs read: names that stay."""

from __future__ import annotations

import json

import pytest

from tests.tui.fake import CALM, called, calling, folded
from yohaku.agent.events import (
    GAUGE_FIELDS,
    ConversationFolded,
    Event,
    ReadingProgress,
    ReplyDiscarded,
    ReplyFinished,
    SearchProgress,
    TextDelta,
    ThoughtDelta,
    ToolOutput,
    TurnEnded,
    UserNotice,
    to_json,
)

FIELDS: list[tuple[Event, str, str]] = [
    (ReadingProgress(1, 2, 3.0), "reading", "type done total speed estimated summing_up"),
    (TextDelta("x"), "said", "type text"),
    (ThoughtDelta("x"), "thought", "type text"),
    (calling("bash", "$ ls"), "calling", "type id tool arguments title"),
    (ToolOutput("1", "x"), "output", "type id text"),
    (SearchProgress("1", 7), "searching", "type id files total"),
    (called("bash", "x", "$ ls"), "called", "type id tool title error text diff output_ref"),
    (UserNotice("x", "error"), "told", "type kind text"),
    (ReplyFinished(None), "replied", "type stop usage reading writing"),
    (ReplyDiscarded(), "discarded", "type"),
    (TurnEnded("done", "x"), "ended", "type why text problems"),
    (
        CALM,
        "gauge",
        f"type {' '.join(GAUGE_FIELDS)}",
    ),
]


@pytest.mark.parametrize(("event", "kind", "names"), FIELDS, ids=lambda value: type(value).__name__)
def test_every_event_has_its_fields(event: Event, kind: str, names: str) -> None:
    told = json.loads(to_json(event))
    assert list(told) == names.split()
    assert told["type"] == kind


def test_a_folding_has_the_fields_of_a_report() -> None:
    told = json.loads(to_json(ConversationFolded(folded(), manual=True)))
    assert (told["type"], told["manual"], told["before"], told["verdict"]) == ("folded", True, 16_896, "folded")


def test_every_letter_passes_any_pipe() -> None:
    assert to_json(TextDelta("日本\n\x1b")).isascii() and "\n" not in to_json(TextDelta("日本\n\x1b"))
