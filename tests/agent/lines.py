"""The program as a user meets it without a screen: real agent and client, a server on loopback that plays a script."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tests.agent.fakes import Answering, Asked, FakeServer
from yohaku.agent.plain import PlainInterface, run_interactive, run_once
from yohaku.agent.startup import Starter
from yohaku.config import settings as setting


class Lines(NamedTuple):
    code: int
    out: str
    err: str
    asked: list[Asked]

    @property
    def bodies(self) -> list[Any]:
        return [asked.body for asked in self.asked]

    @property
    def rows(self) -> list[Any]:
        """The events of `--json`."""
        return [json.loads(line) for line in self.out.splitlines()]


def once(script: Sequence[Answering] | Answering, prompt: str, root: Path, **how: Any) -> Lines:
    """`yohaku -p PROMPT`, with the settings `how`; `served`: tokens of the server's window, `json`: as with --json."""
    return _play(script, root, lambda begin, plain: run_once(begin, prompt, plain=plain), None, how)


def typed(script: Sequence[Answering] | Answering, lines: Sequence[str], root: Path, **how: Any) -> Lines:
    """`yohaku --plain`, and these lines typed one after the other."""
    left = list(lines)

    def read(_: str) -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    return _play(script, root, lambda begin, plain: run_interactive(begin, plain=plain), read, how)


def _play(
    script: Sequence[Answering] | Answering,
    root: Path,
    start: Callable[[Starter, PlainInterface], Any],
    read: Callable[[str], str] | None,
    how: dict[str, Any],
) -> Lines:
    as_json = how.pop("json", False)

    async def play() -> Lines:
        row = {"id": "m", "object": "model", "max_model_len": how.pop("served", 8192)}
        async with FakeServer(script, {"/v1/models": {"object": "list", "data": [row]}}) as server:
            home = root / "home"
            settings = replace(setting.read({"HOME": str(home)}), model=f"{server.url}/v1#m", **how)
            begin = Starter(settings, root)
            plain = PlainInterface(begin, io.StringIO(), io.StringIO(), read_line=read, json=as_json)
            code = await start(begin, plain)
            begin.close()
            assert isinstance(plain.out, io.StringIO) and isinstance(plain.err, io.StringIO)
            return Lines(code, plain.out.getvalue(), plain.err.getvalue(), server.asked)

    return asyncio.run(play())
