from __future__ import annotations

from tests.digest.uses import bash, count, turn, use

from yohaku.core.model import Step, Turn
from yohaku.digest.output_shape import describe_shape
from yohaku.digest.passages import choose_passage_spans, choose_passages, find_focus
from yohaku.digest.short_paths import ShortPaths

SOURCE = "\n".join(
    line
    for name in ("alpha", "beta", "gamma", "delta")
    for line in (
        f"def {name}_total(rows):",
        "    total = 0",
        f"    for row in rows.{name}_items:",
        "        total += row",
        "    return total",
        "",
    )
)


def passages(*turns: Turn, focus: str = "", tokens: int = 200) -> list[str]:
    return choose_passages(turns, find_focus([(1, focus)]), tokens, count, ShortPaths(()))


def test_a_passage_is_several_lines_in_a_row_under_the_call_that_showed_them() -> None:
    lines = passages(turn("Go.", bash("cat sums.py", SOURCE)), focus="the bug is in gamma_total", tokens=60)
    assert lines[:3] == ["[cat sums.py]", "  | def gamma_total(rows):", "  |     total = 0"]
    assert not any("alpha" in line for line in lines)


def test_listings_and_short_results_are_no_passages() -> None:
    listing = "\n".join(f"src/part_{number}.py" for number in range(60))
    files = Step((use("Glob", {"pattern": "**/*.py"}, listing),))
    assert passages(turn("Go.", bash("find . -name '*.py'", listing), files, bash("date", "Monday"))) == []


CONFIG = "\n".join(
    f"    {number}→{line}"
    for number, line in enumerate(
        [
            *(f"import {{ helper{at} }} from './helper{at}.js'; // used beside EVALUATOR_FILES" for at in range(9)),
            "",
            "export const EVALUATOR_FILES: Record<string, Config> = {",
            '    "git-workflow.md": { strategy: "root" },',
            "};",
            "",
            *(f"console.log(helper{at}, other{at}, EVALUATOR_FILES);" for at in range(30)),
        ],
        1,
    )
)


def test_what_defines_a_name_of_the_work_is_worth_more_than_what_uses_it() -> None:
    (spans,) = choose_passage_spans([(CONFIG, 1)], find_focus([(1, "Add to EVALUATOR_FILES")]), 120, count)
    shown = [CONFIG[span.start : span.end] for span in spans]
    assert '    12→    "git-workflow.md": { strategy: "root" },' in shown
    assert [span.line for span in spans] == sorted(int(line.split("→")[0]) for line in shown)


def test_a_passage_that_stays_visible_elsewhere_is_not_shown_again() -> None:
    focus = find_focus([(1, "the bug is in gamma_total")])
    (spans,) = choose_passage_spans([(SOURCE, 1)], focus, 60, count)
    shown = frozenset(SOURCE[span.start : span.end].strip() for span in spans)
    assert any("gamma_total" in line for line in shown)
    (spans,) = choose_passage_spans([(SOURCE, 1)], focus, 60, count, shown)
    assert not any("gamma" in SOURCE[span.start : span.end] for span in spans)


def test_of_what_was_read_twice_a_passage_is_shown_once() -> None:
    focus = find_focus([(1, "the bug is in gamma_total")])
    spans = choose_passage_spans([(SOURCE, 2), (SOURCE + "\nend", 1)], focus, 60, count)
    assert sum("gamma_total" in SOURCE[span.start : span.end] for some in spans for span in some) == 1


def test_a_passage_that_is_too_long_is_shown_as_far_as_there_are_tokens() -> None:
    long = "\n".join(["def gamma_total(rows):", *(f"    total += rows[{at}] * gamma_total" for at in range(11))])
    (spans,) = choose_passage_spans([(long, 1)], find_focus([(1, "gamma_total")]), 60, count)
    assert [span.line for span in spans] == list(range(1, len(spans) + 1)) and 3 <= len(spans) < 12


def test_a_log_has_no_passages() -> None:
    assert choose_passage_spans([("\n".join(log_lines(600)), 1)], find_focus([(1, "pool")]), 400, count) == [[]]


def test_passages_weigh_no_more_than_they_may() -> None:
    for tokens in (0, 20, 50, 100, 400):
        lines = passages(turn("Go.", bash("cat sums.py", SOURCE)), focus="gamma_total", tokens=tokens)
        assert count("\n".join(lines)) <= max(1, tokens)


def log_lines(number: int) -> list[str]:
    lines = [
        f"2026-01-02 10:{at // 60:02}:{at % 60:02} INFO request {at * 7919:08x} served in {at % 90} ms"
        for at in range(number)
    ]
    lines[number // 2] = "2026-01-02 10:30:00 ERROR upstream refused: pool is empty"
    lines[number // 3] = "2026-01-02 10:20:00 WARN slow query on orders"
    return lines


def test_a_log_is_shown_by_its_shape_with_every_error_and_warning() -> None:
    lines = log_lines(600)
    shape = describe_shape(lines)
    assert shape[0] == "(600 lines, 2 with errors or warnings)"
    assert shape[1] == lines[0] and shape[-1] == lines[-1]
    assert lines[300] in shape and lines[200] in shape and len(shape) == 5


def test_source_and_prose_have_no_shape() -> None:
    assert describe_shape(SOURCE.splitlines() * 3) == []
    assert describe_shape([f"A sentence about {word}." for word in "one two three".split()] * 10) == []
