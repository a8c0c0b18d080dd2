"""Tests of lines woven into a story: each under what it belongs to."""

from __future__ import annotations

from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.digest.chapter import Stretch, tell
from yohaku.digest.gist_text import ENGLISH
from yohaku.digest.select_lines import choose_spans
from yohaku.digest.short_paths import ShortPaths
from yohaku.digest.spans import Span
from yohaku.digest.story import ToldItem, show_text, tell_items
from yohaku.digest.story_items import StoryItem
from yohaku.digest.woven_lines import collect_woven_texts, to_sources, weave


def count(text: str) -> int:
    return len(text) // 4 + 1


def read(path: str, text: str) -> ToolUse:
    return ToolUse(Call(path, "read_file", f'{{"path":"{path}"}}'), Result((Text(text),)))


def bash(command: str, text: str) -> ToolUse:
    return ToolUse(Call(command, "bash", f'{{"command":"{command}"}}'), Result((Text(text),)))


FILLER = "nothing of note here\n" * 40
TURNS = (
    Turn(
        (Text("Find the limit."),),
        (
            Step((read("src/limits.py", f"{FILLER}MAX_ROWS = 512\n{FILLER}"), read("src/other.py", FILLER))),
            Step((bash("make all", f"{FILLER}warning: old_flag is gone\n{FILLER}"),)),
            Step((Text(f"The limit is set in `limits.py`.\n{FILLER}It was raised for ticket_77.\n{FILLER}"),)),
        ),
    ),
)


def told(tokens: int = 400) -> list[str]:
    return tell(Stretch(TURNS, "abcdefabcdef", 1), tokens, count).splitlines()


def test_a_line_stands_under_the_call_that_gave_it_behind_a_bar() -> None:
    lines = told()
    at = lines.index("  | MAX_ROWS = 512")
    assert lines[at - 1] == "- looked at src/limits.py:"
    assert not any("other.py" in line for line in lines)  # nothing of it is worth a line
    at = lines.index("  | warning: old_flag is gone")
    assert next(line for line in lines[at::-1] if line.startswith("- ")).startswith("- `make all`")


def test_of_a_text_that_is_cut_the_lines_that_name_something_stay() -> None:
    lines = told()
    said = next(at for at, line in enumerate(lines) if line.startswith("Assistant: The limit is set"))
    assert "ticket_77" in "\n".join(lines[said:])


def test_a_call_is_named_once() -> None:
    assert sum("limits.py:" in line for line in told()) == 1


def test_what_is_chosen_of_an_item_without_a_line_brings_its_line_along() -> None:
    items = tell_items(TURNS, ENGLISH, ShortPaths(()), 0, count)
    texts = collect_woven_texts(items)
    assert len(to_sources(items, texts, 1, count)) == len(texts)
    assert weave(items, texts, [()] * len(texts), ENGLISH, ShortPaths(())) == [
        "- not told here, but behind the ref: read_file ×2, make"
    ]


def test_a_chapter_weighs_no_more_than_it_may_and_is_the_same_again() -> None:
    for tokens in (40, 200, 400, 1_000, 4_000):
        stretch = Stretch(TURNS, "abcdefabcdef", 1)
        text = tell(stretch, tokens, count)
        assert count(text) <= tokens + count(stretch.header) and text == tell(stretch, tokens, count)


SAID = "I looked at the plan.\n" + FILLER + "It calls `load_the_table` first.\n" + FILLER


def test_lines_of_what_was_said_follow_its_beginning() -> None:
    items = tell_items((Turn((), (Step((Text(SAID),)),)), Turn(())), ENGLISH, ShortPaths(()), 0, count)
    texts = collect_woven_texts(items)
    spans, _ = choose_spans(to_sources(items, texts, 1, count), (), 60)
    assert weave(items, texts, spans, ENGLISH, ShortPaths(())) == [
        "Assistant: I looked at the plan.",
        "  … It calls `load_the_table` first.",
    ]


