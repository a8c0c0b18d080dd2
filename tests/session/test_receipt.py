from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

from tests.session.test_session import agent
from tests.session.test_session import used as used_tool

from yohaku.analysis.retention import RetentionCounts
from yohaku.core.budget import Budget
from yohaku.core.engine import Outcome, plan
from yohaku.core.folds import Fold, Gist, Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import Slot
from yohaku.core.verdict import Fits, Folded, FoldingRefused, Inflated, LeftAlone, TooBig, Verdict
from yohaku.core.view import View
from yohaku.core.weigh import weigh
from yohaku.recipes.auto import RECIPES
from yohaku.session.driver import drive
from yohaku.session.receipt import PieceCounts, Receipt
from yohaku.session.session import Session
from yohaku.stores.memory import MemoryStore
from yohaku.testing import ByteMeter

METER = ByteMeter()
CONTRACT = ["verdict", "before", "after", "limit", "exact", "folds", "asks", "survived"]
"""DESIGN §6: what others script against."""


def use(number: int, arguments: str = '{"n":1}') -> ToolUse:
    return ToolUse(Call(str(number), "bash", arguments), Result((Text("out " * 10),)))


def history() -> History:
    """Two prompts and four steps: 2 prompts, 4 calls, 4 results, 4 texts."""
    steps = [Step((Text("I look."), use(number))) for number in range(4)]
    return history_of([Turn((Text("first"),), tuple(steps[:2])), Turn((Text("second"),), tuple(steps[2:]))])


def result_stub(history: History, step: int) -> Stub:
    return Stub(history.steps[step].key, Slot("result", 1, 0), "[folded]", "aaa", "bash result", "old_and_big", 40, 8)


def receipt(*folds: Fold, verdict: object = None) -> Receipt:
    """Of a folding that found these folds already made."""
    view = View(history()).with_(folds)
    ledger = weigh(view.shown, METER)
    return Receipt(Outcome(view, ledger, ledger, verdict or Fits()), 1_000, True, "bytes")  # type: ignore[arg-type]


def test_a_receipt_tells_what_the_outcome_says() -> None:
    made = drive(plan(View(history()), Budget(250, 0), RECIPES["auto"], METER))
    told = Receipt(made, 250, METER.exact, METER.name)
    assert (told.verdict, told.before, told.after, told.asks) == (Folded(), made.before.total, made.after.total, 0)
    assert told.folds == made.folds and told.after <= 250 < told.before


def test_the_report_has_the_keys_of_the_contract_and_every_value_is_json() -> None:
    h = history()
    gist = Gist(h.turns[1].key, "[gist]", "bbb", "the conversation before", "window_full", 150, 10)
    report = receipt(result_stub(h, 2), gist, verdict=Folded()).report()
    total = weigh(View(h).with_([result_stub(h, 2), gist]).shown, METER).total
    assert report == {
        "verdict": "folded",
        "before": total,
        "after": total,
        "limit": 1_000,
        "exact": True,
        "meter": "bytes",
        "folds": [
            {
                "kind": "gist",
                "ref": "bbb",
                "what": "the conversation before",
                "before": 150,
                "after": 10,
                "why": "window_full",
            },
            {"kind": "stub", "ref": "aaa", "what": "bash result", "before": 40, "after": 8, "why": "old_and_big"},
        ],
        "asks": 0,
        "survived": {"kept": 6, "by_ref": 8, "lost": 0},
    }
    assert [key for key in report if key != "meter"] == CONTRACT
    assert json.loads(json.dumps(report)) == report


def test_the_contract_here_is_the_one_in_the_design(shared: Path) -> None:
    design = (shared / "DESIGN.md").read_text("utf-8")
    line = next(line for line in design.splitlines() if line.startswith("`--report` writes JSON"))
    assert [key for key in CONTRACT if f"`{key}`" in line] == CONTRACT


def test_a_refusal_reports_what_is_too_big() -> None:
    report = receipt(verdict=TooBig("system_prompt", 2_000, 1_000)).report()
    assert (report["verdict"], report["too_big"]) == ("too_big", {"what": "system_prompt", "needs": 2_000})
    assert list(report) == [*CONTRACT[:5], "meter", *CONTRACT[5:], "too_big"]


