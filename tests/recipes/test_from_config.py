from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from yohaku import plugins
from yohaku.core.budget import Budget
from yohaku.core.engine import plan
from yohaku.core.errors import BadSetting
from yohaku.core.folds import Fold
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.verdict import Folded
from yohaku.core.view import View
from yohaku.passes import clear_largest as clear_file
from yohaku.recipes.auto import BUILDERS
from yohaku.recipes.builtin import LAST_RESORT, cache
from yohaku.recipes.from_config import PASSES, recipe_of
from yohaku.session.driver import drive
from yohaku.testing import ByteMeter

CLEARING = {"level": "full", "pass": "clear_largest", "args": ["result"], "options": {"keep": 0.3}, "goal": "warm"}


def mine(*rungs: object, **more: object) -> dict[str, Any]:
    return {"rungs": list(rungs), **more}


def nothing(share: float = 1.0) -> Pass:
    def propose(view: View, context: PassContext) -> list[Fold]:
        return []

    return propose


def test_a_recipe_is_made_from_a_table() -> None:
    sliding = {"level": 0.95, "pass": "drop_oldest", "goal": 0.5, "pays": True, "quiet": True}
    recipe = recipe_of("mine", mine(CLEARING, sliding))
    assert recipe.name == "mine"
    assert [(rung.level, rung.goal, rung.pays, rung.quiet) for rung in recipe.rungs[:2]] == [
        ("full", "warm", False, False),
        (0.95, 0.5, True, True),
    ]
    assert recipe.rungs[2:] == LAST_RESORT


def test_it_folds() -> None:
    steps = [Step((ToolUse(Call(str(n), "bash", "{}"), Result((Text("x" * 900),))),)) for n in range(9)]
    view = View(history_of([Turn((Text("go"),), tuple(steps))]))
    outcome = drive(plan(view, Budget.of(8_192), recipe_of("mine", mine(CLEARING)), ByteMeter()))
    assert outcome.verdict == Folded() and {fold.why for fold in outcome.folds} == {"old_and_big"}


def test_the_last_resort_may_be_left_out() -> None:
    assert len(recipe_of("mine", mine(CLEARING, last_resort=False)).rungs) == 1


def test_a_pass_of_somebody_else_is_found_by_its_module() -> None:
    asked: list[str] = []

    def find(name: str) -> Any:
        asked.append(name)
        return nothing

    recipe = recipe_of("mine", mine({"level": "hot", "pass": "their.module:nothing", "options": {"share": 0.5}}), find)
    assert asked == ["their.module:nothing"] and recipe.rungs[0].level == "hot"


def test_a_document_is_followed_with_other_settings() -> None:  # K1, O7
    recipe = recipe_of("mine", {"like": "cache", "options": {"threshold_ratio": 0.7, "summary_directives": ["refs"]}})
    assert recipe.name == "mine"
    assert [rung.level for rung in recipe.rungs] == [rung.level for rung in cache(threshold_ratio=0.7).rungs]


