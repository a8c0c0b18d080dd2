"""Shape snapshots: what a folding looks like, for a person to review. `YOHAKU_GOLDEN=write` writes them anew.

Each scenario is a function: its docstring is the sentence the golden file begins with.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from yohaku import meters
from yohaku.core.budget import Budget
from yohaku.core.engine import Outcome, plan
from yohaku.core.errors import DoesNotFit
from yohaku.core.folds import Fold
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Opaque, Part, Result, Step, Text, Tool, ToolUse, Turn
from yohaku.core.shape import shape
from yohaku.core.verdict import TooBig
from yohaku.core.view import View
from yohaku.messages import LANGUAGES, describe, explain
from yohaku.recipes.auto import RECIPES
from yohaku.session.driver import EffectHandlers, drive
from yohaku.session.receipt import Receipt
from yohaku.testing import PNG, ScriptedModel

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
    answers: tuple[str, ...] = ()
    """What a model says when it is asked; nobody is there without."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What is on disk now."""


# What is said in the scenarios


def log(lines: int, name: str = "app") -> str:
    """A build log with one thing in the middle that matters."""
    said = [f"[{n:04}] {name}: compiled module_{n % 97}.c in {n * 7 % 113} ms" for n in range(1, lines + 1)]
    said[lines // 2] = f"[{lines // 2:04}] {name}: ERROR undefined symbol init_table in src/{name}/table.c:42"
    return "\n".join(said)


def code(functions: int, name: str = "table") -> str:
    parts = [f"def {name}_{n}(value: int) -> int:\n    return value * {n} + {n * n % 17}\n" for n in range(functions)]
    return "\n".join(parts)


def use(number: int, tool: str, result: str, /, **arguments: object) -> ToolUse:
    return ToolUse(Call(f"call_{number}", tool, json.dumps(arguments, ensure_ascii=False)), Result((Text(result),)))


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


# The recipes of the documents


def read(number: int, path: str, result: str, **arguments: object) -> Step:
    return Step((use(number, "read", result, path=path, **arguments),))


def questions(count: int, sentences: int = 20) -> list[Turn]:
    return [
        turn(
            f"Question {n}: what is {n} times {n}?",
            say(f"{n} times {n} is {n * n}. " + "It is easy to check. " * sentences),
        )
        for n in range(1, count + 1)
    ]


def thoughts_of_turns_that_are_over() -> Scenario:
    """A chat with a model that thinks at length: what it thought in turns that are over goes; nothing else has to."""

    def reply(n: int) -> Step:
        thought = Opaque("thought", f"They ask about part {n}. " + "Let me think it over again. " * 200, at=(n,))
        return Step((thought, Text(f"Part {n} multiplies by {n}.", at=(n,))))

    turns = [turn(f"What does part {n} do?", reply(n)) for n in range(1, 7)]
    return Scenario([*turns, turn("And part 7?")])


def local_shows_a_result_once() -> Scenario:
    """The recipe `local` below 16K: each result is whole for one step, then one line says what it was (L8)."""
    steps = [
        read(1, "src/table.go", code(40)),
        bash(2, "go build ./...", log(30)),
        Step((use(3, "grep", "src/table.go:42: init_table()\n" * 12, pattern="init_table", path="src"),)),
        bash(4, "go test ./...", log(12) + "\n[exit code: 1]"),
        read(5, "src/main.go", code(30, "main")),
    ]
    return Scenario([turn("なぜテストが失敗しますか。", *steps)], recipe="local")


def local_shows_a_big_file_by_its_structure() -> Scenario:
    """The recipe `local`: a file of 900 lines comes in, more than there is room for (L2, L5, L7, L10)."""
    text = "\n".join(f"def part_{n}(value: int) -> int:\n" + "    value += 1\n" * 28 for n in range(30))
    return Scenario([turn("Explain this module.", read(1, "src/parts.py", text))], recipe="local")


def local_at_ninety_percent() -> Scenario:
    """The recipe `local` in a window of 16K, 95 % full: old results go first, and that is enough (L6)."""
    steps = [bash(n, f"make part_{n}", log(45, f"part{n}")) for n in range(1, 20)]
    return Scenario([turn("Build all parts.", *steps)], window=16_384, recipe="local")


def cache_of_tool_outputs() -> Scenario:
    """The recipe `cache`: an output over 50 KB is seen in part; of the others the newest quarter stays (O2-O4)."""
    steps = [bash(n, f"make part_{n}", log(90, f"part{n}")) for n in range(1, 13)]
    last = bash(13, "make", log(1_400))
    return Scenario([turn("Build all parts.", *steps, last)], window=131_072, recipe="cache")


def cache_sums_up() -> Scenario:
    """The recipe `cache` at 80 %: what the model wants to retain, its summary, and the last turn as it was (K4-K7)."""
    said = (
        "<retain>\n- The user's rule: Never touch the database.\n</retain>\n"
        "<summary>\nThe user asks for squares one by one; all answers so far were right.\n</summary>"
    )
    turns = [turn("Never touch the database. What can you do?", say("I multiply.")), *questions(10)]
    return Scenario([*turns, turn("And 31?")], window=2_048, recipe="cache", answers=(said,))


def layers_clear_old_results() -> Scenario:
    """The recipe `layers`, first layer: big results older than the newest three are cleared; calls stay (P1)."""
    steps = [bash(n, f"make part_{n}", log(80, f"part{n}")) for n in range(1, 8)]
    return Scenario([turn("Build all parts.", *steps)], window=32_768, recipe="layers")


def layers_sum_up_and_restore() -> Scenario:
    """The recipe `layers` near the limit: one summary of everything, and the files read last come back (P2, P4, P5)."""
    steps = [
        read(1, "src/table.py", code(30)),
        read(2, "src/main.py", code(30, "main"), offset=1, limit=3),
        *(Step((Text(f"Step {n}: " + "I think about the table. " * 40),)) for n in range(1)),
    ]
    more = [turn(f"Go on ({n}).", say(f"Part {n}: " + "the table is built row by row. " * 60)) for n in range(7)]
    said = "<summary>\nThe table in src/table.py is built row by row; seven parts were explained.\n</summary>"
    files = {"src/table.py": code(3, "changed"), "src/main.py": code(9, "main")}
    return Scenario(
        [turn("Explain the table.", *steps), *more, turn("Continue.")],
        window=6_144, recipe="layers", answers=(said,), files=files,
    )  # fmt: skip


def layers_preview_a_huge_output() -> Scenario:
    """The recipe `layers`: a single output over half the limit is kept outside, with a preview (P6)."""
    return Scenario([turn("Build it.", bash(1, "make", log(600)))], window=16_384, recipe="layers")


SNAPSHOT = """<scratchpad>They multiply.</scratchpad>
<state_snapshot>
<overall_goal>Answer questions about squares.</overall_goal>
<key_knowledge>- Each answer is the product of the number with itself.</key_knowledge>
<file_system_state>- No files.</file_system_state>
<recent_actions>- Questions were answered in order.</recent_actions>
<current_plan>1. [DONE] The first questions\n2. [TODO] The question asked now</current_plan>
</state_snapshot>"""


def snapshot_of_the_older_part() -> Scenario:
    """The recipe `snapshot`: the newest 30 % stay, the rest is a snapshot and a word of acknowledgement (S1-S4)."""
    return Scenario([*questions(12), turn("And 31?")], window=2_048, recipe="snapshot", answers=(SNAPSHOT,))


def snapshot_not_yet() -> Scenario:
    """The recipe `snapshot` leaves 90 % alone where what comes in still fits into what remains (S1)."""
    return Scenario([*questions(11), turn("And 31?")], window=2_048, recipe="snapshot", answers=(SNAPSHOT,))


def chat_by_summary() -> Scenario:
    """The recipe `chat-summary`: a summary by a model stands for all that is old (C7, method B)."""
    said = "<summary>\nThe user asks for squares one by one and was answered rightly each time.\n</summary>"
    return Scenario([*questions(16), turn("And 31?")], window=2_048, recipe="chat-summary", answers=(said,) * 3)


def chat_hybrid() -> Scenario:
    """The recipe `chat-hybrid`: a summary of the older half, and the newer half as it was (C7, method C)."""
    said = "<summary>\nThe user asks for squares one by one and was answered rightly each time.\n</summary>"
    return Scenario([*questions(16), turn("And 31?")], window=2_048, recipe="chat-hybrid", answers=(said,))


def chat_refuses_a_paste() -> Scenario:
    """The recipe `chat`: the newest prompt alone is over the maximum; the user is told and nothing is sent (C5)."""
    return Scenario([*questions(3), turn(f"Why?\n{log(300)}")], window=2_048, recipe="chat")


SCENARIOS: tuple[Callable[[], Scenario], ...] = (
    calm, one_huge_result, many_results_in_a_small_window, long_paste_in_the_newest_prompt, huge_newest_result,
    one_prompt_with_sixty_steps, parallel_calls, written_files, japanese, images, system_prompt_too_big, chat_by_turns,
    thoughts_of_turns_that_are_over, local_shows_a_result_once, local_shows_a_big_file_by_its_structure,
    local_at_ninety_percent, cache_of_tool_outputs, cache_sums_up, layers_clear_old_results, layers_sum_up_and_restore,
    layers_preview_a_huge_output, snapshot_of_the_older_part, snapshot_not_yet, chat_by_summary, chat_hybrid,
    chat_refuses_a_paste,
)  # fmt: skip


# How they are told


def told(make: Callable[[], Scenario]) -> str:
    scenario = make()
    budget = Budget.of(scenario.window)
    view = View(history_of(scenario.turns, [Text(scenario.system)], scenario.tools))
    outcome = drive(
        plan(view, budget, RECIPES[scenario.recipe], METER),
        EffectHandlers(ScriptedModel(*scenario.answers) if scenario.answers else None, scenario.files.get),
    )
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


def fold_line(fold: Fold) -> str:
    what, why = describe(fold.what, fold.why, "en", fold.detail)
    return f"{fold.before:>6,} → {fold.after:<5,} {what}: {why}; ref={fold.ref}"


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
    yield from middle_out(list(map(fold_line, receipt.folds)), LONGEST // 2)
    for ref, text in dict.fromkeys((fold.ref, fold.text) for fold in (receipt.folds[0], receipt.folds[-1])):
        yield ""
        yield f"== as the model reads ref={ref}"
        yield from around_the_note(text.split("\n"))


def around_the_note(lines: list[str]) -> list[str]:
    """Both ends of a long text, and what stands around the note that says what is hidden."""
    if len(lines) <= LONGEST:
        return lines
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
