"""Requirements that a user meets with `yohaku -p`: results shown once, and a sub-agent's own window."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.agent.fakes import Asked, FakeServer, Played, spoken
from tests.agent.test_foldings_told import SAID, reads

from yohaku.cli.main import main


def window_of(tokens: int) -> dict[str, Any]:
    return {"/v1/models": {"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": tokens}]}}


def run(server: FakeServer, recipe: str, prompt: str) -> int:
    return main(["--model", f"{server.url}/v1#m", "--recipe", recipe, "-p", prompt])


def results_in(body: Any) -> list[str]:
    return [str(entry["content"]) for entry in body["messages"] if entry["role"] == "tool"]


def test_in_a_small_window_a_result_is_whole_once_and_then_one_line(
    serve: Callable[..., FakeServer], project: Path
) -> None:  # L8
    server = serve(*reads(project, 3, lines=20), gets=window_of(8_192))
    assert run(server, "local", "read them all") == 0
    bodies = [asked.body for asked in server.asked]
    assert len(bodies) == 4
    for number, body in enumerate(bodies[1:]):
        *earlier, newest = results_in(body)
        assert f"line 19 of file {number} has words" in newest
        assert len(earlier) == number and all("\n" not in result for result in earlier)
        assert all(result.startswith(f"Read: f{n}.txt (") for n, result in enumerate(earlier))
    assert "ref=" in results_in(bodies[-1])[0], "the model can open it again"


@pytest.mark.parametrize(("recipe", "window"), [("local", 16_384), ("auto", 8_192)])
def test_in_larger_windows_and_other_recipes_results_stay_whole(
    recipe: str, window: int, serve: Callable[..., FakeServer], project: Path
) -> None:  # L8, L18
    server = serve(*reads(project, 3, lines=20), gets=window_of(window))
    assert run(server, recipe, "read them all") == 0
    shown = results_in(server.asked[-1].body)
    assert len(shown) == 3 and all(f"line 19 of file {number}" in result for number, result in enumerate(shown))


TASK = "Find out what the files say."


@pytest.mark.parametrize("recipe", ["auto", "local", "layers"])
def test_a_sub_agent_folds_in_a_window_of_its_own_and_its_parent_stays_small(
    recipe: str, serve: Callable[..., FakeServer], project: Path, capfd: pytest.CaptureFixture[str]
) -> None:  # P8
    reading = reads(project, 10)[:-1]
    own: list[Any] = []
    parents: list[Any] = []

    def answer(asked: Asked) -> Played:
        said = json.dumps(asked.body["messages"])
        if "<transcript>" in said:
            return spoken("openai_chat", "")
        if "What do they say?" not in said:
            own.append(asked.body)
            return reading[len(own) - 1] if len(own) <= len(reading) else spoken("openai_chat", "They say 42.")
        parents.append(asked.body)
        return spoken("openai_chat", calls=[("sub_agent", {"task": TASK})]) if len(parents) == 1 else SAID

    assert run(serve(answer, gets=window_of(16_384)), recipe, "What do they say?") == 0
    assert capfd.readouterr().out == "Done.\n"
    assert len(parents) == 2 and parents[1]["messages"][-1]["content"] == "They say 42."
    assert "has words of its own" not in json.dumps(parents), "what it read is not its parent's"
    assert sum(len(path.read_text()) for path in project.glob("f*.txt")) > 4 * 16_384, "together they cannot fit"
    assert len(own) == 11 and "ref=" in json.dumps(own[-1]) and TASK in json.dumps(own[-1])
