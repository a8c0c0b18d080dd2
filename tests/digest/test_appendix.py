from __future__ import annotations

from tests.analysis.test_retention import LOG, history, ran

from yohaku.core.model import Text, Turn
from yohaku.digest.appendix import appendix_tokens, write_appendix
from yohaku.testing import ByteMeter

COUNT = ByteMeter().count


def test_the_appendix_tells_what_a_summary_dropped_with_where_it_comes_from() -> None:
    turns = history().turns
    assert write_appendix(turns, "The work goes on.", 400, COUNT) == [
        "Errors not yet solved:",
        "- from `pytest -x`: exit 1, E ValueError: row 71234 is late, 3 failed in 2.1s",
        "Seen in results:",
        "- from `ls`: README.md",
        "- from `pytest -x`: docs/late_rows.md",
    ]


def test_what_the_summary_holds_is_not_told_again() -> None:
    told = "\n".join(write_appendix(history().turns, "The work goes on.", 400, COUNT))
    assert write_appendix(history().turns, told, 400, COUNT) == []


def test_the_appendix_is_never_over_its_tokens() -> None:
    turns = [Turn((Text("go"),), tuple(ran(n, f"pytest -k t{n}", LOG.replace("7", str(n))) for n in range(50)))]
    for tokens in (0, 10, 24, 60, 100, 300, 1_000):
        assert COUNT("\n".join(write_appendix(turns, "", tokens, COUNT))) <= tokens
    assert write_appendix(turns, "", 300, COUNT) and not write_appendix(turns, "", 10, COUNT)


def test_the_allowance_is_a_share_of_the_limit_and_never_too_little_to_say_anything() -> None:
    assert [appendix_tokens(limit) for limit in (2_000, 32_000)] == [60, 640]
