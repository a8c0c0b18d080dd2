"""Codex's rollout files: items of the Responses API in envelopes, and in the oldest files without.

Law: what a compaction put in the place of the history is not said anew, unless the file begins with it; every call is
followed by its result, which Codex may have written some items later.
"""

from __future__ import annotations

from yohaku.core.model import Text
from yohaku.dialects.json_values import Json, dump
from yohaku.dialects.recordings import Recording, Retelling
from yohaku.dialects.recordings.lines import rows

NAME = "codex"

ENVELOPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")

NOT_SENT = ("ghost_snapshot", "compaction", "compaction_summary", "context_compaction", "compaction_trigger")
"""Bookkeeping, and summaries of what stands in the file."""


def recognise(first: list[Json]) -> bool:
    match first:
        case [{"type": str(kind), "payload": dict()}, *_]:
            return kind in ENVELOPES
        case [{"id": str(), "timestamp": str(), **rest}, *_]:
            return "type" not in rest and ("instructions" in rest or "git" in rest)
    return False


def read(data: bytes) -> Recording:
    from yohaku.dialects.openai_responses import OpenAIResponses

    session = _Session(Retelling(OpenAIResponses()), list(rows(data)))
    return session.told()


class _Session:
    def __init__(self, retelling: Retelling, lines: list[tuple[int, dict[str, Json]]]) -> None:
        self.retelling = retelling
        self.lines = lines
        self.model = ""
        self.items: dict[int, list[dict[str, Json]]] = {}
        """The items of each line."""
        self.outputs: dict[str, tuple[int, dict[str, Json]]] = {}
        alone = True
        for number, row in lines:
            self.items[number] = items = _items(row, alone)
            alone = alone and not items
            for item in items:
                if _is_output(item) and isinstance(item.get("call_id"), str):
                    self.outputs.setdefault(item["call_id"], (number, item))

    def told(self) -> Recording:
        for number, row in self.lines:
            self.retelling.at(f"line {number}")
            match row:
                case {"type": "session_meta", "payload": dict(meta)}:
                    self._system(meta)
                case {"type": "turn_context", "payload": {"model": str(model)}}:
                    self.model = model
                case {"type": "event_msg", "payload": {"type": "token_count", "info": dict(info)}}:
                    self._bill(info)
            for item in self.items[number]:
                self._say(item)
        self._answer()
        return self.retelling.ended(NAME, self.model)

    def _system(self, meta: dict[str, Json]) -> None:
        """Forked files repeat the header of the session they come from."""
        match meta.get("base_instructions"):
            case str(text) | {"text": str(text)} if text and not self.retelling.builder.system:
                self.retelling.builder.system.append(Text(text))

    def _bill(self, info: dict[str, Json]) -> None:
        match info.get("last_token_usage"):
            case {"input_tokens": prompt, "output_tokens": output}:
                self.retelling.bill(prompt, output)

    def _say(self, item: dict[str, Json]) -> None:
        if _is_output(item):
            self._answer()
            # One that is left answers no call; what its place in the file means is for the dialect to say.
            call_id = item.get("call_id")
            if not isinstance(call_id, str) or call_id in self.outputs:
                self.retelling.entry(item)
            self.retelling.settle()
            return
        # The model goes on, or a note is made beside its open calls; the user waits for their results.
        if item.get("role") == "user":
            self._answer()
            self.retelling.settle()
        self.retelling.entry(item)

    def _answer(self) -> None:
        """Give each open call its result, from wherever in the file it stands."""
        here = self.retelling.builder.where
        for call in self.retelling.builder.open_calls:
            if found := self.outputs.pop(call.id, None):
                self.retelling.at(f"line {found[0]}")
                self.retelling.entry(found[1])
        self.retelling.at(here)


def _items(row: dict[str, Json], alone: bool) -> list[dict[str, Json]]:
    """Return the items of a line. `alone`: no line before it had any."""
    match row:
        case {"type": "response_item", "payload": dict(item)}:
            return [plain_item(item)] if item.get("type") not in NOT_SENT else []
        case {"type": "compacted", "payload": {"replacement_history": list(said)}} if alone:
            return [plain_item(item) for item in said if isinstance(item, dict)]
        case {"type": str()} if "payload" not in row:
            return [plain_item(row)]
    return []


def plain_item(item: dict[str, Json]) -> dict[str, Json]:
    """Correct items not written as sent: a shell call answered as a function, an output in an object."""
    match item:
        case {"type": "local_shell_call", "action": action}:
            call_id = item.get("call_id") or item.get("id")
            return {"type": "function_call", "call_id": call_id, "name": "local_shell", "arguments": dump(action)}
        case {"type": "function_call_output", "output": {"content": str() | list() as content}}:
            return {**item, "output": content}
    return item


def _is_output(item: dict[str, Json]) -> bool:
    return str(item.get("type")).endswith("_output")
