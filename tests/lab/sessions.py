"""Small sessions to replay, written as lists of chat entries."""

from __future__ import annotations

import json
from typing import Any

from yohaku.core.meter import Meter
from yohaku.lab.recorded_session import RecordedSession, read
from yohaku.testing import ByteMeter

METER = ByteMeter()


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def called(call_id: str, name: str = "read_file", text: str | None = None, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def recorded(*entries: dict[str, Any], sample: int | None = None, meter: Meter = METER) -> RecordedSession:
    return read(json.dumps(list(entries)).encode(), "a session", "a source", meter, sample)


def long_session(steps: int = 12, size: int = 400) -> RecordedSession:
    """Each step reads a file that the step after the next names; the results are of very different sizes."""
    entries = [system("You are careful."), user("Read all of it. Never delete a file.")]
    for step in range(steps):
        entries.append(called(f"c{step}", text=f"Now part {step}.", path=f"src/part_{step}.py"))
        entries.append(result(f"c{step}", f"name_{step} = {step}\n" + "word " * (size * (step % 4 + 1) // 5)))
        if step >= 2:
            entries[-2]["content"] = f"name_{step - 2} was needed."
    return recorded(*entries, said("Done: name_0 and src/part_1.py."))
