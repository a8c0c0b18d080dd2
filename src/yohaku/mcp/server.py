"""What is folded, opened by any program that speaks the Model Context Protocol.

Law: the tools are those of `yohaku.recall`, word for word. What a model got wrong, and a store that fails, is told to
it as the error of its call, and the server goes on; nothing but the protocol goes to standard output.
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

Opens = Callable[[], AbstractContextManager[Store]]
"""A store is opened for each call, so that one made, moved or mended later is found."""

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
OFFERED = {**tools.TOOLS, WHY.name: WHY}
_SHOWN = re.compile(rb"\bref=([a-z2-7]{12})\b")


class RecallServer:
    """Answers calls, each from a store opened for it; after a search it goes on to learn what is in the store."""

    def __init__(self, opens: Opens, session: str | None = None, lang: str = "en") -> None:
        """`session`: the beginning of the key of the one conversation that is searched."""
        self._opens = opens
        self._session = session
        self._lang = lang
        self._calls: list[str] = []
        self._searched = False
        self._learning = threading.Lock()
        self._over = threading.Event()

    def check(self) -> None:
        """That the store opens and has the session."""
        with self._opens() as store:
            self._refs(store)

    def answer(self, name: str, arguments: Mapping[str, Any]) -> str:
        """A `YohakuError` is for the model to read."""
        if name not in OFFERED:
            raise BadSetting(f"unknown tool {name!r}: use one of {', '.join(OFFERED)}")
        self._calls.append(name)
        try:
            with self._opens() as store:
                return self._told(store, name, arguments)
        finally:
            self._calls.remove(name)
            if self._searched:
                threading.Thread(target=self._learn, daemon=True).start()

    def close(self) -> None:
        self._over.set()

    def _told(self, store: Store, name: str, arguments: Mapping[str, Any]) -> str:
        if name == WHY.name:
            ref = tools.ref_in(tools.given_to(WHY, arguments))
            found = find_fold(store, ref)
            return explain_fold(*found, self._lang) if found else "no folding is recorded for it, but it can be opened"
        if name != tools.SEARCH.name:
            return tools.call(store, name, arguments)
        self._searched = True
        return tools.call(store, name, arguments, refs=self._refs(store), learn=False)

    def _learn(self) -> None:
        """Between calls only: it must not make one wait."""
        if self._learning.acquire(timeout=1):
            try:
                with suppress(YohakuError), self._opens() as store:
                    fill(store, 3600, lambda: bool(self._calls) or self._over.is_set())
            finally:
                self._learning.release()

    def _refs(self, store: Store) -> frozenset[str] | None:
        """What was folded in the session; none where every one is meant."""
        if self._session is None:
            return None
        keys = [key for key in store.conversations() if key.startswith(self._session)]
        if len(keys) != 1:
            found = f"{len(keys)} sessions begin" if keys else "no session begins"
            raise BadSetting(f"{found} with {self._session!r}: give the whole key of one that is recorded")
        return frozenset(_reached(store, store.recorded(keys[0])))


def _reached(store: Store, rows: Iterable[str]) -> Iterator[str]:
    """The refs of folds, and those that the transcripts behind gists name in turn."""
    for fold in _folds(rows):
        yield str(fold.get("ref"))
        with suppress(UnknownRef):
            for piece in store.open(str(fold.get("ref"))).pieces if fold.get("kind") == "gist" else ():
                yield from (ref.decode() for ref in _SHOWN.findall(piece.data))


def _folds(rows: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """Of rows that are receipts; other programs record what they like."""
    for told in rows:
        with suppress(ValueError):
            row = json.loads(told)
            folds = row.get("folds") if isinstance(row, dict) else None
            yield from (fold for fold in folds if isinstance(fold, dict)) if isinstance(folds, list) else ()


def server(recall: RecallServer) -> Server[Any]:
    async def offer(context: ServerRequestContext[Any], given: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in OFFERED.values()])

    async def call(context: ServerRequestContext[Any], given: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            answer = recall.answer
            told = await anyio.to_thread.run_sync(answer, given.name, given.arguments or {}, abandon_on_cancel=True)
        except YohakuError as why:
            return types.CallToolResult(content=[types.TextContent(text=str(why))], is_error=True)
        return types.CallToolResult(content=[types.TextContent(text=told)])

    return Server(
        "yohaku", version=__version__, instructions=INSTRUCTIONS, on_list_tools=offer, on_call_tool=call
    )  # fmt: skip


def _described(tool: Signature) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.parameters, annotations=hints)


def serve(recall: RecallServer) -> None:
    """Over standard input and output, until the client closes them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the thread that waits for input would outlive an exception
    with redirect_stdout(sys.stderr):
        recall.check()
    served = server(recall)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            try:
                await served.run(incoming, outgoing, served.create_initialization_options())
            finally:
                sys.stdout.flush()  # what a package printed, while that still goes to standard error

    try:
        anyio.run(run)
    finally:
        recall.close()
