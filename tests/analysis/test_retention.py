from __future__ import annotations

import json

from yohaku.analysis.retention import (
    RetentionCounts,
    contains_word,
    count_retained,
    find_binding_sentences,
    survey_retention,
)
from yohaku.core.folds import Cut, Gist, Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import Slot, ref_of, render_turns
from yohaku.core.view import View

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
    ref = ref_of(render_turns(view.hidden(Cut(1, 0))))
    return Gist(h.turns[1].key, text.format(ref=ref), ref, "what", "why", 100, 10)


# What became of it


def test_without_folds_there_is_nothing_to_look_for() -> None:
    assert survey_retention(View(history())) == ()


def test_what_a_gist_does_not_tell_is_opened_by_its_ref() -> None:
    view = View(history()).with_([gist_of(history(), "[folded; ref={ref}] `pytest -x`: exit 1, row 71234")])
    where = {(one.kind, one.text): one.where for one in survey_retention(view)}
    assert where["command", "pytest -x: exit 1"] == "kept"
    assert where["id", "71234"] == "kept"
    assert where["path", "src/rows.py"] == where["path", "docs/late_rows.md"] == "by_ref"
    assert where["error", "E ValueError: row 71234 is late"] == "by_ref"
    assert count_retained(survey_retention(view)).lost == 0


def test_what_is_hidden_without_a_ref_is_lost() -> None:
    view = View(history()).with_([gist_of(history(), "[folded] Never touch the database.")])
    found = survey_retention(view)
    assert found and {one.where for one in found} == {"lost"}


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
    assert find_binding_sentences(turns[:1]) == {"Never use mocks."}
    assert find_binding_sentences(turns) == {"You may use mocks now, forget that rule."}
