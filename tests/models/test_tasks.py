"""Small tasks in a file of 600 lines, given to a real model of 1.5 billion parameters with a window of 8,192 tokens.

Law: whatever the model does, nothing overflows, breaks, or touches anything outside the project, and the gauge shows
what the server counts. How often the model succeeds is printed, not judged. `YOHAKU_RUNS` is how often each is tried.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from tests import checkers
from tests.models import shop
from tests.models.conftest import QWEN, WINDOW
from yohaku.agent.agent import Agent
from yohaku.agent.events import Event, TextDelta, ThoughtDelta, ToolFinished, TurnEnded, UserNotice
from yohaku.agent.host import embedded
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import TooLong
from yohaku.client.model_client import ModelClient
from yohaku.config.settings import Settings
from yohaku.core.budget import Budget
from yohaku.core.model import Call, Reply, Result, Text
from yohaku.core.weigh import weigh
from yohaku.dialects.answer import Answer
from yohaku.dialects.json_values import dump

pytestmark = pytest.mark.slow  # a real model

RUNS = int(os.environ.get("YOHAKU_RUNS") or 1)
NEAR = 0.03
PART = 150
"""Lines of the file that were read at once before the task is given."""
STEPS = 20
HARMLESS = re.compile(r"(python3?|node|ls|cat|grep|head|tail|sed -n|wc|pwd|echo|find|diff)\b[^>;&|`$]*")
KANA = re.compile(r"[ぁ-んァ-ヶ]")


class Task(NamedTuple):
    english: str
    japanese: str
    done: Callable[[str, Path], bool]
    """By the final reply and the project."""


def _passes(_: str, project: Path) -> bool:
    ran = subprocess.run([sys.executable, "-m", "unittest", "-q", "test_shop"], cwd=project, capture_output=True)
    here, before = (project / "shop.py").read_text(), shop.source()
    nothing_else = here != before and _elsewhere(here) == _elsewhere(before)
    return ran.returncode == 0 and nothing_else and (project / "test_shop.py").read_text() == shop.TEST


def _elsewhere(source: str) -> str:
    """All but the function with the bug."""
    return re.sub(r"^def discounted\(.*?(?=^\S)", "", source, flags=re.MULTILINE | re.DOTALL)


def _explains(reply: str, _: Path) -> bool:
    """It says from when on nothing is asked, and that it else goes by weight."""
    free = re.search(r"4,?800|FREE_SHIPPING_FROM", reply) and re.search(r"free|無料|\b0\b|０|ゼロ|zero", reply)
    return bool(free and re.search(r"weight|kilo|重", reply))


TASKS = {
    "find": Task(
        "Within how many days can a customer return an article? Look it up in shop.py.",
        "お客さんは何日以内なら返品できますか。shop.py で調べて答えてください。",
        lambda reply, _: "17" in reply,
    ),
    "explain": Task(
        "Explain what the function shipping_fee in shop.py does, with its numbers.",
        "shop.py の関数 shipping_fee が何をするか、具体的な数値も入れて説明してください。",
        _explains,
    ),
    "fix": Task(
        "`python3 -m unittest -q test_shop` fails. Find the bug in shop.py and fix it.",
        "`python3 -m unittest -q test_shop` が失敗します。shop.py のバグを見つけて直してください。",
        _passes,
    ),
}
EARLIER = {
    "english": (
        "Give me an overview of shop.py.",
        "shop.py has prices, weights and labels of articles, and functions for tax, discounts, shipping and returns.",
    ),
    "japanese": (
        "shop.py の概要を教えてください。",
        "shop.py には、商品ごとの価格・重さ・ラベルの関数と、消費税、割引、送料、返品の関数があります。",
    ),
}


class Watched(ModelClient):
    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint, window=WINDOW, reserve=Budget.of(WINDOW).reserve)
        self.counts: list[tuple[int, int]] = []
        """What the gauge showed, and what the server counted."""
        self.overflows = 0
        self.malformed: list[str] = []

    async def send(
        self, body: dict[str, Any], hear: Callable[[TextDelta | ThoughtDelta], None], *, weighs: int = 0
    ) -> Answer:
        self.malformed += checkers.DIALECTS["openai_chat"].problems(body)
        try:
            answer = await super().send(body, hear, weighs=weighs)
        except TooLong:
            self.overflows += 1
            raise
        last = body["messages"][-1]
        urged = last["role"] == "assistant" or (last["role"] == "user" and last["content"].startswith("["))
        if answer.usage and not urged:  # what is said on top, once, is not in the gauge
            self.counts.append((weighs, answer.usage.prompt))
        return answer


@dataclass
class Attempt:
    client: Watched
    events: list[Event] = field(default_factory=list)
    done: bool = False
    whole: int = 0
    """Tokens of all that was said."""

    @property
    def ended(self) -> TurnEnded:
        return next(event for event in self.events if isinstance(event, TurnEnded))

    @property
    def story(self) -> str:
        """Which tools were called, an error marked, and how it ended."""
        calls = [event.call.name + "!" * event.result.error for event in self.events if isinstance(event, ToolFinished)]
        return " ".join([*calls, self.ended.why])


async def harmless(ask: PermissionRequest) -> Literal["once", "no"]:
    return "once" if not ask.danger and (ask.kind == "write" or HARMLESS.fullmatch(ask.detail)) else "no"


def read_before(agent: Agent, language: str) -> None:
    """An earlier turn in which the whole file was read: with it, every task is longer than the window."""
    prompt, reply = EARLIER[language]
    agent.said(prompt)
    lines = [f"{number}\t{line}" for number, line in enumerate(shop.source().splitlines(), 1)]
    for first in range(0, len(lines), PART):
        part = {"path": "shop.py", "offset": first + 1, "limit": PART}
        call = Call(f"read_{first}", "read", dump(part))
        agent.settle(Reply((call,)), {call.id: Result((Text("\n".join(lines[first : first + PART])),))})
    listed = [f"{number}: {line}" for number, line in enumerate(shop.source().splitlines(), 1) if "def " in line]
    call = Call("list", "grep", dump({"pattern": "def ", "path": "shop.py"}))
    agent.settle(Reply((call,)), {call.id: Result((Text("\n".join(["shop.py", *listed])),))})
    agent.settle(Reply((Text(reply),)), {})


async def attempt(
    endpoint: Endpoint, name: str, language: str, home: Path, hear: Callable[[Event], None] = lambda _: None
) -> Attempt:
    """One try at a task, in a project made anew."""
    project, task = home / "project", TASKS[name]
    shutil.rmtree(project, ignore_errors=True)
    shop.build(project)
    found = Attempt(Watched(endpoint))
    agent = Agent(
        endpoint, window=WINDOW, root=project, client=found.client, settings=Settings(), max_steps=STEPS,
        permissions=Permissions("ask"), allow=harmless, lang=language[:2],
    )  # fmt: skip
    read_before(agent, language)
    async for event in agent.work(task.japanese if language == "japanese" else task.english):
        found.events.append(event)
        hear(event)
    found.whole = weigh(agent.conversation.history, agent.meter).total
    await agent.close()
    reply = found.ended.text
    found.done = task.done(reply, project) and bool(KANA.search(reply)) == (language == "japanese")
    return found


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """A real small model; weights are never fetched by a test."""
    if not embedded.is_installed():
        pytest.skip("xllamacpp is needed to serve a model: install the group `test`")
    folder = os.environ.get("YOHAKU_MODELS")
    if not folder or not (path := Path(folder) / QWEN).exists():
        pytest.skip(f"set YOHAKU_MODELS to a folder with {QWEN}; each of these tests takes many minutes")
    serving = embedded.start_server(embedded.endpoint_of_file(path), WINDOW)
    yield serving.endpoint
    serving.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all, and the tasks of one language together: the server then knows how each conversation begins."""
    return tmp_path_factory.mktemp("home")


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("language", EARLIER)
def test_a_task_is_worked_on_without_harm(endpoint: Endpoint, home: Path, name: str, language: str) -> None:
    (home / "beside.txt").write_text("not of the project")
    found = [asyncio.run(attempt(endpoint, name, language, home)) for _ in range(RUNS)]
    print(f"\n{name} in {language}: {sum(each.done for each in found)} of {RUNS} succeeded")
    for each in found:
        print(f"  {'yes' if each.done else 'no '}  {each.whole:,} tokens  {each.story}")
        assert each.whole > WINDOW
        assert (each.client.overflows, each.client.malformed) == (0, [])
        assert all(abs(shown - counted) <= NEAR * counted for shown, counted in each.client.counts)
        assert not any(isinstance(event, UserNotice) and "Traceback" in event.text for event in each.events)
    assert sorted(path.name for path in home.iterdir()) == ["beside.txt", "project"]
    assert (home / "beside.txt").read_text() == "not of the project"
