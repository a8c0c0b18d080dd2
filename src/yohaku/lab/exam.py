"""`yohaku lab exam`: can a reader go on with the work from the folded conversation alone?

Each session is folded step by step, as an agent would. Readers get the last view and a sheet of questions, nothing
else; graders get the answers without the names of the methods. Everything passes through files in one folder, so a
reader or grader may be a person, a program, or a model behind an endpoint. Running the command again picks up whatever
answers and grades have arrived, and prints the table once there are grades.

Law: one reader never sees the same session twice, and every method is read by every reader equally often.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from yohaku import meters
from yohaku.core.budget import Budget
from yohaku.core.errors import BadSetting, DoesNotFit, Unanswered, Unreadable
from yohaku.core.recipe import Question
from yohaku.lab.baselines import BaselineInput
from yohaku.lab.recorded_session import Target, read
from yohaku.lab.replay import BASELINES
from yohaku.lab.report import interval
from yohaku.session.session import Session

Message: TypeAlias = dict[str, Any]
Kind: TypeAlias = Literal["goal", "done", "specific", "understanding", "state", "next"]
KINDS: tuple[Kind, ...] = ("goal", "done", "specific", "understanding", "state", "next")
SHUFFLE_SEED = 7
DRAFTED_QUESTIONS = 12
MAX_DRAFT_CHARS = 400_000
"""Characters of a history that are given to the model that drafts questions."""

READER_RULES = """\
You take over the work described in the conversation below. You have never seen it before, and you see nothing but this
view of it. Answer each question from the view alone. Where the view does not say, answer exactly NOT IN VIEW, and name
the ref you would open (`ref=…`), if one is shown that would help. Then say how ready you feel to go on with the work,
from 1 (lost) to 5 (could go on at once).

Answer with one JSON object and nothing else:
{"answers": [{"a": "…", "ref": ""}, …one for each question, in order…], "ready": 3}
"""

GRADER_RULES = """\
Grade answers about a piece of work. For each question there is a reference answer and a rubric; for each letter there
is one set of answers. Score each answer 1, 0.5 or 0 by the rubric alone. Mark it false when it states something that
the reference contradicts; NOT IN VIEW is never false.

Answer with one JSON object and nothing else:
{"A": [{"score": 1, "false": false}, …one for each question, in order…], "B": […]}
"""

DRAFT_RULES = """\
Write an examination about the conversation below, for somebody who has to go on with the work from a shortened version
of it. Write {count} questions that only somebody who knows what happened can answer: the user's goals and rules (goal),
what was done and how it ended (done), exact names and values (specific), why something is as it is (understanding),
what holds now (state), what comes next (next). For each: the question, its kind, a reference answer, and a rubric that
says what is worth 1 and what 0.5.

Answer with one JSON array and nothing else:
[{{"q": "…", "kind": "done", "a": "…", "rubric": "1: … 0.5: …"}}, …]
"""


class ExamQuestion(msgspec.Struct, frozen=True):
    q: str
    kind: Kind
    a: str
    rubric: str = "1: right and complete. 0.5: right in part."


class ExamSession(msgspec.Struct, frozen=True):
    n: int | str
    history: str
    """File name in the exam's folder: OpenAI chat messages, JSON or gzip."""
    window: int = 8192

    @property
    def name(self) -> str:
        return str(self.n)


class Exam(msgspec.Struct, frozen=True):
    sessions: list[ExamSession]
    questions: dict[str, list[ExamQuestion]] = {}


class ExamAnswer(msgspec.Struct, frozen=True):
    a: str
    ref: str = ""


class AnswerSheet(msgspec.Struct, frozen=True):
    answers: list[ExamAnswer]
    ready: float | None = None


class Grade(msgspec.Struct, frozen=True):
    score: float
    false: bool = False


class Paper(NamedTuple):
    """One session, folded by one method, for one reader."""

    session: ExamSession
    method: str
    reader: int

    def sheet(self, folder: Path) -> Path:
        return folder / f"reader-{self.reader}" / f"{self.session.name}.md"

    def answers(self, folder: Path) -> Path:
        return folder / f"reader-{self.reader}" / f"{self.session.name}.answers.json"


Ask: TypeAlias = Callable[[str], str]
"""Send a prompt to a reader, grader or drafter behind an endpoint, and return its text."""


def read_exam(folder: Path) -> Exam:
    path = folder / "exam.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Exam)
    except FileNotFoundError:
        raise Unreadable(f"{folder}: there is no exam.json in it; see yohaku lab exam --help") from None
    except (OSError, msgspec.DecodeError) as wrong:
        raise Unreadable(f"{path}: {wrong}") from None


