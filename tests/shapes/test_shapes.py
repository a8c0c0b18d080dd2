"""Shape snapshots: what a folding looks like, for a person to review. `YOHAKU_GOLDEN=write` writes them anew.

Each scenario is a function: its docstring is the sentence the golden file begins with.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from yohaku import meters
from yohaku.core.budget import Budget
from yohaku.core.engine import Outcome, TooBig, plan
from yohaku.core.errors import DoesNotFit
from yohaku.core.fold import View
from yohaku.core.model import Call, Opaque, Part, Result, Step, Text, Tool, Turn, Use
from yohaku.core.receipt import Receipt
from yohaku.core.recipes import RECIPES
from yohaku.core.scribe import history_of
from yohaku.core.shape import shape
from yohaku.drive import drive
from yohaku.phrases import LANGUAGES, explain
from yohaku.testing import PNG

GOLDEN = Path(__file__).parent / "golden"
METER = meters.for_model("gpt-4o")
SYSTEM = "You are a careful engineer. Answer in the user's language."
BASH = Tool("bash", json.dumps({"type": "function", "function": {"name": "bash", "description": "Run a command."}}))
LONGEST = 36
"""Lines of a shape that are shown; of a longer one both ends."""


@dataclass(frozen=True)
class Scenario:
    turns: list[Turn]
    window: int = 8_192
    recipe: str = "auto"
    system: str = SYSTEM
    tools: tuple[Tool, ...] = (BASH,)


# What is said in the scenarios


def log(lines: int, name: str = "app") -> str:
    """A build log with one thing in the middle that matters."""
    said = [f"[{n:04}] {name}: compiled module_{n % 97}.c in {n * 7 % 113} ms" for n in range(1, lines + 1)]
    said[lines // 2] = f"[{lines // 2:04}] {name}: ERROR undefined symbol init_table in src/{name}/table.c:42"
    return "\n".join(said)


def code(functions: int, name: str = "table") -> str:
    parts = [f"def {name}_{n}(value: int) -> int:\n    return value * {n} + {n * n % 17}\n" for n in range(functions)]
    return "\n".join(parts)


def use(number: int, tool: str, result: str, /, **arguments: object) -> Use:
    return Use(Call(f"call_{number}", tool, json.dumps(arguments, ensure_ascii=False)), Result((Text(result),)))


def bash(number: int, command: str, result: str) -> Step:
    return Step((Text(f"I run {command}."), use(number, "bash", result, command=command)))


def turn(prompt: str | tuple[Part, ...], *steps: Step) -> Turn:
    return Turn((Text(prompt),) if isinstance(prompt, str) else prompt, steps)


def say(text: str) -> Step:
    return Step((Text(text),))


# The scenarios


def calm() -> Scenario:
    """A conversation far below the first rung is left alone."""
    return Scenario([turn("What does make test do?", bash(1, "make -n test", log(6)), say("It compiles six modules."))])


def one_huge_result() -> Scenario:
    """One build log fills most of the window, five steps ago. Only the log is shown by its ends; all else stays."""
    steps = [bash(n, f"sed -n {n}p notes.txt", f"note {n}: the table has {n * 12} rows") for n in range(2, 7)]
    first = bash(1, "make", log(400))
    return Scenario(
        [turn("Fix the build. Never touch the database.", first, *steps, say("The table is never set up."))]
    )


def many_results_in_a_small_window() -> Scenario:
    """Twenty middling results in a window of 4,096: the old ones become one line each, the newest stay whole."""
    steps = [bash(n, f"cat src/part_{n}.py", code(9, f"part_{n}")) for n in range(1, 21)]
    return Scenario([turn("Which part multiplies by 8?", *steps)], window=4_096)


def long_paste_in_the_newest_prompt() -> Scenario:
    """The user pastes a log far bigger than the window: it is cut visibly, both ends kept, the question with them."""
    pasted = f"Why does this fail?\n\n{log(1_500)}\n\nPlease answer in one sentence."
    return Scenario([turn("Hello.", say("Hello! What are we building?")), turn(pasted)])


def huge_newest_result() -> Scenario:
    """A calm session of ten short steps, then a result bigger than the window."""
    steps = [bash(n, f"sed -n {n}p notes.txt", f"note {n}: the table has {n * 12} rows") for n in range(1, 11)]
    return Scenario([turn("Fix the build. Never touch the database.", *steps, bash(11, "make", log(1_500)))])


def one_prompt_with_sixty_steps() -> Scenario:
    """An agent at its sixtieth step on one prompt: the prompt stays, the oldest steps give way to one text."""
    steps = [
        Step((Text(f"Step {n}: I look at part {n}."), use(n, "bash", log(14, f"part{n}"), command=f"make part_{n}")))
        for n in range(1, 61)
    ]
    return Scenario([turn("Build all sixty parts. You must not skip any.", *steps)], window=4_096)


def parallel_calls() -> Scenario:
    """Batches of four calls at once: a batch stays whole, only results inside it are folded."""
    batches = [
        Step(tuple(use(10 * b + n, "read_file", code(30, f"m{b}{n}"), path=f"src/m{b}{n}.py") for n in range(4)))
        for b in range(1, 4)
    ]
    return Scenario([turn("Compare these modules.", *batches, say("They are alike."))])


def written_files() -> Scenario:
    """Two big files written by the model, long ago: the arguments are folded, the calls stay."""
    steps = [
        Step((use(n, "write_file", "written", path=f"src/new_{n}.py", content=code(150, f"new_{n}")),))
        for n in range(1, 3)
    ]
    later = [bash(n, f"pytest -k new_{n}", "1 passed") for n in range(3, 9)]
    return Scenario([turn("Write two modules and test them.", *steps, *later)])


def japanese() -> Scenario:
    """A conversation in Japanese over several prompts."""
    turns = [
        turn(
            f"{n}番目の設定ファイルを確認してください。必ず日本語で答えること。本番のデータベースには触れないでください。",
            bash(n, f"cat 設定/{n}.toml", f'名前 = "第{n}設定"\n説明 = "これは{n}番目の設定です。"\n' * 12),
            say(f"{n}番目の設定は正しいです。問題はありませんでした。"),
        )
        for n in range(1, 13)
    ]
    return Scenario([*turns, turn("最初の設定の名前は何でしたか。")], window=4_096, system="あなたは慎重な技術者です。")


def images() -> Scenario:
    """Six screenshots, weighed by OpenAI's rule and not by their base64; some of the older ones are folded."""
    picture = Opaque("image", PNG, "base64", "image/png", hint="high")
    turns = [
        turn((Text(f"Screenshot {n}: what is wrong?"), picture), say(f"Button {n} is cut off.")) for n in range(1, 7)
    ]
    return Scenario([*turns, turn("Which of them was worst?")], window=2_048)


