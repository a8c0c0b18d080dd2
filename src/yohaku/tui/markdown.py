"""Markdown rendered to styled lines for one widget: one widget a paragraph is too slow.

Law: no line is wider than the width it was rendered for, and a text split into pieces reads as the whole does.
"""

from __future__ import annotations

import io
import re
from functools import cache
from typing import Any

from textual.content import Content

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
DARK, LIGHT = "monokai", "friendly"
ON_LIGHT = {
    "markdown.code": "bold #8a3b00",
    "markdown.link_url": "underline #0b57a4",
    "markdown.link": "#0b57a4",
    "markdown.item.number": "#0b57a4",
    "markdown.block_quote": "#6b3fa0",
    "markdown.hr": "#6b6b6b",
    "markdown.h2": "underline #6b3fa0",
    "markdown.h3": "bold #6b3fa0",
    "markdown.h4": "italic #6b3fa0",
    "markdown.table.header": "bold #0b57a4",
    "markdown.table.border": "#6b6b6b",
}
"""Styles of Rich that were chosen for a dark background, for a light one."""
MIN_PIECE_CHARS = 3000
"""Characters after which a piece is final, at the next place where the text may be split."""
CODE_FACTOR = 3
"""Code is split at this multiple, because the split is visible."""


def render_markdown(text: str, width: int, *, dark: bool = True) -> Content:
    from rich.console import Console
    from rich.text import Text
    from rich.theme import Theme

    console = Console(
        theme=Theme({} if dark else ON_LIGHT),
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
    """Return final pieces, and the rest, which may still change.

    A text is split at an empty line; long code anywhere, with its fence closed in one piece and opened in the next.
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
    """Return Rich's class with headings at the left, no boxes, and HTML tags as plain text."""
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
