"""Text of a web page: headings, paragraphs, lists, code and link targets.

The article of a page is found by trafilatura where it is installed (extra `web`): menus, banners and related links are
left out. A short page is given whole, and so is one in which no article is found.
Law: time is linear in the page, which anybody may have written; the parser of the standard library is not.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from html import escape, unescape
from urllib.parse import urljoin

SKIPPED_TAGS = frozenset("script style noscript template svg iframe object textarea".split())
"""Skipped up to the end tag without parsing the content."""
HIDDEN_TAGS = frozenset("nav footer form button select".split())
BLOCK_TAGS = frozenset(
    "p div section article main header ul ol table blockquote dl dt dd figure figcaption aside hr details".split()
)
FENCE = "```"
SHORT_PAGE = 2_000
"""Characters of a text that is not worth a search for the article in it."""
MIN_ARTICLE = 250
"""Characters; less is a notice or a caption that was taken for the article."""
MIN_ARTICLE_SHARE = 0.05
MAX_SEARCHED_HTML = 500_000
"""Characters of HTML; a page written to be slow takes seconds at this size."""
_TAG = re.compile(r"<(?:!--|(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})([^<>]*)>|[!?][^<>]*>)")
_LINK = re.compile(r"<a\b[^<>]*>", re.IGNORECASE)
_HREF = re.compile(r"\bhref\s{0,9}=\s{0,9}(?:\"([^\"]{0,2000})\"|'([^']{0,2000})'|([^\s\"'>]{1,2000}))", re.IGNORECASE)


class _TextWriter:
    def __init__(self, base: str) -> None:
        self.out: list[str] = []
        self.title = ""
        self._base = base
        self._silent: list[str] = []
        self._in_title = False
        self._pre = False
        self._links: list[str] = []

    def open_tag(self, tag: str, attributes: str) -> None:
        self._in_title = tag == "title"
        if tag in HIDDEN_TAGS:
            self._silent.append(tag)
        elif tag == "a":
            found = _HREF.search(attributes)
            self._links.append(unescape("".join(filter(None, found.groups()))) if found else "")
        elif tag == "pre":
            self._pre = True
            self.out.append(f"\n{FENCE}\n")
        elif tag in BLOCK_TAGS:
            self.out.append("\n\n")
        elif re.fullmatch("h[1-6]", tag):
            self.out.append("\n\n" + "#" * int(tag[1]) + " ")
        else:
            self.out.append({"li": "\n- ", "br": "\n", "tr": "\n", "td": " | ", "th": " | "}.get(tag, ""))

    def close_tag(self, tag: str) -> None:
        self._in_title = False
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        elif tag == "pre" and self._pre:
            self._pre = False
            self.out.append(f"\n{FENCE}\n")
        elif tag == "a" and self._links:
            self._add_link(self._links.pop())
        elif tag in BLOCK_TAGS or re.fullmatch("h[1-6]", tag):
            self.out.append("\n")

    def add_text(self, text: str) -> None:
        text = unescape(text)
        if self._in_title:
            self.title += text
        elif not self._silent:
            self.out.append(text if self._pre else re.sub(r"\s+", " ", text))

    def _add_link(self, link: str) -> None:
        if not link or self._silent or link.startswith(("#", "javascript:", "mailto:", "data:")):
            return
        try:
            self.out.append(f" ({urljoin(self._base, link)})")
        except ValueError:
            pass


def html_to_text(html: str, base: str) -> str:
    text = _whole_text(html, base)
    if len(text) <= SHORT_PAGE or len(html) > MAX_SEARCHED_HTML:
        return text
    article = _find_article(html, base)
    if len(article) < max(MIN_ARTICLE, MIN_ARTICLE_SHARE * len(text)) or _lists_links(article, text):
        return text
    title = text.partition("\n")[0] if text.startswith("# ") else ""
    return f"{title}\n\n{article}" if title and not article.startswith("# ") else article


def _find_article(html: str, base: str) -> str:
    """Return the article as Markdown; nothing without trafilatura, or where it finds none or fails."""
    try:
        import trafilatura
    except ImportError:
        return ""
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    # Its own joining of links keeps the host of the base only.
    joined = _LINK.sub(lambda link: _HREF.sub(lambda href: _join_href(href, base), link[0], count=1), html)
    try:
        found = trafilatura.extract(joined, output_format="markdown", include_links=True, favor_recall=True)
    except Exception:  # a page that breaks a foreign parser is still a page
        return ""
    return (found or "").strip()


def _lists_links(article: str, text: str) -> bool:
    """Tell a page of links, whose targets are what it is read for, from an article."""
    labels = set(re.findall(r"^(?:- )?(\S.*) \(\w+:\S+\)$", text, re.MULTILINE))
    lines = [line.removeprefix("- ").strip() for line in article.splitlines() if line.strip()]
    return sum(line in labels for line in lines) > len(lines) / 2


def _join_href(href: re.Match[str], base: str) -> str:
    target = unescape("".join(filter(None, href.groups())))
    if target.startswith(("#", "javascript:", "mailto:", "data:")):
        return ""
    try:
        return f'href="{escape(urljoin(base, target))}"'
    except ValueError:
        return ""


def _whole_text(html: str, base: str) -> str:
    writer = _TextWriter(base)
    for kind, what, attributes in _tokenize(html):
        if kind == "text":
            writer.add_text(what)
        elif kind == "end":
            writer.close_tag(what)
        else:
            writer.open_tag(what, attributes)
    return _tidy(writer)


def _tokenize(html: str) -> Iterator[tuple[str, str, str]]:
    at = 0
    while found := _TAG.search(html, at):
        if found.start() > at:
            yield "text", html[at : found.start()], ""
        at = found.end()
        if found[0] == "<!--":
            stop = html.find("-->", at)
            at = len(html) if stop < 0 else stop + 3
        elif found[2]:
            tag = found[2].lower()
            if tag not in SKIPPED_TAGS:
                yield ("end" if found[1] else "begin"), tag, found[3]
            elif not found[1] and not found[3].endswith("/"):
                close = re.compile(f"</{tag}", re.IGNORECASE).search(html, at)
                at = close.start() if close else len(html)
    if at < len(html):
        yield "text", html[at:], ""


def _tidy(writer: _TextWriter) -> str:
    """Leave one empty line between blocks, and code as it is."""
    lines: list[str] = []
    code = False
    for line in "".join(writer.out).split("\n"):
        code ^= line == FENCE
        kept = line.rstrip() if code else " ".join(line.split())
        if kept or code or (lines and lines[-1]):
            lines.append(kept)
    title = " ".join(writer.title.split())
    return "\n".join([f"# {title}", ""] * bool(title) + lines).strip()