def system_prompt_too_big() -> Scenario:
    """A system prompt that alone is over the limit is refused before anything is sent, with numbers and a remedy."""
    return Scenario([turn("Hello.")], window=2_048, system=SYSTEM + "\n" + log(300))


def chat_by_turns() -> Scenario:
    """The recipe `chat` removes whole old turns until it is at 80 %, so that the next turns change nothing."""
    turns = [
        turn(f"Question {n}: what is {n} times {n}?", say(f"{n} times {n} is {n * n}. " + "It is easy to check. " * 20))
        for n in range(1, 31)
    ]
    return Scenario([*turns, turn("And what was the first?")], window=2_048, recipe="chat")


SCENARIOS: tuple[Callable[[], Scenario], ...] = (
    calm, one_huge_result, many_results_in_a_small_window, long_paste_in_the_newest_prompt, huge_newest_result,
    one_prompt_with_sixty_steps, parallel_calls, written_files, japanese, images, system_prompt_too_big, chat_by_turns,
)  # fmt: skip


# How they are told


def told(make: Callable[[], Scenario]) -> str:
    scenario = make()
    budget = Budget.of(scenario.window)
    view = View(history_of(scenario.turns, [Text(scenario.system)], scenario.tools))
    outcome = drive(plan(view, budget, RECIPES[scenario.recipe], METER))
    lines = [
        str(make.__doc__),
        f"Recipe {scenario.recipe}, window {budget.window:,}, limit {budget.limit:,}, counted by {METER.name}.",
        "",
        f"== before: {outcome.before.total:,} tokens",
        *middle_out(list(shape(view, METER))),
        "",
        *after(outcome, budget),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def middle_out(lines: list[str], longest: int = LONGEST) -> list[str]:
    half = longest // 2
    if len(lines) <= longest:
        return lines
    return [*lines[:half], f"           ~ {len(lines) - 2 * half} lines more ~", *lines[-half:]]


def after(outcome: Outcome, budget: Budget) -> Iterator[str]:
    verdict = outcome.verdict
    if isinstance(verdict, TooBig):
        yield "== refused"
        yield from (explain(DoesNotFit(verdict), lang) for lang in LANGUAGES)
        return
    if not outcome.folds:
        yield f"== {verdict.name}: nothing changed"
        return
    yield f"== {verdict.name}: {outcome.after.total:,} tokens"
    yield from middle_out(list(shape(outcome.view, METER)), 2 * LONGEST)
    receipt = Receipt(outcome, budget.limit, METER.exact, METER.name)
    kept = receipt.survived
    yield ""
    yield f"== folds: {len(receipt.folds)}; {kept.kept} pieces kept, {kept.by_ref} by ref, {kept.lost} lost"
    yield from middle_out(
        [f"{f.before:>6,} → {f.after:<5,} {f.what}: {f.why}; ref={f.ref}" for f in receipt.folds], LONGEST // 2
    )
    for ref, text in dict.fromkeys((fold.ref, fold.text) for fold in (receipt.folds[0], receipt.folds[-1])):
        yield ""
        yield f"== as the model reads ref={ref}"
        yield from around_the_note(text.split("\n"))


def around_the_note(lines: list[str]) -> list[str]:
    """Both ends of a long text, and what stands around the note that says what is hidden."""
    note = next(index for index, line in enumerate(lines) if "ref=" in line)
    shown = [index for index in range(len(lines)) if min(index, abs(index - note), len(lines) - 1 - index) <= 2]
    told: list[str] = []
    for before, index in zip([-1, *shown], shown, strict=False):
        told += [f"           ~ {index - before - 1} lines more ~"] if index - before > 1 else []
        told.append(lines[index])
    return told


@pytest.mark.parametrize("make", SCENARIOS, ids=lambda make: make.__name__)
def test_the_shape_is_the_one_that_was_reviewed(make: Callable[[], Scenario]) -> None:
    golden = GOLDEN / f"{make.__name__}.txt"
    if os.environ.get("YOHAKU_GOLDEN") == "write":
        golden.write_text(told(make), "utf-8")
    assert told(make) == golden.read_text("utf-8")


def test_every_golden_file_has_its_scenario() -> None:
    assert {path.stem for path in GOLDEN.glob("*")} == {make.__name__ for make in SCENARIOS}
