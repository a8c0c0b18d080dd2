"""What is looked at before a small model is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.scripted import HERE, agent, ended, play, says, sent
from yohaku.agent.events import Event, ToolFinished
from yohaku.agent.toolkit.found_hits import DEFINITIONS
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.agent.toolkit.source_outline import declarations
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.agent.tools import tools_for

SMALL = tools_for("small")
FILLED = "".join(
    f"def filler_{number}(value):\n    return value * {number} + {number * 7}\n\n\n" for number in range(300)
)
SHOP = f"RETURN_DAYS = 17\n\n\n{FILLED}def discounted(total, percent):\n    return total + total * percent // 100\n"


async def yes(ask: PermissionRequest) -> Any:
    return "once"


def called(events: list[Event]) -> list[tuple[str, dict[str, Any]]]:
    return [(each.call.name, json.loads(each.call.arguments)) for each in events if isinstance(each, ToolFinished)]


def looked(root: Path, prompt: str, *, window: int = 20_000, **how: Any) -> list[tuple[str, dict[str, Any]]]:
    events = play(agent(root, says("So it is, そうです。"), window=window, tools=SMALL, **how), prompt)
    assert ended(events).why == "done"
    return called(events)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "notes.txt").write_text("Tea is sold on Mondays.\n")
    return tmp_path


def test_a_small_file_that_is_named_is_read(project: Path) -> None:
    assert looked(project, "When is tea sold? See notes.txt.") == [("read", {"path": "notes.txt"})]


def test_of_a_large_one_the_definition_that_is_named_is_read(project: Path) -> None:
    first = SHOP.split("\n").index("def discounted(total, percent):") + 1
    read = ("read", {"path": "shop.py", "offset": first, "limit": 2})
    for prompt in (
        "Explain the function discounted in shop.py.",
        "What does `discounted` in ./shop.py do?",
        "shop.py の関数 discounted を説明してください。",
        "What does discounted(100, 5) give in shop.py?",
    ):
        assert looked(project, prompt) == [read]


MONEY = "def percent(total, share):\n    return total * share // 10\n"
TEST_MONEY = "import money\n\n\nassert money.percent(200, 50) == 100\n"


def test_a_dotted_name_means_its_file(project: Path) -> None:
    (project / "money.py").write_text(MONEY)
    (project / "src" / "shop").mkdir(parents=True)
    (project / "src" / "shop" / "tax.py").write_text("RATE = 10\n")
    assert looked(project, "money.percent is wrong: it must divide by 100.") == [("read", {"path": "money.py"})]
    assert looked(project, "What is shop.tax.RATE for?") == [("read", {"path": "src/shop/tax.py"})]


def test_of_a_large_file_it_means_the_definition(project: Path) -> None:
    ((tool, given),) = looked(project, "Why is shop.discounted wrong?")
    assert (tool, given["path"], given["limit"]) == ("read", "shop.py", 2)


def test_a_path_behind_an_at_sign_is_opened_whatever_its_name(project: Path) -> None:
    (project / "Makefile").write_text("all:\n\ttrue\n")
    assert looked(project, "What does @Makefile do?") == [("read", {"path": "Makefile"})]


def test_files_in_a_traceback_are_opened_and_tests_last(project: Path) -> None:
    (project / "money.py").write_text(MONEY)
    (project / "test_money.py").write_text(TEST_MONEY)
    trace = (
        'Traceback (most recent call last):\n  File "test_money.py", line 4, in <module>\n'
        '    assert money.percent(200, 50) == 100\n  File "money.py", line 2, in percent\nAssertionError'
    )
    opened = looked(project, f"What went wrong here?\n{trace}")
    assert sorted(given["path"] for _, given in opened) == ["money.py", "test_money.py"]


def test_what_the_output_of_a_failing_command_points_to_is_opened(project: Path) -> None:
    (project / "money.py").write_text(MONEY)
    (project / "test_money.py").write_text(TEST_MONEY)
    events = looked(project, "`python3 test_money.py` fails. Tell me why.", allow=yes)
    assert events[0] == ("bash", {"command": "python3 test_money.py"})
    assert ("read", {"path": "money.py"}) in events, "the traceback only calls it"


def test_what_the_opened_file_calls_is_opened_too(project: Path) -> None:
    """The fault is often there, and the traceback does not name it."""
    (project / "money.py").write_text(MONEY)
    (project / "cart.py").write_text("import money\n\n\ndef total(whole):\n    return money.percent(whole, 50)\n")
    (project / "test_cart.py").write_text("import cart\n\nassert cart.total(200) == 100\n")
    events = looked(project, "`python3 test_cart.py` fails. Tell me why.", allow=yes)
    assert {given["path"] for tool, given in events if tool == "read"} == {"cart.py", "test_cart.py", "money.py"}


def test_for_a_change_the_file_is_opened_whose_definitions_share_words_with_the_prompt(project: Path) -> None:
    (project / "shipping.py").write_text("FREE_FROM = 4800\nBASE = 520\n")
    one = agent(project, *[says("I cannot.")] * 3, tools=SMALL, allow=yes)
    events = play(one, "Shipping shall be free from 6000 yen on. Change that.")
    assert called(events) == [("read", {"path": "shipping.py"})]


def test_a_prompt_that_shares_no_word_with_a_small_project_is_given_what_it_defines(tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text("RETURN_DAYS = 17\n")
    one = agent(tmp_path, says("17 日です。"), tools=SMALL, allow=yes)
    assert called(play(one, "返品は何日以内ですか。コードを調べてください。")) == [("grep", {"pattern": DEFINITIONS})]
    assert "orders.py\\n1: RETURN_DAYS = 17" in str(sent(one)[0]["messages"])


def test_and_the_constants_it_uses(project: Path) -> None:
    (project / "shop.py").write_text(
        f"{SHOP}\n\ndef returnable(days):\n    return days <= RETURN_DAYS and OTHER_NAME\n"
    )
    grep, (read, _) = sorted(looked(project, "Explain the function returnable in shop.py."))  # they run side by side
    assert read == "read"
    assert grep == ("grep", {"pattern": "^(RETURN_DAYS)\\b", "path": "shop.py"})


def test_or_the_lines_with_words_of_the_prompt(project: Path) -> None:
    (found,) = looked(project, "Within how many days may a customer return something? Look it up in shop.py.")
    assert found == ("grep", {"pattern": "(?i)days", "path": "shop.py"})


def test_or_what_it_is_made_of(project: Path) -> None:
    assert looked(project, "shop.py で返品できる期間を調べてください。") == [("read", {"path": "shop.py"})]


def test_what_is_found_stands_in_the_conversation_before_the_model_speaks(project: Path) -> None:
    one = agent(project, says("On Mondays."), tools=SMALL)
    play(one, "When is tea sold? See notes.txt.")
    (body,) = sent(one)
    user, assistant, tool = body["messages"][1:]
    assert user["role"] == "user"
    assert assistant["tool_calls"][0]["function"]["name"] == "read"
    assert "Mondays" in tool["content"]


def test_what_is_said_to_fail_is_run_and_what_the_failure_names_is_read(project: Path) -> None:
    (project / "test_shop.py").write_text(
        "import unittest, shop\n\nclass T(unittest.TestCase):\n"
        "    def test_it(self):\n        self.assertEqual(shop.discounted(100, 20), 80)\n"
    )
    prompt = "`python3 -m unittest -q test_shop` fails. Find the bug in shop.py."
    (ran, arguments), (read, place) = looked(project, prompt, allow=yes)
    assert (ran, arguments) == ("bash", {"command": "python3 -m unittest -q test_shop"})
    assert read == "read"
    assert SHOP.split("\n")[place["offset"] - 1].startswith("def discounted")


def test_a_command_is_asked_for_like_every_other(project: Path) -> None:
    asks: list[PermissionRequest] = []

    async def no(ask: PermissionRequest) -> Any:
        asks.append(ask)
        return "no"

    one = agent(project, says("Then I cannot see it."), tools=SMALL, allow=no)
    events = play(one, '`python3 -c \'open("made", "w")\'` fails, why?')
    assert [ask.kind for ask in asks] == ["run"]
    assert not (project / "made").exists()
    (ran,) = [each for each in events if isinstance(each, ToolFinished)]
    assert ran.result.error


def test_who_may_only_read_runs_nothing(project: Path) -> None:
    prompt = "`make` fails. See notes.txt."
    assert looked(project, prompt, permissions=Permissions("read-only")) == [("read", {"path": "notes.txt"})]


@pytest.mark.parametrize(
    "prompt",
    [
        "`rm -rf build` fails.",
        "`make deploy` fails, but do not run it again.",
        "`make deploy` が失敗しますが、実行しないでください。",
        "Hello!",
        "What is 3.14 times 2.5, e.g. in yen?",
        "Look at missing.py and at ../outside.txt.",
        "What is in .env and in secrets.json?",
        "See /etc/hosts.",
        "Run `ls` please.",
    ],
)
def test_nothing_else_is_looked_at(project: Path, prompt: str) -> None:
    (project / ".env").write_text("KEY=1")
    (project / "secrets.json").write_text("{}")
    (project.parent / "outside.txt").write_text("not ours")
    (project / "link.txt").symlink_to(project.parent / "outside.txt")
    assert looked(project, f"{prompt} Also link.txt.") == []


def test_a_file_that_is_no_text_is_left_to_the_model(project: Path) -> None:
    (project / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9)
    assert looked(project, "Look at photo.png.") == []


def test_a_model_with_room_or_far_away_is_left_to_itself(project: Path) -> None:
    prompt = "When is tea sold? See notes.txt."
    assert looked(project, prompt, window=400_000) == []
    assert looked(project, prompt, endpoint=replace(HERE, local=False)) == []


def test_a_definition_is_known_by_its_name_in_many_languages() -> None:
    def names(text: str, file: str) -> list[str]:
        return [each.name for each in declarations(text, file)]

    assert names("@cached\nclass A(B):\n    async def f(self) -> int: ...\n", "a.py") == ["A", "f"]
    assert names("export async function f<T>(a: T) {}\nclass Q extends R {\n  m() {}\n}\n", "a.ts") == ["f", "Q", "m"]
    assert names("func (s *S) Foo(a int) error {\n}\ntype T struct {\n}\n", "a.go") == ["Foo", "T"]
    assert names("pub fn a() {}\nimpl X for Y {\n    fn b(&self) {}\n}\n", "a.rs") == ["a", "", "b"]
    assert names("static int f(int a) {\n  return a;\n}\nstruct P { int x; };\n", "a.c") == ["f", "P"]


@pytest.mark.parametrize("piece", ["a", "a.", "a_", "`", "/", "~a", "関数a", "a(", "."])
def test_odd_prompts_name_nothing(project: Path, piece: str) -> None:
    assert looked(project, piece * 3_000, window=36_000) == []


def test_the_words_of_a_question_about_the_code_are_searched_for(tmp_path: Path) -> None:
    (tmp_path / "returns.py").write_text("RETURN_DAYS = 17\n")
    one = agent(tmp_path, says("17."), tools=SMALL, allow=yes)
    prompt = "Within how many days can a customer return it? Look it up in the code."
    assert called(play(one, prompt)) == [("grep", {"pattern": r"\b(RETURN_DAYS)\b"})]
    assert "returns.py\\n1: RETURN_DAYS = 17" in str(sent(one)[0]["messages"])


@pytest.mark.parametrize("prompt", ["Within how many days can a customer return it?", "Hello, code!", "コードについて"])
def test_nothing_is_searched_for_without_words_or_without_a_word_on_the_code(tmp_path: Path, prompt: str) -> None:
    one = agent(tmp_path, says("はい。"), says("はい。"), tools=SMALL, allow=yes)
    assert called(play(one, prompt)) == []
