"""A reply is drawn seldom while it comes, and is whole at the end."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, seen, send
from yohaku.agent.events import Ended, Said
from yohaku.tui.app import YohakuApp
from yohaku.tui.reply import Reply

PIECES = [f"word{number} " + ("\n\n" if number % 40 == 0 else "") for number in range(3000)]


def test_a_long_reply_in_many_pieces_is_drawn_few_times_and_whole(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent([*map(Said, PIECES), Ended("done")])))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "go")
        reply = app.query_one(Reply)
        assert reply.source == "".join(PIECES)
        assert reply.drawn < len(PIECES) / 20
        assert "word2999" in seen(app)

    run(app, script)


def test_an_escape_cut_in_two_pieces_and_links_do_nothing(tmp_path: Path) -> None:
    app = YohakuApp(
        begins(tmp_path, FakeAgent([Said("a \x1b"), Said("[31mb [x](https://example.com)"), Ended("done")]))
    )

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "go")
        reply = app.query_one(Reply)
        assert "\x1b" not in reply.source and reply._open_links is False

    run(app, script)
