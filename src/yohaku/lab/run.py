"""`yohaku lab run`: replay recorded sessions at every window with every recipe, and write the report.

Law: the report depends on the sessions and the options, not on the order in which the work was done.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from yohaku import meters
from yohaku.core.errors import BadSetting, Unreadable, YohakuError
from yohaku.lab import exam
from yohaku.lab.recorded_session import read
from yohaku.lab.replay import BASELINES, replay
from yohaku.lab.report import ReportRow, score, summary, table
from yohaku.lab.sources import files, held_out, source_of
from yohaku.messages.help_pages import ArgumentType, HelpParser
from yohaku.recipes.auto import recipe_named


class Job(NamedTuple):
    """One session, with the windows and recipes to try on it."""

    path: Path
    name: str
    source: str
    windows: tuple[int, ...]
    recipes: tuple[str, ...]
    model: str
    sample: int | None


def main(argv: list[str], prog: str = "yohaku lab", lang: str = "en") -> int:
    arguments = _parser(prog, lang).parse_args(argv)
    if "run" in arguments:
        return int(arguments.run(arguments))
    jobs = _jobs(arguments)
    out = Path(arguments.out) if arguments.out else None
    if out and not out.resolve().parent.is_dir():
        raise BadSetting(f"--out {arguments.out}: there is no such folder")
    rows = gather(replay_all(jobs, arguments.jobs), len(jobs))
    if rows is None:
        return 130
    if not rows:
        raise Unreadable("none of these files is a recorded session")
    rows = sort_rows(rows, jobs[0])
    windows = summary(rows)
    print(table(windows), end="", flush=True)
    if out:
        _write(out, {"model": arguments.model, "sample": arguments.sample, "windows": windows}, rows)
    return 0


def gather(found: Iterable[list[ReportRow]], of: int) -> list[ReportRow] | None:
    """Collect the rows as sessions finish, with a line of progress; None after Ctrl-C."""
    start = time.monotonic()
    rows: list[ReportRow] = []
    done = 0
    try:
        for done, some in enumerate(found, 1):
            rows += some
            _show_progress(done, of, time.monotonic() - start)
    except KeyboardInterrupt:
        print(f"\nlab: stopped after {done} of {of} sessions; nothing was written", file=sys.stderr)
        return None
    return rows


def _jobs(arguments: argparse.Namespace) -> list[Job]:
    windows, recipes = _numbers(arguments.windows), _words(arguments.recipes)
    for name in recipes:
        if name not in BASELINES:
            recipe_named(name)
    wanted = set(_words(arguments.sources or ""))
    jobs: list[Job] = []
    names: Counter[str] = Counter()
    for path in files(arguments.paths):
        source = source_of(path)
        apart = (arguments.held_out or arguments.tuning) and held_out(source) != arguments.held_out
        if apart or (wanted and source not in wanted):
            continue
        name = f"{source}/{path.name.partition('.')[0]}"
        names[name] += 1
        unique = name if names[name] == 1 else f"{name} ({names[name]})"
        jobs.append(Job(path, unique, source, windows, recipes, arguments.model, arguments.sample))
    if not jobs:
        raise Unreadable("there is no recorded session of the sources asked for")
    return jobs


def replay_all(jobs: list[Job], processes: int = 1) -> Iterator[list[ReportRow]]:
    """Replay the biggest files first, so that no process is left alone with one at the end."""
    jobs = sorted(jobs, key=lambda job: (-job.path.stat().st_size, job.path))
    if processes <= 1 or len(jobs) == 1:
        yield from map(replay_session, jobs)
        return
    with get_context("spawn").Pool(min(processes, len(jobs)), _ignore_interrupt) as pool:
        yield from pool.imap_unordered(replay_session, jobs)


def _ignore_interrupt() -> None:
    """Leave Ctrl-C to the parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def replay_session(job: Job) -> list[ReportRow]:
    """Replay one session at all windows with all recipes; no rows if it cannot be read."""
    meter = meters.for_model(job.model, "openai_chat")
    try:
        recorded = read(job.path.read_bytes(), job.name, job.source, meter, job.sample)
    except (YohakuError, OSError) as wrong:
        print(f"lab: left out {job.path}: {wrong}", file=sys.stderr)
        return []
    rows: list[ReportRow] = []
    for window in job.windows:
        for recipe in job.recipes:
            totals = replay(recorded, window, recipe, meter, job.model)
            unsent = dict(sorted(totals.unsent.items())) if totals else {}
            scores = score(totals) if totals else None
            rows.append(ReportRow(job.name, job.source, window, recipe, len(recorded.targets), unsent, scores))
    return rows


def sort_rows(rows: list[ReportRow], job: Job) -> list[ReportRow]:
    return sorted(rows, key=lambda row: (job.windows.index(row.window), row.session, job.recipes.index(row.recipe)))


def _show_progress(done: int, of: int, seconds: float) -> None:
    line = f"lab: {done}/{of} sessions, {seconds:.0f} s"
    if sys.stderr.isatty():
        print(f"\r{line}", end="\n" if done == of else "", file=sys.stderr, flush=True)
    elif done == of or done % max(1, of // 10) == 0:
        print(line, file=sys.stderr, flush=True)


def _write(out: Path, report: dict[str, Any], rows: list[ReportRow]) -> None:
    report = {**report, "sessions": [row._asdict() for row in rows]}
    try:
        out.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", "utf-8")
    except OSError as wrong:
        raise BadSetting(f"--out {out}: {wrong.strerror}") from None


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(map(_positive, _words(text)))
    except ValueError:
        raise BadSetting(f"--windows {text}: give numbers of tokens, with commas between them") from None


def _positive(text: str) -> int:
    number = int(text.replace("_", ""))
    if number < 1:
        raise ValueError
    return number


def _parser(prog: str, lang: str) -> HelpParser:
    parser = HelpParser(prog=prog, lang=lang, code="lab_program", facts={"baselines": ", ".join(BASELINES)})
    commands = parser.add_commands(required=True)
    run = commands.add_parser("run", help="lab_run", code="lab_run_about")
    number = ArgumentType(_positive, "type_positive", lang)
    run.add_argument("paths", nargs="+", metavar="PATH", help="lab_paths")
    run.add_argument("--windows", default="4096,8192,16384,32768", metavar="N,N", help="lab_windows")
    run.add_argument("--recipes", default="auto,sliding", metavar="R,R", help="lab_recipes")
    run.add_argument("--model", default="gpt-4o", metavar="NAME", help="lab_model")
    run.add_argument("--sample", type=number, metavar="N", help="lab_sample")
    run.add_argument("--sources", metavar="A,B", help="lab_sources")
    side = run.add_mutually_exclusive_group()
    side.add_argument("--held-out", action="store_true", help="lab_held_out")
    side.add_argument("--tuning", action="store_true", help="lab_tuning")
    run.add_argument("--jobs", type=number, default=1, metavar="N", help="lab_jobs")
    run.add_argument("--out", metavar="FILE", help="lab_out")
    exam.add_command(commands)
    return parser