def test_a_line_that_the_story_shows_is_not_shown_again() -> None:
    turns = (Turn((), (Step((Text("It calls `load_the_table` first.\nThen `run it all` runs."),)),)),)
    lines = tell(Stretch(turns, "abcdefabcdef", 1), 600, count).splitlines()
    assert len(lines) == len(set(lines)) and sum("run it all" in line for line in lines) == 1


def test_lines_of_a_text_stand_in_its_order_with_a_mark_where_others_are_left_out() -> None:
    text = "The limit is set here.\n" + FILLER + "It calls `load_the_table` first.\n" + FILLER + "That is all."
    turns = (Turn((Text("Find it."),), (Step((Text(text),)),)),)
    items = tell_items(turns, ENGLISH, ShortPaths(()), 100, count)
    texts = collect_woven_texts(items)
    spans, _ = choose_spans(to_sources(items, texts, 1, count), (), 40)
    lines = weave(items, texts, spans, ENGLISH, ShortPaths(()))
    assert lines[1:3] == ["Assistant: The limit is set here.", "  nothing of note here"]
    named = lines.index("  … It calls `load_the_table` first.")
    assert (
        2 <= named < len(lines) - 1 and lines[named + 1] == "  … nothing of note here" and lines[-1] == "  That is all."
    )


def test_pieces_of_a_line_that_follow_each_other_stand_as_they_were() -> None:
    text = "change to the folder with cd /path/to/it, then go on"
    cut = text.index("/path")
    assert list(show_text(text, [Span(1, cut, len(text)), Span(1, 0, cut)])) == [text]


def test_without_room_for_a_story_a_chapter_names_its_calls() -> None:
    text = tell(Stretch(TURNS, "abcdefabcdef", 1, earlier=TURNS), 30, count)
    assert text.splitlines()[1:] == ["- not told here, but behind the ref: read_file ×2, make"]


DIFF = """diff --git a/src/x.py b/src/x.py
index 9a9ed2a..8ab4db3 100644
--- a/src/x.py
+++ b/src/x.py
@@ -1,6 +1,6 @@
 import os
-def old_limit():
-    return 3
+def new_limit():
+    # raised for ticket_77
+    return 512
 nothing
"""


def test_changed_lines_of_a_diff_stay_together() -> None:
    turns = (Turn((Text("Review it."),), (Step((bash("git diff", FILLER + DIFF),)),)),)
    lines = tell(Stretch(turns, "abcdefabcdef", 1), 200, count).splitlines()
    at = lines.index("  | -def old_limit():")
    assert lines[at : at + 5] == [
        "  | -def old_limit():",
        "  | -    return 3",
        "  | +def new_limit():",
        "  | +    # raised for ticket_77",
        "  | +    return 512",
    ]


def test_an_error_that_the_line_of_a_call_tells_is_not_told_again_under_it() -> None:
    output = "\n".join(["started", "ERROR no table init_rows", *(f"built part_{n}" for n in range(30))])
    items = tell_items((Turn((), (Step((bash("make", output),)),)),), ENGLISH, ShortPaths(()), 0, count)
    texts = collect_woven_texts(items)
    spans = [[Span(2, 8, 32), Span(3, 33, 45)] for _ in texts]
    lines = weave(items, texts, spans, ENGLISH, ShortPaths(()))
    assert lines == ["- `make`: ok, … ERROR no table init_rows", "  | built part_0"]


def test_looks_one_after_the_other_stand_in_one_line_and_lines_under_their_own() -> None:
    lines = ["- looked at a.py", "- looked at b.py", "- looked at c.py", "  | x = 1", "- looked at d.py:", "  | y = 2"]
    told = [ToldItem(StoryItem("looked"), [line]) for line in lines]
    assert weave(told, (), (), ENGLISH, ShortPaths(())) == ["- looked at a.py, b.py", *lines[2:]]
