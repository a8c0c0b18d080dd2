from __future__ import annotations

import json

from yohaku.analysis.retention import (
    Retained,
    RetentionCounts,
    appendix_tokens,
    contains_word,
    count_retained,
    find_binding_sentences,
    rules,
    survey_retention,
    write_appendix,
)
from yohaku.core.folds import Cut, Gist, Slot, Stub, View, ref_of, told
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Result, Step, Text, ToolUse, Turn
from yohaku.testing import ByteMeter

COUNT = ByteMeter().count
LOG = "see docs/late_rows.md\nE   ValueError: row 71234 is late\n3 failed in 2.1s\nexit code: 1"


def ran(number: int, command: str, result: str) -> Step:
    call = Call(str(number), "bash", json.dumps({"command": command}))
    return Step((ToolUse(call, Result((Text(result),))),))


def history() -> History:
    return history_of(
        [
            Turn((Text("Never touch the database. Look at src/rows.py."),), (ran(1, "pytest -x", LOG),)),
            Turn((Text("Go on."),), (ran(2, "ls", "README.md"), Step((Text("Done."),)))),
        ]
    )


def gist_of(h: History, text: str) -> Gist:
    view = View(h)
    ref = ref_of(told(view.hidden(Cut(1, 0))))
    return Gist(h.turns[1].key, text.format(ref=ref), ref, "what", "why", 100, 10)


# What became of it


def test_without_folds_there_is_nothing_to_look_for_and_every_rule_is_kept() -> None:
    view = View(history())
    assert survey_retention(view) == ()
    assert rules(view) == (Retained("rule", "Never touch the database.", "", "kept"),)


def test_what_a_gist_does_not_tell_is_opened_by_its_ref() -> None:
    view = View(history()).with_([gist_of(history(), "[folded; ref={ref}] `pytest -x`: exit 1, row 71234")])
    where = {(one.kind, one.text): one.where for one in survey_retention(view)}
    assert where["command", "pytest -x: exit 1"] == "kept"
    assert where["id", "71234"] == "kept"
    assert where["path", "src/rows.py"] == where["path", "docs/late_rows.md"] == "by_ref"
    assert where["error", "E ValueError: row 71234 is late"] == "by_ref"
    assert count_retained(survey_retention(view)).lost == 0
    assert [one.where for one in rules(view)] == ["by_ref"]


def test_what_is_hidden_without_a_ref_is_lost() -> None:
    view = View(history()).with_([gist_of(history(), "[folded] Never touch the database.")])
    found = survey_retention(view)
    assert found and {one.where for one in found} == {"lost"}
    assert [one.where for one in rules(view)] == ["kept"]


def test_a_stub_is_looked_at_as_a_gist_is() -> None:
    h = history()
    stub = Stub(h.steps[0].key, Slot("result", 0, 0), f"[folded; ref={ref_of(LOG)}]", ref_of(LOG), "w", "w", 90, 9)
    shown = count_retained(survey_retention(View(h).with_([stub])))
    assert shown.by_ref > 0 and shown.lost == 0
    blind = Stub(h.steps[0].key, Slot("result", 0, 0), "[folded]", ref_of(LOG), "w", "w", 90, 9)
    assert count_retained(survey_retention(View(h).with_([blind]))) == RetentionCounts(shown.kept, 0, shown.by_ref)


def test_a_fact_stands_where_it_is_a_word_of_its_own() -> None:
    assert contains_word("see src/a.py:3", "src/a.py") and contains_word("ファイルa.pyを見る", "a.py")
    assert not contains_word("see data.py", "a.py") and not contains_word("id 712345", "71234")


def test_what_takes_a_rule_back_is_laid_down_as_well() -> None:
    turns = [Turn((Text(said),)) for said in ("Never use mocks. Be quick.", "You may use mocks now, forget that rule.")]
    assert find_binding_sentences(turns[:1]) == ("Never use mocks.",)
    assert find_binding_sentences(turns) == ("You may use mocks now, forget that rule.",)


# The appendix


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
