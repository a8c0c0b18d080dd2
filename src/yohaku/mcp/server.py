"""MCP server with the tools of `yohaku.recall`, for any program that speaks the Model Context Protocol.

Law: a wrong argument or a failing store becomes the error result of that call, and the server goes on; nothing but the
protocol goes to standard output.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, redirect_stdout, suppress
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from yohaku import __version__
from yohaku.core.errors import BadSetting, UnknownRef, YohakuError
from yohaku.dialects.server_api import Signature
from yohaku.messages import explain_fold
from yohaku.recall import tools
from yohaku.recall.index import fill
from yohaku.session.fold_log import find_fold
from yohaku.stores import Store

OpenStore = Callable[[], AbstractContextManager[Store]]
"""Opens the store for one call, so that a store created, moved or repaired later is found."""

INSTRUCTIONS = (
    "Parts of conversations were folded away by yohaku, and ref=… is shown where they were. Nothing of them is lost: "
    "these tools open them."
)
WHY = Signature(
    "recall_why",
    "Tells why something was folded away, when, and how many tokens it took before and after.",
    {
        "type": "object",
        "properties": {"ref_id": tools.READ.parameters["properties"]["ref_id"]},
        "required": ["ref_id"],
        "additionalProperties": False,
    },
)
TOOLS = {**tools.TOOLS, WHY.name: WHY}
_REF = re.compile(rb"\bref=([a-z2-7]{12})\b")


class RecallServer:
    """Answers tool calls, each from a store opened for it. After a search it goes on to index the store."""

    def __init__(self, open_store: OpenStore, session: str | None = None, lang: str = "en") -> None:
        """`session`: beginning of the key of the only conversation to search."""
        self._open_store = open_store
        self._session = session
        self._lang = lang
        self._calls: list[str] = []
        self._searched = False
        self._indexing = threading.Lock()
        self._closed = threading.Event()

    def check(self) -> None:
        """Raise unless the store opens and has the session."""
        with self._open_store() as store:
            self._refs(store)

    def answer(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Run one tool. A `YohakuError` is for the model to read."""
        if name not in TOOLS:
            raise BadSetting(f"unknown tool {name!r}: use one of {', '.join(TOOLS)}")
        self._calls.append(name)
        try:
            with self._open_store() as store:
                return self._run(store, name, arguments)
        finally:
            self._calls.remove(name)
            if self._searched:
                threading.Thread(target=self._fill_index, daemon=True).start()

    def close(self) -> None:
        self._closed.set()

    def _run(self, store: Store, name: str, arguments: Mapping[str, Any]) -> str:
        if name == WHY.name:
            ref = tools.ref_in(tools.given_to(WHY, arguments))
            found = find_fold(store, ref)
            return explain_fold(*found, self._lang) if found else "no folding is recorded for it, but it can be opened"
        if name != tools.SEARCH.name:
            return tools.call(store, name, arguments)
        self._searched = True
        return tools.call(store, name, arguments, refs=self._refs(store), learn=False)

    def _fill_index(self) -> None:
        """Index the store between calls; a call must not wait for it."""
        if self._indexing.acquire(timeout=1):
            try:
                with suppress(YohakuError), self._open_store() as store:
                    fill(store, 3600, lambda: bool(self._calls) or self._closed.is_set())
            finally:
                self._indexing.release()

    def _refs(self, store: Store) -> frozenset[str] | None:
        """Return the refs of the session, or None where all sessions are searched."""
        if self._session is None:
            return None
        keys = [key for key in store.conversations() if key.startswith(self._session)]
        if len(keys) != 1:
            found = f"{len(keys)} sessions begin" if keys else "no session begins"
            raise BadSetting(f"{found} with {self._session!r}: give the whole key of one that is recorded")
        return frozenset(_refs_in(store, store.recorded(keys[0])))


def _refs_in(store: Store, rows: Iterable[str]) -> Iterator[str]:
    """Yield the refs of folds, and those named in the originals of gists."""
    for fold in _folds(rows):
        yield str(fold.get("ref"))
        with suppress(UnknownRef):
            for piece in store.open(str(fold.get("ref"))).pieces if fold.get("kind") == "gist" else ():
                yield from (ref.decode() for ref in _REF.findall(piece.data))


def _folds(rows: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the folds of rows that are receipts. Other programs may record other rows."""
    for text in rows:
        with suppress(ValueError, RecursionError):
            row = json.loads(text)
            folds = row.get("folds") if isinstance(row, dict) else None
            yield from (fold for fold in folds if isinstance(fold, dict)) if isinstance(folds, list) else ()


def build_server(recall: RecallServer) -> Server[Any]:
    async def list_tools(context: ServerRequestContext[Any], given: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_describe(tool) for tool in TOOLS.values()])

    async def call(context: ServerRequestContext[Any], given: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            answer = recall.answer
            text = await anyio.to_thread.run_sync(answer, given.name, given.arguments or {}, abandon_on_cancel=True)
        except YohakuError as error:
            return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)
        return types.CallToolResult(content=[types.TextContent(text=text)])

    return Server(
        "yohaku", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call
    )  # fmt: skip


def _describe(tool: Signature) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.parameters, annotations=hints)


def serve(recall: RecallServer) -> None:
    """Serve over standard input and output until the client closes them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the thread reading input would outlive an exception
    with redirect_stdout(sys.stderr):
        recall.check()
    served = build_server(recall)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            try:
                await served.run(incoming, outgoing, served.create_initialization_options())
            finally:
                sys.stdout.flush()  # prints of a package, while they still go to standard error

    try:
        anyio.run(run)
    finally:
        recall.close()
