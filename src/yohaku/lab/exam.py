"""`yohaku lab exam`: can a reader go on with the work from the folded conversation alone?

Each session is folded step by step, as an agent would. Readers get the last view and a sheet of questions, nothing
else; graders get the answers without the names of the methods. Everything passes through files in one folder, so a
reader or grader may be a person, a program, or a model behind an endpoint. Running the command again picks up whatever
answers and grades have arrived, and prints the table once there are grades.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from yohaku import meters
from yohaku.core.budget import Budget
from yohaku.core.errors import BadSetting, DoesNotFit, Unanswered, Unreadable
from yohaku.core.recipe import Question
from yohaku.lab.baselines import BaselineInput
from yohaku.lab.exam_report import Score, report, score, table
from yohaku.lab.exam_sheets import (
    Exam,
    ExamQuestion,
    Message,
    Paper,
    assign,
    letters,
    parse,
    read_answers,
    read_exam,
    read_grades,
    read_history,
    view_text,
    write_grading,
    write_paper,
)
from yohaku.lab.recorded_session import Target, read
from yohaku.lab.replay import BASELINES
from yohaku.messages.help_pages import ArgumentType
from yohaku.session.session import Session

DRAFTED_QUESTIONS = 12
MAX_DRAFT_CHARS = 400_000
"""Characters of a history that are given to the model that drafts questions."""

DRAFT_RULES = """\
Write an examination about the conversation below, for somebody who has to go on with the work from a shortened version
of it. Write {count} questions that only somebody who knows what happened can answer: the user's goals and rules (goal),
what was done and how it ended (done), exact names and values (specific), why something is as it is (understanding),
what holds now (state), what comes next (next). For each: the question, its kind, a reference answer, and a rubric that
says what is worth 1 and what 0.5.

