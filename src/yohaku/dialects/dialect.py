"""What all wire formats share: reading entry by entry, and writing back by changing only what is folded.

Law: an unfolded body leaves as the very object that came in; a folded one differs only where a fold stands.
A dialect is a subclass in a file of its own that says how its entries are read and how a text stands in for another.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import msgspec

from yohaku.core.errors import Malformed, Unreadable
from yohaku.core.folds import Cut, Gist, Stub, View, stub_argument
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import History, Opaque, Path, Reply, Step, ToolUse, Turn
from yohaku.dialects import sse
from yohaku.dialects.server_api import ServerApi

Json = Any
"""A decoded JSON value: what lives on the wire is not typed, and does not leave this folder."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens a provider billed for one exchange."""

    input: int = 0
    """Neither read from nor written to a prompt cache."""
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def prompt(self) -> int:
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        return self.prompt + self.output


@dataclass(frozen=True, slots=True)
class Answer:
    """A provider's reply, whole or put together from its event stream."""

    reply: Reply
    usage: Usage | None = None
    stop: str = ""
    """The provider's own word for why it stopped."""


class SentEntries(NamedTuple):
    kept: tuple[int, ...]
    """Indices of entries before `since` that stay: system texts, the prompt that is being answered."""
    since: int
    """From this index on all stay."""


