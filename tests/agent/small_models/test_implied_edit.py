"""Changes that a small model shows instead of making them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.scripted import agent, ended, play, says, sent
from tests.agent.small_models.test_preload import SMALL, called, yes
from yohaku.agent.events import TextDelta
from yohaku.agent.reply import LOW_TEMPERATURE
from yohaku.agent.small_models.implied_edit import MAX_EDITS, UNCHANGED, WRITE_IT
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.analysis.change_requests import asks_for_change

SOURCE = '''\
"""Prices."""

RATE = 3


class Till:
    @staticmethod
    def paid(total, percent):
        """What is left to pay."""
        return total + total * percent // 100

    def empty(self):
        return None


def doubled(value):
    return value + 2
'''
ASKED = "Fix till.py: what is doubled must be doubled."
WANTS = ("Fix it.", "Rename a to b.", "Why does it fail? Fix what is wrong.", "Could you fix a.py?", "関数を直して。")
ASKS = ("Explain it.", "What would you change?", "変更しないでください。", "直し方を教えてください。", "never edit it")
RIGHT = "def doubled(value):\n    return value * 2"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "till.py").write_text(SOURCE)
    return tmp_path


def after(project: Path, *replies: str, prompt: str = ASKED, **how: Any) -> str:
    how.setdefault("allow", yes)
    events = play(agent(project, *map(says, replies), tools=SMALL, **how), prompt)
    assert ended(events).why == "done"
    return (project / "till.py").read_text()


def fenced(code: str, language: str = "python") -> str:
    return f"Here is the corrected code:\n\n```{language}\n{code}\n```\n\nRun the tests again."


def test_a_definition_that_is_shown_takes_the_place_of_the_old(project: Path) -> None:
    assert after(project, fenced(RIGHT), "Done.") == SOURCE.replace("value + 2", "value * 2")


def test_a_method_keeps_its_indentation_and_its_decorators(project: Path) -> None:
    code = 'def paid(total, percent):\n    """What is left to pay."""\n    return total - total * percent // 100'
    assert after(project, fenced(code), "Done.") == SOURCE.replace("total + total", "total - total")


def test_line_numbers_are_taken_off(project: Path) -> None:
    code = "\n".join(f"{number}\t{line}" for number, line in enumerate(RIGHT.split("\n"), 17))
    assert after(project, fenced(code), "Done.") == SOURCE.replace("value + 2", "value * 2")


def test_of_two_blocks_the_last_is_meant(project: Path) -> None:
    before = fenced("def doubled(value):\n    return value + 2")
    assert after(project, before + fenced(RIGHT), "Done.") == SOURCE.replace("value + 2", "value * 2")


def test_what_it_imports_comes_with_it(project: Path) -> None:
    code = "import math\n\ndef doubled(value):\n    return math.prod((value, 2))"
    changed = after(project, fenced(code), "Done.")
    assert changed.startswith('"""Prices."""\n\nimport math\n')
    assert "return math.prod((value, 2))" in changed
    compile(changed, "till.py", "exec")


def test_a_line_that_is_to_become_another_does(project: Path) -> None:
    for said in (
        "Change `return value + 2` to `return value * 2`.",
        "`return value + 2` → `return value * 2`",
        "`return value + 2` を `return value * 2` に変更してください。",
    ):
        (project / "till.py").write_text(SOURCE)
        assert after(project, said, "Done.") == SOURCE.replace("value + 2", "value * 2")


def test_a_line_that_is_wrong_becomes_the_one_it_should_be(project: Path) -> None:
    for said in (
        "The line `return value + 2` is wrong: `doubled` adds. The correct line should be `return value * 2`.",
        "`return value + 2` は誤りです。正しくは `return value * 2` です。",
    ):
        (project / "till.py").write_text(SOURCE)
        assert after(project, said, "Done.") == SOURCE.replace("value + 2", "value * 2")


def test_a_value_that_is_shown_takes_the_place_of_the_old(project: Path) -> None:
    prompt = "In till.py the rate shall be 5. Change it."
    assert after(project, fenced("RATE = 5"), "Done.", prompt=prompt) == SOURCE.replace("RATE = 3", "RATE = 5")
    (project / "till.py").write_text(SOURCE)
    assert after(project, fenced("rate = 5"), "I cannot.", "No.", prompt=prompt) == SOURCE
    assert after(project, fenced("RATE = 5\nprint(RATE)"), "I cannot.", "No.", prompt=prompt) == SOURCE


def test_a_model_that_shows_the_same_code_twice_is_asked_for_the_line(project: Path) -> None:
    (project / "test_till.py").write_text("import till\n\nassert till.doubled(3) == 6, 'doubled(3) is not 6'\n")
    same, line = (
        fenced("def doubled(value):\n    return value + 2"),
        "return value + 2` is wrong. It should be `return value * 2`.",
    )
    one = agent(project, says(same), says(same), says(f"The line `{line}"), says("Done."), tools=SMALL, allow=yes)
    play(one, "`python3 -B test_till.py` fails. Find the bug in till.py and fix it.")
    assert (project / "till.py").read_text() == SOURCE.replace("value + 2", "value * 2")
    asked = str(sent(one)[2]["messages"][-1])
    assert "doubled(value=3) gave 5, which is wrong" in asked
    temperatures = [body["temperature"] for body in sent(one)]
    assert temperatures[1] == LOW_TEMPERATURE < temperatures[2], "it is to say something else"


def test_once_the_failing_command_passes_nothing_more_is_changed(project: Path) -> None:
    (project / "test_till.py").write_text("import till\n\nassert till.doubled(3) == 6\n")
    wrong = fenced("def doubled(value):\n    return value + 2")
    prompt = "`python3 -B test_till.py` fails. Find the bug in till.py and fix it."
    assert after(project, fenced(RIGHT), wrong, prompt=prompt) == SOURCE.replace("value + 2", "value * 2")


def test_an_edit_that_failed_is_no_change_and_one_that_was_refused_needs_no_other(project: Path) -> None:
    from tests.agent.scripted import calls

    wrong = says("", calls("edit", path="till.py", old_string="nothing like it", new_string="x"))
    one = agent(
        project, wrong, says("I see. Let us fix it."), says(fenced(RIGHT)), says("Done."), tools=SMALL, allow=yes
    )
    play(one, ASKED)
    assert (project / "till.py").read_text() == SOURCE.replace("value + 2", "value * 2")
    assert WRITE_IT["en"] in str(sent(one)[2]["messages"][-1])


@pytest.mark.parametrize(
    "said",
    [
        fenced("def tripled(value):\n    return value * 3"),  # not in the file
        fenced("print(doubled(2))"),
        fenced(f"{RIGHT}\n\n\ndef halved(value):\n    return value / 2"),  # two
        fenced("class Till:\n    # ... existing code ...\n    def paid(self):\n        return 1"),
        fenced("class Till:\n    def paid(self):\n        return 1"),  # most of it is gone
        fenced("not python at all ("),
        "Change `a thing that is not there` to `another`.",
        "Change `total` to `sum`.",
        "The `return value + 2` is wrong, as `return value * 2` would double.",
        "The line `def doubled(value):` is wrong. It should be `def twice(value):`.",
        "`value + 2` should not be confused with `value * 2`.",
    ],
)
def test_what_may_be_meant_otherwise_changes_nothing(project: Path, said: str) -> None:
    assert after(project, said, "Nothing has to be changed.") == SOURCE


@pytest.mark.parametrize(
    "prompt", ["Explain till.py.", "How would you fix till.py?", "till.py をどう直しますか。", "Don't change till.py."]
)
def test_nothing_is_changed_that_was_not_to_be(project: Path, prompt: str) -> None:
    assert after(project, fenced(RIGHT) + "そうします。", prompt=prompt) == SOURCE


def test_the_user_is_shown_the_difference_and_may_refuse(project: Path) -> None:
    asks: list[PermissionRequest] = []

    async def no(ask: PermissionRequest) -> Any:
        asks.append(ask)
        return "no"

    assert after(project, fenced(RIGHT), "As you wish.", allow=no) == SOURCE
    (ask,) = asks
    assert ask.kind == "write"
    assert "+    return value * 2" in ask.detail


def test_a_model_that_shows_things_as_they_are_is_told_so_and_then_asked_for_the_line(project: Path) -> None:
    same = fenced("def doubled(value):\n    return value + 2")
    one = agent(project, says(same), says(same), says("It is right."), says("It is."), tools=SMALL, allow=yes)
    assert ended(play(one, ASKED)).why == "done"
    assert sent(one)[1]["messages"][-1]["content"] == UNCHANGED.format(name="doubled", path="till.py")
    assert (project / "till.py").read_text() == SOURCE


@pytest.mark.parametrize(("prompt", "lang"), [(ASKED, "en"), ("till.py の doubled を直してください。", "ja")])
def test_a_model_that_only_announces_is_asked_once_to_write_it(project: Path, prompt: str, lang: str) -> None:
    one = agent(project, says("I need to fix it."), says(fenced(RIGHT)), says("できました。"), tools=SMALL, allow=yes)
    assert ended(play(one, prompt)).text == "できました。"
    assert sent(one)[1]["messages"][-1]["content"] == WRITE_IT[lang]
    assert (project / "till.py").read_text() == SOURCE.replace("value + 2", "value * 2")


@pytest.mark.parametrize(
    ("said", "begin", "goes_on"),
    [
        ("The bug is in doubled, not in paid.", "```\ndef doubled(value):\n", "    return value * 2\n```\n"),
        ("I will correct `paid` now.", "```\ndef paid(total, percent):\n", "    return 0\n```"),
        ("It is wrong and has to be put right.", "```\n", f"{RIGHT}\n```"),
    ],
)
def test_where_the_server_lets_it_the_definition_is_begun_for_it(
    project: Path, said: str, begin: str, goes_on: str
) -> None:
    one = agent(project, says(said), says(goes_on), says("Done."), tools=SMALL, allow=yes)
    one.context.client.begins = True  # type: ignore[misc]
    events = play(one, ASKED)
    assert [(entry["role"], entry["content"]) for entry in sent(one)[1]["messages"][-2:]] == [
        ("user", WRITE_IT["en"]), ("assistant", begin),
    ]  # fmt: skip
    assert begin + goes_on in "".join(event.text for event in events if isinstance(event, TextDelta))
    assert begin + goes_on in [entry["content"] for entry in sent(one)[2]["messages"] if entry["role"] == "assistant"]
    assert (project / "till.py").read_text() != SOURCE


def test_a_model_that_says_nothing_begins_with_what_was_named(project: Path) -> None:
    one = agent(project, says(), says("    return value * 2\n```"), says("Done."), tools=SMALL, allow=yes)
    one.context.client.begins = True  # type: ignore[misc]
    play(one, "Fix the function doubled in till.py.")
    assert sent(one)[1]["messages"][-1] == {"role": "assistant", "content": "```\ndef doubled(value):\n"}
    assert (project / "till.py").read_text() == SOURCE.replace("value + 2", "value * 2")


def test_what_it_said_stands_before_what_it_is_told(project: Path) -> None:
    said = "It adds, and must multiply."
    one = agent(project, says(said), says(fenced(RIGHT)), says("Done."), tools=SMALL, allow=yes)
    play(one, ASKED)
    assert sent(one)[1]["messages"][-2] == {"role": "assistant", "content": said}


def test_a_long_reply_is_not_said_again_on_top_of_what_was_fitted(project: Path) -> None:
    said = "".join(f"It adds {number}, and must multiply. " for number in range(60))
    one = agent(project, says(said), says(fenced(RIGHT)), says("Done."), tools=SMALL, allow=yes)
    play(one, ASKED)
    assert sent(one)[1]["messages"][-2]["role"] == "tool"


def test_a_model_that_asks_back_is_left_to_ask(project: Path) -> None:
    assert after(project, "Which of the two do you mean?") == SOURCE


def test_what_failed_is_run_again_after_a_change(project: Path) -> None:
    check = "python3 -c 'import till; assert till.doubled(3) == 6'"
    one = agent(project, says(fenced(RIGHT)), says("It works now."), tools=SMALL, allow=yes)
    events = play(one, f"`{check}` fails. Fix doubled in till.py.")
    assert [name for name, _ in called(events)] == ["bash", "read", "edit", "bash"]
    assert ended(events).text == "It works now."


def test_there_is_an_end_to_it(project: Path) -> None:
    replies = [fenced(f"def doubled(value):\n    return value * {number}") for number in range(3, 5 + MAX_EDITS)]
    one = agent(project, *map(says, replies), tools=SMALL, allow=yes)
    events = play(one, ASKED)
    assert [name for name, _ in called(events)].count("edit") == MAX_EDITS


def test_what_is_wanted_is_told_by_the_prompt() -> None:
    for prompt in ("Fix it.", "Rename a to b.", "バグを直してください。", "関数を修正して。"):
        assert asks_for_change(prompt)
    for prompt in (
        "Explain it.",
        "What would you change?",
        "変更しないでください。",
        "直し方を教えてください。",
        "never edit it",
    ):
        assert not asks_for_change(prompt)


HALF = "def half(value):\n    return value // 2"
WHOLE = SOURCE.rstrip("\n") + "\n\n\n" + HALF


@pytest.mark.parametrize(
    "prompt",
    [
        "Add a function half(value) to till.py.",
        "Add a function to till.py that returns the half of a value.",
        "till.py に関数 half(value) を追加してください。",
    ],
)
@pytest.mark.parametrize("shown", [HALF, WHOLE], ids=["alone", "whole"])
def test_what_the_user_wants_added_is_added_at_the_end(project: Path, prompt: str, shown: str) -> None:
    assert after(project, fenced(shown), "できました。", prompt=prompt) == WHOLE + "\n"


def test_new_code_comes_before_the_lines_that_run_the_file(project: Path) -> None:
    main = '\n\nif __name__ == "__main__":\n    print(doubled(2))\n'
    (project / "till.py").write_text(SOURCE + main)
    changed = after(project, fenced(HALF), "Done.", prompt="Add half(value) to till.py.")
    assert changed == SOURCE + "\n\n" + HALF + "\n" + main


@pytest.mark.parametrize(
    "said",
    [
        fenced("def half(self):\n    return self // 2"),
        fenced("def other(value):\n    return 1\n\n\ndef another(value):\n    return 2"),
        fenced("def half(value):\n    # ... as above ...\n    pass"),
    ],
)
def test_what_may_not_be_what_is_to_be_added_is_not(project: Path, said: str) -> None:
    assert after(project, said, "Done.", "Done.", "Done.", prompt="Add half(value) to till.py.") == SOURCE


def test_of_several_definitions_only_those_that_differ_are_changed(project: Path) -> None:
    both = "def empty(self):\n    return None\n\n\n" + RIGHT
    assert after(project, fenced(both), "Done.") == SOURCE.replace("value + 2", "value * 2")


def test_a_method_of_javascript_that_is_shown_alone_takes_the_place_of_the_old(tmp_path: Path) -> None:
    pytest.importorskip("tree_sitter_javascript")
    source = "class Loans {\n  lend(title) {\n    this.n -= 1;\n  }\n\n  count() {\n    return this.n;\n  }\n}\n"
    (tmp_path / "loans.js").write_text(source)
    one = agent(
        tmp_path, says(fenced("lend(title) {\n  this.n += 1;\n}", "javascript")), says("Done."), tools=SMALL, allow=yes
    )
    play(one, "The method lend in loans.js must add one. Fix it.")
    assert (tmp_path / "loans.js").read_text() == source.replace("-= 1", "+= 1")
