"""A wire format: how a request body is read into a `History`, and written back with its folds.

Law: an unfolded body is returned as the very object that came in; a folded one differs only where a fold stands.

To add a wire format, write one file with one subclass of `Dialect`:

1. Set `name` and `entries`, the field of a body that holds the list of messages.
2. Read: `read_beside` takes system texts and tools from fields beside that list, `read_entry` one message of it. Both
   call the `HistoryBuilder`: `prompt` for a part of what the user says, `reply` and `say` for the model's parts and
   calls, `answer` for a tool result. Give every part its place: `at` is the path to its text from the entry's index on,
   as in `(3, "content")`, since `write` puts stubs there.
3. Write: `compose` builds a body from a history; `user_entry`, `model_entry` and `text_block` are the pieces that
   `write` inserts for a gist, its acknowledgement and a folded image.
4. Answers: `read_reply` reads an answer in one piece; `stream_reader` returns the parser of an event stream. Set
   `event_end` and override `events` where events are not server-sent ones.
   Override `begin_with` if an entry has its parts elsewhere than in `content`; `speaker` and `join_entries` if it names
   its role elsewhere than in `role`, so that servers with stricter rules about roles can be followed.
5. Requests: override from `ServerApi` what differs, at least `path` and `tool_definition`; the agent needs no more.
6. Register it by name, in a program or as an entry point of the group "yohaku.dialects":
   `yohaku.plugins.register("dialects", "name", TheClass)`. Built-in ones are listed in `dialects/__init__.py`.

`openai_chat.py` is the plainest example; `tests/dialects/test_outside.py` has a complete small one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from yohaku.core.errors import Unreadable
from yohaku.core.folds import Cut, Stub
from yohaku.core.history_builder import HistoryBuilder
from yohaku.core.model import History, Opaque, Path, Step, ToolUse, Turn
from yohaku.core.originals import replace_arguments
from yohaku.core.view import Preface, View
from yohaku.dialects import role_rules
from yohaku.dialects.answer import Answer, StreamReader, error_in, sse_events
from yohaku.dialects.json_values import Json, dig, drop, kind_of, put_all
from yohaku.dialects.reader import IncrementalReader, SentEntries
from yohaku.dialects.role_rules import RoleRules, Speaker
from yohaku.dialects.server_api import ServerApi

SPEAKERS: dict[str | None, Speaker] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "model",
    "tool": "tool",
    "function": "tool",
}
LISTS_BESIDE_CONTENT = ("images", "tool_calls")


class Dialect(ServerApi, ABC):
    name: ClassVar[str]
    entries: ClassVar[str]
    """The field of a body that holds the conversation."""
    event_end: ClassVar[str] = "\n\n"
    """Ends an event of a stream."""

    @abstractmethod
    def read_beside(self, builder: HistoryBuilder, body: dict[str, Json]) -> None:
        """Read the fields beside the conversation: system texts and tools."""

    @abstractmethod
    def read_entry(self, builder: HistoryBuilder, index: int, entry: dict[str, Json]) -> None:
        """Read one entry of the conversation."""

    @abstractmethod
    def compose(self, history: History, model: str = "") -> dict[str, Json]:
        """Write a body that holds `history`, without an original to start from."""

    @abstractmethod
    def user_entry(self, text: str) -> dict[str, Json]:
        """Write an entry of the user."""

    @abstractmethod
    def model_entry(self, text: str) -> dict[str, Json]:
        """Write an entry of the model."""

    @abstractmethod
    def text_block(self, text: str, instead: Json) -> Json:
        """Write the block that replaces `instead`: an image, a document, or a whole result that is not text."""

    @abstractmethod
    def read_reply(self, body: dict[str, Json]) -> Answer:
        """Read an answer that came in one piece."""

    @abstractmethod
    def stream_reader(self) -> StreamReader:
        """Return a new parser for one event stream."""

    def read_stream(self, stream: str) -> Answer:
        """Read an answer from the text of its event stream."""
        reader = self.stream_reader()
        for event in self.events(stream):
            reader.feed(event)
        return reader.answer()

    def events(self, stream: str) -> Iterable[dict[str, Json]]:
        """Return the events in a piece of a stream; a piece ends where an event ends."""
        return sse_events(stream)

    def error_in(self, event: Json) -> Json:
        """Return the error that an event of a stream reports, or None."""
        return error_in(event)

    def closes(self, event: Json) -> bool:
        """Tell whether an event is the last of its stream."""
        return False

    def read_progress(self, event: Json) -> tuple[int, int, int, float] | None:
        """Return how far a server has read, where an event tells: tokens, of how many, cached ones, seconds."""
        return None

    def was_cut_off(self, answer: Answer) -> bool:
        """Tell whether the reply reached its token limit: its last call, if there is one, may be torn."""
        return answer.stop in self.cut_off_stops

    def recognise(self, value: Json) -> bool:
        """Tell whether a request body is in this format. Asked only of formats from outside this package, and only
        where none of the built-in ones fits."""
        return False

    def entries_of(self, body: Json) -> list[Json]:
        found = body.get(self.entries) if isinstance(body, dict) else body
        if not isinstance(found, list):
            raise Unreadable(f"{self.entries} must be a list, not {kind_of(found)}")
        return found

    def with_entries(self, body: Json, entries: list[Json]) -> Json:
        return entries if isinstance(body, list) else {**body, self.entries: entries}

    def read(self, body: Json) -> IncrementalReader:
        reader = IncrementalReader(self, body)
        reader.read_on()
        return reader

    def write(self, body: Json, view: View) -> Json:
        """Return `body` with the folds of `view`, which is its history, applied."""
        if not view.chapters and not view.live:
            return body
        entries = list(self.entries_of(body))
        owners = {turn.key: turn for turn in view.visible()}
        steps = {step.key: step for turn in view.visible() for step in turn.steps}
        stubs = (stub for stub in view.live if stub.slot.where != "thought")
        self._put_stubs(entries, [(stub, steps.get(stub.key) or owners[stub.key]) for stub in stubs])
        gone = ((steps[key], slots) for key, slots in view.dropped.items() if key in steps)
        self._forget(entries, [step.thoughts[slot.item].at for step, slots in gone for slot in slots])
        if view.preface:
            entries = self._cut(entries, view, view.preface)
        return self.with_entries(body, entries)

    def sent_entries(self, view: View, count: int) -> SentEntries:
        """Select the entries, of `count`, that are sent: unchanged or with stubs in them."""
        if not view.gist:
            return SentEntries((), 0)
        turn, *later = view.visible()
        after = [at[0] for at in (*_places(turn.steps), *(at for t in later for at in _turn_places(t))) if at]
        since = min((int(i) for i in after), default=count)
        kept = {part.at[0] for part in (*view.history.system, *turn.prompt) if part.at}
        return SentEntries(tuple(sorted(i for i in kept if isinstance(i, int) and i < since)), since)

    def _put_stubs(self, entries: list[Json], stubs: Iterable[tuple[Stub, Turn | Step]]) -> None:
        """Put stubs in place, each entry changed once: one may hold thousands of calls or results."""
        changes: dict[int, dict[Path, Json]] = {}
        arguments: dict[Path, dict[str, str]] = {}
        for stub, owner in stubs:
            part: Any = owner.prompt[stub.slot.item] if isinstance(owner, Turn) else owner.solid[stub.slot.item]
            if isinstance(part, ToolUse) and stub.slot.where == "argument":
                arguments.setdefault(part.call.at, {})[str(stub.slot.part)] = stub.text
                continue
            part = part.result.parts[int(stub.slot.part)] if isinstance(part, ToolUse) else part
            old = dig(entries[part.at[0]], part.at[1:])
            as_text = isinstance(old, str) and not isinstance(part, Opaque)
            new = stub.text if as_text else self.text_block(stub.text, old)
            changes.setdefault(part.at[0], {})[part.at[1:]] = new
        for (index, *rest), texts in arguments.items():
            old = dig(entries[int(index)], tuple(rest))
            new = replace_arguments(old, texts) if isinstance(old, str) else {**old, **texts}
            changes.setdefault(int(index), {})[tuple(rest)] = new
        for index, each in changes.items():
            entries[index] = put_all(entries[index], each)

    def _forget(self, entries: list[Json], thoughts: list[Path]) -> None:
        """Remove these thoughts. Done last and from the back, since removing one moves all behind it."""
        for index, *rest in sorted(thoughts, reverse=True, key=lambda at: (at[0], at[-1])):
            entries[int(index)] = drop(entries[int(index)], tuple(rest))

    def _cut(self, entries: list[Json], view: View, preface: Preface) -> list[Json]:
        """Remove what the gist hides, and put the gist before the prompt that is still being answered."""
        sent = self.sent_entries(view, len(entries))
        stays = [*sent.kept, *range(sent.since, len(entries))]
        before = preface.before.at if preface.before else ()
        first = int(before[0]) if before else sent.since
        if preface.place == "joined":
            joined = preface.text + dig(entries[first], before[1:])
            entries[first] = put_all(entries[first], {before[1:]: joined})
        for at in self._shared(view.history, view.cut, set(stays)):
            entries[int(at[0])] = drop(entries[int(at[0])], at[1:])
        written = [entries[i] for i in stays if i < first]
        if preface.place == "beside":
            entries[first] = self.begin_with(preface.text, entries[first])
        elif preface.place != "joined":
            written.append(self.user_entry(preface.text))
        if view.gist and preface.place == "acknowledged":
            written.append(self.model_entry(view.gist.ack))
        written += [entries[i] for i in stays if first <= i < sent.since]
        written += [self.model_entry(view.stand_in)] if view.stand_in else []
        return [*written, *entries[max(first, sent.since) :]]

    def begin_with(self, text: str, entry: dict[str, Json]) -> dict[str, Json]:
        """Return an entry of the user with a text before everything else in it."""
        content = entry.get("content")
        if isinstance(content, list):
            return {**entry, "content": [self.text_block(text, {}), *content]}
        return {**entry, "content": text + (content or "")}

    def follow_role_rules(self, body: Json, rules: RoleRules) -> Json:
        """Return a body as a server with these rules takes it; the same object if it keeps to them already."""
        return role_rules.follow(self, body, rules) if any(rules) else body

    def speaker(self, entry: Json) -> Speaker:
        """Tell who says an entry; "" for an entry that no rule about roles is about."""
        return SPEAKERS.get(entry.get("role"), "")

    def join_entries(self, one: dict[str, Json], two: dict[str, Json]) -> dict[str, Json]:
        """Return two entries of one speaker as one."""
        contents = [entry["content"] for entry in (one, two) if entry.get("content")]
        joined: Json = "\n\n".join(contents) if all(isinstance(each, str) for each in contents) else []
        if joined == []:
            for each in contents:
                joined += [self.text_block(each, {})] if isinstance(each, str) else each
        lists = {key: [*one[key], *two[key]] for key in LISTS_BESIDE_CONTENT if one.get(key) and two.get(key)}
        return {**one, **two, "content": joined, **lists}

    def split_entry(self, entry: dict[str, Json]) -> list[dict[str, Json]]:
        """Return an entry as several, if results and words of the user share it."""
        return [entry]

    def take_system(self, body: Json) -> tuple[str, Json]:
        """Return the system text from fields beside the conversation, and the body without them."""
        return "", body

    def write_tools_as_text(self, entry: dict[str, Json], names: dict[str, str]) -> dict[str, Json]:
        """Return a reply without calls, or a result as a message of the user; `names`: tools by the ids of calls."""
        return entry

    def add_words(self, body: Json, text: str) -> Json:
        """Return a body with words of the user at its end, in one entry with those that stand there."""
        *entries, last = self.entries_of(body)
        words = self.user_entry(text)
        together = last.get("role", "") == words.get("role")
        added = [self.join_entries(last, words)] if together else [last, words]
        return self.with_entries(body, [*entries, *added])

    def _shared(self, history: History, cut: Cut, kept: set[int | str]) -> list[Path]:
        """Find hidden results that share an entry with a prompt that stays; last first, so that removal moves none."""
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
