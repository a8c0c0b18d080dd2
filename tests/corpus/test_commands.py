"""Commands of recorded sessions: few questions for those who want none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

from yohaku.agent.toolkit.danger import find_danger
from yohaku.analysis.tool_calls import find_command

MAX_DANGEROUS_SHARE = 0.02
"""Of the commands agents really ran; deletions and the like."""


def recorded_commands(folder: Path) -> list[str]:
    found: dict[str, None] = {}
    for path in sorted(folder.glob("data/*/*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for message in map(json.loads, lines):
                for call in message.get("tool_calls") or ():
                    named = SimpleNamespace(name=call["name"], arguments=call["arguments"])
                    command = find_command(SimpleNamespace(call=named))  # type: ignore[arg-type]
                    if command:
                        found[command] = None
    return list(found)


def test_commands_that_agents_really_ran_raise_no_false_alarm(shared: Path) -> None:
    commands = recorded_commands(shared)
    assert len(commands) > 1_000
    root, home = Path("/srv/project"), Path("/home/somebody")
    found = {command: find_danger(command, root, home, {"HOME": str(home)}) for command in commands}
    assert [command for command, danger in found.items() if danger and danger.grave] == []
    assert sum(danger is not None for danger in found.values()) <= MAX_DANGEROUS_SHARE * len(commands)
