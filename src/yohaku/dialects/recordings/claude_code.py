"""Claude Code's session files: a tree of lines, one content block of a reply each, the newest branch being the session.

Law: a reply written over several lines is one reply, and the results of its calls, on whatever branch they were
written, follow it at once. Sub-agents (sidechains) held conversations of their own and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from yohaku.core.errors import Malformed
from yohaku.dialects.json_values import Json, kind_of
from yohaku.dialects.recordings import Recording, Retelling
from yohaku.dialects.recordings.lines import rows

NAME = "claude-code"


def recognise(first: list[Json]) -> bool:
    for row in first:
        match row:
            case {"parentUuid": _} | {"leafUuid": _} | {"type": "file-history-snapshot"}:
                return True
    return False


def read(data: bytes) -> Recording:
    from yohaku.dialects.anthropic import Anthropic

    lines = [TreeLine(number, *_named(number, row), row) for number, row in rows(data) if _in_tree(row)]
    # A sub-agent's own file is one sidechain.
    lines = [line for line in lines if line.row.get("isSidechain") is not True] or lines
    return _Session(Retelling(Anthropic()), lines, _branch(lines)).told()


@dataclass(frozen=True, slots=True)
class TreeLine:
    number: int
    uuid: str
    kind: str
    """"user", "assistant", or something nobody said."""
    row: dict[str, Json]

    @property
    def message(self) -> dict[str, Json]:
        message = self.row.get("message")
        return message if isinstance(message, dict) else {}

    @property
    def blocks(self) -> list[Json]:
        content = _queued(self.row) or self.message.get("content")
        if content is None or isinstance(content, str):
            return [{"type": "text", "text": content}] if content and not content.isspace() else []
        if not isinstance(content, list):
            raise Malformed(f"content must be a text or a list, not {kind_of(content)}", self.where)
        return [block for block in content if not _blank(block)]

    @property
    def reply(self) -> str:
        """Key that the lines of one reply share."""
        name = self.message.get("id")
        return name if isinstance(name, str) and name else self.uuid

    @property
    def where(self) -> str:
        return f"line {self.number}"

    @property
    def is_summary(self) -> bool:
        return self.row.get("isCompactSummary") is True


@dataclass(slots=True)
class _Session:
    retelling: Retelling
    lines: list[TreeLine]
    branch: list[TreeLine]
    replies: dict[str, list[TreeLine]] = field(default_factory=dict)
    results: dict[str, tuple[TreeLine, Json]] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)
    """Replies and results that were replayed already."""
    model: str = ""

    def told(self) -> Recording:
        for line in self.lines:
            if line.kind == "assistant":
                self.replies.setdefault(line.reply, []).append(line)
        # Parallel calls leave all but one result beside the branch; where both exist the branch is right.
        for line in (*self.lines, *self.branch):
            self.results.update((call_id, (line, block)) for call_id, block in _results(line))
        for line in self.branch:
            self.retelling.at(line.where)
            if line.kind == "user":
                self._prompt(line)
            elif line.reply not in self.placed:
                self._reply(line.reply)
        return self.retelling.ended(NAME, self.model)

    def _prompt(self, line: TreeLine) -> None:
        for call_id, _ in _results(line):
            if call_id not in self.placed:
                raise Malformed(f"this is a result for call {call_id!r}, which was never made", line.where)
        said = [block for block in line.blocks if not _is(block, "tool_result")]
        # What a summary replaced is in the file, unless the file begins with it.
        if said and not (line.is_summary and self.retelling.builder.began):
            self.retelling.settle()
            self.retelling.entry({"role": "user", "content": said})

    def _reply(self, name: str) -> None:
        from yohaku.dialects.anthropic import usage_of

        self.placed.add(name)
        lines = self.replies[name]
        said = _merged(lines)
        if not any(block.get("type") not in ("thinking", "redacted_thinking") for block in said):
            return
        self.retelling.settle()
        self.retelling.entry({"role": "assistant", "content": said})
        model = lines[-1].message.get("model")
        self.model = model if isinstance(model, str) else self.model
        if usage := usage_of(lines[-1].message.get("usage")):
            self.retelling.bill(usage.prompt, usage.output)
        for block in said:
            if _is(block, "tool_use") and block.get("id") in self.results:
                line, result = self.results[block["id"]]
                self.retelling.at(line.where)
                self.retelling.entry({"role": "user", "content": [result]})
                self.placed.add(block["id"])


def _in_tree(row: dict[str, Json]) -> bool:
    return row.get("type") in ("user", "assistant") or isinstance(row.get("uuid"), str)


def _named(number: int, row: dict[str, Json]) -> tuple[str, str]:
    """Its uuid, and who says something in it."""
    uuid = row.get("uuid")
    match row:
        case {"type": "assistant", "isApiErrorMessage": True} | {"message": {"model": "<synthetic>"}}:
            # Claude Code writes its own errors as replies.
            kind = "client"
        case {"type": "user", "isVisibleInTranscriptOnly": True} if row.get("isCompactSummary") is not True:
            kind = "client"
        case {"type": "user" | "assistant" as kind}:
            pass
        case _:
            kind = "user" if _queued(row) else "client"
    return (uuid if isinstance(uuid, str) else f"line {number}"), kind


def _queued(row: dict[str, Json]) -> Json:
    """Return what the user typed while a reply was being made; it was sent with the results that followed."""
    match row:
        case {"type": "attachment", "attachment": {"type": "queued_command", "prompt": str() | list() as prompt}}:
            return prompt
    return None


def _branch(lines: list[TreeLine]) -> list[TreeLine]:
    """Follow the parents from the newest message to the root; return the lines in the order of the conversation."""
    known = {line.uuid: line for line in lines}
    parents = dict(_parents(lines, known))
    spoken = [line.uuid for line in lines if line.kind != "client"]
    branch: dict[str, TreeLine] = {}
    uuid = spoken[-1] if spoken else ""
    while uuid and uuid not in branch:
        branch[uuid] = known[uuid]
        uuid = parents[uuid]
    return [line for line in reversed(branch.values()) if line.kind != "client"]


def _parents(lines: list[TreeLine], known: dict[str, TreeLine]) -> Iterator[tuple[str, str]]:
    before = ""
    for line in lines:
        row = line.row
        named = [row[key] for key in ("parentUuid", "logicalParentUuid") if isinstance(row.get(key), str)]
        compacted = line.is_summary or row.get("subtype") == "compact_boundary"
        # A compaction starts a new root, and a parent may be cut out of the file: what stood before it came before it.
        fallback = before if named or compacted or "parentUuid" not in row else ""
        yield line.uuid, next((uuid for uuid in named if uuid in known), fallback)
        before = line.uuid


def _merged(lines: list[TreeLine]) -> list[dict[str, Json]]:
    """Merge the blocks of one reply; lines that repeat an earlier one are left out."""
    merged: list[dict[str, Json]] = []
    for line in lines:
        earlier = list(merged)
        for block in line.blocks:
            if not isinstance(block, dict):
                raise Malformed(f"a block of content must be an object, not {kind_of(block)}", line.where)
            if block not in earlier:
                merged.append(block)
    return merged


def _results(line: TreeLine) -> Iterator[tuple[str, Json]]:
    if line.kind == "user":
        for block in line.blocks:
            if _is(block, "tool_result") and isinstance(block.get("tool_use_id"), str):
                yield block["tool_use_id"], block


def _is(block: Json, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind


def _blank(block: Json) -> bool:
    match block:
        case {"type": "text", "text": str(text)}:
            return not text.strip()
    return False