def read_history(path: Path) -> list[Message]:
    try:
        data = path.read_bytes()
        decoded: Any = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (OSError, ValueError, EOFError) as wrong:
        raise Unreadable(f"{path}: {wrong}") from None
    messages = decoded.get("messages") if isinstance(decoded, dict) else decoded
    if not isinstance(messages, list) or not all(isinstance(each, dict) and "role" in each for each in messages):
        raise Unreadable(f"{path}: this is not a list of chat messages")
    return messages


# Folding


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
    """Fit the conversation before every reply, as an agent would, and return the last view."""
    if method in BASELINES:
        return _fold_by_baseline(messages, window, method)
    ends = [at for at, message in enumerate(messages) if at and message["role"] == "assistant"]
    session = Session(window, recipe=method, model="gpt-4o", dialect="openai_chat", summarise=summarise)
    shown: list[Message] = messages
    for end in dict.fromkeys((*ends, len(messages))):
        if messages[end - 1].get("tool_calls"):
            continue  # the results of an open call follow
        try:
            shown = session.fit(messages[:end])
        except DoesNotFit:
            continue
    return shown


def _fold_by_baseline(messages: list[Message], window: int, method: str) -> list[Message]:
    meter = meters.for_model("gpt-4o", "openai_chat")
    recorded = read(json.dumps(messages).encode(), "exam", "exam", meter, 1)
    given = BaselineInput(recorded, meter, Budget.of(window).limit - recorded.fixed)
    return BASELINES[method](given, Target(len(recorded.entries), 0, False))


def view_text(messages: list[Message]) -> str:
    """The view as plain text: role, content, calls."""
    return "\n\n".join(_message_text(message) for message in messages)


def _message_text(message: Message) -> str:
    lines = [f"## {message['role']}"]
    content = message.get("content")
    if isinstance(content, str):
        lines.append(content)
    for part in content if isinstance(content, list) else ():
        lines.append(part.get("text") or f"[{part.get('type', 'part')}]")
    for call in message.get("tool_calls") or ():
        lines.append(f"[calls {call['function']['name']} {call['function']['arguments']}]")
    return "\n".join(lines)


# Papers


def assign(sessions: list[ExamSession], methods: tuple[str, ...]) -> list[Paper]:
    """A Latin square: reader r gets session i by method (i + r) modulo the number of methods."""
    return [
        Paper(session, methods[(index + reader) % len(methods)], reader + 1)
        for reader in range(len(methods))
        for index, session in enumerate(sessions)
    ]


def write_paper(paper: Paper, view: str, questions: list[ExamQuestion], folder: Path) -> str:
    """Write what a reader gets, and return it."""
    asked = "\n".join(f"{number}. {question.q}" for number, question in enumerate(questions, 1))
    text = f"{READER_RULES}\n# The view\n\n{view}\n\n# Questions\n\n{asked}\n"
    sheet = paper.sheet(folder)
    sheet.parent.mkdir(parents=True, exist_ok=True)
    sheet.write_text(text, "utf-8", "surrogatepass")
    return text


def letters(session: ExamSession, methods: tuple[str, ...]) -> dict[str, str]:
    """Methods by the letter a grader sees, in an order that differs from session to session."""
    mixed = sorted(methods)
    random.Random(f"{SHUFFLE_SEED}:{session.name}").shuffle(mixed)
    return {chr(ord("A") + number): method for number, method in enumerate(mixed)}


def write_grading(
    session: ExamSession, questions: list[ExamQuestion], sheets: dict[str, AnswerSheet], folder: Path
) -> str:
    """Write what a grader gets: questions, references, rubrics, and the answers by letter. Return it."""
    lines = [GRADER_RULES]
    by_letter = letters(session, tuple(sheets))
    for number, question in enumerate(questions):
        lines.append(f"# {number + 1}. {question.q}\n\nReference: {question.a}\n\nRubric: {question.rubric}\n")
        for letter, method in by_letter.items():
            lines.append(f"{letter}: {sheets[method].answers[number].a}\n")
    text = "\n".join(lines)
    path = folder / "grader" / f"{session.name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", "surrogatepass")
    return text


def parse(text: str | bytes, kind: Any, where: str) -> Any:
    """Decode JSON as a person or a model wrote it: a fence or words around it are left out."""
    raw = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    found = re.search(r"[\[{].*[\]}]", raw, re.DOTALL)
    try:
        return msgspec.json.decode(found[0] if found else raw, type=kind)
    except msgspec.DecodeError as wrong:
        raise Unreadable(f"{where}: {wrong}") from None


def read_answers(paper: Paper, count: int, folder: Path) -> AnswerSheet | None:
    path = paper.answers(folder)
    if not path.exists():
        return None
    sheet: AnswerSheet = parse(path.read_bytes(), AnswerSheet, str(path))
    if len(sheet.answers) != count:
        raise Unreadable(f"{path}: has {len(sheet.answers)} answers to {count} questions")
    return sheet


