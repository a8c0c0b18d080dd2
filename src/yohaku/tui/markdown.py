"""Markdown as lines of letters and colours, for one widget to show: a page of widgets, one a paragraph, is too slow.

Law: what is drawn has exactly the width it was drawn for, and a text cut into pieces reads as it did whole.
"""

from __future__ import annotations

import io
import re
from functools import cache
from typing import Any

from textual.content import Content

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
DARK, LIGHT = "monokai", "friendly"
MIN_PIECE_CHARS = 3000
"""Characters from which on a piece is drawn for good, at the next place where a text may be cut."""
CODE_FACTOR = 3
"""Code, whose cuts are seen, is cut so many times more seldom."""


def render_markdown(text: str, width: int, *, dark: bool = True) -> Content:
    from rich.console import Console
    from rich.text import Text

    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        _environ={},
    )
    page = _markdown_class()(text, code_theme=DARK if dark else LIGHT, hyperlinks=False)
    lines = []
    for segments in console.render_lines(page, pad=False):
        line = Text()
        for segment in segments:
            line.append(segment.text, segment.style)
        if not (segments and segments[-1].style and segments[-1].style.bgcolor):
            line.rstrip()  # what was only filled up
        lines.append(line)
    while lines and not lines[-1]:
        lines.pop()
    return Content.from_rich_text(Text("\n").join(lines), console)


def split_markdown(text: str, most: int = MIN_PIECE_CHARS) -> tuple[list[str], str]:
    """Pieces that will not change any more, and the rest, which may.

    A text is cut at an empty line; a long piece of code anywhere, closed in the one piece and opened in the next.
    """
    done: list[str] = []
    begin = size = 0
    fence = opening = ""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        size += len(line)
        found = FENCE.match(line)
        if found and not fence:
            fence, opening = found[1], line
        elif found and found[1].startswith(fence) and not found[2].strip():
            fence = ""
        if size < most or number + 1 >= len(lines) or not line.endswith("\n"):
            continue
        if (
            fence
            and line != opening
            and size >= CODE_FACTOR * most
            and not lines[number + 1].lstrip().startswith(fence[0])
        ):
            done.append("".join(lines[begin : number + 1]) + fence)
            lines[number] = opening  # the next piece begins with it
            begin, size = number, 0
        elif not fence and not line.strip() and not lines[number + 1].startswith((" ", "\t")):
            done.append("".join(lines[begin : number + 1]))
            begin, size = number + 1, 0
    return done, "".join(lines[begin:])


@cache
def _markdown_class() -> Any:
    """Rich's, with headings at the left and without boxes, and with tags of HTML as the letters they are."""
    from markdown_it import MarkdownIt
    from rich.markdown import Heading, Markdown

    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])

    class Title(Heading):
        def __rich_console__(self, console: Any, options: Any) -> Any:
            self.text.justify = "left"
            self.text.stylize("bold")
            yield self.text

    class Plain(Markdown):
        elements = {**Markdown.elements, "heading_open": Title}  # noqa: RUF012

        def __init__(self, markup: str, **how: Any) -> None:
            super().__init__("", **how)
            self.markup, self.parsed = markup, parser.parse(markup)

    return Plain
