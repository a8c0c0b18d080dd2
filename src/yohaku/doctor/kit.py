"""What the doctor must know of a wire format to mend it. One kit a file, in `kits/`.

Law: a kit never loses words. What cannot stay what it was becomes a text that says what it was.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Literal, NamedTuple

from yohaku.dialects.dialect import dump
from yohaku.doctor.notes import Notes

Json = Any

NO_RESULT = "[no result was recorded]"
ORPHAN = "[this result was recorded without its call{name}]"
UNNAMED = "unknown_tool"
WRAPPED = "arguments"
"""Under this name stand, inside an object, arguments that were none."""


class Ask(NamedTuple):
    """A call in an entry."""

    id: str
    name: str
    place: int
    """Among the calls of its entry, or the blocks of its content."""
    kind: str = ""
    """The wire's own word for it, where there are several."""


@dataclass(slots=True, eq=False)
class Unit:
    """What the doctor moves as one: an entry, or one result of an entry that holds several."""

    kind: Literal["reply", "answer", "other", "note"]
    """A "note" is what the system says: it may stand inside a reply where the dialect allows that."""
    entry: Json
    """The entry, or the block of an answer."""
    home: int | None
    """Index of the entry it came from; None for what was made here."""
    asks: tuple[Ask, ...] = ()
    id: str = ""
    name: str = ""


class Kit(ABC):
    joined: ClassVar[bool] = False
    """Whether neighbouring entries of the model's are one reply."""
    blocks: ClassVar[bool] = False
    """Whether answers are blocks inside the user's entries."""
    together: ClassVar[bool] = False
    """Whether all results of a reply must stand in one entry."""
    unique: bool = False
    """Whether an id may be used once only in the whole conversation."""
    partial: bool = False
    """Whether calls may lie with the provider: then a result without its call stays."""
    needs_ids: ClassVar[bool] = True

    def beside(self, body: dict[str, Json], notes: Notes) -> dict[str, Json]:
        """A body whose fields beside the conversation can be read."""
        return body

    @abstractmethod
    def shaped(self, entry: Json, notes: Notes) -> list[Json]:
        """The entry in a lawful shape; none if it says nothing."""

    def mended(self, entry: Json, notes: Notes) -> list[Json]:
        """`shaped`, and a note for whatever was changed."""
        before = len(notes.found)
        shaped = self.shaped(entry, notes)
        if shaped == [entry]:
            return [entry]
        if len(notes.found) == before:
            notes.add("shape", "entry")
        return shaped

    @abstractmethod
    def units(self, entry: Json, home: int) -> list[Unit]:
        """An entry in a lawful shape, taken apart: its results first."""

    @abstractmethod
    def renamed(self, entry: Json, ask: Ask, new: str) -> Json:
        """The entry with another id for one of its calls."""

    @abstractmethod
    def fitted(self, answer: Json, ask: Ask) -> Json:
        """An answer that names this call; the same object if it does already."""

    @abstractmethod
    def answer(self, ask: Ask) -> Json:
        """An answer for a call that has none."""

    @abstractmethod
    def told(self, unit: Unit) -> Json:
        """An entry in which the user says what an answer without its call said."""

    def gathered(self, answers: list[Json]) -> Json:
        """The entry that holds these answers."""
        raise NotImplementedError  # where an answer is an entry of its own

    def finished(self, entries: list[tuple[Json, int | None]], notes: Notes) -> list[tuple[Json, int | None]]:
        """The last rules, which look at neighbours. Each entry comes with the index of where it came from."""
        return entries

    def whole(self, body: dict[str, Json], notes: Notes) -> dict[str, Json]:
        """The rules that look at a body and its conversation together."""
        return body


def nearest(word: Json, known: Iterable[str], otherwise: str = "") -> str:
    """The known word that this one was meant to be, as far as one can tell."""
    if not isinstance(word, str):
        return otherwise
    found = get_close_matches(word[:40], list(known), n=1, cutoff=0.75)
    return found[0] if found else otherwise


ROLES = {"human": "user", "ai": "assistant", "bot": "assistant", "model": "assistant", "tool_result": "tool"}


def role_for(entry: dict[str, Json], known: tuple[str, ...], notes: Notes) -> str:
    """The role an entry was meant to have."""
    role = entry.get("role")
    if isinstance(role, str) and role in known:
        return role
    meant = ROLES.get(role, "") if isinstance(role, str) else ""
    meant = meant if meant in known else nearest(role, known)
    if not meant:
        meant = "tool" if "tool_call_id" in entry and "tool" in known else ""
        meant = meant or ("assistant" if "tool_calls" in entry and "assistant" in known else "user")
    notes.add("role", text_of(role), meant)
    return meant


def text_of(value: Json) -> str:
    """Anything as a text."""
    return value if isinstance(value, str) else "" if value is None else dump(value)


def object_text(arguments: Json, notes: Notes, name: str) -> str:
    """Arguments as the text of a JSON object; what is none travels inside one."""
    if isinstance(arguments, str) and (not arguments or _is_object(arguments)):
        return arguments
    notes.add("arguments", name)
    return dump(arguments if isinstance(arguments, dict) else {WRAPPED: text_of(arguments)})


def object_of(arguments: Json, notes: Notes, name: str) -> dict[str, Json]:
    if isinstance(arguments, dict):
        return arguments
    notes.add("arguments", name)
    if isinstance(arguments, str) and _is_object(arguments):
        found: dict[str, Json] = json.loads(arguments)
        return found
    return {WRAPPED: text_of(arguments)} if arguments not in (None, "", []) else {}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def list_of_objects(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def orphan_text(name: str, words: str) -> str:
    return f"{ORPHAN.format(name=f' ({name})' if name else '')}\n{words}".rstrip()


def name_of(value: Json, notes: Notes) -> str:
    if isinstance(value, str) and value.strip():
        return value
    notes.add("name", UNNAMED)
    return UNNAMED
