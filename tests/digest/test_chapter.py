from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.digest.uses import bash, count, said, turn, use

from yohaku.core.model import Step, Turn
from yohaku.digest.chapter import Stretch, tell
from yohaku.digest.gist import own_texts
from yohaku.digest.gist_text import ENGLISH
from yohaku.digest.passages import find_focus

CODE = "\n".join(
    [
        *(f"def helper_{n}(value):\n    return value + {n}\n" for n in range(12)),
        "def parse_rows(text):",
        "    rows = text.split('|')",
        "",
        "    return [row.strip() for row in rows]",
    ]
)
NUMBERED = "\n".join(f"{n:6}\t{line}" for n, line in enumerate(CODE.split("\n"), 1))


def chapter(earlier: Turn, now: Turn, tokens: int = 1_500) -> str:
    focus = find_focus(own_texts([earlier, now]))
    return tell(Stretch((now,), "r" * 12, 0, earlier=(earlier,), focus=focus), tokens, count)


def test_of_earlier_stretches_passages_are_shown_that_the_work_is_about_now() -> None:
    earlier = turn("Look around.", Step((use("read_file", {"path": "src/rows.py"}, NUMBERED),)), said("I see helpers."))
    now = turn("Why does parse_rows drop rows?", bash("pytest -q", "1 failed"), said("parse_rows splits at |."))
    lines = chapter(earlier, now).split("\n")
    shown = lines[lines.index(ENGLISH.passages) + 1 :]
    assert shown[0] == "[read_file src/rows.py]" and any("def parse_rows(text)" in line for line in shown)
    assert any("row.strip()" in line for line in shown), "the lines around it, too"


def test_what_the_work_is_not_about_is_not_shown_again() -> None:
    earlier = turn("Look around.", bash("ls -la src", "total 8\n-rw-r--r-- 1 root root 99 Nov 15 20:36 rows.py\n" * 9))
    now = turn("Why is it slow?", bash("pytest -q", "1 failed"), said("It reads twice."))
    assert ENGLISH.passages not in chapter(earlier, now)


@given(st.lists(st.sampled_from(["", "   12\tdef parse_rows():", "13: x = 1", "\r", "text of parse_rows", "  "])))
def test_whatever_a_result_looks_like_it_can_be_shown_again(lines: list[str]) -> None:
    text = "\n".join([*lines, "parse_rows" * 20, "   14\t", "   15\tparse_rows(text)", "", "   16\treturn parse_rows"])
    earlier = turn("Look.", Step((use("read_file", {"path": "a.py"}, text),)))
    assert count(chapter(earlier, turn("Mend parse_rows.", said("parse_rows it is.")), 900)) <= 1_000