LEVELS = "is none of calm, warm, hot, full, over, nor a share of the limit from 0 to 1"
RUNGS = "give it rungs, a list of tables, or the name of another recipe as like"
KEYS = "take level, pass, args, options, goal, pays, last, quiet, forced"
TABLE = 'must be a table such as {level = "full", pass = "clear_largest"}'
SHARE = 'a share, more than 0 and at most 1, or "none"'
ODD_METHOD = {"like": "chat", "options": {"method": "b"}}
ODD_RATIO = {"like": "cache", "options": {"threshold_ratio": 80}}


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({}, f"recipe 'mine': {RUNGS}"),
        ({"rungs": []}, f"recipe 'mine': {RUNGS}"),
        ({"rung": []}, "recipe 'mine': unknown 'rung': take rungs, last_resort"),
        (mine("clear"), f"recipe 'mine', rung 1: {TABLE}, not 'clear'"),
        (mine({"pass": "clear_largest"}), "recipe 'mine', rung 1: needs a level"),
        (mine({"level": "full"}), "recipe 'mine', rung 1: needs a pass"),
        (mine(CLEARING, {**CLEARING, "levl": 1}), f"recipe 'mine', rung 2: unknown 'levl': {KEYS}"),
        (mine({**CLEARING, "level": "fulll"}), f"recipe 'mine', rung 1: level 'fulll' {LEVELS}"),
        (mine({**CLEARING, "goal": 80}), f"recipe 'mine', rung 1: goal 80 {LEVELS}"),
        (mine({**CLEARING, "level": True}), f"recipe 'mine', rung 1: level True {LEVELS}"),
        (mine({**CLEARING, "args": "result"}), "recipe 'mine', rung 1: args must be a list, not 'result'"),
        (mine({**CLEARING, "options": 3}), "recipe 'mine', rung 1: options must be a table, not 3"),
        (mine({**CLEARING, "options": {"keep": "much"}}), "recipe 'mine', rung 1: keep must be a number, not 'much'"),
        (mine({**CLEARING, "pays": "yes"}), "recipe 'mine', rung 1: pays must be true or false, not 'yes'"),
        (mine(CLEARING, last_resort=1), "recipe 'mine': last_resort must be true or false, not 1"),
        (mine({**CLEARING, "pass": "a.b:c"}), "recipe 'mine', rung 1: there is no pass 'a.b:c'"),
        ({"like": "cach"}, f"recipe 'mine': cannot be like 'cach': use one of {', '.join(BUILDERS)}"),
        (ODD_METHOD, "recipe 'mine': method must be sliding, summary or hybrid, not 'b'"),
        ({"like": "chat", "options": {"metod": "b"}}, "recipe 'mine': unknown 'metod': did you mean method?"),
        (ODD_RATIO, f"recipe 'mine': threshold_ratio must be {SHARE}, not 80"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(table: dict[str, Any], says: str) -> None:
    with pytest.raises(BadSetting) as raised:
        recipe_of("mine", table)
    assert str(raised.value) == says


def test_an_unknown_pass_or_option_says_so() -> None:
    with pytest.raises(BadSetting) as raised:
        recipe_of("mine", mine({**CLEARING, "pass": "cleer"}))
    known = ", ".join(sorted(PASSES))
    assert str(raised.value) == (
        f"recipe 'mine', rung 1: unknown pass 'cleer': use one of {known}, or \"package.module:function\""
    )
    with pytest.raises(BadSetting, match=r"rung 1: .*unexpected keyword argument 'kep'"):
        recipe_of("mine", mine({**CLEARING, "options": {"kep": 1}}))


def test_a_module_that_fails_is_named() -> None:
    def find(name: str) -> Any:
        raise ImportError("No module named 'their'")

    with pytest.raises(BadSetting, match="rung 1: pass 'their:x' cannot be loaded: No module named 'their'"):
        recipe_of("mine", mine({**CLEARING, "pass": "their:x"}), find)
    with pytest.raises(BadSetting, match="rung 1: 'their:x' gives no pass"):
        recipe_of("mine", mine({"level": "full", "pass": "their:x"}), lambda name: lambda: None)  # type: ignore[arg-type,return-value]


def test_every_pass_has_its_name_in_the_cookbook() -> None:
    folder = Path(clear_file.__file__).parent
    defined = {
        node.name
        for path in folder.glob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Name) and node.returns.id == "Pass"
    }
    assert {name for name in defined if not name.startswith("_")} == set(PASSES)


def test_a_pass_may_be_an_argument_of_another() -> None:
    summed = {"pass": "summarise", "options": {"keep": 0}}
    recipe = recipe_of("mine", mine({"level": "hot", "pass": "restore_files", "args": [summed]}))
    assert recipe.rungs[0].propose.__qualname__.startswith("restore_files.")


THEIRS = """
from yohaku.core.folds import Stub, Subject
from yohaku.core.originals import Slot, ref_of


def shout(words="cleared"):
    def propose(view, context):
        step = view.history.steps[0]
        original = step.uses[0].result.text
        text = f"[{words}; ref={ref_of(original)}]"
        before, after = context.meter.count(original), context.meter.count(text)
        return [Stub(step.key, Slot("result", 0), text, ref_of(original), Subject("result"), "theirs", before, after)]

    return propose
"""


@pytest.mark.parametrize("how", ["register", "entry point"])
def test_a_pass_of_another_package_folds_by_its_name(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_registered", {})
    module = f"passes_of_{how.replace(' ', '_')}"
    (tmp_path / f"{module}.py").write_text(THEIRS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    if how == "register":
        plugins.register("passes", "shout", import_module(module).shout)
    else:
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[yohaku.passes]\nshout = {module}:shout\n", encoding="utf-8")
    steps = [Step((ToolUse(Call(str(n), "bash", "{}"), Result((Text("x" * 900),))),)) for n in range(9)]
    view = View(history_of([Turn((Text("go"),), tuple(steps))]))
    recipe = recipe_of("mine", mine({"level": "hot", "pass": "shout", "options": {"words": "gone"}}))
    outcome = drive(plan(view, Budget.of(8_192), recipe, ByteMeter()))
    assert outcome.folds[0].text.startswith("[gone; ref=")
