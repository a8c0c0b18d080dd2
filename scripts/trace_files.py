"""Count the files of the package that run in one folding `fit` and in one turn of the agent.

    python3 dev.py trace                    one line each
    python3 dev.py trace --list             and a line for each file, with the number of its functions that ran
    python3 dev.py trace --list > before    … change something …    python3 dev.py trace --list | diff before -

The fit: a new session folds a conversation of 60 steps into a window of 8,192, recipe `auto`. The turn: a prompt, one
`read`, an answer, over HTTP from a scripted server on loopback. Each runs once before it is traced, so that imports and
caches of a first run do not count.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).resolve().parent.parent / "src" / "yohaku"


@contextmanager
def trace() -> Iterator[dict[str, set[str]]]:
    """Collect the functions called inside the `with`, by file. Bodies of modules and classes do not count."""
    found: dict[str, set[str]] = defaultdict(set)
    prefix = str(SOURCE)

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_flags & inspect.CO_OPTIMIZED or code.co_name == "<lambda>":
            return
        if code.co_filename.startswith(prefix):
            found[code.co_filename[len(prefix) + 1 :]].add(code.co_qualname)

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


def conversation(steps: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a careful engineer."},
        {"role": "user", "content": "Find out why the tests fail. Never touch the database."},
    ]
    for number in range(steps):
        call = {"name": "read", "arguments": json.dumps({"path": f"src/module_{number % 9}.py"})}
        body = "\n".join(f"{line}: value_{number}_{line} = compute({line})" for line in range(40))
        messages += [
            {
                "role": "assistant",
                "content": f"Looking at part {number}.",
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": body},
        ]
    return messages


def fit() -> dict[str, set[str]]:
    from yohaku import Session

    session = Session(8192, recipe="auto", model="gpt-4o")
    with trace() as found:
        session.fit(conversation(60))
    assert session.receipt and session.receipt.folds
    return found


def turn() -> dict[str, set[str]]:
    from tests.agent.fakes import FakeServer, spoken
    from tests.agent.start import open_agent

    async def run() -> dict[str, set[str]]:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "notes.txt").write_text("The answer is 42.\n")
            script = [
                spoken("openai_chat", calls=[("read", {"path": "notes.txt"})]),
                spoken("openai_chat", "It is 42."),
            ]
            async with FakeServer(script) as server:
                agent = open_agent(server.endpoint("openai_chat"), Path(folder))
                with trace() as found:
                    async for _ in agent.work("What is in notes.txt?"):
                        pass
                await agent.close()
        return found

    return asyncio.run(run())


def main(*arguments: str) -> int:
    for name, run in (("fit", fit), ("turn", turn)):
        run()
        found = run()
        print(f"{name}: {len(found)} files, {sum(map(len, found.values()))} functions")
        if "--list" in arguments:
            for path, functions in sorted(found.items()):
                print(f"{name} {path} {len(functions)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
