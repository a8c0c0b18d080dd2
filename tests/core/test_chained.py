"""A conversation that grows and is folded ten times: what the user laid down, and what was done, is still there."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest.mark import ParameterSet
from tests.conftest import shared_folder
from tests.digest.read_gist import read_file_paths

from yohaku.analysis.file_log import read_file_log
from yohaku.analysis.standing_rules import find_standing_rules
from yohaku.core.budget import Budget
from yohaku.core.engine import Outcome, plan
from yohaku.core.folds import Gist
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import ref_of, render_turns
from yohaku.core.recipe import PlanOptions
from yohaku.core.verdict import Folded, TooBig
from yohaku.core.view import View
from yohaku.dialects.load import Request, load
from yohaku.digest.gist import write_gist
from yohaku.recipes.auto import RECIPES
from yohaku.session.driver import EffectHandlers, drive
from yohaku.session.receipt import Receipt
from yohaku.testing import ByteMeter, ScriptedModel

FOLDINGS = 10
SHOWN = ("auto", "layers", "snapshot", "cache", "chat-hybrid", "local")


def slow(value: object) -> ParameterSet:
    return pytest.param(value, marks=pytest.mark.slow)


class Quarters(ByteMeter):
    """Four bytes a token: about what a vocabulary makes of English, a little under what it makes of Japanese."""

    name = "quarters"

    def count(self, text: str) -> int:
        return math.ceil(len(text.encode("utf-8", "surrogatepass")) / 4)


METER = Quarters()


class Talk(NamedTuple):
    """What a user says, turn after turn."""

    first: str
    rules: tuple[str, ...]
    """In the first prompt."""
    later: dict[int, str]
    """By the number of the turn."""
    later_rules: dict[int, str]
    go_on: str
    withdrawal: str
    withdrawn: str
    forgets: str
    """A summary that keeps nothing."""


ENGLISH = Talk(
    "Please make the importer faster. Never touch the files under legacy/. Always answer in English. "
    "Do not add new dependencies.",
    ("Never touch the files under legacy/.", "Always answer in English.", "Do not add new dependencies."),
    {
        2: "Good. From now on, run the linter before each commit.",
        4: "Here is what the build said:\n\n```\n"
        + "".join(f"[{n:03}] compiling module number {n} of the importer, nothing to see\n" for n in range(30))
        + "```\n\nSee what is slow there, and only edit files in src/importer.",
    },
    {
        2: "From now on, run the linter before each commit.",
        4: "See what is slow there, and only edit files in src/importer.",
    },
    "Go on with the next module, number {n}.",
    "You may add new dependencies now, forget that rule.",
    "Do not add new dependencies.",
    "The work went on as before and some of it is done, while the rest of it is still left to do.",
)
JAPANESE = Talk(
    "インポーターを速くしてください。legacy/以下のファイルには絶対に触らないでください。必ず日本語で答えること。"
    "新しい依存ライブラリの追加は禁止です。",
    (
        "legacy/以下のファイルには絶対に触らないでください。",
        "必ず日本語で答えること。",
        "新しい依存ライブラリの追加は禁止です。",
    ),
    {
        2: "いいですね。今後はコミットの前に必ずリンターを実行してください。",
        4: "ビルドの出力です:\n\n```\n"
        + "".join(f"[{n:03}] インポーターのモジュール {n} をコンパイル中、特に問題なし\n" for n in range(30))
        + "```\n\n遅い所を調べて、src/importerのファイルだけを編集してください。",
    },
    {
        2: "今後はコミットの前に必ずリンターを実行してください。",
        4: "遅い所を調べて、src/importerのファイルだけを編集してください。",
    },
    "次のモジュール {n} に進んでください。",
    "依存ライブラリの追加の禁止は解除します。",
    "新しい依存ライブラリの追加は禁止です。",
    "作業はこれまでどおり進み、一部は終わりましたが、残りはまだこれからです。",
)
TALKS = {"english": ENGLISH, "japanese": JAPANESE}


def growing(talk: Talk, limit: int, withdraw_at: int = 0) -> Iterator[list[Turn]]:
    """The turns so far, one step more each time: reads, edits and test runs, some of them failing, some of them big."""
    turns: list[Turn] = []
    number = 0
    while True:
        said = talk.withdrawal if withdraw_at and len(turns) == withdraw_at else talk.go_on.format(n=len(turns))
        turns.append(Turn((Text(talk.first if not turns else talk.later.get(len(turns), said)),)))
        yield turns
        for _ in range(6):
            number += 1
            turns[-1] = Turn(turns[-1].prompt, (*turns[-1].steps, Step(tuple(items(number, limit)))))
            yield turns


def items(number: int, limit: int) -> Iterator[Text | ToolUse]:
    path = f"src/importer/module_{number}.py"
    lines = "".join(f"def handle_{number}_{n}(row): return parse_{n % 7}(row)  # {n * 13} bytes\n" for n in range(9))
    yield Text(f"I look at {path} because the profile points to it. " + "It is slow in the loop. " * (limit // 400))
    if number % 3 == 0:
        yield use(number, "read_file", {"path": path}, lines * max(1, limit // 4_000))
    elif number % 3 == 1:
        edit = {"path": path, "old_string": "parse_1", "new_string": f"parse_fast_{number}"}
        yield use(number, "edit_file", edit, f"The file {path} has been updated.")
    else:
        log = f"tests/test_{number}.py::test_rows FAILED\nE   ValueError: row {number * 1_001} is 12 ms late\n"
        end = f"{number} passed, 1 failed in 0.{number}s\nexit code: 1"
        yield use(number, "bash", {"command": f"pytest -x tests/test_{number}.py"}, log + "." * (limit // 40) + end)


def use(number: int, name: str, given: dict[str, str], result: str) -> ToolUse:
    return ToolUse(Call(f"c{number}", name, json.dumps(given)), Result((Text(result),)))


class Fold(NamedTuple):
    turns: list[Turn]
    outcome: Outcome
    receipt: Receipt


def folded(talk: Talk, recipe: str, window: int, model: ScriptedModel | None, withdraw_at: int = 0) -> Iterator[Fold]:
    """Each of the foldings that hide something anew, ten of them."""
    budget, options = Budget.of(window), PlanOptions(model=model is not None)
    view, count = View(history_of([])), 0
    for turns in growing(talk, budget.limit, withdraw_at):
        history = history_of(turns)
        planning = plan(View(history, view.stubs, view.gists), budget, RECIPES[recipe], METER, options)
        outcome = drive(planning, EffectHandlers(model))
        assert not isinstance(outcome.verdict, TooBig), outcome.verdict
        if any(isinstance(fold, Gist) for fold in outcome.folds):
            count += 1
            yield Fold(list(turns), outcome, Receipt(outcome, budget.limit, True, METER.name))
            if count == FOLDINGS:
                return
        view = outcome.view


def shown(outcome: Outcome) -> str:
    return render_turns(outcome.view.shown.turns)


def expected(talk: Talk, turns: list[Turn]) -> set[str]:
    return {*talk.rules, *(rule for at, rule in talk.later_rules.items() if at < len(turns))}


def forgetful(talk: Talk, on: bool) -> ScriptedModel | None:
    return ScriptedModel(*[talk.forgets] * 1_000) if on else None


@pytest.mark.parametrize("model", [False, True], ids=["no_model", "forgetful_model"])
@pytest.mark.parametrize("language", TALKS)
@pytest.mark.parametrize("window", [4_096, slow(8_192), slow(32_768)])
@pytest.mark.parametrize("recipe", SHOWN[:1] + tuple(map(slow, SHOWN[1:])))
def test_rules_and_facts_survive_ten_foldings(recipe: str, window: int, language: str, model: bool) -> None:
    talk = TALKS[language]
    asks = 0
    for turns, outcome, receipt in folded(talk, recipe, window, forgetful(talk, model)):
        asks += outcome.asks
        assert outcome.verdict == Folded()
        assert set(receipt.rules) == expected(talk, turns)
        assert [rule for rule in receipt.rules if rule not in shown(outcome)] == []
        assert receipt.facts.lost == 0 and receipt.facts.kept + receipt.facts.by_ref > 20
    assert bool(asks) == model


@pytest.mark.parametrize("language", TALKS)
@pytest.mark.parametrize("recipe", SHOWN)
def test_a_rule_the_user_takes_back_is_gone_after_the_next_folding(recipe: str, language: str) -> None:
    talk, before, after = TALKS[language], 0, 0
    for turns, outcome, receipt in folded(talk, recipe, 4_096, None, withdraw_at=6):
        assert (talk.withdrawn in receipt.rules) == (len(turns) <= 6)
        assert outcome.view.gist is not None
        if len(turns) > 8:  # the folding may hide what stood before the withdrawal only
            after += 1
            assert f"- {talk.withdrawn}\n" not in f"{outcome.view.gist.text}\n"
            assert [rule for rule in receipt.rules if rule not in shown(outcome)] == []
        before += len(turns) <= 6
    assert before and after


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("recipe", SHOWN)
def test_a_rule_in_a_prompt_too_long_to_be_shown_stands_in_its_stub(recipe: str, where: str) -> None:
    rule, budget = "Never push to the main branch.", Budget.of(4_096)
    log = "```\n" + "compiling module after module of the importer\n" * 280 + "```"
    first = f"{rule}\n\n{log}\n\nWhat is slow?" if where == "before" else f"{log}\n\nWhat is slow? {rule} Thank you."
    looked = Step((Text("I look."), use(1, "bash", {"command": "make"}, "ok\n" * 40)))
    turns = [Turn((Text(first),), (looked, Step((Text("The loop."),)))), Turn((Text(f"{log}\n\nAnd here?"),))]
    outcome = drive(plan(View(history_of(turns)), budget, RECIPES[recipe], METER, PlanOptions(model=False)))
    assert not isinstance(outcome.verdict, TooBig) or recipe == "chat-hybrid"
    if not isinstance(outcome.verdict, TooBig):
        assert outcome.folds and rule in shown(outcome)


@pytest.mark.parametrize("language", TALKS)
def test_a_gist_with_room_tells_of_every_file(language: str) -> None:
    turns = next(turns for turns in growing(TALKS[language], 4_000) if len(turns) == 12)
    assert f1(turns, 8_000) >= 0.95
    assert f1(turns, 200) < 0.95


def f1(turns: list[Turn], tokens: int) -> float:
    told_of = read_file_paths(write_gist(turns, ref=ref_of(render_turns(turns)), tokens=tokens, count=METER.count))
    touched = set(read_file_log(turns))
    return 2 * len(told_of & touched) / max(1, len(told_of) + len(touched))


FILES = sorted((shared_folder() / "data").glob("*/*.jsonl.gz"))[::12]


@pytest.mark.shared
@pytest.mark.corpus
@pytest.mark.parametrize("path", FILES or [None], ids=lambda path: path.name.split(".")[0] if path else "none")
def test_a_recorded_session_folded_keeps_its_rules_files_and_facts(path: Path, shared: Path) -> None:
    loaded = load(path.read_bytes(), path.name)
    assert not isinstance(loaded, Request)
    turns = list(loaded.history.turns)
    if read_file_log(turns):
        assert f1(turns, 30_000) >= 0.95
    budget = Budget.of(32_768)
    outcome = drive(plan(View(loaded.history), budget, RECIPES["auto"], METER, PlanOptions(model=False)))
    receipt = Receipt(outcome, budget.limit, True, METER.name)
    assert receipt.facts.lost == 0
    if not isinstance(outcome.verdict, TooBig):
        assert [rule for rule in find_standing_rules(turns) if rule not in shown(outcome)] == []