Answer with one JSON array and nothing else:
[{{"q": "…", "kind": "done", "a": "…", "rubric": "1: … 0.5: …"}}, …]
"""

Ask: TypeAlias = Callable[[str], str]
"""Send a prompt to a reader, grader or drafter behind an endpoint, and return its text."""


class FileSummariser:
    """Answers the questions of a recipe from files in a folder, named by the question's content.

    A question without an answer is written to `ID.question.md`; its answer is expected in `ID.answer.md`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open: set[str] = set()
        folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, question: Question) -> str:
        name = hashlib.sha256(f"{question.limit}\n{question.text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        answer = self.folder / f"{name}.answer.md"
        if answer.exists():
            return answer.read_text("utf-8")
        limit = f"(Answer in at most {question.limit} tokens, to {answer.name}.)"
        (self.folder / f"{name}.question.md").write_text(f"{question.text}\n\n{limit}\n", "utf-8", "surrogatepass")
        self.open.add(name)
        raise Unanswered(f"{answer} is not there yet")


def fold(messages: list[Message], window: int, method: str, summarise: FileSummariser | None = None) -> list[Message]:
    """Fit the conversation before every reply, as an agent would, and return the last view.

    It ends at the first question without an answer: what is asked later depends on that.
    """
    if method in BASELINES:
        return _fold_by_baseline(messages, window, method)
    ends = [at for at, message in enumerate(messages) if at and message["role"] == "assistant"]
    session = Session(window, recipe=method, model="gpt-4o", dialect="openai_chat", summarise=summarise)
    shown: list[Message] = messages
    waiting = len(summarise.open) if summarise else 0
    for end in dict.fromkeys((*ends, len(messages))):
        if messages[end - 1].get("tool_calls"):
            continue  # the results of an open call follow
        try:
            shown = session.fit(messages[:end])
        except DoesNotFit:
            continue
        if summarise and len(summarise.open) > waiting:
            break
    return shown


def _fold_by_baseline(messages: list[Message], window: int, method: str) -> list[Message]:
    meter = meters.for_model("gpt-4o", "openai_chat")
    recorded = read(json.dumps(messages).encode(), "exam", "exam", meter, 1)
    given = BaselineInput(recorded, meter, Budget.of(window).limit - recorded.fixed)
    return BASELINES[method](given, Target(len(recorded.entries), 0, False))


def draft(folder: Path, ask: Ask) -> int:
    """Let a model write questions for sessions in exam.json that have none; return for how many."""
    exam = read_exam(folder)
    made = 0
    for session in exam.sessions:
        if exam.questions.get(session.name):
            continue
        history = view_text(read_history(folder / session.history))[:MAX_DRAFT_CHARS]
        text = ask(f"{DRAFT_RULES.format(count=DRAFTED_QUESTIONS)}\n# The conversation\n\n{history}\n")
        exam.questions[session.name] = parse(text, list[ExamQuestion], f"questions for session {session.name}")
        (folder / "exam.json").write_bytes(msgspec.json.format(msgspec.json.encode(exam), indent=1) + b"\n")
        made += 1
    return made


def hold(
    folder: Path,
    out: Path,
    methods: tuple[str, ...],
    *,
    window: int | None = None,
    summariser: Path | None = None,
    reader: Ask | None = None,
    grader: Ask | None = None,
    show: Callable[[str], None] = print,
) -> dict[str, Any] | None:
    """Take the exam as far as the files allow; return the report once every session is graded."""
    exam = read_exam(folder)
    summarise = FileSummariser(summariser) if summariser else None
    sessions = [session for session in exam.sessions if exam.questions.get(session.name)]
    if not sessions:
        raise Unreadable(f"{folder}: no session in exam.json has questions; --draft URL writes some")
    papers = assign(sessions, methods)
    waiting = [paper for paper in papers if not paper.answers(out).exists()]
    for paper, text in _papers(folder, out, exam, waiting, window, summarise):
        if reader and not (summarise and summarise.open):
            _save(paper.answers(out), reader(text))
            show(f"exam: {paper.sheet(out)} answered")
    if summarise and summarise.open:
        show(f"exam: {len(summarise.open)} questions of the recipe wait for answers in {summarise.folder}")
        return None
    scores: list[Score] = []
    missing = 0
    for session in sessions:
        questions = exam.questions[session.name]
        mine = [paper for paper in papers if paper.session is session]
        sheets = {paper.method: read_answers(paper, len(questions), out) for paper in mine}
        answered = {method: sheet for method, sheet in sheets.items() if sheet}
        if len(answered) < len(methods):
            missing += len(methods) - len(answered)
            continue
        text = write_grading(session, questions, answered, out)
        path = out / "grader" / f"{session.name}.grades.json"
        if grader and not path.exists():
            _save(path, grader(text))
            show(f"exam: {path} graded")
        grades = read_grades(session, len(methods), len(questions), out)
        for letter, method in letters(session, methods).items() if grades else ():
            scores.append(score(session, method, questions, answered[method], (grades or {})[letter]))
    graded = len({each.session for each in scores})
    if missing:
        show(f"exam: {missing} sheets in {out}/reader-* wait for answers (NAME.answers.json beside NAME.md)")
    elif graded < len(sessions):
        show(f"exam: {len(sessions) - graded} sheets in {out}/grader wait for grades (NAME.grades.json beside NAME.md)")
    return report(scores, methods) if scores else None


def _papers(
    folder: Path, out: Path, exam: Exam, papers: list[Paper], window: int | None, summarise: FileSummariser | None
) -> Iterator[tuple[Paper, str]]:
    for paper in sorted(papers, key=lambda paper: paper.session.name):
        messages = read_history(folder / paper.session.history)
        view = fold(messages, window or paper.session.window, paper.method, summarise)
        yield paper, write_paper(paper, view_text(view), exam.questions[paper.session.name], out)


def _save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", "surrogatepass")


def endpoint(url: str, key: str = "") -> Ask:
    """Ask a model at `URL#model` (OpenAI chat)."""
    import asyncio

    from yohaku.client.endpoint import Endpoint
    from yohaku.client.model_client import ModelClient

    address, _, model = url.partition("#")
    if not address.startswith(("http://", "https://")):
        raise BadSetting(f"{url}: give an address such as http://localhost:8080/v1#model")
    served = Endpoint("the examiner", "openai", "openai_chat", address, model or "default", key)

    async def send(prompt: str) -> str:
        client = ModelClient(served, window=1 << 20, reserve=8192)
        try:
            return await client.ask(Question("exam", prompt, 8192))
        finally:
            await client.close()

    return lambda prompt: asyncio.run(send(prompt))


def add_command(commands: Any) -> None:
    parser = commands.add_parser("exam", help="exam", code="exam_about")
    parser.add_argument("folder", metavar="DIR", help="exam_folder")
    parser.add_argument("--recipes", default="auto,cap,sliding", metavar="R,R", help="lab_recipes")
    whole = ArgumentType(int, "type_whole", parser.lang)
    parser.add_argument("--window", type=whole, metavar="N", help="exam_window")
    parser.add_argument("--work", metavar="DIR", help="exam_work")
    parser.add_argument("--summariser", metavar="DIR", help="exam_summariser")
    parser.add_argument("--reader", metavar="URL#MODEL", help="exam_reader")
    parser.add_argument("--grader", metavar="URL#MODEL", help="exam_grader")
    parser.add_argument("--draft", metavar="URL#MODEL", help="exam_draft")
    parser.add_argument("--out", metavar="FILE", help="exam_out")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from yohaku.config import settings

    folder, key = Path(arguments.folder), settings.read().variable("YOHAKU_API_KEY") or ""
    if arguments.draft:
        made = draft(folder, endpoint(arguments.draft, key))
        print(f"exam: questions drafted for {made} sessions; read them before you use them", file=sys.stderr)
        return 0
    methods = tuple(dict.fromkeys(name.strip() for name in arguments.recipes.split(",") if name.strip()))
    found = hold(
        folder,
        Path(arguments.work) if arguments.work else folder / "held",
        methods,
        window=arguments.window,
        summariser=Path(arguments.summariser) if arguments.summariser else None,
        reader=endpoint(arguments.reader, key) if arguments.reader else None,
        grader=endpoint(arguments.grader, key) if arguments.grader else None,
        show=lambda line: print(line, file=sys.stderr, flush=True),
    )
    if found:
        print(table(found), end="")
        if arguments.out:
            Path(arguments.out).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0 if found else 1
