"""A reply is drawn seldom while it comes, and is whole at the end."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from tests.tui.fake import FakeAgent, begins
from tests.tui.seen import run, seen, send, until
from yohaku.agent.events import TextDelta, TurnEnded
from yohaku.tui.app import YohakuApp
from yohaku.tui.conversation import ConversationView
from yohaku.tui.markdown import MIN_PIECE_CHARS
from yohaku.tui.reply import ReplyBlock, ReplyEntry

PIECES = [f"word{number} " + ("\n\n" if number % 40 == 0 else "") for number in range(3000)]


def test_a_long_reply_in_many_pieces_is_drawn_few_times_and_whole(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent([*map(TextDelta, PIECES), TurnEnded("done")])))

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "go")
        reply = app.query_one(ReplyEntry)
        assert reply.source == "".join(PIECES)
        assert reply.drawings < len(PIECES) / 20
        assert "word2999" in seen(app)

    run(app, script)


def test_a_reply_that_grows_is_drawn_again_only_at_its_end_and_fits_a_new_width(tmp_path: Path) -> None:
    app = YohakuApp(begins(tmp_path, FakeAgent()))
    text = "\n\n".join(f"Paragraph {number} " + "with words " * 20 for number in range(200))

    async def script(pilot: Pilot[int]) -> None:
        flow = app.query_one(ConversationView)
        for begin in range(0, len(text), 500):
            await flow.said(text[begin : begin + 500])
            reply = app.query_one(ReplyEntry)
            await reply._draw()
        await flow.ended()
        pieces = list(app.query(ReplyBlock))
        assert 10 < len(pieces) < 30 and max(len(piece.text) for piece in pieces) < 2 * MIN_PIECE_CHARS
        assert " ".join("".join(piece.text for piece in pieces).split()) == " ".join(text.split())
        await pilot.resize_terminal(60, 30)
        await until(pilot, lambda: all(piece._drawn == piece.size.width for piece in pieces))
        assert max(len(line) for line in seen(app).split("\n")) <= 60 and "Paragraph 199" in seen(app)

    run(app, script)


def test_an_escape_cut_in_two_pieces_and_links_do_nothing(tmp_path: Path) -> None:
    app = YohakuApp(
        begins(
            tmp_path, FakeAgent([TextDelta("a \x1b"), TextDelta("[31mb [x](https://example.com)"), TurnEnded("done")])
        )
    )

    async def script(pilot: Pilot[int]) -> None:
        await send(pilot, "go")
        reply = app.query_one(ReplyEntry)
        assert "\x1b" not in reply.source

    run(app, script)
