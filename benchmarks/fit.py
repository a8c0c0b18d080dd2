"""Speed as ratios within one run, so that they mean the same on any machine.

python3 dev.py bench                 ours against one exact BPE pass, a cold fit, a bare interpreter
python3 dev.py bench --langchain     and beside LangChain's trim_messages, in a throw-away environment
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from operator import truediv
from pathlib import Path
from random import Random
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import history  # noqa: E402

WINDOW = 128_000
ROOMY = 2_000_000
ASKED = 100_000


class Cold(NamedTuple):
    """Median seconds."""

    passed: float
    """One exact pass of the tokenizer over the same texts."""
    fit: float
    ratio: float
    """Fit ÷ pass, both as the first thing a process does."""
    warm: float
    """Fit ÷ pass with everything loaded before (vocabularies too), on both sides."""


def cold(window: int = WINDOW, recipe: str = "auto", rounds: int = 9) -> Cold:
    """Compare a first fit with one exact pass.

    Each is measured in a process of its own, since anything a process has seen before is quicker the second time.
    """

    def seconds(what: str) -> float:
        code = f"import sys; sys.path.insert(0, {str(HERE)!r}); import fit; fit.once({what!r}, {window}, {recipe!r})"
        return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)

    kinds = ("pass", "fit", "warm pass", "warm fit")
    passed, fitted, warm_pass, warm_fit = zip(*([seconds(what) for what in kinds] for _ in range(rounds)), strict=True)
    return Cold(
        statistics.median(passed),
        statistics.median(fitted),
        statistics.median(map(truediv, fitted, passed)),
        statistics.median(map(truediv, warm_fit, warm_pass)),
    )


def once(what: str, window: int, recipe: str) -> None:
    """Print the seconds of one pass or one fit."""
    import splintr

    import yohaku
    from yohaku import meters
    from yohaku.testing import ByteMeter

    body = {"model": "gpt-4o", "messages": history.messages(2000)}
    texts = [m["content"] for m in body["messages"]]
    texts += [call["function"]["arguments"] for m in body["messages"] for call in m.get("tool_calls", ())]
    tokenizer = None
    yohaku.Session(window=1000, meter=ByteMeter()).fit([{"role": "user", "content": UNSEEN}])  # code and tables are
    meters.for_model("gpt-4o", "openai_chat")  # loaded, the vocabulary is not
    if what.startswith("warm"):
        yohaku.Session(window=1000, model="gpt-4o").fit([{"role": "user", "content": UNSEEN}])
        tokenizer = splintr.Tokenizer.from_pretrained("o200k_base")
        tokenizer.encode_ordinary(UNSEEN)
    start = time.process_time()
    if what.endswith("pass"):
        tokenizer = tokenizer or splintr.Tokenizer.from_pretrained("o200k_base")
        for text in texts:
            len(tokenizer.encode_ordinary(text))
    else:
        yohaku.Session(window=window, model="gpt-4o", recipe=recipe).fit(body)
    print(time.process_time() - start)


UNSEEN = "Zqxjv 会話の文脈を収める"
"""Words of several tokens each, so that a tokenizer builds everything it builds on first use."""


def turns(counts: tuple[int, ...], rounds: int = 200) -> list[tuple[float, float]]:
    """Return median and mean seconds of a turn (one more step, then fit) in sessions of a given length.

    The sessions take turns, so that whatever else the machine does is shared by all.
    """
    import yohaku

    sessions = []
    for count in counts:
        body = {"model": "gpt-4o", "messages": history.messages(count)}
        session = yohaku.Session(window=WINDOW, model="gpt-4o")
        session.fit(body)
        sessions.append((session, body, Random(1), list[float]()))
    for number in range(rounds):
        for session, body, chance, times in sessions:
            body["messages"].extend(history.step(chance, 100_000 + number))  # type: ignore[attr-defined]
            start = time.process_time()
            session.fit(body)
            times.append(time.process_time() - start)
    return [(statistics.median(times), statistics.fmean(times)) for *_, times in sessions]


def best(run: Callable[[], object], times: int = 5) -> float:
    def once() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return min(once() for _ in range(times))


def start_up() -> tuple[float, float]:
    def start(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    return best(start("pass"), 15), best(start("import yohaku"), 15)


def row(what: str, ratio: float, most: float, detail: str) -> bool:
    good = ratio <= most
    print(f"{'ok  ' if good else 'OVER'} {what:44} {ratio:8.3f} × (at most {most:g})   {detail}")
    return good


def main() -> int:
    body = history.messages(2000)
    size = len(json.dumps(body, ensure_ascii=False).encode()) / 1e6
    print(f"history: {len(body):,} messages, {size:.1f} MB, window {WINDOW:,}")
    calm, slid, cut = cold(ROOMY), cold(recipe="chat"), cold()
    (next_, mean), (long, _), (short, _) = turns((2000, 8000, 1000))
    bare, ours = start_up()
    good = [
        row("first look, nothing to fold ÷ one BPE pass", calm.ratio, 1.5, _told(calm)),
        row("cold fit by the sliding window ÷ one BPE pass", slid.ratio, 1.5, _told(slid)),
        row("cold fit by auto ÷ one exact BPE pass", cut.ratio, 2, _told(cut)),
        row("next turn ÷ cold fit", next_ / cut.fit, 0.05, f"{next_ * 1e3:.2f} ms (mean {mean * 1e3:.2f} ms)"),
        row("turn at 8,000 ÷ turn at 1,000 messages", long / short, 1.3, f"{long * 1e3:.2f} ms ÷ {short * 1e3:.2f} ms"),
        row("import yohaku ÷ bare interpreter", ours / bare, 3, f"{ours * 1e3:.0f} ms ÷ {bare * 1e3:.0f} ms"),
    ]
    if "--langchain" in sys.argv:
        good += langchain()
    return 0 if all(good) else 1


def _told(one: Cold) -> str:
    return f"{one.fit * 1e3:.0f} ms ÷ {one.passed * 1e3:.0f} ms (with all loaded and built before: {one.warm:.1f} ×)"


def langchain() -> list[bool]:
    """Let both trim the same history to the same limit, with exact counts by the same vocabulary."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        wanted = ["langchain-core", "splintr-rs", str(HERE.parent)]
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted], check=True)
        run = subprocess.run(
            [python, str(HERE / "beside_langchain.py"), str(ASKED)], capture_output=True, text=True, check=True
        )
    found = json.loads(run.stdout)
    print(f"     asked for {ASKED:,} tokens at {found['requests']} requests of one session:")
    for name in ("approximate", "exact", "yohaku"):
        one = found[name]
        took = f"{one['seconds'] * 1e3:8.1f} ms a request (first {one['first'] * 1e3:.0f})"
        over = f"over budget {one['over']} times (worst {one['worst']:,} tokens)"
        print(f"     {name:12} {took}, {over}, malformed or empty {one['bad']} times")
    ratio = found["yohaku"]["seconds"] / found["exact"]["seconds"]
    return [
        row("ours ÷ LangChain with the exact counter", ratio, 1 / 3, f"{1 / ratio:.0f} × faster"),
        row(
            "times over budget, ours",
            found["yohaku"]["over"],
            0,
            f"LangChain approximate: {found['approximate']['over']}",
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
