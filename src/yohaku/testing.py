"""Public fakes for testing programs that use yohaku: generated conversations, and a model that follows a script.

`histories()` is a Hypothesis strategy (install hypothesis to use it): every History it draws is well formed.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import TYPE_CHECKING, Any

from yohaku.core.errors import Unanswered
from yohaku.core.history_builder import history_of
from yohaku.core.meter import Overhead
from yohaku.core.model import Call, History, Opaque, Part, Result, Step, Text, Tool, ToolUse, Turn
from yohaku.core.recipe import Question

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


class ScriptedModel:
    """Answers questions from a list and records them in `asked`. Pass it as `summarise=`."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked: list[Question] = []

    def __call__(self, question: Question) -> str:
        self.asked.append(question)
        if not self._answers:
            raise Unanswered(f"the script has no answer left for {question.purpose}")
        return self._answers.pop(0)


class ByteMeter:
    """Counts one token for each UTF-8 byte: needs no vocabulary and is easy to check by hand."""

    name = "bytes"
    exact = True
    frame = Overhead()

    def count(self, text: str) -> int:
        return len(text.encode("utf-8", "surrogatepass"))

    def weigh(self, part: Opaque) -> int:
        return 100


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""An image of one pixel, in base64."""

_TEXTS = (
    "Fix the failing test in src/app.py, and never touch the database.",
    "次の関数を説明してください。必ず日本語で答えること。",
    'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nValueError: 12345',
    "ok",
    "…",
    "🙂",
    "def f(x):\n    return x + 1\n",
    '{"a": [1, 2, 3]}',
    "=" * 70,
    "a\r\nb\tc",
)


_SCRIPTS = ((0x20, 0x7E), (0x3041, 0x30FF), (0x4E00, 0x9FFF), (0x1F300, 0x1F6FF), (0x0, 0xFF), (0x400, 0x4FF))

_REPETITIONS = (*[1] * 12, 3, 3, 3, 12, 12, 40, 40, 400)


def histories(**shape: Any) -> SearchStrategy[History]:
    """Return a Hypothesis strategy for conversations; `shape`: arguments of `conversation`."""
    from hypothesis import strategies as st

    return st.randoms(use_true_random=False).map(lambda chance: conversation(chance, **shape))


def conversation(
    chance: Random, max_turns: int = 4, max_steps: int = 4, interleaved: bool = False, media: bool = True
) -> History:
    """Make a conversation with several prompts, parallel calls, long and empty results, Japanese, images and errors.

    `interleaved` mixes texts and calls inside a step, as some dialects can and others cannot.
    """
    turns = []
    count = chance.randint(1, max_turns)
    for number in range(count):
        prompt: list[Part] = [Text(_long_text(chance))]
        if media and chance.randint(0, 5) == 0:
            prompt.append(Opaque("image", PNG, "base64", "image/png"))
        steps = [_step(chance, f"{number}_{n}", interleaved) for n in range(chance.randint(0, max_steps))]
        if chance.randint(0, 3) == 0:
            steps = [_chat_step(chance)]
        if not steps and number < count - 1:
            steps = [Step((Text("ok"),))]
        turns.append(Turn(tuple(prompt), _join(steps)))
    system = [Text(_text(chance)) for _ in range(chance.randint(0, 2))]
    return history_of(turns, system, _TOOLS if chance.randint(0, 1) else ())


def _step(chance: Random, name: str, interleaved: bool) -> Step:
    texts: list[Part | ToolUse] = [Text(_long_text(chance).rstrip()) for _ in range(chance.randint(0, 2))]
    uses: list[Part | ToolUse] = [_use(chance, f"call_{name}_{n}") for n in range(chance.randint(0, 3))]
    items = (texts + uses) or [Text("done")]
    if interleaved:
        chance.shuffle(items)
    return Step(tuple(items))


def _chat_step(chance: Random) -> Step:
    """Make a reply without calls, as in a chat, maybe after a thought in tags."""
    thought = f"<think>\n{_long_text(chance)}\n</think>\n\n" if chance.randint(0, 2) == 0 else ""
    return Step((Text(thought + _long_text(chance).rstrip()),))


def _use(chance: Random, call_id: str) -> ToolUse:
    arguments: dict[str, str | int] = {}
    for name in ("path", "content", "n")[: chance.randint(0, 3)]:
        arguments[name] = _long_text(chance) if chance.randint(0, 3) else chance.randint(0, 10**6)
    parts = (Text(_long_text(chance)),) if chance.randint(0, 7) else ()
    call = Call(call_id, chance.choice(("bash", "read_file", "grep", "write")), _dump(arguments))
    return ToolUse(call, Result(parts, error=chance.randint(0, 5) == 0))


def _long_text(chance: Random) -> str:
    return _text(chance) * chance.choice(_REPETITIONS)


def _text(chance: Random) -> str:
    if chance.randint(0, 2):
        return chance.choice(_TEXTS)
    first, last = chance.choice(_SCRIPTS)
    text = "".join(chr(chance.randint(first, last)) for _ in range(chance.randint(1, 12)))
    return text if text.strip() else "x"


def _join(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Join replies without calls in between: every wire format reads them as one."""
    joined: list[Step] = []
    for step in steps:
        if joined and not joined[-1].uses:
            joined[-1] = Step(joined[-1].items + step.items)
        else:
            joined.append(step)
    return tuple(joined)


def _dump(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_TOOLS = (
    Tool(
        "bash",
        _dump(
            {
                "type": "function",
                "function": {
                    "name": "bash",
                    "description": "Run a command.",
                    "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
                },
            }
        ),
    ),
)
