"""Somebody types on, in a real terminal, while permissions are asked for at any moment: nothing is allowed that was not
meant, and no key is lost."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.agent.fakes import Asked, FakeServer, Played, spoken
from tests.tui.test_terminal import Terminal

pytestmark = pytest.mark.skipif(
    shutil.which("tmux") is None and os.environ.get("YOHAKU_SERVERS") != "required",
    reason="tmux is not installed: apt-get install tmux",
)

QUESTIONS = int(os.environ.get("YOHAKU_TYPED_QUESTIONS", "6"))
KEYS_PER_SECOND = 8
MODELS = {"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": 200_000}]}
WORDS = "you may always say any yes no way day enjoy yarn a y n wait what do you think あなた はい".split()
PAUSE = 1.0
"""Seconds without a key before an answer that is meant."""


class Part:
    """Asks for one thing after another, each after a moment of its own."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.number = 0
        self.messages: list[dict[str, Any]] = []

    def __call__(self, asked: Asked) -> Played:
        self.messages = asked.body["messages"]
        time.sleep(self.chance.uniform(0.1, 1.5))
        if self.number == QUESTIONS:
            return spoken("openai_chat", "All is done.", prompt=0)
        self.number += 1
        name = f"thing-{self.number}-"
        kind = self.number % 3
        if kind == 0:
            return spoken("openai_chat", calls=[("bash", {"command": f"rm -rf {name}"})], prompt=0)
        if kind == 1:
            return spoken("openai_chat", calls=[("bash", {"command": f"mkdir -p made; touch made/{name}"})], prompt=0)
        return spoken("openai_chat", calls=[("write", {"path": name, "content": "x\n"})], prompt=0)

    @property
    def heard(self) -> str:
        """All that the user has said, without blanks."""
        said = [str(entry["content"]) for entry in self.messages if entry["role"] == "user"]
        return "".join("".join(said).split())


@pytest.fixture
def part() -> Part:
    return Part(random.Random(QUESTIONS))


@pytest.fixture
def url(part: Part) -> Iterator[str]:
    yield from serve(part)


def serve(part: Callable[[Asked], Played]) -> Iterator[str]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = FakeServer(part, {"/v1/models": MODELS})
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    yield f"{server.url}/v1#m"
    asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    (tmp_path / "home").mkdir()
    terminal = Terminal(tmp_path, 80, 24)
    yield terminal
    terminal.stop()


class Typist:
    """Types words without end at an even speed, and answers only after a pause."""

    def __init__(self, terminal: Terminal, chance: random.Random) -> None:
        self.terminal, self.chance = terminal, chance
        self.typed = ""
        """All letters, without blanks."""
        self.line = ""
        self._next = time.monotonic()

    def key(self, *keys: str) -> None:
        self._next = max(self._next + 1 / KEYS_PER_SECOND, time.monotonic())
        time.sleep(max(0.0, self._next - time.monotonic()))
        self.terminal.tmux("send-keys", *keys)

    def letter(self, letter: str) -> None:
        self.key("-l", letter)
        self.line += letter
        self.typed += letter.strip()

    def send(self) -> None:
        self.key("Enter")
        self.line = ""

    def word(self) -> None:
        for letter in self.chance.choice(WORDS) + " ":
            self.letter(letter)
        chosen = self.chance.random()
        if chosen < 0.1:
            self.key("Tab")
        elif chosen < 0.25:
            self.send()

    def type_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self.word()

    def pause(self) -> None:
        time.sleep(PAUSE)
        self._next = time.monotonic()

    def answer(self, allowed: bool, dangerous: bool) -> None:
        """Answer in one of the ways there are; with text in the prompt, or without."""
        if self.chance.random() < 0.5 and self.line:
            self.send()
        self.pause()
        if not allowed:
            self.key("Escape") if self.line or self.chance.random() < 0.5 else self.key("n")
        elif dangerous:
            for key in ("Tab", "Tab", "Enter"):
                self.key(key)
        elif self.line:
            for key in ("Tab", "Enter"):
                self.key(key)
        else:
            self.key("y")
        self.pause()


@pytest.mark.slow
def test_typing_through_permission_questions_allows_nothing_and_loses_nothing(
    terminal: Terminal, url: str, part: Part, tmp_path: Path
) -> None:
    chance = random.Random(7)
    for number in range(3, QUESTIONS + 1, 3):
        (tmp_path / f"thing-{number}-").mkdir()
    terminal.start("--model", url)
    terminal.until("Ask for anything")
    typist = Typist(terminal, chance)
    for letter in "go":
        typist.letter(letter)
    typist.send()
    meant: set[int] = set()
    for number in range(1, QUESTIONS + 1):
        typist.type_until(partial(is_asked, terminal, number))
        for _ in range(chance.randint(0, 4)):
            typist.word()
        assert done(tmp_path) == meant, f"question {number} was answered by typing"
        if chance.random() < 0.4:
            meant.add(number)
        typist.answer(number in meant, number % 3 == 0)
        wait_until(lambda: done(tmp_path) == meant, f"question {number}: {done(tmp_path)}, not {meant}")
    terminal.until("All is done.")
    if typist.line.strip():
        typist.send()
    wait_until(lambda: part.heard == "".join(typist.typed.split()), "a key was lost")
    assert not (tmp_path / "home/yohaku/allowed.json").exists()


@pytest.mark.slow
def test_lines_typed_ahead_without_a_screen_are_prompts_and_no_answers(terminal: Terminal, tmp_path: Path) -> None:
    said: list[str] = []

    def play(asked: Asked) -> Played:
        said[:] = [str(entry["content"]) for entry in asked.body["messages"] if entry["role"] == "user"]
        time.sleep(1.5)
        if len(said) == 1 and asked.body["messages"][-1]["role"] == "user":
            return spoken("openai_chat", calls=[("bash", {"command": "touch made"})], prompt=0)
        return spoken("openai_chat", f"That was {len(said)}.", prompt=0)

    for url in serve(play):
        terminal.start("--plain", "--model", url)
        terminal.until(">")
        terminal.tmux("send-keys", "-l", "go")
        terminal.tmux("send-keys", "Enter")
        for line in ("y", "yes please"):
            terminal.tmux("send-keys", "-l", line)
            terminal.tmux("send-keys", "Enter")
        terminal.tmux("send-keys", "-l", "and mo")
        terminal.until("touch made  y: yes, once")
        time.sleep(0.5)
        terminal.tmux("send-keys", "-l", "n")
        terminal.tmux("send-keys", "Enter")
        terminal.until("That was 3.")
        terminal.until("> and mo")
        terminal.tmux("send-keys", "-l", "re")
        terminal.tmux("send-keys", "Enter")
        terminal.until("That was 4.")
        assert said == ["go", "y", "yes please", "and more"]
        assert not (tmp_path / "made").exists()


def is_asked(terminal: Terminal, number: int) -> bool:
    page = terminal.tmux("capture-pane", "-p")
    return f"thing-{number}-" in page and any(asked in page for asked in ("Change this file?", "Run this command?"))


def done(folder: Path) -> set[int]:
    """The questions whose command was run."""
    found = {number for number in range(1, QUESTIONS + 1) if (folder / f"made/thing-{number}-").exists()}
    found |= {number for number in range(2, QUESTIONS + 1, 3) if (folder / f"thing-{number}-").exists()}
    return found | {number for number in range(3, QUESTIONS + 1, 3) if not (folder / f"thing-{number}-").exists()}


def wait_until(condition: Callable[[], bool], otherwise: str) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, otherwise
        time.sleep(0.1)
