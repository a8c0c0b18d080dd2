"""Long conversations to fold: an agent at work on one project, in English or in Japanese, the same at every run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

from yohaku.core.meter import Overhead
from yohaku.testing import ByteMeter

Body = list[dict[str, Any]]


class TinyMeter(ByteMeter):
    """Counts what the scripted model's template makes of a request, or a few tokens more."""

    name = "tiny"
    frame = Overhead(request=12, message=13, call=64, result=41)


class Voice(NamedTuple):
    system: str
    rule: str
    """Said once, at the very beginning."""
    prompts: tuple[str, ...]
    replies: tuple[str, ...]
    lines: tuple[str, ...]


VOICES = {
    "english": Voice(
        "You are a careful programmer. You work with tools.",
        "Never touch the database.",
        ("Change the port in app.py, and keep the old one as a fallback.", "Now make the tests pass.", "Clean it up."),
        ("I look at app.py.", "The next thing to read is the test.", "That did not work; I try it another way."),
        (
            "def handler_{n}(request):",
            "    return connect(port={n})",
            "ERROR: port {n} is in use",
            "{n} passed in {m} s",
        ),
    ),
    "japanese": Voice(
        "あなたは慎重なプログラマーです。ツールを使って作業します。",
        "データベースには絶対に触らないでください。",
        (
            "app.py のポートを変えて、古いものは予備に残してください。",
            "次にテストを通してください。",
            "整理をお願いします。",
        ),
        ("app.py を見ます。", "次はテストを読みます。", "うまくいかなかったので、別のやり方を試します。"),
        (
            "def handler_{n}(request):",
            "    # ポート {n} に接続する",
            "エラー: ポート {n} は使用中です",
            "{n} 件成功 ({m} 秒)",
        ),
    ),
}


def working(voice: Voice, tokens: int, count: Callable[[str], int]) -> Body:
    """A request of a little more than so many tokens, which ends with the result of a call."""
    chance = Random(7)
    said: Body = [{"role": "system", "content": voice.system}]
    weight = 0
    for number, entries in enumerate(_steps(voice, chance)):
        if number % 8 == 0:
            prompt = voice.prompts[number // 8 % len(voice.prompts)]
            said.append({"role": "user", "content": f"{prompt} {voice.rule}" if number == 0 else prompt})
        said += entries
        weight += sum(count(entry["content"]) for entry in entries)
        if weight > tokens:
            return said
    raise AssertionError("there is no end to the steps")


def _steps(voice: Voice, chance: Random) -> Iterator[Body]:
    number = 0
    while True:
        name = chance.choice(("read_file", "bash"))
        asked = '{"path": "app.py"}' if name == "read_file" else f'{{"command": "pytest -k handler_{number}"}}'
        call = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": asked}}
        shown = [
            chance.choice(voice.lines).format(n=chance.randint(1_000, 9_999), m=chance.randint(1, 99))
            for _ in range(chance.choice((3, 8, 8, 20, 60)))
        ]
        yield [
            {"role": "assistant", "content": chance.choice(voice.replies), "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": "\n".join(shown)},
        ]
        number += 1
