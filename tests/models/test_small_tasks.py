"""Small tasks in small projects, given to a real model of 1.5 billion parameters: one in Python, one in JavaScript, and
one on which nothing was tuned.

Law: whatever the model does, no file of the project is destroyed, and the end of the turn is true: what is said to be
undone or broken is, and what is undone is said wherever that can be known. How often the model succeeds is printed, not
judged. `YOHAKU_RUNS` is how often each is tried; `YOHAKU_TASKS` names tasks; what was said goes to `YOHAKU_TASK_LOG`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.models import held_out, js_library, small_shop
from tests.models.conftest import QWEN
from tests.models.task_project import Task
from tests.models.test_tasks import KANA, STEPS, harmless
from yohaku.agent.agent import Agent
from yohaku.agent.events import Event, TextDelta, ToolFinished, ToolStarted, TurnEnded, UserNotice
from yohaku.agent.host import embedded
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.client.endpoint import Endpoint
from yohaku.config.settings import Settings

pytestmark = pytest.mark.slow  # a real model

RUNS = int(os.environ.get("YOHAKU_RUNS") or 1)
WINDOW = 12_288
"""The automatic window of this model on two cores."""


PROJECTS = {"shop": small_shop.PROJECT, "library": js_library.PROJECT, "held out": held_out.PROJECT}
TASKS = {f"{project}: {name}": task for project, found in PROJECTS.items() for name, task in found.tasks.items()}


class Attempt(NamedTuple):
    events: list[Event]
    done: bool
    destroyed: list[str]
    changed: bool
    seconds: float

    @property
    def ended(self) -> TurnEnded:
        return next(event for event in self.events if isinstance(event, TurnEnded))

    def end_is_true(self, task: Task) -> bool:
        """Nothing that works is called undone or broken; a change that was not made, or fails the command, is."""
        problems = {*self.ended.problems} - {"refused"}
        if self.done or not task.change:
            return not problems
        named = "`" in task.prompt
        return bool(problems) or self.ended.why != "done" or (self.changed and not named)

    @property
    def story(self) -> str:
        calls = [event.call.name + "!" * event.result.error for event in self.events if isinstance(event, ToolFinished)]
        return " ".join([*calls, self.ended.why, *self.ended.problems])


def write_log(task: str, attempt: Attempt) -> None:
    if not (path := os.environ.get("YOHAKU_TASK_LOG")):
        return
    with Path(path).open("a", encoding="utf-8") as out:
        out.write(f"\n==== {task}: {'done' if attempt.done else 'not done'}, {attempt.seconds:.0f} s\n")
        for event in attempt.events:
            match event:
                case TextDelta(text):
                    out.write(text)
                case ToolStarted(call, title):
                    out.write(f"\n-> {title}  {call.asked}\n")
                case ToolFinished(_, result, _, diff):
                    out.write(f"<- {'ERROR ' * result.error}{result.text[:1500]}\n{diff}\n")
                case UserNotice(text, kind):
                    out.write(f"\n[{kind}] {text}\n")
                case TurnEnded(why, _, problems):
                    out.write(f"\n-- {why} {problems}\n")


async def attempt(endpoint: Endpoint, name: str, home: Path) -> Attempt:
    """One try at a task, in a project made anew."""
    task, made, project = TASKS[name], PROJECTS[name.partition(":")[0]], home / "project"
    shutil.rmtree(project, ignore_errors=True)
    made.build(project)
    agent = Agent(
        endpoint, window=WINDOW, root=project, settings=Settings(data=home / "data"), max_steps=STEPS,
        permissions=Permissions("ask"), allow=harmless, lang="ja" if KANA.search(task.prompt) else "en",
    )  # fmt: skip
    began = time.monotonic()
    events = [event async for event in agent.work(task.prompt)]
    await agent.close()
    reply = next(event.text for event in events if isinstance(event, TurnEnded))
    seconds = time.monotonic() - began
    return Attempt(events, task.done(reply, project), made.destroyed(project), bool(made.changed(project)), seconds)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """A real small model; weights are never fetched by a test."""
    if not embedded.is_installed():
        pytest.skip("xllamacpp is needed to serve a model: install the group `test`")
    folder = os.environ.get("YOHAKU_MODELS")
    if not folder or not (path := Path(folder) / QWEN).exists():
        pytest.skip(f"set YOHAKU_MODELS to a folder with {QWEN}; each of these tests takes minutes")
    serving = embedded.start_server(embedded.endpoint_of_file(path), WINDOW)
    yield serving.endpoint
    serving.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.mark.parametrize("name", [name for name in TASKS if os.environ.get("YOHAKU_TASKS", "") in name])
def test_a_small_task_destroys_nothing_and_ends_with_the_truth(endpoint: Endpoint, home: Path, name: str) -> None:
    task = TASKS[name]
    found = []
    for _ in range(RUNS):
        found.append(asyncio.run(attempt(endpoint, name, home)))
        write_log(name, found[-1])
    print(f"\n{name}: {sum(each.done for each in found)} of {RUNS} succeeded")
    for each in found:
        truth = "" if each.end_is_true(task) else "  END NOT TRUE"
        print(f"  {'yes' if each.done else 'no '}  {each.seconds:.0f} s  {each.story}{truth}", flush=True)
    assert [each.destroyed for each in found] == [[]] * RUNS
    assert all(each.end_is_true(task) for each in found)
