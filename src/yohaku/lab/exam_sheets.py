"""Sheets of the exam: what readers and graders get, and what they hand back, as files in one folder.

Law: one reader never sees the same session twice, and every method is read by every reader equally often.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from yohaku.core.errors import Unreadable

Message: TypeAlias = dict[str, Any]
Kind: TypeAlias = Literal["goal", "done", "specific", "understanding", "state", "next"]
SHUFFLE_SEED = 7

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


def read_exam(folder: Path) -> Exam:
    path = folder / "exam.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Exam)
    except FileNotFoundError:
        raise Unreadable(f"{folder}: there is no exam.json in it; see yohaku lab exam --help") from None
    except (OSError, ValueError, RecursionError) as wrong:
        raise Unreadable(f"{path}: {wrong}") from None


def read_history(path: Path) -> list[Message]:
    try:
        data = path.read_bytes()
        decoded: Any = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (OSError, ValueError, EOFError, RecursionError) as wrong:
        raise Unreadable(f"{path}: {wrong}") from None
    messages = decoded.get("messages") if isinstance(decoded, dict) else decoded
    if not isinstance(messages, list) or not all(isinstance(each, dict) and "role" in each for each in messages):
        raise Unreadable(f"{path}: this is not a list of chat messages")
    return messages


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
    begin = min((at for at in (raw.find("["), raw.find("{")) if at >= 0), default=0)
    end = max(raw.rfind("]"), raw.rfind("}")) + 1
    try:
        return msgspec.json.decode(raw[begin:end] if begin < end else raw, type=kind)
    except (ValueError, RecursionError) as wrong:
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
