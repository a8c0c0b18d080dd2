"""Functions that a small model writes afresh while a command fails, and what is taken back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.scripted import HERE, agent, calls, ended, play, says, sent, told
from tests.agent.small_models.test_implied_edit import fenced
from tests.agent.small_models.test_preload import SMALL, called, yes
from yohaku.agent.agent import Agent
from yohaku.agent.host.local_servers import BILLIONS_KEY
from yohaku.agent.reply import LOW_TEMPERATURE, VARYING_TEMPERATURE
from yohaku.agent.small_models.rewrites import WORDINGS
from yohaku.config.settings import Settings

MONEY = '''\
def with_tax(total):
    return total + total // 10


def percent(total, rate):
    """The total after a discount."""
    return total + total * rate // 100
'''
CART = "import money\n\n\ndef total(whole, rate):\n    return money.with_tax(money.percent(whole, rate))\n"
TEST = "from cart import total\n\nassert total(1000, 0) == 1100\nassert total(1000, 50) == 550\n"
FAILS = "`python3 -B test_cart.py` fails. Find out why and fix it."
RIGHT = "def percent(total, rate):\n    return total - total * rate // 100"
WRONG = "def percent(total, rate):\n    return total * rate // 100"
WORDS = WORDINGS["en"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {"money.py": MONEY, "cart.py": CART, "test_cart.py": TEST}.items():
        (tmp_path / "p").mkdir(exist_ok=True)
        (tmp_path / "p" / name).write_text(text)
    return tmp_path / "p"


def small(project: Path, *replies: object, **how: object) -> Agent:
    lines = [says(each) if isinstance(each, str) else each for each in replies]
    settings = Settings(data=project.parent / "data")
    one = agent(project, *lines, tools=SMALL, allow=yes, settings=settings, **how)  # type: ignore[arg-type]
    one.context.client.begins = True  # type: ignore[misc]
    return one


def asked(one: Agent, request: int) -> list[str]:
    """What stands last in a request: the nudge, and the beginning of the reply."""
    return [entry["content"] for entry in sent(one)[request]["messages"][-2:]]


def test_a_function_shown_as_it_stands_gives_way_to_those_that_it_calls(project: Path) -> None:
    same = fenced("def total(whole, rate):\n    return money.with_tax(money.percent(whole, rate))")
    one = small(project, same, "    return total - total * rate // 100\n```", "Done.")
    events = play(one, FAILS)
    nudge, begun = asked(one, 1)
    assert nudge == (
        "[percent(total=1000, rate=50) gave 1500, which is wrong. Fix the function percent of money.py: write it whole "
        "and corrected in a code block.]"
    )
    assert begun == "```\ndef percent(total, rate):\n"
    assert "total - total" in (project / "money.py").read_text()
    assert (ended(events).why, ended(events).problems) == ("done", ())


def test_what_does_not_help_is_taken_back_and_the_user_is_told(project: Path) -> None:
    one = small(
        project,
        fenced(WRONG),
        "    return 2 * total\n```",
        "    return whole\n```",
        *["I am at a loss."] * 9,
    )
    events = play(one, FAILS)
    assert {path.name: path.read_text() for path in project.iterdir() if path.suffix == ".py"} == {
        "money.py": MONEY, "cart.py": CART, "test_cart.py": TEST,
    }  # fmt: skip
    back = [note for note in told(events) if note.startswith("Taken back, because it did not help: ")]
    assert len(back) == 3
    assert "taken back" in asked(one, 1)[0]
    assert ended(events).problems == ("command_fails", "nothing_changed")


def test_what_helps_a_little_stays(project: Path) -> None:
    (project / "money.py").write_text(MONEY.replace("total // 10", "total // 20"))
    better = fenced("def with_tax(total):\n    return total + total // 10")
    one = small(project, better, fenced(RIGHT), "Done.")
    events = play(one, FAILS)
    assert (project / "money.py").read_text() == MONEY.replace("total + total *", "total - total *").replace(
        '    """The total after a discount."""\n', ""
    )
    assert not any("Taken back" in note for note in told(events))


def test_an_edit_that_meets_no_text_is_made_by_the_name_of_the_function(project: Path) -> None:
    missed = says("", calls("edit", path="money.py", old_string="def percent(a, b):\n  pass", new_string=RIGHT))
    one = small(project, missed, "Done.")
    events = play(one, "The function percent in money.py must give a discount. Fix it.")
    assert [name for name, _ in called(events)] == ["read", "edit", "edit"]
    assert "total - total" in (project / "money.py").read_text()


def test_one_that_shows_no_function_is_followed_by_the_question_for_it(project: Path) -> None:
    near = "    return total + (total*rate) // 100"
    missed = says("", calls("edit", path="money.py", old_string=near, new_string=near.replace("+", "-", 1)))
    one = small(project, missed, "    return total - total * rate // 100\n```", "Done.")
    play(one, "The discount in money.py must be taken off. Fix it.")
    assert asked(one, 1) == [WORDS.missed.format(path="money.py", name="percent"), "```\ndef percent(total, rate):\n"]
    assert "total - total" in (project / "money.py").read_text()


def test_a_small_model_is_asked_for_a_function_at_once_and_for_a_short_end_when_it_passes(project: Path) -> None:
    endpoint = replace(HERE, info={BILLIONS_KEY: 1.5})
    one = small(project, "    return total - total * rate // 100\n```", "It was added.", endpoint=endpoint)
    events = play(one, FAILS)
    assert asked(one, 0)[0].startswith("[percent(total=1000, rate=50) gave 1500, which is wrong.")
    assert sent(one)[1]["messages"][-1]["content"] == WORDS.passed.format(command="python3 -B test_cart.py")
    assert ended(events).text == "It was added."


def test_after_all_of_it_the_end_is_honest_and_nothing_more_is_changed(project: Path) -> None:
    heads = {"total": CART, "percent": MONEY, "with_tax": MONEY}
    bodies = {name: text.split(f"def {name}(")[1].split("\n", 1)[1].split("\n\n\n")[0] for name, text in heads.items()}
    asks = ["percent", "with_tax", "total"] * 2  # the second time at another temperature
    again = [fenced(f"def {name}(total):\n{bodies[name]}") for name in asks[3:]]
    same = fenced(CART.split("\n\n\n")[1])
    one = small(project, same, *(f"{bodies[name]}\n```" for name in asks[:3]), *again, fenced(RIGHT))
    events = play(one, FAILS)
    assert [body["temperature"] for body in sent(one)][1:7] == [LOW_TEMPERATURE] * 3 + [VARYING_TEMPERATURE] * 3
    assert sent(one)[-1]["messages"][-1]["content"] == WORDS.honest
    assert (project / "money.py").read_text() == MONEY
    assert ended(events).problems == ("command_fails", "nothing_changed")