class Dialect(ServerApi, ABC):
    name: ClassVar[str]
    entries: ClassVar[str]
    """The field of a body that holds the conversation."""
    event_end: ClassVar[str] = "\n\n"

    @abstractmethod
    def open(self, scribe: HistoryBuilder, body: dict[str, Json]) -> None:
        """Read what stands beside the conversation: system texts and tools in fields of their own."""

    @abstractmethod
    def entry(self, scribe: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
        """Read one entry of the conversation."""

    @abstractmethod
    def compose(self, history: History, model: str = "") -> dict[str, Json]:
        """A body that says `history`, from nothing."""

    @abstractmethod
    def user_entry(self, text: str) -> dict[str, Json]:
        """An entry in which the user says `text`."""

    @abstractmethod
    def model_entry(self, text: str) -> dict[str, Json]:
        """An entry in which the model says `text`."""

    @abstractmethod
    def text_block(self, text: str, instead: Json) -> Json:
        """What stands where an image or document stood, or where a whole result that is not text stood."""

    @abstractmethod
    def read_reply(self, body: dict[str, Json]) -> Answer:
        """A provider's answer in one piece."""

    @abstractmethod
    def read_stream(self, stream: str) -> Answer:
        """A provider's answer as the text of its event stream."""

    def was_cut_off(self, answer: Answer) -> bool:
        """Tell whether the reply reached its token limit: its last call, if there is one, may be torn."""
        return answer.stop in self.cut_off_stops

    @abstractmethod
    def delta(self, event: dict[str, Json]) -> tuple[str, str]:
        """What one event of a stream adds to what is said, and to what is thought; it is never Malformed."""

    def events(self, stream: str) -> Iterable[dict[str, Json]]:
        """The events of a piece of a stream that was cut only where one ends: behind `event_end`."""
        return sse.events(stream)

    def entries_of(self, body: Json) -> list[Json]:
        found = body.get(self.entries) if isinstance(body, dict) else body
        if not isinstance(found, list):
            raise Unreadable(f"{self.entries} must be a list, not {kind_of(found)}")
        return found

    def with_entries(self, body: Json, entries: list[Json]) -> Json:
        return entries if isinstance(body, list) else {**body, self.entries: entries}

    def read(self, body: Json) -> IncrementalReader:
        reading = IncrementalReader(self, body)
        reading.read_on()
        return reading

    def write(self, body: Json, view: View) -> Json:
        """`body`, of which `view` is the reading with folds, as it is to be sent."""
        gist = view.gist
        if not gist and not view.live:
            return body
        entries = list(self.entries_of(body))
        owners = {turn.key: turn for turn in view.visible()}
        steps = {step.key: step for turn in view.visible() for step in turn.steps}
        for stub in view.live:
            if stub.slot.where != "thought":
                self._put(entries, stub, steps.get(stub.key) or owners[stub.key])
        gone = ((steps[key], slots) for key, slots in view.dropped.items() if key in steps)
        self._forget(entries, [step.thoughts[slot.item].at for step, slots in gone for slot in slots])
        if gist:
            entries = self._cut(entries, view, gist)
        return self.with_entries(body, entries)

    def sent(self, view: View, count: int) -> SentEntries:
        """Which of so many entries are sent, as they were or with stubs in them."""
        if not view.gist:
            return SentEntries((), 0)
        turn, *later = view.visible()
        after = [at[0] for at in (*_places(turn.steps), *(at for t in later for at in _turn_places(t))) if at]
        since = min((int(i) for i in after), default=count)
        kept = {part.at[0] for part in (*view.history.system, *turn.prompt) if part.at}
        return SentEntries(tuple(sorted(i for i in kept if isinstance(i, int) and i < since)), since)

    def _put(self, entries: list[Json], stub: Stub, owner: Turn | Step) -> None:
        part: Any = owner.prompt[stub.slot.item] if isinstance(owner, Turn) else owner.solid[stub.slot.item]
        if isinstance(part, ToolUse):
            part = part.call if stub.slot.where == "argument" else part.result.parts[int(stub.slot.part)]
        index = part.at[0]
        old = dig(entries[index], part.at[1:])
        if stub.slot.where == "argument":
            new = (
                stub_argument(old, stub.slot.part, stub.text)
                if isinstance(old, str)
                else {**old, stub.slot.part: stub.text}
            )
        elif isinstance(old, str) and not isinstance(part, Opaque):
            new = stub.text
        else:
            new = self.text_block(stub.text, old)
        entries[index] = put(entries[index], part.at[1:], new)

    def _forget(self, entries: list[Json], thoughts: list[Path]) -> None:
        """Without the fields or blocks of these thoughts; last, and from the back, as each moves what is behind it."""
        for index, *rest in sorted(thoughts, reverse=True, key=lambda at: (at[0], at[-1])):
            entries[int(index)] = drop(entries[int(index)], tuple(rest))

    def _cut(self, entries: list[Json], view: View, gist: Gist) -> list[Json]:
        """Without what the gist hides, and with the gist before the prompt that is still being answered."""
        sent = self.sent(view, len(entries))
        stays = [*sent.kept, *range(sent.since, len(entries))]
        for at in self._shared(view.history, view.cut, set(stays)):
            entries[int(at[0])] = drop(entries[int(at[0])], at[1:])
        prompt = next(view.visible()).prompt
        first = min((int(part.at[0]) for part in prompt if part.at), default=sent.since)
        written = [entries[i] for i in stays if i < first]
        written += [self.user_entry(gist.text), *([self.model_entry(gist.ack)] if gist.ack else [])]
        return [*written, *(entries[i] for i in stays if i >= first)]

    def _shared(self, history: History, cut: Cut, kept: set[int | str]) -> list[Path]:
        """Hidden results in one entry with a prompt that stays; last first, so that dropping one moves no other."""
        hidden = history.turns[cut.turn].steps[: cut.steps]
        if cut.turn:
            hidden = (*history.turns[cut.turn - 1].steps[-1:], *hidden)
        places = (use.result.at for step in hidden for use in step.uses)
        return sorted((at for at in places if at and at[0] in kept), reverse=True, key=lambda at: (at[0], at[-1]))


def _places(steps: Iterable[Step]) -> Iterable[Path]:
    for item in (item for step in steps for item in step.items):
        if isinstance(item, ToolUse):
            yield item.call.at
            yield item.result.at
        else:
            yield item.at


def _turn_places(turn: Turn) -> Iterable[Path]:
    yield from (part.at for part in turn.prompt)
    yield from _places(turn.steps)


LOOKED_AT = 128
"""Entries that are not sent, and yet compared in depth at each look; see `IncrementalReader.extends_to`."""


class IncrementalReader:
    """A body being read. Kept between requests, so that one which only adds to the last is read from there on."""

    def __init__(self, dialect: Dialect, body: Json) -> None:
        self.dialect = dialect
        self.body = body
        self.scribe = HistoryBuilder()
        self._beside: Json = None
        self._held: list[Json] = []
        """The entries themselves, as they were given."""
        self._seen: list[Json] = []
        """Copies of them, as they were read."""
        self._looked = 0

    @property
    def length(self) -> int:
        return len(self._seen)

    def read_on(self) -> None:
        if not self._seen:
            self.dialect.open(self.scribe, self.body if isinstance(self.body, dict) else {})
            self._beside = _copy(_beside(self.dialect, self.body))
        entries = self.dialect.entries_of(self.body)
        name = self.dialect.entries
        if not entries:
            raise Unreadable(f"{name} is empty: there is nothing to send")
        for index in range(len(self._seen), len(entries)):
            entry = entries[index]
            self.scribe.where = f"{name}[{index}]"
            if not isinstance(entry, dict):
                raise Malformed(f"this must be an object, not {kind_of(entry)}", self.scribe.where)
            self.dialect.entry(self.scribe, index, entry)
            self._held.append(entry)
            try:
                self._seen.append(_copy(entry))
            except TypeError:
                raise Malformed("this holds something that is not JSON", self.scribe.where) from None
            except RecursionError:
                raise Malformed("this is nested too deeply", self.scribe.where) from None

    def extends_to(self, body: Json, sent: SentEntries) -> bool:
        """Whether `body` begins with all that was read.

        Entries that were replaced are noticed at once. Those that are the same objects as before may have been edited
        in place: all that are sent are compared with what was read, and by turns those that a gist hides.
        """
        if type(body) is not type(self.body) or not self._seen:
            return False
        try:
            entries = self.dialect.entries_of(body)
        except Unreadable:
            return False
        count = len(self._seen)
        if not _begins(entries, self._held) or _beside(self.dialect, body) != self._beside:
            return False
        if entries[0] is not self._held[0]:
            self._held = entries[:count]
        start, self._looked = self._looked, (self._looked + LOOKED_AT) % count
        looks = (slice(start, min(count, start + LOOKED_AT)), slice(sent.since, count))
        return all(entries[look] == self._seen[look] for look in looks) and all(
            entries[index] == self._seen[index] for index in sent.kept
        )

    def history(self) -> History:
        return self.scribe.history()


def _begins(entries: list[Json], held: list[Json]) -> bool:
    """Whether `entries` begins with `held`, asked as an order of lists: it touches none that is the same object."""
    try:
        return held <= entries
    except TypeError:  # two entries differ, and objects have no order
        return False


def _beside(dialect: Dialect, body: Json) -> Json:
    return {key: value for key, value in body.items() if key != dialect.entries} if isinstance(body, dict) else None


def _copy(value: Json) -> Json:
    """The containers anew, the texts in them shared: comparing with the original then touches no text."""
    return msgspec.to_builtins(value)


def dig(value: Json, path: Path) -> Json:
    for key in path:
        value = value[key]
    return value


def put(value: Json, path: Path, new: Json) -> Json:
    """`value` with what stands at `path` replaced; only the containers on the way are made anew."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


def drop(value: Json, path: Path) -> Json:
    holder = dig(value, path[:-1]).copy()
    del holder[path[-1]]
    return put(value, path[:-1], holder)


def kind_of(value: Json) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
    names |= {int: "a number", float: "a number"}
    hint = "; give its model_dump()" if hasattr(value, "model_dump") else ""
    return names.get(type(value), f"a Python {type(value).__name__}{hint}")


def text_at(value: Json, where: str, what: str) -> str:
    if not isinstance(value, str):
        raise Malformed(f"{what} must be a text, not {kind_of(value)}", where)
    return value


def dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def arguments_object(arguments: str) -> dict[str, Json]:
    """Arguments for a wire that wants an object. What is none travels inside one, and `arguments_text` takes it out."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {RAW: arguments}


def arguments_text(value: Json) -> str:
    if isinstance(value, dict) and isinstance(raw := value.get(RAW), str) and value == arguments_object(raw):
        return raw
    return dump(value)


RAW = "_raw_arguments"


def media_from_url(kind: str, url: str, at: Path, hint: str = "") -> Opaque:
    """An image or document from a link, which may carry its bytes (`data:image/png;base64,…`)."""
    if url.startswith("data:") and ";base64," in url:
        mime, _, data = url[5:].partition(";base64,")
        return Opaque(kind, data, "base64", mime, hint, at)
    return Opaque(kind, url, "url", "", hint, at)


def media_url(part: Opaque) -> str:
    return f"data:{part.mime};base64,{part.data}" if part.form == "base64" else part.data