def test_the_verdicts_are_those_of_the_contract(shared: Path) -> None:  # S5
    design = (shared / "DESIGN.md").read_text("utf-8")
    verdicts = [Fits(), Folded(), Inflated(), FoldingRefused(), LeftAlone("x"), TooBig("newest_turn", 2, 1)]
    assert {type(verdict) for verdict in verdicts} == set(get_args(Verdict))
    names = list(dict.fromkeys(receipt(verdict=verdict).report()["verdict"] for verdict in verdicts))
    assert names == ["fits", "folded", "inflated", "refused", "too_big"] and f"`{'|'.join(names)}`" in design


# Folds that are used again


def test_a_receipt_names_folds_of_another_process_the_first_time_they_are_shown() -> None:  # S8
    store = MemoryStore()
    made, other = (Session(4_000, 0, meter=METER, store=store) for _ in range(2))
    messages = agent(20)
    made.fit(messages)
    assert made.receipt and made.receipt.reused == () and "reused" not in made.receipt.report()
    other.fit(messages)
    used = other.receipt
    assert used and used.verdict == Fits() and used.reused == used.folds == made.receipt.folds
    assert used.unfolded == made.receipt.before > used.before == used.after
    assert used.report()["reused"] == {"refs": [fold.ref for fold in used.reused], "unfolded": used.unfolded}
    for number in range(20, 23):
        messages = [*messages, *used_tool(number, "short")]
        other.fit(messages)
        assert other.receipt and other.receipt.folds and other.receipt.reused == (), "it was told already"


def test_folds_that_one_made_are_not_told_again_after_undo_and_redo() -> None:
    session = Session(4_000, 0, meter=METER)
    session.fit(agent(20))
    for change in (session.undo, session.redo):
        assert change()
        session.fit(agent(20))
        assert session.receipt and session.receipt.reused == ()


# What survived


def test_without_folds_everything_is_kept() -> None:
    assert receipt().survived == PieceCounts(kept=14, by_ref=0, lost=0)


def test_each_stub_is_one_piece_opened_by_ref() -> None:
    h = history()
    assert receipt(result_stub(h, 0), result_stub(h, 3)).survived == PieceCounts(kept=12, by_ref=2)


def test_what_a_gist_hides_is_opened_by_its_ref_and_stubs_under_it_count_once() -> None:
    h = history()
    gist = Gist(h.steps[0].key, "[gist]", "bbb", "before", "full", 100, 10)
    assert receipt(result_stub(h, 0), gist).survived == PieceCounts(kept=11, by_ref=3)


def test_a_call_with_several_folded_arguments_is_one_piece() -> None:
    h = history_of([Turn((Text("go"),), (Step((use(1, '{"a":"x","b":"y","c":"z"}'),)),))])
    folds = [Stub(h.steps[0].key, Slot("argument", 0, name), "[]", "r", "a", "w", 9, 1) for name in "abc"]
    view = View(h).with_(folds)
    ledger = weigh(view.shown, METER)
    assert Receipt(Outcome(view, ledger, ledger, Fits()), 9, True, "m").survived == PieceCounts(kept=2, by_ref=1)


def test_a_receipt_shown_to_a_person_leaves_the_whole_conversation_out() -> None:
    assert repr(receipt()) == "Receipt(limit=1000, exact=True, meter='bytes')"


def test_the_rules_that_stand_and_what_became_of_the_facts_are_told() -> None:
    said = "Never touch the database. Look at src/rows.py."
    h = history_of([Turn((Text(said),), (Step((use(1),)),)), Turn((Text("Go on."),), (Step((Text("ok"),)),))])
    view = View(h)
    gist = Gist(h.turns[1].key, "[folded; ref=bbb] Never touch the database.", "bbb", "before", "full", 100, 10)
    ledger = weigh(view.shown, METER)
    told = Receipt(Outcome(view.with_([gist]), ledger, ledger, Folded()), 1_000, True, "bytes")
    assert told.rules == ("Never touch the database.",)
    assert told.facts == RetentionCounts(kept=0, by_ref=1, lost=0)


def test_rules_and_facts_are_not_looked_for_before_they_are_asked_for() -> None:
    told = receipt()
    told.report()
    assert not {"rules", "facts"} & told.__dict__.keys()


def test_a_report_names_no_key_and_what_is_sent_is_not_touched() -> None:
    key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    one = history()
    stub = replace(result_stub(one, 2), what=f"bash: curl -H 'X-Key: {key}'")
    told = json.dumps(receipt(stub).report())
    assert key not in told and "[GitHub token hidden]" in told
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": f"use {key}"}]}
    assert Session(8_192, model="gpt-4o").fit(body) == body
