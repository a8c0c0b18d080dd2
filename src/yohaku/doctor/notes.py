"""Notes of what the doctor found and did, to be shown in the user's language."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from yohaku import messages


class Note(NamedTuple):
    where: str
    """"line 12", "messages[3]", or nothing for the file as a whole."""
    code: str
    """Name of the sentence, without its `doctor_`."""
    name: str = ""
    why: str = ""

    def render(self, lang: str) -> str:
        sentence = messages.say(f"doctor_{self.code}", lang, name=_short(self.name), why=_short(self.why))
        return f"{self.where}: {sentence}" if self.where else sentence


@dataclass(slots=True)
class Notes:
    """Notes taken so far; `where` is the place being looked at."""

    found: list[Note] = field(default_factory=list)
    where: str = ""
    unique: bool = False
    """Ids must be used once only: in a broken file one that is used again may name the wrong call."""

    def add(self, code: str, name: object = "", why: object = "", where: str | None = None) -> None:
        self.where = self.where if where is None else where
        note = Note(self.where, code, str(name), str(why))
        if not self.found or self.found[-1] != note:
            self.found.append(note)


def _short(text: str, max_chars: int = 60) -> str:
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"
