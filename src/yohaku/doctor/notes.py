"""What the doctor found and did, one note each, to be said in the user's language."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from yohaku import messages


class Note(NamedTuple):
    where: str
    """"line 12", "messages[3]", or nothing for the file as a whole."""
    code: str
    """Of the phrase, without its `doctor_`."""
    name: str = ""
    why: str = ""

    def told(self, lang: str) -> str:
        said = messages.say(f"doctor_{self.code}", lang, name=_short(self.name), why=_short(self.why))
        return f"{self.where}: {said}" if self.where else said


@dataclass(slots=True)
class Notes:
    """A pad to take notes on; `where` is what is being looked at."""

    found: list[Note] = field(default_factory=list)
    where: str = ""
    unique: bool = False
    """Whether ids must be used once only: once a file was found broken, what they name must be plain."""

    def add(self, code: str, name: object = "", why: object = "") -> None:
        note = Note(self.where, code, str(name), str(why))
        if not self.found or self.found[-1] != note:
            self.found.append(note)


def _short(text: str, most: int = 60) -> str:
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    return line if len(line) <= most else line[: most - 1] + "…"