def read_grades(session: ExamSession, methods: int, count: int, folder: Path) -> dict[str, list[Grade]] | None:
    path = folder / "grader" / f"{session.name}.grades.json"
    if not path.exists():
        return None
    grades: dict[str, list[Grade]] = parse(path.read_bytes(), dict[str, list[Grade]], str(path))
    if len(grades) != methods or any(len(row) != count for row in grades.values()):
        raise Unreadable(f"{path}: wants {methods} letters with {count} grades each")
    return grades


# The table


class Score(NamedTuple):
    session: str
    method: str
    kinds: dict[str, list[float]]
    false: int
    ready: float | None
    refs: int
    """Answers that name a ref to open."""

    @property
    def mean(self) -> float:
        values = [value for scores in self.kinds.values() for value in scores]
        return sum(values) / len(values)


def score(
    session: ExamSession, method: str, questions: list[ExamQuestion], sheet: AnswerSheet, row: list[Grade]
) -> Score:
    kinds: dict[str, list[float]] = defaultdict(list)
    for question, grade in zip(questions, row, strict=True):
        kinds[question.kind].append(grade.score)
    refs = sum(bool(answer.ref) for answer in sheet.answers)
    return Score(session.name, method, dict(kinds), sum(grade.false for grade in row), sheet.ready, refs)


def report(scores: list[Score], methods: tuple[str, ...]) -> dict[str, Any]:
    """Means with intervals by method, and paired differences of the first method to each other one."""
    rows: dict[str, Any] = {}
    for method in methods:
        mine = [each for each in scores if each.method == method]
        rows[method] = {
            "mean": interval(each.mean for each in mine)._asdict(),
            "kinds": {kind: _kind_mean(mine, kind) for kind in KINDS},
            "false": sum(each.false for each in mine),
            "ready": interval(each.ready for each in mine).mean,
            "refs": sum(each.refs for each in mine),
        }
    by = {(each.method, each.session): each.mean for each in scores}
    first, others = methods[0], methods[1:]
    sessions = list(dict.fromkeys(each.session for each in scores))
    pairs = {
        f"{first} - {other}": interval(
            by[first, name] - by[other, name] for name in sessions if (first, name) in by and (other, name) in by
        )._asdict()
        for other in others
    }
    return {"methods": rows, "differences": pairs, "sessions": len(sessions)}


def _kind_mean(scores: list[Score], kind: str) -> float | None:
    values = [value for each in scores for value in each.kinds.get(kind, ())]
    return sum(values) / len(values) if values else None


def table(found: dict[str, Any]) -> str:
    heads = ("mean", *KINDS, "false", "ready", "refs")
    lines = [f"{found['sessions']} sessions", f"{'':16}" + "".join(f"{head[:8]:>9}" for head in heads)]
    for method, row in found["methods"].items():
        cells = [row["mean"]["mean"], *row["kinds"].values(), row["false"], row["ready"], row["refs"]]
        lines.append(f"{method:16}" + "".join(f"{_cell(cell):>9}" for cell in cells))
    for pair, each in found["differences"].items():
        if each["mean"] is not None:
            lines.append(f"  {pair}: {each['mean']:+.3f} [{each['low']:+.3f}, {each['high']:+.3f}]")
    return "\n".join(lines) + "\n"


def _cell(value: float | None) -> str:
    return "–" if value is None else str(value) if isinstance(value, int) else f"{value:.2f}"


# Drafting questions


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


# The command


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


def add_command(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "exam",
        help="let readers answer questions from folded views, and compare recipes",
        description="Fold sessions, write question sheets for readers, take answers and grades, and print the table.",
        epilog="examples:\n  yohaku lab exam my-exam/ --recipes auto,cap,sliding\n"
        "  yohaku lab exam my-exam/ --reader http://localhost:8080/v1#m --grader http://localhost:8080/v1#m\n"
        "  yohaku lab exam my-exam/ --recipes auto --summariser questions/\n"
        "  yohaku lab exam my-exam/ --draft http://localhost:8080/v1#m",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="DIR", help="exam.json and the histories it names; see docs/exam.md")
    parser.add_argument(
        "--recipes", default="auto,cap,sliding", metavar="R,R", help="the first is compared (%(default)s)"
    )
    parser.add_argument("--window", type=int, metavar="N", help="tokens (default: as exam.json says for each session)")
    parser.add_argument("--work", metavar="DIR", help="folder for sheets, answers and grades (default DIR/held)")
    parser.add_argument("--summariser", metavar="DIR", help="answer the recipe's questions from files in this folder")
    parser.add_argument("--reader", metavar="URL#MODEL", help="let a model read (key: YOHAKU_API_KEY)")
    parser.add_argument("--grader", metavar="URL#MODEL", help="let a model grade")
    parser.add_argument("--draft", metavar="URL#MODEL", help="let a model write questions for sessions that have none")
    parser.add_argument("--out", metavar="FILE", help="write the report as JSON")
    parser.set_defaults(run=run)
    return parser


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
