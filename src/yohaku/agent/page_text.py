"""A web page as text: headings, paragraphs, lists, code and where links lead; nothing of what only browsers need."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

SILENT = frozenset("script style noscript template svg head iframe object nav footer form button select".split())
BLOCKS = frozenset(
    "p div section article main header ul ol table tr blockquote dl dt dd figure figcaption aside hr details".split()
)
FENCE = "```"
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}


class _Reader(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self.title = ""
        self._base = base
        self._silent: list[str] = []
        self._pre = 0
        self._in_title = False
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = tag == "title"
        if tag in SILENT and tag != "head":
            self._silent.append(tag)
        elif tag in HEADINGS:
            self.out.append("\n\n" + HEADINGS[tag])
        elif tag == "li":
            self.out.append("\n- ")
        elif tag == "br":
            self.out.append("\n")
        elif tag == "pre":
            self._pre += 1
            self.out.append(f"\n{FENCE}\n")
        elif tag in ("td", "th"):
            self.out.append(" | ")
        elif tag in BLOCKS:
            self.out.append("\n\n" if tag != "tr" else "\n")
        elif tag == "a":
            self._links.append(dict(attrs).get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        if self._silent:
            if tag in self._silent:
                del self._silent[self._silent.index(tag) :]
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self.out.append(f"\n{FENCE}\n")
        elif tag == "a" and self._links:
            link = self._links.pop()
            if link and not link.startswith(("#", "javascript:", "mailto:")):
                self.out.append(f" ({urljoin(self._base, link)})")
        elif tag in BLOCKS or tag in HEADINGS:
            self.out.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._silent:
            self.out.append(data if self._pre else re.sub(r"\s+", " ", data))


def page_text(html: str, base: str) -> str:
    reader = _Reader(base)
    try:
        reader.feed(html)
        reader.close()
    except (AssertionError, ValueError):  # what the parser cannot take apart; what came before is kept
        pass
    told: list[str] = []
    code = False
    for line in "".join(reader.out).split("\n"):
        code ^= line == FENCE
        kept = line.rstrip() if code else " ".join(line.split())
        if kept or code or (told and told[-1]):
            told.append(kept)
    title = " ".join(reader.title.split())
    return "\n".join([f"# {title}", ""] * bool(title) + told).strip()
