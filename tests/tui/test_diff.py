from __future__ import annotations

from yohaku.tui.diff import colour_diff, first_change, summarize_changes, without_names

DIFF = "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n same\n"


def test_the_signs_stay_and_each_line_has_its_colour() -> None:
    drawn = colour_diff(DIFF, "en")
    assert drawn.plain == DIFF.rstrip()
    styles = {drawn.plain[span.start : span.end].strip(): str(span.style) for span in drawn.spans if span.style}
    assert styles["-x = 1"] == "$text-error" and styles["+x = 2"] == "$text-success"


def test_a_long_diff_says_how_much_more_there_is() -> None:
    assert colour_diff(DIFF, "en", 2).plain == "--- a.py\n+++ a.py\n… 4 more lines"


def test_markup_and_escapes_in_a_diff_are_only_letters() -> None:
    assert colour_diff("+[red]x[/red]\x1b[31m\x07", "en").plain == "+[red]x[/red]"


def test_how_much_a_diff_changes() -> None:
    assert summarize_changes(DIFF) == "+1 -1"


def test_the_lines_that_name_the_file_are_left_out_where_there_is_one() -> None:
    assert without_names(DIFF) == "@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n same\n"
    assert without_names(DIFF + DIFF) == DIFF + DIFF


def test_the_place_of_the_first_change() -> None:
    assert first_change(without_names(DIFF).split("\n")) == (1, 3)
    assert first_change(["@@ -1 +1 @@", " a", " b"]) == (0, 0)
