"""Growth: how the time of one fit grows with its input, for shapes that a conversation can take.

python3 dev.py growth              every shape at ×1 ×2 ×4 ×8, and one word of 50 MB
python3 dev.py growth rules pins   some of them

Prints the seconds at each size and the exponent between the first and the last (1: twice the input takes twice the
time), and fails where one exceeds MAX_EXPONENT. Each size runs in a process of its own, so that nothing is remembered.
"""

from __future__ import annotations

import itertools
import json
import math
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

FACTORS = (1, 2, 4, 8)
MAX_EXPONENT = 1.2
WINDOW = 16_000
MODEL = "gpt-4o"
ROUNDS = 3
"""Runs of each size, of which the quickest counts."""
MAX_SECONDS = 120
"""Seconds one size may take before the shape is given up."""

WORD_BYTES = 50_000_000
MAX_WORD_SECONDS = 3.0
MAX_WORD_MEGABYTES = 600

Message = dict[str, Any]


class Shape(NamedTuple):
    base: int
    """Size at ×1, so that it takes some tens of milliseconds."""
    prepare: Callable[[int], Callable[[], object]]
    """Make the input of a size, and return what is timed."""
    clock: Callable[[], float] = time.process_time


def fitting(messages: list[Message], window: int = WINDOW, **more: object) -> Callable[[], object]:
    """Return one fit by a new session."""
    import yohaku

    body = {"model": MODEL, "messages": messages, **more}
    return lambda: yohaku.Session(window=window, model=MODEL).fit(body)


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def calls(*given: tuple[str, dict[str, Any]], at: int = 0) -> Message:
    """Make one reply with these calls."""
    made = [
        {"id": f"c{at}_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for n, (name, arguments) in enumerate(given)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(text: str, at: int = 0, place: int = 0) -> Message:
    return {"role": "tool", "tool_call_id": f"c{at}_{place}", "content": text}


def steps(count: int, make: Callable[[int], tuple[str, dict[str, Any], str]]) -> list[Message]:
    """Make a prompt and steps of one call each."""
    messages = [user("Go on until everything works.")]
    for number in range(count):
        name, arguments, text = make(number)
        messages += [calls((name, arguments), at=number), result(text, number)]
    return messages


def rules(size: int) -> Callable[[], object]:
    texts = (f"Never change the file src/module_{n}.py, and always keep option {n} as it is." for n in range(size))
    return fitting([turn for text in texts for turn in (user(text), {"role": "assistant", "content": "Understood."})])


def withdrawals(size: int) -> Callable[[], object]:
    messages: list[Message] = []
    for n in range(size):
        text = (
            f"Never change the file src/module_{n}.py." if n % 2 == 0 else f"You may change src/module_{n - 1}.py now."
        )
        messages += [user(text), {"role": "assistant", "content": "Understood."}]
    return fitting(messages)


def pins(size: int) -> Callable[[], object]:
    import yohaku

    messages = [
        user(f"Note {n}: the port of service_{n} is {9000 + n}. " + "Some more words. " * 20) for n in range(size)
    ]
    turns = [each for message in messages for each in (message, {"role": "assistant", "content": "Noted."})]

    def run() -> None:
        session = yohaku.Session(window=1_000_000, model=MODEL)
        for n in range(0, size, 10):
            session.pin(f"the port of service_{n} is")
        session.fit({"model": MODEL, "messages": turns})

    return run


def folds(size: int) -> Callable[[], object]:
    """Fit the same conversation again in a new session on one store: every fold is found again."""
    import yohaku
    from yohaku.stores.memory import MemoryStore

    lines = [f"line %d of part {n}: value {n * 7919 % 1000}" for n in range(40)]
    messages = steps(size, lambda n: ("read_file", {"path": f"src/{n}.py"}, "\n".join(line % n for line in lines)))
    store = MemoryStore()

    def run() -> None:
        for _ in range(2):
            yohaku.Session(window=WINDOW, model=MODEL, store=store).fit({"model": MODEL, "messages": messages})

    return run


def one_word(size: int) -> Callable[[], object]:
    return fitting([user("x" * size)], window=2_000_000_000)


def one_word_folded(size: int) -> Callable[[], object]:
    return fitting(steps(1, lambda _: ("read_file", {"path": "a"}, "x" * size)))


def one_line(size: int) -> Callable[[], object]:
    return fitting(steps(1, lambda _: ("read_file", {"path": "a"}, " ".join(f"word{n % 5000}" for n in range(size)))))


def one_prompt_line(size: int) -> Callable[[], object]:
    return fitting([user("Read this: " + " ".join(f"word{n % 5000}" for n in range(size)))])


def identical_lines(size: int) -> Callable[[], object]:
    return fitting(steps(1, lambda _: ("bash", {"command": "make"}, "warning: this line again and again\n" * size)))


def lines(size: int) -> Callable[[], object]:
    text = "\n".join(f"{n}: src/module_{n % 97}.py:{n} value={n * 7919 % 10007}" for n in range(size))
    return fitting(steps(1, lambda _: ("bash", {"command": "grep -rn value ."}, text)))


def unspaced(size: int) -> Callable[[], object]:
    sentence = "会話の文脈を窓の中に収めるために古い結果を短くし必要になったときに元の内容を開ける仕組み"
    return fitting(steps(1, lambda _: ("read_file", {"path": "a"}, "".join(itertools.repeat(sentence, size)))))


def tool_definitions(size: int) -> Callable[[], object]:
    properties = {f"option_{n}": {"type": "string", "description": f"The option {n} of the tool."} for n in range(5)}
    tools = [
        {
            "type": "function",
            "function": {
                "name": f"tool_{n}",
                "description": f"Does the thing {n} and returns what it found.",
                "parameters": {"type": "object", "properties": properties},
            },
        }
        for n in range(size)
    ]
    return fitting([user("Use what you need.")], window=100_000_000, tools=tools)


def edits_of_one_file(size: int) -> Callable[[], object]:
    def edit(n: int) -> tuple[str, dict[str, Any], str]:
        return "edit_file", {"path": "src/app.py", "old": f"value = {n}", "new": f"value = {n + 1}"}, f"edited line {n}"

    return fitting(steps(size, edit))


def reads_of_one_file(size: int) -> Callable[[], object]:
    def read(n: int) -> tuple[str, dict[str, Any], str]:
        return "read_file", {"path": "src/app.py", "offset": n}, "\n".join(f"{n + k}\tx = {n + k}" for k in range(20))

    return fitting(steps(size, read))


def calls_in_one_message(size: int) -> Callable[[], object]:
    made = calls(*(("read_file", {"path": f"src/{n}.py"}) for n in range(size)))
    results = [result(f"def f{n}(): return {n}\n" * 20, 0, n) for n in range(size)]
    return fitting([user("Read all."), made, *results, user("Now the same again.")])


def arguments_of_one_call(size: int) -> Callable[[], object]:
    arguments = {
        f"option_{n}": f"the value of the option {n}, in a few words " * (9 * (n % 10 == 0) + 1) for n in range(size)
    }
    return fitting([user("Set all."), calls(("set_options", arguments)), result("done")])


def newest_results(size: int) -> Callable[[], object]:
    """Make a newest step with many results that must be shortened, each by a stub of its own."""
    made = calls(*(("read_file", {"path": f"src/{n}.py"}) for n in range(size)))
    results = [result(f"value {n} of many in a long line of words\n" * 40, 0, n) for n in range(size)]
    return fitting([user("Read all."), made, *results], window=200 * size)


def small_results(size: int) -> Callable[[], object]:
    return fitting(steps(size, lambda n: ("bash", {"command": f"test -f src/{n}.py"}, "ok")))


def parts_of_one_prompt(size: int) -> Callable[[], object]:
    texts = [{"type": "text", "text": f"Part {n}: see src/part_{n}.py for it."} for n in range(size)]
    return fitting([{"role": "user", "content": texts}], window=10_000_000)


def growing_session(size: int) -> Callable[[], object]:
    """Fit after every step, as an agent does. Each fit reads its body, so the base is small."""
    import yohaku

    messages = steps(size, lambda n: ("read_file", {"path": f"src/{n}.py"}, f"x = {n}\n" * 100))

    def run() -> None:
        session = yohaku.Session(window=WINDOW, model=MODEL)
        for end in range(3, len(messages) + 1, 2):
            session.fit({"model": MODEL, "messages": messages[:end]})

    return run


def broken_source(size: int) -> Callable[[], object]:
    """Outline a source that its grammar cannot parse."""
    from yohaku.agent.toolkit.source_outline import outline_source

    text = "a::b<" * size
    return lambda: outline_source(text, "a.tsx")


SHAPES = {
    "rules": Shape(1_000, rules),
    "withdrawals": Shape(1_000, withdrawals),
    "pins": Shape(1_000, pins),
    "folds": Shape(1_000, folds),
    "one word": Shape(4_000_000, one_word),
    "one word, folded": Shape(4_000_000, one_word_folded),
    "one line": Shape(200_000, one_line),
    "one line in a prompt": Shape(200_000, one_prompt_line),
    "identical lines": Shape(100_000, identical_lines),
    "lines": Shape(50_000, lines),
    "text without spaces": Shape(40_000, unspaced),
    "tool definitions": Shape(1_000, tool_definitions),
    "edits of one file": Shape(1_000, edits_of_one_file),
    "reads of one file": Shape(1_000, reads_of_one_file),
    "tool calls in one message": Shape(1_000, calls_in_one_message),
    "arguments of one call": Shape(1_000, arguments_of_one_call),
    "results of the newest step": Shape(1_000, newest_results),
    "small tool results": Shape(1_000, small_results),
    "parts of one prompt": Shape(10_000, parts_of_one_prompt),
    "broken source": Shape(16_000, broken_source, time.monotonic),
}


def measure(shape: Shape, size: int, limit: float = MAX_SECONDS) -> tuple[float, float]:
    """Return the seconds and the peak megabytes of one run in a new process; infinity beyond the limit."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(shape, size, theirs))
    child.start()
    theirs.close()
    try:
        found = ours.recv() if ours.poll(limit) else (math.inf, math.inf)
    except EOFError:
        found = (math.nan, math.nan)
    child.kill()
    child.join()
    return found


def _run(shape: Shape, size: int, out: Connection) -> None:
    run = shape.prepare(size)
    start = shape.clock()
    run()
    taken = shape.clock() - start
    out.send((taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def grow(name: str) -> bool:
    shape = SHAPES[name]
    seconds = []
    for factor in FACTORS:
        rounds = (measure(shape, shape.base * factor)[0] for _ in range(ROUNDS))
        seconds.append(min(itertools.takewhile(math.isfinite, rounds), default=math.inf))
        if math.isinf(seconds[-1]):
            break
    exponent = math.log(seconds[-1] / seconds[0], FACTORS[-1]) if math.isfinite(seconds[-1]) else math.inf
    good = exponent <= MAX_EXPONENT
    shown = "  ".join(f"{one:7.3f}" for one in seconds)
    print(
        f"{'ok  ' if good else 'OVER'} {name:28} {exponent:5.2f}   {shown} s at {shape.base:,} × {FACTORS}", flush=True
    )
    return good


def grow_one_word() -> bool:
    seconds, megabytes = measure(SHAPES["one word"], WORD_BYTES)
    good = seconds <= MAX_WORD_SECONDS and megabytes <= MAX_WORD_MEGABYTES
    print(f"{'ok  ' if good else 'OVER'} {WORD_BYTES:,} bytes of one word: {seconds:.2f} s, {megabytes:.0f} MB")
    return good


def warm_up() -> None:
    """Load code and tables before the forks, so that they weigh on no size."""
    fitting(steps(30, lambda n: ("read_file", {"path": f"src/{n}.py"}, f"x = {n}\n" * 300)), window=3_000)()
    broken_source(1)()


def main(*wanted: str) -> int:
    if unknown := [name for name in wanted if name not in SHAPES]:
        print(f"no such shape: {', '.join(unknown)}; known: {', '.join(SHAPES)}", file=sys.stderr)
        return 2
    warm_up()
    good = [grow(name) for name in wanted or SHAPES]
    if not wanted or "one word" in wanted:
        good.append(grow_one_word())
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
